#include <algorithm>
#include <utility>

#include <pleat/trace.h>

#include "engine/base/inside.h"
#include "engine/core/outbox_collection.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kRecordsPerTurn = 256;  // under one lock

}  // namespace

TraceReader::TraceReader(const AnyFolder& folder)
    : folder_(folder), next_(static_cast<size_t>(folder.partitions())) {}

// Each time from another partition on, so that a small `max` does not starve the last ones.
size_t TraceReader::Read(size_t max, See see) noexcept {
  if (Call::WouldBeNested()) return 0;
  const auto partitions = static_cast<int>(next_.size());
  const int first = std::exchange(turn_, (turn_ + 1) % partitions);
  size_t read = 0;
  for (int i = 0; i < partitions && read < max; ++i) {
    read += ReadPartition((first + i) % partitions, max - read, see);
  }
  return read;
}

// Up to what was there at first, so that a `see` that brings records about comes to an end.
size_t TraceReader::ReadPartition(int partition, size_t max, See see) {
  uint64_t& next = next_[static_cast<size_t>(partition)];
  std::vector<TraceRecord> records;
  records.swap(records_);  // `see` may read on from here
  size_t read = 0;
  for (bool first = true; read < max; first = false) {
    records.clear();
    uint64_t behind = 0;
    {
      const Call call;
      const size_t wanted = std::min(max - read, kRecordsPerTurn);
      behind = folder_.collection().CopyTrace(static_cast<size_t>(partition), wanted, next, lost_,
                                              records);
    }
    if (records.empty()) break;
    if (first) max = static_cast<size_t>(std::min<uint64_t>(max, records.size() + behind));
    read += records.size();
    see(records);
  }
  records.swap(records_);
  return read;
}

std::string_view TraceReader::collection() const noexcept { return folder_.name(); }

}  // namespace pleat::inline v0_1
