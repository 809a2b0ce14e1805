#include "engine/fold/admission.h"

namespace pleat::inline v0_1 {

Admission::Admission(const FolderOptions& options, const StateOps& ops, bool on_arrival,
                     const Parts& parts)
    : options_(options),
      ops_(ops),
      on_arrival_(on_arrival),
      emits_oldest_(options.limits.on_limit == OnLimit::kEmitOldest),
      groups_(parts.groups),
      memory_(parts.memory),
      room_(parts.room),
      outbox_(parts.outbox),
      emitter_(parts.emitter),
      ledger_(parts.ledger) {}

FoldOutcome Admission::Judge(Turn& turn) {
  turn.late = IsLate(turn);
  if (turn.late && options_.late.on_late != OnLate::kFold) return JudgeLate(turn);
  if (ops_.marks != nullptr) {
    turn.marks = ops_.marks(ops_.context, turn.event.key.view(), turn.event.event);
  }
  if (HasId(turn)) {
    turn.name = memory_->ids().NameOf(turn.event.key, turn.marks.id);
    const auto content = memory_->ids().Find(turn.name, turn.now);
    if (content) return JudgeKnown(turn, *content);
  }
  return JudgeNew(turn);
}

bool Admission::IsLate(const Turn& turn) const noexcept {
  const Duration limit = options_.late.allowed_lateness;
  return limit != kForever && turn.now != kBeginningOfTime &&
         turn.event.at < SaturatingSub(turn.now, limit);
}

// Whether the event is too old for the key's group. Only on arrival time: there one stamp too far
// ahead would else hold the key's group open until that time comes, however many events follow.
bool Admission::IsTooOld(const Turn& turn) const noexcept {
  return turn.number != GroupTable::kNone && on_arrival_ &&
         groups_.at(turn.number).opened - turn.event.at > groups_.clock().max_wait();
}

// An event that is not folded because it is late. Groups that are due close before a correction,
// which may name the emission of one of them.
FoldOutcome Admission::JudgeLate(Turn& turn) {
  if (options_.late.on_late == OnLate::kReject) return Count(ledger_.late, FoldOutcome::kLate);
  emitter_.CloseAllDue(turn.at);
  if (outbox_.refuses()) return Count(ledger_.overloaded, FoldOutcome::kOverloaded);
  const auto need = [&] { return groups_.BytesOfNew(turn.event.key); };
  if (room_.Fits(need()) || MakeRoomInBytes(turn, need)) return FoldOutcome::kCorrected;
  return Count(ledger_.over_limit, FoldOutcome::kOverLimit);
}

// An event whose id was taken already, by an event of this content.
FoldOutcome Admission::JudgeKnown(const Turn& turn, uint64_t content) noexcept {
  return content == turn.marks.content ? Count(ledger_.duplicate, FoldOutcome::kDuplicate)
                                       : Count(ledger_.conflict, FoldOutcome::kConflict);
}

// Whether an event that joins the key's group is handed out with it at once.
inline bool Admission::IsHandedOut(const Turn& turn) const noexcept {
  return options_.leading_events > 1 && groups_.CountOf(turn.number) < options_.leading_events;
}

// `inline`, here and below, asks the compiler to put these three into their callers: an event that
// opens a group takes 25 instructions less.
inline FoldOutcome Admission::JudgeNew(Turn& turn) {
  turn.starts = turn.marks.starts || IsTooOld(turn);
  if (outbox_.refuses() && (!turn.Joins(groups_) || IsHandedOut(turn))) {
    return Count(ledger_.overloaded, FoldOutcome::kOverloaded);
  }
  if (!MakeRoom(turn)) return Count(ledger_.over_limit, FoldOutcome::kOverLimit);
  if (turn.late) ++ledger_.late_folded;
  if (HasId(turn)) {
    memory_->ids().Remember(turn.name, turn.marks.content, turn.event.at, turn.now);
  }
  return turn.Joins(groups_) ? FoldOutcome::kFolded : FoldOutcome::kOpened;
}

// --- Room

// How many bytes the event takes, as far as that is known before folding.
inline size_t Admission::NeedOf(const Turn& turn) const noexcept {
  const size_t id = HasId(turn) ? Memory::kNameBytes : 0;
  if (!turn.Joins(groups_)) {
    const size_t entries = options_.edge == Edge::kTrailing ? 1 : 2;
    return id + entries * groups_.BytesOfNew(turn.event.key);
  }
  const size_t cut = IsHandedOut(turn) ? groups_.BytesOf(turn.number) : 0;
  return id + cut + (ops_.heap_bytes != nullptr ? 1 : 0);  // at least
}

// Whether the event may come in; if the limits say that others make room for it, they have.
inline bool Admission::MakeRoom(Turn& turn) {
  if (!room_.Fits(NeedOf(turn)) && !MakeRoomForBytes(turn)) return false;
  return turn.FindsOpen(groups_) || HasRoomForGroup() || MakeRoomForGroup(turn);
}

bool Admission::MakeRoomForBytes(Turn& turn) {
  return MakeRoomInBytes(turn, [&] {
    turn.FindAgain(groups_);
    return NeedOf(turn);
  });
}

// Groups that time has closed do not count as open, so here, and only here, a fold closes other
// groups: a few at a time, until there is room.
bool Admission::MakeRoomForGroup(Turn& turn) {
  while (!HasRoomForGroup() && !emitter_.CloseSomeDue(turn.at)) {
  }
  turn.FindAgain(groups_);
  if (!emits_oldest_ || HasRoomForGroup()) return HasRoomForGroup();
  if (turn.number != GroupTable::kNone) emitter_.Overtake(turn.number, turn.due_by);
  turn.number = GroupTable::kNone;
  const uint64_t order = OrderOf(turn.position, Step::kMakesRoom);
  while (!HasRoomForGroup() && emitter_.EmitOldest(order, turn.at)) {
  }
  return HasRoomForGroup();
}

// The same for bytes, of which `need()` says how many there have to be as things are.
template <class Need>
bool Admission::MakeRoomInBytes(const Turn& turn, const Need& need) {
  const bool nothing_waits = !room_.has_counted_ready();
  emitter_.CloseAllDue(turn.at);
  size_t bytes = need();
  const uint64_t order = OrderOf(turn.position, Step::kMakesRoom);
  while (emits_oldest_ && !room_.FitsWithoutReady(bytes) && emitter_.EmitOldest(order, turn.at)) {
    bytes = need();
  }
  bool fits = room_.FitsAtAll(bytes);
  // Emissions that wait now have closed for this event, which takes their room: but for the ids,
  // all that could go has gone.
  if (emits_oldest_ && nothing_waits) fits = !HasId(turn) || room_.FitsBesideMemory(bytes);
  if (!fits) ++ledger_.over_byte_limit;
  return fits;
}

}  // namespace pleat::inline v0_1
