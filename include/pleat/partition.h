// Partitions: which one a key belongs to, and which ones a worker owns.
#pragma once

#include <cstdint>
#include <string_view>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

// The version of StablePartitionHash. Stored with anything that depends on it.
inline constexpr uint32_t kPartitionHashVersion = 1;

// A fixed 64-bit hash of the key's bytes: the same in every process, on every machine, for ever.
// It spreads well but is not keyed; the tables inside a partition use a keyed hash of their own.
PLEAT_EXPORT uint64_t StablePartitionHash(std::string_view key) noexcept;

// The partition of `key` among `partitions` >= 1 of them: 0 <= result < partitions.
PLEAT_EXPORT int PartitionOf(std::string_view key, int partitions) noexcept;

// Some partitions in a row: begin, begin + 1, ..., end - 1. The default is all of them.
struct PartitionRange {
  static constexpr int kLast = INT32_MAX;  // stands for the end of an engine's partitions

  int begin = 0;
  int end = kLast;

  static constexpr PartitionRange One(int partition) noexcept { return {partition, partition + 1}; }

  // What worker `i` of `n` owns, 0 <= i < n: every partition has exactly one owner, and the workers'
  // shares differ by one at most. With more workers than partitions some own nothing: empty().
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
