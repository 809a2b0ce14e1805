// A BatchPiece folds up to 256 events as one. Alone, a fold spends most of its time waiting for two
// cache lines, one after the other, and the lock's two atomic instructions keep the processor from
// waiting for several folds' lines at once. A piece overlaps them:
//
//   1. Before any lock: hashes every key; carries the watermark through the events in input order, so
//      that each is folded at its own time; reserves their positions.
//   2. Sorts the events by partition, in input order within each, and cuts them into strips of at
//      most 32 events of one partition.
//   3. Takes the strips through a pipeline of three stages, each one strip behind the stage before
//      it: fetch the index lines, fetch the groups' lines, fold. (Long keys have a third line, which
//      is fetched for the whole strip just before it is folded.)
//
// A partition is locked from the first stage of its first strip to the last stage of its last one, so
// three are held at a time. They are only tried while others are held; what was busy goes through the
// pipeline again, whose first lock, when none is held, may be waited for. So two batches can neither
// deadlock nor queue up behind each other. Each piece starts at another partition, because two that start
// at the same one would meet all the way.
//
// The result does not depend on any of this: within a partition the order is that of the input, and
// nothing but time and position, which every event brings along, leaks from one to the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pleat/any_folder.h>
#include <pleat/outcome.h>

#include "engine/core/folder_core.h"

namespace pleat::inline v0_1 {

class BatchPiece {
 public:
  static constexpr size_t kEventsMax = 256;

  // REQUIRES: `batch` holds 1 to kEventsMax events; `outcomes` is null or as long. Events of partitions
  // outside `only` are left alone.
  BatchPiece(FolderCore& folder, const AnyBatch& batch, FoldOutcome* outcomes, PartitionRange only)
      : folder_(folder), batch_(batch), outcomes_(outcomes), only_(only) {}

  void Fold(FoldCounts& counts);

 private:
  // The events order_[begin, end), of one partition.
  struct Strip {
    FolderCore::Home* home;
    FoldBook* book;  // null: nothing is folded any more
    uint16_t begin;
    uint16_t end;
    bool goes_on;  // the strip before it is of the same partition
    bool ends;     // the strip after it is not
    bool locked;   // by us; if not, somebody else had it
  };
  enum class Fate : uint8_t { kFold, kTooLong, kFuture };

  const KeyedEvent<char>& EventAt(size_t i) const noexcept {
    const auto* first = static_cast<const std::byte*>(batch_.first);
    return *reinterpret_cast<const KeyedEvent<char>*>(first + i * batch_.stride);
  }
  void Look();
  void SortByPartition();
  void LeaveElsewhere();
  void CutIntoStrips();
  void RunPipeline(bool waits);
  size_t KeepBusyStrips();
  void FetchIndex(size_t index, bool waits);
  void FetchGroups(const Strip& strip);
  void FoldStrip(const Strip& strip);
  FoldOutcome FoldEvent(FoldBook& book, size_t i);
  FoldOutcome Refuse(FoldBook& book, Fate fate);

  FolderCore& folder_;
  const AnyBatch& batch_;
  FoldOutcome* const outcomes_;
  const PartitionRange only_;
  std::array<size_t, kFoldOutcomes> counts_{};  // by FoldOutcome

  EngineTime time_;  // where the events carry the engine's time, as far as they were folded
  uint64_t first_position_ = 0;
  bool any_long_key_ = false;
  size_t sorted_ = 0;  // how many events are in order_: those of `only_`
  size_t strip_count_ = 0;
  std::array<Strip, kEventsMax> strips_;
  std::array<PackedKey, kEventsMax> keys_;
  std::array<uint64_t, kEventsMax> hashes_;
  std::array<FoldGuess, kEventsMax> guesses_;
  std::array<EngineTime, kEventsMax> times_;
  std::array<uint16_t, kEventsMax> partitions_;
  std::array<uint16_t, kEventsMax> order_;
  std::array<Fate, kEventsMax> fates_;
};

}  // namespace pleat::inline v0_1
