// Partitions: which one a key belongs to, and which ones a worker owns.
//
//   // Worker i of n pops the emissions of its own partitions.
//   auto mine = pleat::PartitionRange::ForWorker(i, n, engine->partitions());
//   for (auto& emission : folder.Pop(100, mine)) Publish(emission);
#pragma once

#include <cstdint>
#include <string_view>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

// The version of StablePartitionHash: store it beside anything that depends on the hash.
inline constexpr uint32_t kPartitionHashVersion = 1;

// A fixed 64-bit hash of the key's bytes: the same in every process, on every machine, for ever.
// It spreads well but is not keyed; the tables inside a partition use a keyed hash of their own.
PLEAT_EXPORT uint64_t StablePartitionHash(std::string_view key) noexcept;

// The partition of `key`: 0 <= result < partitions. REQUIRES: partitions >= 1.
PLEAT_EXPORT int PartitionOf(std::string_view key, int partitions) noexcept;

// Consecutive partitions: begin, begin + 1, ..., end - 1. The default is all of them.
struct PartitionRange {
  static constexpr int kLast = INT32_MAX;  // the end of an engine's partitions, whatever it is

  int begin = 0;
  int end = kLast;

  static constexpr PartitionRange One(int partition) noexcept { return {partition, partition + 1}; }

  // The partitions of worker `i` of `n`: every partition has exactly one owner, and the workers'
  // shares differ by at most one. With more workers than partitions some ranges are empty().
  // REQUIRES: 0 <= i < n.
  static constexpr PartitionRange ForWorker(int i, int n, int partitions) noexcept {
    const auto cut = [&](int64_t worker) { return static_cast<int>(worker * partitions / n); };
    return {cut(i), cut(int64_t{i} + 1)};
  }

  constexpr bool empty() const noexcept { return begin >= end; }
  constexpr bool Contains(int partition) const noexcept {
    return begin <= partition && partition < end;
  }

  friend constexpr bool operator==(const PartitionRange&, const PartitionRange&) = default;
};

}  // namespace pleat::inline v0_1
