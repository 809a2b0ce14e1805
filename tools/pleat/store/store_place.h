// A place in a partition of a store, as options name it.
#pragma once

#include <cstdint>
#include <optional>

#include <pleat/time.h>

namespace pleat::cli {

// An offset, or the first record that was appended at an instant or later.
struct StorePlace {
  std::optional<uint64_t> offset;
  std::optional<EngineTime> time;

  bool is_given() const { return offset || time; }
};

}  // namespace pleat::cli
