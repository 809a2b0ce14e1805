// Admission judges each event of the slow path: whether the event comes in, and as what. It looks
// at the stamp (late?), the id (known?), the backlog, and the limits on groups and bytes, in the
// order of docs/semantics.md. At a limit it has the emitter make room.
//
// Writes these columns of the ledger: late, late_folded, duplicate, conflict, overloaded, over_limit,
// over_byte_limit and future.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/untyped/state_ops.h>

#include "engine/fold/emitter.h"
#include "engine/fold/group_table.h"
#include "engine/fold/memory.h"
#include "engine/fold/room.h"
#include "engine/fold/turn.h"
#include "engine/outbox/outbox.h"

namespace pleat::inline v0_1 {

class Admission {
 public:
  // The other parts of the book. All outlive the admission; `memory` may be null.
  struct Parts {
    GroupTable& groups;
    Memory* memory;
    const Room& room;
    const Outbox& outbox;
    Emitter& emitter;
    Ledger& ledger;
  };

  // `options` holds this partition's share of the limits.
  Admission(const FolderOptions& options, const StateOps& ops, bool on_arrival, const Parts& parts);

  // From now on these hold, for events that come.
  void SetOptions(const FolderOptions& options) noexcept {
    options_ = options;
    emits_oldest_ = options.limits.on_limit == OnLimit::kEmitOldest;
  }

  // What becomes of the event: kFolded, if it is to join its key's group; kOpened, if it is to open
  // one; kCorrected, if it is to be an emission by itself. There is room for it then, its id is
  // remembered, and the turn has its marks, and its number if groups have closed. Any other outcome
  // refuses the event, and is counted.
  FoldOutcome Judge(Turn& turn);

  // Counts an event that goes no further: kFuture or kOverLimit, which are returned.
  FoldOutcome Refuse(FoldOutcome why) noexcept {
    return Count(why == FoldOutcome::kFuture ? ledger_.future : ledger_.over_limit, why);
  }

 private:
  static FoldOutcome Count(uint64_t& column, FoldOutcome outcome) noexcept {
    ++column;
    return outcome;
  }

  // Without a name it is never a duplicate.
  bool HasId(const Turn& turn) const noexcept { return ops_.has_ids && !turn.marks.id.empty(); }
  bool IsLate(const Turn& turn) const noexcept;
  bool IsTooOld(const Turn& turn) const noexcept;
  FoldOutcome JudgeLate(Turn& turn);
  FoldOutcome JudgeKnown(const Turn& turn, uint64_t content) noexcept;
  FoldOutcome JudgeNew(Turn& turn);
  bool IsHandedOut(const Turn& turn) const noexcept;
  size_t NeedOf(const Turn& turn) const noexcept;
  bool HasRoomForGroup() const noexcept { return ledger_.open < options_.limits.max_groups; }
  bool MakeRoom(Turn& turn);
  bool MakeRoomForBytes(Turn& turn);
  bool MakeRoomForGroup(Turn& turn);
  template <class Need>
  bool MakeRoomInBytes(const Turn& turn, const Need& need);

  FolderOptions options_;
  const StateOps& ops_;
  const bool on_arrival_;
  bool emits_oldest_;  // to make room
  GroupTable& groups_;
  Memory* const memory_;
  const Room& room_;
  const Outbox& outbox_;
  Emitter& emitter_;
  Ledger& ledger_;
};

}  // namespace pleat::inline v0_1
