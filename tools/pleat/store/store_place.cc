#include "tools/pleat/store/store_place.h"

#include <algorithm>

namespace pleat::cli {

// `appended` never goes back: so the place of an instant is found by halves.
absl::StatusOr<uint64_t> FindPlace(const EventStoreReader& store, int partition,
                                   const StorePlace& place, StorePage& page) {
  if (place.offset) return *place.offset;
  uint64_t low = store.First(partition);
  if (!place.time) return low;
  for (uint64_t high = store.Durable(partition); low < high;) {
    const uint64_t middle = low + (high - low) / 2;
    const absl::StatusOr<ReadOutcome> read = store.Read(partition, middle, 1, page);
    if (!read.ok()) return read.status();
    const uint64_t first = store.First(partition);  // more may have been removed
    if (middle < first) {
      low = std::min(first, high);
    } else if (*read == ReadOutcome::kRecords && page.records().front().appended < *place.time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace pleat::cli
