// A place in a partition of a store, as options name it.
#pragma once

#include <cstdint>
#include <optional>

#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/time.h>

namespace pleat::cli {

// An offset, or the first record that was appended at an instant or later.
struct StorePlace {
  std::optional<uint64_t> offset;
  std::optional<EngineTime> time;

  bool is_given() const { return offset || time; }
};

// The offset of a place; of none, the first one. Of an instant that has not come yet, the end.
// `page` is for reading.
absl::StatusOr<uint64_t> FindPlace(const EventStoreReader& store, int partition,
                                   const StorePlace& place, StorePage& page);

}  // namespace pleat::cli
