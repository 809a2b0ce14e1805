#include "engine/fold/emitter.h"

#include <algorithm>
#include <span>
#include <vector>

#include "engine/base/check.h"
#include "engine/fold/turn.h"
#include "engine/outbox/given_run.h"

namespace pleat::inline v0_1 {
namespace {

Ready ReadyOf(const Due& due) noexcept {
  return {.ripe = due.ripe,
          .order = due.order,
          .generation = 0,
          .entry = due.number,
          .by_event = due.by_event,
          .tag = due.tag};
}

}  // namespace

Emitter::Emitter(const FolderOptions& options, const StateOps& ops, uint32_t partition,
                 const Parts& parts)
    : ops_(ops),
      edge_(options.edge),
      leading_events_(options.leading_events),
      corrects_(options.late.on_late == OnLate::kCorrect),
      partition_(partition),
      latest_(parts.latest),
      groups_(parts.groups),
      memory_(parts.memory),
      observer_(parts.observer),
      room_(parts.room),
      outbox_(parts.outbox),
      ledger_(parts.ledger),
      trace_(parts.trace),
      cuts_(groups_, room_, outbox_) {
  NoteLimits();
}

void Emitter::NoteLimits() noexcept {
  closes_plainly_ =
      !groups_.has_extra() && observer_ == nullptr && trace_ == nullptr && !room_.tracks_ready();
  counts_gone_ = ops_.heap_bytes != nullptr || room_.tracks_ready();
}

// --- By time

[[gnu::flatten]] bool Emitter::CloseDue(EngineTime now, Budget& budget, const Instant& at) {
  for (;;) {
    if (closes_plainly_ && CloseRun(now, budget, at)) continue;
    Due due;
    switch (groups_.Next(now, version(), budget, due)) {
      case Deadlines::Found::kNothing: return true;
      case Deadlines::Found::kOutOfBudget: return false;
      case Deadlines::Found::kDue: break;
    }
    if (due.is_call()) {
      PassPartial(due.number, due.ripe, now, at);
      continue;
    }
    if (!due.is_filed()) due.tag = static_cast<uint8_t>(groups_.ReasonByTime(due.number));
    Leave(due.number);
    Push(due, at);
  }
}

bool Emitter::CloseUpTo(size_t& most, const Instant& at) {
  if (groups_.NextDue() > latest_.now()) return true;
  while (most > 0) {
    Budget looks(most);  // each finds one emission, or none
    const uint64_t before = ledger_.closed + ledger_.partial;
    const bool all = CloseDue(latest_.now(), looks, at);
    most -= ledger_.closed + ledger_.partial - before;
    if (all) return true;
  }
  return false;
}

// Ends groups of which it is known that they come next, all in a row, and calls `each(ready)` for
// them. Returns how many.
template <class Each>
size_t Emitter::EndRun(size_t max, EngineTime now, Budget& budget, const Each& each) {
  const std::span<const Due> run = groups_.Run(now, version(), max, budget);
  for (auto due = run.rbegin(); due != run.rend(); ++due) {
    const Reason reason = groups_.EndByTime(due->number);
    ++ledger_.emissions[IndexOf(reason)];
    each(Ready{.ripe = due->ripe,
               .order = due->order,
               .generation = 0,
               .entry = due->number,
               .by_event = false,
               .tag = static_cast<uint8_t>(reason)});
  }
  ledger_.open -= run.size();
  ledger_.closed += run.size();
  groups_.DropRun(run.size());
  return run.size();
}

// Returns whether there are any such groups.
bool Emitter::CloseRun(EngineTime now, Budget& budget, const Instant& at) {
  if (groups_.saving() || !outbox_.can_push_many()) [[unlikely]]
    return false;
  const size_t ended =
      EndRun(kGivenMax, now, budget, [&](const Ready& ready) { outbox_.PushOne(ready, at); });
  if (ended == 0) return false;
  outbox_.NotePushed();
  return true;
}

[[gnu::flatten]] size_t Emitter::PopDue(const Instant& at, size_t max, AnyCollection::Take take) {
  if (!closes_plainly_ || groups_.saving()) return 0;
  Budget budget;
  size_t popped = 0;
  while (popped < max) {
    Ready run[kGivenMax];
    size_t size = 0;
    EndRun(std::min(max - popped, kGivenMax), at.now, budget,
           [&](const Ready& ready) { run[size++] = outbox_.PassOne(ready, at); });
    if (size == 0) break;
    GiveRun(*this, {run, size}, take);
    popped += size;
  }
  return popped;
}

bool Emitter::CloseAndForget(EngineTime now, Budget& budget, const Instant& at) {
  return CloseDue(now, budget, at) && (memory_ == nullptr || memory_->Forget(now, budget));
}

void Emitter::CloseAllDue(const Instant& at) {
  Budget budget;
  CloseAndForget(latest_.now(), budget, at);
  ++changes_;
}

bool Emitter::CloseSomeDue(const Instant& at) {
  size_t most = 64;
  const bool all = CloseUpTo(most, at);
  ++changes_;
  return all;
}

// Time has reached an instant of the group's grid, if the group is not due by then. If there is no
// room for a cut, nothing happens up to `until` that could make room, so that no instant until then
// need be tried.
void Emitter::PassPartial(uint32_t number, EngineTime instant, EngineTime until,
                          const Instant& at) {
  if (instant >= groups_.DueOf(number)) return;
  if (const uint32_t cut = cuts_.CutPartial(number); cut != kNone) {
    Push({.ripe = instant,
          .order = groups_.position(number),
          .number = cut,
          .by_event = false,
          .tag = static_cast<uint8_t>(Reason::kPartial)},
         at);
  }
  cuts_.PassTo(number, std::max(instant, until));
  groups_.CallForPartial(number, until);
}

// --- By an event or a call

Due Emitter::EndedNow(uint32_t number, Reason reason, uint64_t order) const noexcept {
  return {.ripe = latest_.now(),
          .order = order,
          .number = number,
          .by_event = true,
          .tag = static_cast<uint8_t>(reason)};
}

void Emitter::End(uint32_t number, Reason reason, uint64_t order, const Instant& at) {
  NoteLeft(number);
  groups_.End(number);
  ++changes_;
  PushInOrder(EndedNow(number, reason, order), at);
}

// An entry that is given out before its time. An overtaken group ended by time already; only its
// turn had not come.
Due Emitter::EndedEarly(const Due& due, Reason reason, uint64_t order) const noexcept {
  if (due.is_filed()) return EndedNow(due.number, static_cast<Reason>(due.tag), order);
  const bool indexed = groups_.indexed(due.number);
  return EndedNow(due.number, indexed ? reason : groups_.ReasonByTime(due.number), order);
}

void Emitter::BeginClosing(uint64_t order, const Instant& at) {
  Budget budget;
  CloseDue(latest_.now(), budget, at);
  ++changes_;
  closing_ = true;
  closing_order_ = order;
}

bool Emitter::EndNext(size_t most, const Instant& at) {
  Budget budget;
  while (most > 0) {
    Due due;
    if (groups_.Next(kNever, version(), budget, due) != Deadlines::Found::kDue) return true;
    if (due.is_call()) continue;  // no instant of a grid comes any more
    const Due ended = EndedEarly(due, Reason::kEnd, closing_order_);
    Leave(ended.number);
    Push(ended, at);
    --most;
  }
  return false;
}

void Emitter::FinishClosing(const Instant& at) {
  CloseNext(SIZE_MAX, at);
  if (closing_) groups_.BeginDeadlinesAnew();
  closing_ = false;
  ++changes_;
}

void Emitter::EndSome(absl::FunctionRef<std::optional<Reason>(uint32_t number)> reason_of,
                      uint64_t order, const Instant& at) {
  ++changes_;
  std::vector<Ending> ending;
  uint32_t place = 0;
  groups_.ForEachIndexedFrom(place, [&](uint32_t number) {
    if (const std::optional<Reason> reason = reason_of(number)) {
      ending.push_back({.rank = {groups_.DueOf(number), groups_.position(number)},
                        .number = number,
                        .reason = *reason});
    }
    return true;
  });
  std::ranges::sort(ending, {}, &Ending::rank);
  for (const Ending& each : ending) {
    NoteLeft(each.number);
    groups_.End(each.number);
    Push(EndedNow(each.number, each.reason, order), at);
  }
}

bool Emitter::EmitOldest(uint64_t order, const Instant& at) {
  groups_.CallAll(latest_.now());
  Due due;
  Budget budget;
  Deadlines::Found found;
  do {
    found = groups_.Next(kNever, version(), budget, due);
  } while (found == Deadlines::Found::kDue && due.is_call() &&
           due.ripe >= groups_.DueOf(due.number));
  ++changes_;
  if (found != Deadlines::Found::kDue) return false;
  if (due.is_call()) {
    NoteLeft(due.number);
    groups_.End(due.number);
    // Among those that close for one event the group has its place by that instant.
    GroupTable::ExtraOf(groups_.ChangeKept(due.number)).quiet_due = due.ripe;
    due = EndedNow(due.number, Reason::kLimit, order);
  } else if (!due.by_event) {
    due = EndedEarly(due, Reason::kLimit, order);
  }
  Leave(due.number);
  Push(due, at);
  return true;
}

void Emitter::Overtake(uint32_t number, EngineTime due_by) {
  CutBefore(number, due_by);
  if (groups_.has_extra()) cuts_.Stop(number);
  Leave(number);
}

void Emitter::ArmEarlier(uint32_t number, uint64_t hash) {
  groups_.ArmEarlier(number, hash, latest_.now());
  ++changes_;
}

void Emitter::Cancel(uint32_t number, const Instant& at) {
  if (trace_ != nullptr) [[unlikely]]
    NoteGroup(TraceStep::kCancelled, number, latest_.now(), at);
  NoteLeft(number);
  groups_.End(number);
  ++changes_;
  groups_.DestroyState(number);
  groups_.Free(number);
  --ledger_.open;
  ++ledger_.cancelled;
  if (observer_ != nullptr) observer_->NoteCancelled();
}

void Emitter::EmitLeading(uint32_t number, uint64_t order, const Instant& at) {
  if (edge_ == Edge::kTrailing) return;
  PushInOrder(EndedNow(cuts_.CutLeading(number), Reason::kLeading, order), at);
}

void Emitter::EmitCorrection(uint32_t number, uint64_t order, const Instant& at) {
  Push(EndedNow(number, Reason::kCorrection, order), at);
}

// --- Into the outbox

void Emitter::Leave(uint32_t number) {
  if (!groups_.indexed(number)) return;
  NoteLeft(number);
  groups_.Unindex(number);
}

void Emitter::NoteLeft(uint32_t number) {
  if (observer_ != nullptr) observer_->NoteLeft(groups_, number, latest_.now(), groups_.bytes());
}

// Whether an emission by time waits that nobody has visited. What is found must not depend on which
// references of deadlines are old, because a snapshot has none of them.
bool Emitter::AnyIsDue(const Instant& at) {
  const EngineTime now = latest_.now();
  if (groups_.NextDue() > now) return false;
  Budget all;
  for (Due due; groups_.Peek(now, version(), all, due) == Deadlines::Found::kDue;) {
    const bool is_idle =
        due.is_call() && due.ripe < groups_.DueOf(due.number) && !groups_.extra(due.number).changed;
    if (!is_idle) return true;
    groups_.Next(now, version(), all, due);
    PassPartial(due.number, due.ripe, now, at);  // of a group in which nothing has changed
  }
  return false;
}

void Emitter::PushInOrder(const Due& due, const Instant& at) {
  AnyIsDue(at) ? groups_.File(due) : Push(due, at);
}

void Emitter::Push(const Due& due, const Instant& at) {
  PLEAT_DCHECK(!groups_.indexed(due.number));
  if (!groups_.IsGroup(due.number)) return PushEmission(due, at);
  --ledger_.open;
  ++ledger_.closed;
  if (observer_ != nullptr) observer_->NoteClosed(groups_.at(due.number));
  if (!IsSilent(due.number)) return PushEmission(due, at);
  ++ledger_.silent;
  if (trace_ != nullptr) [[unlikely]]
    trace_->NoteSilent(ReadyOf(due), at);
  groups_.DestroyState(due.number);
  groups_.Free(due.number);
}

void Emitter::NoteGroup(TraceStep step, uint32_t number, EngineTime when, const Instant& at) {
  trace_->NoteGroup(step, groups_.position(number), groups_.at(number).key.view(),
                    groups_.InfoOf(number), when, at);
}

// Whether the leading emission has said all.
bool Emitter::IsSilent(uint32_t number) const noexcept {
  return edge_ == Edge::kLeading ||
         (edge_ == Edge::kBoth && groups_.CountOf(number) <= leading_events_);
}

void Emitter::PushEmission(const Due& due, const Instant& at) {
  PLEAT_DCHECK(due.ripe <= latest_.now() && due.tag != 0);
  ++ledger_.emissions[IndexOf(static_cast<Reason>(due.tag))];
  if (observer_ != nullptr) observer_->NoteEmission(groups_.CountOf(due.number));
  if (room_.tracks_ready()) room_.NoteReady(groups_.BytesOf(due.number));
  if (groups_.has_extra()) NoteRevision(due);
  outbox_.Push(ReadyOf(due), at);
}

void Emitter::NoteRevision(const Due& due) {
  Extra& extra = GroupTable::ExtraOf(groups_.ChangeKept(due.number));
  if (extra.kind == Kind::kGroup) ++extra.revision;
  if (extra.kind == Kind::kLeading || extra.kind == Kind::kPartial) ++ledger_.partial;
  if (extra.kind == Kind::kCorrection || !corrects_) return;
  memory_->RememberEmission(groups_.at(due.number).key, outbox_.next_generation(), due.ripe,
                            latest_.now(), groups_.bytes());
}

// --- Emissions

// An event or a call may have found that the group was due already.
EngineTime Emitter::ClosedByEvent(const Ready& ready) const noexcept {
  const auto reason = static_cast<Reason>(ready.tag);
  // An event that was too old for the group has closed the group before its time.
  const bool too_old = StepOf(ready.order) == Step::kBeforeIt;
  const bool by_time = !too_old && (reason == Reason::kQuiet || reason == Reason::kMaxWait ||
                                    reason == Reason::kClosingTime || reason == Reason::kPartial);
  return by_time ? groups_.DecidedDueOf(ready.entry) : ready.ripe;
}

// `shown` is new. The arguments are known before it is made: so the compiler sees that nobody reads the
// members' first values, and does not write them.
[[gnu::always_inline]] inline void Emitter::FillIn(ClosedGroup& shown, EngineTime closed,
                                                   std::string_view key, const GroupInfo& info,
                                                   const Ready& ready,
                                                   const GroupTable::Parts& parts) const noexcept {
  shown.count = info.count;
  shown.first = info.first;
  shown.last = info.last;
  shown.closed = closed;
  shown.reason = static_cast<Reason>(ready.tag);
  shown.id.partition = partition_;
  shown.id.generation = ready.generation;
  shown.key = key;
  shown.state = groups_.StateOf(groups_.ChangeKept(parts.number, parts.group));
  if (groups_.has_extra()) {
    const Extra& extra = groups_.extra(parts.number);
    shown.revision = extra.revision;
    shown.partial = extra.kind == Kind::kLeading || extra.kind == Kind::kPartial;
    if (extra.corrects != GroupTable::kNothing) {
      shown.corrects = EmissionId{partition_, extra.corrects};
    }
  }
}

ClosedGroup Emitter::Show(const Ready& ready, const GroupTable::Parts& parts) const noexcept {
  const EngineTime closed = ClosedAt(ready);
  const std::string_view key = parts.group.key.view();
  const GroupInfo info = groups_.InfoOf(parts);
  ClosedGroup shown;
  FillIn(shown, closed, key, info, ready, parts);
  return shown;
}

void Emitter::ShowGiven(const Ready& ready, const GroupTable::Parts& parts,
                        ClosedGroup* place) const noexcept {
  const EngineTime closed = ClosedAt(ready);
  const std::string_view key = parts.group.key.view();
  const GroupInfo info = groups_.InfoOf(parts);
  FillIn(*::new (place) ClosedGroup, closed, key, info, ready, parts);
}

// An emission leaves for good; its state is still there. Only for folders that count more than
// their entries.
void Emitter::UncountGone(uint32_t number) noexcept {
  const size_t heap = groups_.UncountHeap(number);
  if (room_.tracks_ready()) room_.NoteGone(groups_.BytesOfNew(groups_.at(number).key) + heap);
}

[[gnu::flatten]] size_t Emitter::PopQueue(const Instant& at, size_t max, AnyCollection::Take take) {
  return outbox_.PopQueue(*this, at, max, take);
}

void Emitter::Discard(const Ready& ready) noexcept {
  if (counts_gone_) UncountGone(ready.entry);
  ops_.destroy(ops_.context, groups_.StateOf(groups_.ChangeKept(ready.entry)));
  groups_.Free(ready.entry);
}

}  // namespace pleat::inline v0_1
