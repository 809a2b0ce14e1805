// SourcePositions: up to where a collection has taken the events of each source, by partition. As a rule
// a batch is for all partitions, so that one number says it for all; partitions that were fed by
// themselves have numbers of their own.
//
// Thread safety: any thread, any time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <pleat/batch.h>
#include <pleat/stored.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class SourcePositions {
 public:
  explicit SourcePositions(int partitions) : partitions_(static_cast<size_t>(partitions)) {}

  // The offset of the first event that the partition has not taken.
  uint64_t Of(uint64_t source, size_t partition) const {
    LockGuard guard(lock_);
    const auto it = sources_.find(source);
    return it == sources_.end() ? 0 : it->second.Of(partition);
  }
  // No partition of the range has taken an event at this offset or behind it.
  uint64_t HighestOf(uint64_t source, PartitionRange range) const {
    LockGuard guard(lock_);
    const auto it = sources_.find(source);
    if (it == sources_.end()) return 0;
    const Positions& positions = it->second;
    if (IsAll(range)) return positions.highest;
    uint64_t highest = positions.all;
    for (int i = range.begin; i < range.end; ++i) {
      highest = std::max(highest, positions.Of(static_cast<size_t>(i)));
    }
    return highest;
  }
  bool Knows(uint64_t source) const {
    LockGuard guard(lock_);
    return sources_.contains(source);
  }
  // The partitions of the range have taken everything before `offset`.
  void Advance(uint64_t source, PartitionRange range, uint64_t offset) {
    LockGuard guard(lock_);
    Positions& positions = sources_[source];
    positions.highest = std::max(positions.highest, offset);
    if (IsAll(range)) {
      positions.all = std::max(positions.all, offset);
      return;
    }
    positions.own.resize(partitions_);
    for (int i = range.begin; i < range.end; ++i) {
      uint64_t& own = positions.own[static_cast<size_t>(i)];
      own = std::max(own, offset);
    }
  }

  // Calls `see(source, lowest, highest)`: all partitions have taken every event before `lowest`,
  // and none has taken one from `highest` on.
  template <class See>
  void ForEach(const See& see) const {
    LockGuard guard(lock_);
    for (const auto& [source, positions] : sources_) {
      const auto least = std::ranges::min_element(positions.own);
      see(source, least == positions.own.end() ? positions.all : std::max(positions.all, *least),
          positions.highest);
    }
  }

  void Clear() {
    LockGuard guard(lock_);
    sources_.clear();
  }

  void Save(FieldWriter& out) const {
    LockGuard guard(lock_);
    out(sources_);
  }
  void Load(FieldReader& in) {
    std::map<uint64_t, Positions> sources;
    in(sources);
    for (const auto& [source, positions] : sources) {
      in.Expect(positions.own.empty() || positions.own.size() == partitions_);
    }
    LockGuard guard(lock_);
    sources_ = std::move(sources);
  }

 private:
  struct Positions {
    uint64_t all = 0;           // of every partition
    std::vector<uint64_t> own;  // by partition, where it is further; empty: none is
    uint64_t highest = 0;

    uint64_t Of(size_t partition) const {
      return own.empty() ? all : std::max(all, own[partition]);
    }
    template <class F>
    void Stored(F& f) {
      f(all, own, highest);
    }
  };

  bool IsAll(PartitionRange range) const noexcept {
    return range == PartitionRange{0, static_cast<int>(partitions_)};
  }

  const size_t partitions_;
  mutable Lock lock_;
  std::map<uint64_t, Positions> sources_ ABSL_GUARDED_BY(lock_);
};

}  // namespace pleat::inline v0_1
