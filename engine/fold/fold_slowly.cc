// The slow path of an event, step by step as docs/semantics.md counts them. An event comes here if
// late, duplicate or over a limit; if the event opens a group, or is older than the event that did;
// or if its folder has marks, edges, partials, or learns its quiet period.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

FoldOutcome FoldBook::FoldSlowly(const EventRef& event, uint32_t number, const Instant& at) {
  PLEAT_DCHECK(number == kNone || groups_.indexed(number));
  ++ledger_.events;
  const EngineTime now = seen_ = std::max(at.now, seen_);
  Turn turn{.event = event,
            .at = at,
            .now = now,
            .due_by = DueBy(event.at, now),
            .position = NextPosition(at.position),
            .number = number,
            .marks = {},
            .starts = false};
  if (CloseBeforeMemoryFills(now, at)) turn.number = groups_.FindSlowly(event.key, event.hash);
  const bool late = IsLate(turn);
  if (late && options_.late.on_late == OnLate::kReject) {
    return Count(ledger_.late, FoldOutcome::kLate);
  }
  if (late && options_.late.on_late == OnLate::kCorrect) return Correct(turn);

  if (ops_.marks != nullptr) {
    turn.marks = ops_.marks(ops_.context, event.key.view(), event.event);
  }
  if (ops_.has_ids) {
    if (const auto content = memory_->ContentOf(event.key, turn.marks.id, now)) {
      return *content == turn.marks.content ? Count(ledger_.duplicate, FoldOutcome::kDuplicate)
                                            : Count(ledger_.conflict, FoldOutcome::kConflict);
    }
  }
  turn.starts = turn.marks.starts || IsTooOld(turn);
  if (outbox_.refuses() && !Joins(turn)) {
    return Count(ledger_.overloaded, FoldOutcome::kOverloaded);
  }
  if (!MakeRoom(turn)) return Count(ledger_.refused, FoldOutcome::kOverLimit);
  if (late) ++ledger_.late_folded;
  if (ops_.has_ids) {
    memory_->RememberId(event.key, turn.marks.id, turn.marks.content, event.at, now);
  }

  const bool open = IsOpen(turn);
  if (open && groups_.has_extra()) cuts_.CutBefore(turn.number, turn.due_by);
  if (Joins(turn)) {
    Join(turn);
    return FoldOutcome::kFolded;
  }
  if (open) {
    const Reason reason = turn.marks.starts ? Reason::kStartMark : Reason::kMaxHold;
    CloseByEvent(turn.number, reason, now, OrderOf(turn.position, Step::kBeforeIt), at);
  } else if (turn.number != kNone) {
    Overtake(turn);
  }
  OpenGroup(turn);
  return FoldOutcome::kOpened;
}

// When the memory is full, it depends on the order of events which group it still remembers. So groups
// that are due close before an event, once they might fill it. Returns whether they were visited.
bool FoldBook::CloseBeforeMemoryFills(EngineTime now, const Instant& at) {
  if (memory_ == nullptr || !memory_->MayFill(ledger_.open)) return false;
  size_t budget = SIZE_MAX;
  CloseAndForget(now, budget, at);
  ++changes_;
  return true;
}

FoldOutcome FoldBook::Refuse(FoldOutcome why, const Instant&) noexcept {
  ++ledger_.events;
  return Count(why == FoldOutcome::kFuture ? ledger_.future : ledger_.refused, why);
}

bool FoldBook::IsLate(const Turn& turn) const noexcept {
  const Duration limit = options_.late.accept_limit;
  return limit != kForever && turn.now != kBeginningOfTime &&
         turn.event.at < SaturatingSub(turn.now, limit);
}

// Whether the event is too old for the key's group. Only on arrival time: there one stamp too far
// ahead would else hold the key's group open until that time comes, however many events follow.
bool FoldBook::IsTooOld(const Turn& turn) const noexcept {
  return turn.number != kNone && on_arrival_ &&
         groups_.at(turn.number).opened - turn.event.at > groups_.max_hold();
}

// --- Room

// How many bytes the event takes, as far as that is known before folding.
size_t FoldBook::NeedOf(const Turn& turn) const noexcept {
  const size_t id = ops_.has_ids ? Memory::kNameBytes : 0;
  if (!Joins(turn)) {
    const size_t entries = options_.edge == Edge::kTrailing ? 1 : 2;
    return id + entries * groups_.BytesOfNew(turn.event.key);
  }
  return id + (ops_.heap_bytes != nullptr ? 1 : 0);  // at least
}

// Whether the event may come in; if the limits say that others make room for it, they have. Finds
// the key's entry again if groups have closed.
bool FoldBook::MakeRoom(Turn& turn) {
  if (!room_.Fits(NeedOf(turn))) {
    const auto need = [&] {
      // Its own group may be among those that have closed.
      turn.number = groups_.FindSlowly(turn.event.key, turn.event.hash);
      return NeedOf(turn);
    };
    if (!MakeRoomInBytes(turn, need)) return false;
  }
  return IsOpen(turn) || ledger_.open < options_.limits.max_groups || MakeRoomForGroup(turn);
}

// Groups that time has closed do not count as open, so here, and only here, a fold closes other
// groups: a few at a time, until there is room.
bool FoldBook::MakeRoomForGroup(Turn& turn) {
  while (ledger_.open >= options_.limits.max_groups) {
    size_t budget = 64;
    if (CloseAndForget(turn.now, budget, turn.at)) break;
  }
  turn.number = groups_.FindSlowly(turn.event.key, turn.event.hash);
  const bool emits = options_.limits.on_limit == OnLimit::kEmitOldest;
  if (emits && ledger_.open >= options_.limits.max_groups) {
    if (turn.number != kNone) Overtake(turn);
    while (ledger_.open >= options_.limits.max_groups && EmitOldest(turn)) {
    }
    turn.number = kNone;
  }
  ++changes_;
  return ledger_.open < options_.limits.max_groups;
}

// The same for bytes, of which `need()` says how many there have to be as things are.
bool FoldBook::MakeRoomInBytes(Turn& turn, absl::FunctionRef<size_t()> need) {
  const bool emits = options_.limits.on_limit == OnLimit::kEmitOldest;
  const bool nothing_waits = !room_.has_counted_ready();
  size_t budget = SIZE_MAX;
  CloseAndForget(turn.now, budget, turn.at);
  size_t bytes = need();
  while (emits && !room_.FitsWithoutReady(bytes) && EmitOldest(turn)) bytes = need();
  ++changes_;
  bool fits = room_.FitsAtAll(bytes);
  // Emissions that wait now have closed for this event, which takes their room: but for the ids,
  // all that could go has gone.
  if (emits && nothing_waits) fits = !ops_.has_ids || room_.FitsBesideMemory(bytes);
  if (!fits) ++ledger_.refused_for_bytes;
  return fits;
}

// Emits the entry that would be emitted next, though its time has not come.
bool FoldBook::EmitOldest(const Turn& turn) {
  Due due;
  size_t budget = SIZE_MAX;
  if (groups_.Next(kNever, version(), budget, due) != Deadlines::Found::kDue) return false;
  if (!due.by_event) {
    const bool indexed = groups_.indexed(due.number);
    const Reason reason = indexed ? Reason::kLimit : groups_.ReasonByTime(due.number);
    due.ripe = turn.now;
    due.order = OrderOf(turn.position, Step::kMakesRoom);
    due.by_event = true;
    due.tag = static_cast<uint8_t>(reason);
  }
  LeaveIndex(due.number);
  Push(due, turn.at);
  return true;
}

// --- Into a group

// REQUIRES: the key's group is open.
void FoldBook::Join(const Turn& turn) {
  const uint32_t number = turn.number;
  PLEAT_DCHECK(IsOpen(turn));
  Group& group = groups_.at(number);
  if (turn.event.at < group.opened) groups_.NoteEarlier(number, turn.event.at);
  if (observer_ != nullptr) observer_->NoteFolded(turn.due_by, group.last, turn.event.at);
  const Duration gap = turn.due_by - group.last;
  ++ledger_.folded;
  groups_.FoldInto(group, number, turn.event.event, turn.event.at);
  if (group.count == 0) groups_.NoteWrap(number);
  if (groups_.has_extra()) {
    Extra& extra = groups_.extra(number);
    const QuietLearner::Answer learned =
        observer_ != nullptr ? observer_->AskToFold(turn.marks, gap, extra.memo())
                             : QuietLearner::Answer{groups_.quiet_period(), extra.memo()};
    extra.set_memo(learned.memo);
    const Duration quiet = QuietPeriodOf(turn.marks, learned.quiet);
    extra.quiet_due = std::max(extra.quiet_due, GroupTable::After(turn.event.at, quiet));
    extra.changed = true;
  }
  if (const auto reason = end_rules_.ReasonBehind(groups_, number, turn.marks.ends)) {
    CloseByEvent(number, *reason, turn.now, OrderOf(turn.position, Step::kBehindIt), turn.at);
  }
}

// The key's group is due: the group makes way for the event, stays armed and closes in order.
void FoldBook::Overtake(const Turn& turn) {
  if (groups_.has_extra()) {
    cuts_.CutBefore(turn.number, turn.due_by);
    cuts_.Stop(turn.number);
  }
  LeaveIndex(turn.number);
}

void FoldBook::OpenGroup(const Turn& turn) {
  PLEAT_DCHECK(groups_.FindSlowly(turn.event.key, turn.event.hash) == kNone);
  const EventRef& event = turn.event;
  const QuietLearner::Answer learned = AskToOpen(turn);
  const uint32_t number = groups_.Add(event.key, event.hash, event.at, turn.position, event.event);
  ++ledger_.opened;
  ++ledger_.open;
  if (observer_ != nullptr) observer_->NoteOpened(event.hash, turn.due_by, event.at);
  if (groups_.has_extra()) {
    Extra& extra = groups_.extra(number);
    const Duration quiet = QuietPeriodOf(turn.marks, learned.quiet);
    extra = Extra{.quiet_due = GroupTable::After(event.at, quiet),
                  .next_partial = groups_.GridAfter(groups_.at(number), turn.due_by),
                  .corrects = GroupTable::kNothing,
                  .revision = 0,
                  .kind = Kind::kGroup,
                  .changed = true};
    extra.set_memo(learned.memo);
    if (options_.edge != Edge::kTrailing) HandOutLeading(turn, number);
  }
  std::optional<Reason> reason = end_rules_.ReasonBehind(groups_, number, turn.marks.ends);
  if (!reason && groups_.DueOf(number) <= turn.now) reason = groups_.ReasonByTime(number);
  if (reason) [[unlikely]] {
    NoteLeft(number);
    CloseByEvent(number, *reason, turn.now, OrderOf(turn.position, Step::kBehindIt), turn.at);
  } else {
    groups_.Index(number, event.hash);
    groups_.Arm(number);
  }
}

QuietLearner::Answer FoldBook::AskToOpen(const Turn& turn) {
  if (observer_ == nullptr) return {.quiet = groups_.quiet_period(), .memo = {}};
  return observer_->AskToOpen(turn.marks, turn.event.key, turn.due_by);
}

// A late event becomes an emission by itself. Groups that are due close first: a correction may
// name the emission of one of them.
FoldOutcome FoldBook::Correct(Turn& turn) {
  const EventRef& event = turn.event;
  size_t budget = SIZE_MAX;
  CloseAndForget(turn.now, budget, turn.at);
  if (outbox_.refuses()) return Count(ledger_.overloaded, FoldOutcome::kOverloaded);
  const auto need = [&] { return groups_.BytesOfNew(event.key); };
  if (!room_.Fits(need()) && !MakeRoomInBytes(turn, need)) {
    return Count(ledger_.refused, FoldOutcome::kOverLimit);
  }
  const uint64_t corrects =
      memory_->LastEmissionOf(event.key, turn.now).value_or(GroupTable::kNothing);
  const uint32_t number = groups_.Add(event.key, event.hash, event.at, turn.position, event.event);
  groups_.extra(number) = Extra{.quiet_due = event.at,
                                .next_partial = kNever,
                                .corrects = corrects,
                                .revision = 1,
                                .kind = Kind::kCorrection,
                                .changed = false};
  ++ledger_.corrected;
  Push({.ripe = turn.now,
        .order = OrderOf(turn.position, Step::kBehindIt),
        .number = number,
        .by_event = true,
        .tag = static_cast<uint8_t>(Reason::kCorrection)},
       turn.at);
  return FoldOutcome::kCorrected;
}

// --- Cuts

// Time has reached an instant of the group's grid. If there is no room for a cut, nothing happens
// up to `until` that could make room, so that no instant until then need be tried.
void FoldBook::PassPartial(uint32_t number, EngineTime instant, EngineTime until,
                           const Instant& at) {
  if (const uint32_t cut = cuts_.CutPartial(number); cut != kNone) {
    Push({.ripe = instant,
          .order = groups_.position(number),
          .number = cut,
          .by_event = false,
          .tag = static_cast<uint8_t>(Reason::kPartial)},
         at);
  }
  cuts_.PassTo(number, std::max(instant, until));
  groups_.Arm(number);
}

void FoldBook::HandOutLeading(const Turn& turn, uint32_t number) {
  PushInOrder({.ripe = turn.now,
               .order = OrderOf(turn.position, Step::kBehindIt),
               .number = cuts_.CutLeading(number),
               .by_event = true,
               .tag = static_cast<uint8_t>(Reason::kLeading)},
              turn.at);
}

}  // namespace pleat::inline v0_1
