// LogState: where the log stands at a cut, which is all that a block behind it has to fit.
#pragma once

#include <cstdint>
#include <vector>

#include <pleat/time.h>

#include "engine/store/block.h"

namespace pleat::inline v0_1 {

struct PartitionState {
  uint64_t next = 0;                     // offset
  EngineTime latest = kBeginningOfTime;  // `appended`; that: there was none

  friend bool operator==(const PartitionState&, const PartitionState&) = default;
};

struct LogState {
  StoreCut cut;
  uint64_t blocks = 0;  // before the cut
  uint64_t digest = 0;  // of the last of them
  uint64_t bytes = 0;   // of those that were passed; only differences say something
  std::vector<PartitionState> partitions;

  // Whether it is the same point of the log, whatever file that is in.
  bool IsSameAs(const LogState& other) const {
    return blocks == other.blocks && digest == other.digest && partitions == other.partitions;
  }

  // Whether the block is the next one.
  bool Fits(const BlockHead& head) const {
    if (head.number != blocks || head.before != digest || head.durable > cut) return false;
    uint64_t least = 0;  // they come in the order of partitions
    for (const SectionEntry& section : head.sections) {
      if (section.partition < least || section.partition >= partitions.size()) return false;
      if (section.count == 0) return false;
      least = uint64_t{section.partition} + 1;
      const PartitionState& partition = partitions[section.partition];
      if (section.first_offset != partition.next || section.first < partition.latest) return false;
    }
    return true;
  }

  // REQUIRES: `behind` lies in the file of the cut.
  void Pass(const std::vector<SectionEntry>& sections, uint64_t its_digest, StoreCut behind) {
    for (const SectionEntry& section : sections) {
      partitions[section.partition] = {section.first_offset + section.count, section.last};
    }
    ++blocks;
    digest = its_digest;
    bytes += behind.end - cut.end;
    cut = behind;
  }
};

// Of each partition, the offset of the next record.
inline std::vector<uint64_t> NextOffsets(const LogState& state) {
  std::vector<uint64_t> offsets;
  offsets.reserve(state.partitions.size());
  for (const PartitionState& partition : state.partitions) offsets.push_back(partition.next);
  return offsets;
}

}  // namespace pleat::inline v0_1
