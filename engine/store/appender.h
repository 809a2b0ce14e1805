// Appender: the way of records into the block under way. Up to kWholeRecordsMax of a call are a
// *piece*: it enters the gate, and a commit closes the gate for as long as it takes to change the
// sides of the buffers; so a piece is in one block. Partitions are locked one by one. The note of a
// piece is a record of the last partition, which has nothing else, and is added behind its records.
//
// A piece is taken whole or not at all. What may refuse it is known before the first record is taken:
// whether the store is closed; sizes; whether the time is too far ahead, which can only come to fit later on, as times of
// partitions grow; and the expected offset, which concerns one partition, under whose lock it is
// looked at.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <pleat/event_store.h>

#include "engine/base/gate.h"
#include "engine/store/piece_order.h"
#include "engine/store/store_partition.h"

namespace pleat::inline v0_1 {

class Appender {
 public:
  // The last of `partitions` is that of notes.
  Appender(std::span<StorePartition> partitions, Duration max_forward_jump)
      : partitions_(partitions), max_forward_jump_(max_forward_jump) {
    for (size_t side = 0; side < 2; ++side) {
      for (StorePartition& partition : partitions)
        buffers_[side].push_back(&partition.buffer(side));
    }
  }

  // Appends a piece. `first` gets where its first record went; on kConflict and kTooFarAhead, where
  // the partition stands.
  // REQUIRES: at most kWholeRecordsMax records, of sizes that may be; so is the note's.
  AppendOutcome Append(std::span<const StoreRecord> piece, EngineTime appended,
                       const AppendWhere& to, std::span<AppendPlace> places,
                       AppendPlace& first) noexcept;

  // Takes notes again, if the next one gets that offset. False: it does not, and nothing was taken.
  bool AddNotes(const StoreNotes& notes, uint64_t expected);

  // Of the records under way.
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

  // Cuts: what was under way is in the buffers that are returned, one for each partition, and nobody
  // touches them until the next cut. One call at a time. REQUIRES: the buffers that the one before
  // returned are empty.
  std::span<SectionBuffer* const> Cut();

  // Pieces are taken or not: those that have not entered the gate yet. One call at a time, also beside
  // Cut().
  void SetTaking(bool taking);

 private:
  bool IsTooFarAhead(const PieceOrder& order, EngineTime appended, bool has_note,
                     AppendPlace& first) const;
  AppendOutcome AppendInOrder(std::span<const StoreRecord> piece, const PieceOrder& order,
                              EngineTime appended, const AppendWhere& to,
                              std::span<AppendPlace> places, AppendPlace& first);
  void AddNote(const StoreNote& note, EngineTime appended);
  void AddNoteLocked(StorePartition& partition, const StoreNote& note, EngineTime appended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.lock());

  const std::span<StorePartition> partitions_;
  const Duration max_forward_jump_;
  std::array<std::vector<SectionBuffer*>, 2> buffers_;
  Gate gate_;
  int side_ = 0;  // this and the next are written while the gate is closed
  bool taking_ = true;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace pleat::inline v0_1
