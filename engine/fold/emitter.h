// An Emitter brings entries of the group table into the outbox: when time reaches a deadline or an
// instant of a grid, and when an event or a call ends a group. It also says how emissions look. It
// stands below the book, and knows groups, not events.
//
// Groups go out in the order of their deadlines. An overtaken group, whose key has a newer group
// already, still waits until time reaches its deadline. A group that an event ends goes out at once
// if no older deadline waits; otherwise the group is filed among those, so that the order holds.
//
//   armed ---- deadline ----------------------------------> Push() ---> in the outbox, or silent
//     |  |                                                     ^
//     |  +---- Overtake(): out of the index; deadline later ---+
//     |  +---- End(), CloseNext(), EmitOldest() ---------------+
//     +------- Cancel() ----> freed
//
// An open group can be handed out before it closes: as a *cut*, a copy of the group in an entry of
// its own. A cut for the leading edge is ended from its beginning; a cut for a partial waits for
// its instant like an overtaken group. A correction is an ended group of one late event.
//
// Writes these columns of the ledger: closed, cancelled, silent, partial, emissions, and open,
// which the book raises when a group opens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/base/latest.h"
#include "engine/fold/cuts.h"
#include "engine/fold/group_table.h"
#include "engine/fold/memory.h"
#include "engine/fold/observer.h"
#include "engine/fold/room.h"
#include "engine/outbox/outbox.h"
#include "engine/outbox/trace_log.h"

namespace pleat::inline v0_1 {

class Emitter {
 public:
  // The other parts of the book. All outlive the emitter; `memory`, `observer` and `trace` may be
  // null.
  struct Parts {
    const Latest& latest;
    GroupTable& groups;
    Memory* memory;
    FoldObserver* observer;
    Room& room;
    Outbox& outbox;
    Ledger& ledger;
    TraceLog* trace;
  };

  Emitter(const FolderOptions& options, const StateOps& ops, uint32_t partition,
          const Parts& parts);

  // Another observer, or none, from now on. NoteLimits() comes behind.
  void SetObserver(FoldObserver* observer) noexcept { observer_ = observer; }
  // From now on the room has other limits. REQUIRES: no group is due.
  void NoteLimits() noexcept;

  // --- By time

  // Emits what is due by `now`, in order, looking at no more than `budget` entries, and lowers
  // `budget`. Returns whether that was all.
  bool CloseDue(EngineTime now, Budget& budget, const Instant& at);
  // The same up to the latest time, for any number of looks, but no more than `most` entries, which it
  // lowers.
  bool CloseUpTo(size_t& most, const Instant& at);
  // The same, and the memory forgets what is over by then.
  bool CloseAndForget(EngineTime now, Budget& budget, const Instant& at);
  // The same for an event or a call, which then changes groups: all that is due by now.
  void CloseAllDue(const Instant& at);
  // Emits the next 64 of them. Returns whether those were all.
  bool CloseSomeDue(const Instant& at);
  // When the memory is full, it depends on the order of events which group it still remembers. So
  // groups that are due close first, once they might fill it. Returns whether they were visited.
  bool CloseBeforeMemoryFills(const Instant& at) {
    if (memory_ == nullptr || !memory_->MayFill(ledger_.open)) return false;
    CloseAllDue(at);
    return true;
  }

  // --- By an event or a call, whose place in the order of emissions is `order`; see OrderOf()

  // Ends a group, indexed or new.
  void End(uint32_t number, Reason reason, uint64_t order, const Instant& at);
  // Ends all groups, in the order of their deadlines: `most` of them with each CloseNext(), which
  // returns whether those were all, and the rest at last. Nothing else happens between the first and
  // the last of these.
  void BeginClosing(uint64_t order, const Instant& at);
  bool CloseNext(size_t most, const Instant& at) { return !closing_ || EndNext(most, at); }
  void FinishClosing(const Instant& at);
  // Ends the open groups for which `reason_of(number)` is a reason, in the order of their deadlines.
  // REQUIRES: CloseAllDue() came right before. O(entries).
  void EndSome(absl::FunctionRef<std::optional<Reason>(uint32_t number)> reason_of, uint64_t order,
               const Instant& at);
  // Ends the entry that would be emitted next, though its time has not come. Returns false if there
  // is none.
  bool EmitOldest(uint64_t order, const Instant& at);
  // The group is due and makes way for its key's next event: it stays armed, and closes in order.
  void Overtake(uint32_t number, EngineTime due_by);
  // The group's deadline has become an earlier one, or, by a call, a later one.
  void ArmEarlier(uint32_t number, uint64_t hash);
  void NoteLater() noexcept { ++changes_; }
  // Drops a group without an emission.
  void Cancel(uint32_t number, const Instant& at);

  // Hands out the leading edge of a new group, if the folder wants that.
  void EmitLeading(uint32_t number, uint64_t order, const Instant& at);
  // Tells the trace of a new group.
  void NoteOpened(uint32_t number, const Instant& at) {
    if (trace_ != nullptr) [[unlikely]]
      NoteGroup(TraceStep::kOpened, number, groups_.at(number).last, at);
  }
  void EmitCorrection(uint32_t number, uint64_t order, const Instant& at);
  // An event or a call is about to reach the group: the instants of its grid up to `due_by` come
  // first.
  void CutBefore(uint32_t number, EngineTime due_by) {
    if (groups_.has_extra()) cuts_.CutBefore(number, due_by);
  }

  // --- Emissions, as the outbox asks for them; see OutboxEntries

  ClosedGroup Show(const Ready& ready) const noexcept {
    return Show(ready, groups_.PartsOf(ready.entry));
  }
  ClosedGroup GiveAway(const Ready& ready) {
    if (counts_gone_) UncountGone(ready.entry);
    return Show(ready);
  }
  void FreeGiven(uint32_t number) noexcept { groups_.Free(number); }
  // The same for GiveRun().
  GroupTable::Parts FindGiven(const Ready& ready) const noexcept {
    return groups_.PartsOf(ready.entry);
  }
  void PrefetchFound(const GroupTable::Parts& parts) const noexcept {
    groups_.PrefetchEntry(parts);
  }
  void NoteGiven(std::span<const Ready> run) {
    if (!counts_gone_) return;
    for (const Ready& ready : run) UncountGone(ready.entry);
  }
  void ShowGiven(const Ready& ready, const GroupTable::Parts& parts,
                 ClosedGroup* place) const noexcept;
  void FreeGiven(std::span<const GroupTable::Parts> run) noexcept { groups_.Free(run); }
  void Prefetch(uint32_t number) const noexcept { groups_.PrefetchEntry(number); }
  void Discard(const Ready& ready) noexcept;
  // See OutboxBook for these.
  size_t PopQueue(const Instant& at, size_t max, AnyCollection::Take take);
  size_t PopDue(const Instant& at, size_t max, AnyCollection::Take take);

 private:
  using Group = GroupTable::Group;
  using Extra = GroupTable::Extra;
  using Kind = GroupTable::Kind;
  static constexpr uint32_t kNone = GroupTable::kNone;

  // A group that a call ends, with others.
  struct Ending {
    OutboxEntries::Rank rank;
    uint32_t number;
    Reason reason;
  };

  // Another value whenever deadlines may have changed; see GroupTable::Next().
  uint64_t version() const noexcept { return ledger_.events + changes_; }
  bool CloseRun(EngineTime now, Budget& budget, const Instant& at);
  template <class Each>
  size_t EndRun(size_t max, EngineTime now, Budget& budget, const Each& each);
  ClosedGroup Show(const Ready& ready, const GroupTable::Parts& parts) const noexcept;
  EngineTime ClosedAt(const Ready& ready) const noexcept {
    return ready.by_event ? ClosedByEvent(ready) : ready.ripe;
  }
  void FillIn(ClosedGroup& shown, EngineTime closed, std::string_view key, const GroupInfo& info,
              const Ready& ready, const GroupTable::Parts& parts) const noexcept;
  Due EndedNow(uint32_t number, Reason reason, uint64_t order) const noexcept;
  Due EndedEarly(const Due& due, Reason reason, uint64_t order) const noexcept;
  bool EndNext(size_t most, const Instant& at);
  void Leave(uint32_t number);
  void NoteLeft(uint32_t number);
  void PassPartial(uint32_t number, EngineTime instant, EngineTime until, const Instant& at);
  bool AnyIsDue(const Instant& at);
  void PushInOrder(const Due& due, const Instant& at);
  void Push(const Due& due, const Instant& at);
  bool IsSilent(uint32_t number) const noexcept;
  [[gnu::noinline]] void NoteGroup(TraceStep step, uint32_t number, EngineTime when,
                                   const Instant& at);
  EngineTime ClosedByEvent(const Ready& ready) const noexcept;
  void PushEmission(const Due& due, const Instant& at);
  void NoteRevision(const Due& due);
  [[gnu::noinline]] void UncountGone(uint32_t number) noexcept;

  const StateOps& ops_;
  const Edge edge_;
  const uint64_t leading_events_;  // that are handed out at once
  const bool corrects_;            // late events name the emission that they correct
  bool closes_plainly_;            // when time closes a group, only the ledger and the outbox ask
  bool counts_gone_;  // when an emission leaves, there is more to uncount than its entry
  const uint32_t partition_;
  const Latest& latest_;
  GroupTable& groups_;
  Memory* const memory_;
  FoldObserver* observer_;
  Room& room_;
  Outbox& outbox_;
  Ledger& ledger_;
  TraceLog* const trace_;
  Cuts cuts_;
  bool closing_ = false;  // all groups are being ended
  uint64_t closing_order_ = 0;
  uint64_t changes_ = 0;  // with the count of events: changes whenever deadlines may have
};

}  // namespace pleat::inline v0_1
