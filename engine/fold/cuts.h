// Cuts makes copies of open groups to be handed out as they are so far: for a leading edge, when
// the group opens; for a partial, at each instant of the group's grid if events have folded since
// the last one. A cut is an entry of its own and is emitted as any entry is; the group goes on.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pleat/outcome.h>
#include <pleat/time.h>

#include "engine/fold/group_table.h"
#include "engine/fold/room.h"
#include "engine/outbox/outbox.h"

namespace pleat::inline v0_1 {

class Cuts {
 public:
  using Extra = GroupTable::Extra;
  using Kind = GroupTable::Kind;
  static constexpr uint32_t kNone = GroupTable::kNone;

  // All three outlive the cuts. REQUIRES for all else: the groups have Extra.
  Cuts(GroupTable& groups, const Room& room, const Outbox& outbox)
      : groups_(groups), room_(room), outbox_(outbox) {}

  // The cut that is handed out first.
  uint32_t CutLeading(uint32_t number) { return Cut(number, Kind::kLeading); }

  // The group's grid has come to an instant: a cut for it, or kNone if nothing has folded since the
  // last one, or if there is no room in bytes or in the backlog. Then the group goes on to its next
  // instant.
  uint32_t CutPartial(uint32_t number) {
    if (!groups_.extra(number).changed) return kNone;
    if (!room_.FitsCut(groups_.BytesOf(number)) || outbox_.is_full()) return kNone;
    const uint32_t cut = Cut(number, Kind::kPartial);
    Extra& extra = GroupTable::ExtraOf(groups_.ChangeKept(cut));
    extra.quiet_due = groups_.extra(number).next_partial;
    return cut;
  }

  // An event is about to reach the group: the instants of its grid up to `due_by` come first. Time
  // may not have got there yet, so the cut waits for its instant. Where the group may be given its
  // closing time there, the cut is filed: what is filed comes first.
  void CutBefore(uint32_t number, EngineTime due_by) {
    const Extra& extra = groups_.extra(number);
    if (extra.next_partial > due_by || extra.next_partial >= groups_.DueOf(number)) return;
    if (const uint32_t cut = CutPartial(number); cut != kNone) {
      if (groups_.has_closing_time()) {
        groups_.File({.ripe = extra.next_partial,
                      .order = groups_.position(number),
                      .number = cut,
                      .by_event = false,
                      .tag = static_cast<uint8_t>(Reason::kPartial)});
      } else {
        groups_.Arm(cut);
      }
    }
    PassTo(number, due_by);
  }

  // The group's next instant is the first behind `t`.
  void PassTo(uint32_t number, EngineTime t) {
    GroupTable::Group& group = groups_.Change(number);
    GroupTable::ExtraOf(group).next_partial = groups_.clock().GridAfter(group, t);
  }

  // There are no instants any more: the group has been overtaken.
  void Stop(uint32_t number) { GroupTable::ExtraOf(groups_.Change(number)).next_partial = kNever; }

 private:
  uint32_t Cut(uint32_t number, Kind kind) {
    const uint32_t cut = groups_.AddCopy(number);
    Extra& extra = GroupTable::ExtraOf(groups_.Change(number));
    extra.changed = false;
    groups_.SetExtra(cut, Extra{.quiet_due = extra.quiet_due,
                                .next_partial = kNever,
                                .corrects = GroupTable::kNothing,
                                .revision = ++extra.revision,
                                .kind = kind,
                                .changed = false});
    return cut;
  }

  GroupTable& groups_;
  const Room& room_;
  const Outbox& outbox_;
};

}  // namespace pleat::inline v0_1
