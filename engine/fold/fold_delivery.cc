// How a book hands out what has closed: for good, or lent.
#include <algorithm>
#include <limits>

#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

bool FoldBook::Before(const ReadyGroup& mine, const FoldBook& other,
                      const ReadyGroup& theirs) const noexcept {
  if (mine.ripe != theirs.ripe) return mine.ripe < theirs.ripe;
  if (mine.by_event != theirs.by_event) return theirs.by_event;
  if (mine.order != theirs.order) return mine.order < theirs.order;
  const EngineTime my_due = DueOf(hot(mine.number));
  const EngineTime their_due = other.DueOf(other.hot(theirs.number));
  if (my_due != their_due) return my_due < their_due;
  return slab_.cold(mine.number).position() < other.slab_.cold(theirs.number).position();
}

// What leaves the backlog makes room for what closes behind it, and what enters it takes room away.
// So before either, all that is due closes: once there are so many entries that it might matter.
// Likewise with what is remembered of groups that are gone. Returns whether it looked.
bool FoldBook::CatchUp(EngineTime now) {
  if (bytes_ < backlog_from_ && !MayForgetTooMuch()) return false;
  size_t budget = std::numeric_limits<size_t>::max();
  CloseDue(std::max(seen_, now), budget);
  ExpireLeases(timeline_.lease_now(), budget);
  return true;
}

// The next emission that never went out, or null.
const ReadyGroup* FoldBook::NextReady(EngineTime now) {
  seen_ = std::max(seen_, now);
  while (ready_.empty()) {
    size_t budget = 64;  // no further than the first emission needs
    if (CloseGroups(now, budget)) break;
  }
  // A batch under way may have closed groups by event at a time that it has not yet made everybody's: they
  // are not final.
  return ready_.empty() || ready_.front().ripe > now ? nullptr : &ready_.front();
}

// Once in a call, so that what is lent by it and over at once does not go out twice.
bool FoldBook::TakeBack(EngineTime now, LeaseTime lease_now) {
  CatchUp(now);
  size_t budget = 1024;
  return ExpireLeases(lease_now, budget);
}

Handout FoldBook::NextHandout(EngineTime now, bool lends) {
  const auto from_queue = [](const ReadyGroup* ready) {
    return ready == nullptr ? Handout() : Handout(Handout::What::kReady, ready);
  };
  if (leases_ == nullptr) return from_queue(NextReady(now));
  if (const Leases::Returned* returned = leases_->FirstReturned()) return Handout(returned);
  if (lends && !leases_->CanHold()) return Handout();
  for (size_t budget = 1024;; --budget) {
    const ReadyGroup* const ready = NextReady(now);
    if (const ReadyGroup* released = ReleasedBefore(ready)) {
      return released->ripe > now ? Handout() : Handout(Handout::What::kReleased, released);
    }
    const uint32_t holder = ready == nullptr ? Leases::kNone : HolderOf(*ready);
    if (holder == Leases::kNone) return from_queue(ready);
    if (budget == 0) return Handout(Handout::What::kLater);
    PutInLine(holder);
  }
}

// The first that was released, if it comes before `ready` in the order of emissions.
const ReadyGroup* FoldBook::ReleasedBefore(const ReadyGroup* ready) {
  const ReadyGroup* const released = leases_->FirstReleased();
  if (released == nullptr || ready == nullptr) return released;
  return released->generation < ready->generation ? released : nullptr;
}

// The first of the queue waits for its key.
void FoldBook::PutInLine(uint32_t holder) {
  leases_->Wait(holder, HeldOf(ready_.front()));
  ready_.PopFront();
}

ReadyGroup FoldBook::TakeReady() {
  const ReadyGroup ready = ready_.front();
  ready_.PopFront();
  if (const ReadyGroup* later = ready_.Ahead(8)) PrefetchEntry(later->number);
  return ready;
}

// An emission as others see it.
ClosedGroup FoldBook::Show(const ReadyGroup& ready) const noexcept {
  // An event that was too old for the group has closed it before its time.
  const bool too_old = ready.by_event && StepOf(ready.order) == Step::kBeforeIt;
  const bool by_time =
      !too_old && (ready.reason == Reason::kQuiet || ready.reason == Reason::kMaxHold ||
                   ready.reason == Reason::kPartial);
  ClosedGroup group;
  static_cast<GroupInfo&>(group) = InfoOf(ready.number);
  group.key = hot(ready.number).key.view();
  group.state = state(ready.number);
  group.closed = by_time ? DueOf(hot(ready.number)) : ready.ripe;
  group.reason = ready.reason;
  group.id = {.partition = partition_, .generation = ready.generation};
  if (has_extra_) {
    const Extra& extra = this->extra(ready.number);
    group.revision = extra.revision;
    group.partial = extra.kind == Extra::Kind::kLeading || extra.kind == Extra::Kind::kPartial;
    if (extra.corrects != kNothing) group.corrects = EmissionId{partition_, extra.corrects};
  }
  return group;
}

// An emission leaves the backlog; its state is still there.
void FoldBook::NoteGone(const ReadyGroup& ready) noexcept {
  const size_t heap = UncountHeap(ready.number);
  if (TracksReady()) ready_bytes_ -= BytesOfNew(hot(ready.number).key) + heap;
}

void FoldBook::Discard(const ReadyGroup& ready) noexcept {
  NoteGone(ready);
  ops_.destroy(ops_.context, state(ready.number));
  FreeGroup(ready.number);
}

void FoldBook::PopNext(const Handout& next, LeaseTime lease_now, AnyFolder::Take take) {
  const ReadyGroup ready =
      next.what() == Handout::What::kReturned   ? leases_->TakeReturned(lease_now)
      : next.what() == Handout::What::kReleased ? leases_->TakeReleased(lease_now)
                                                : TakeReady();
  NoteGone(ready);
  take(Show(ready));
  FreeGroup(ready.number);
  ++ledger_.popped;
}

void FoldBook::LendNext(const Handout& next, LeaseTime lease_now, Duration ttl, LeaseToken origin,
                        AnyFolder::Borrow borrow) {
  if (leases_ == nullptr) {
    origin.partition = partition_;
    leases_ = std::make_unique<Leases>(pool_, options_, timeline_, origin, ttl);
  }
  if (next.what() == Handout::What::kReturned) {
    const ReadyGroup ready = leases_->EmissionOf(next.returned());
    borrow(Show(ready), leases_->LendReturned(lease_now, ttl));
  } else if (next.what() == Handout::What::kReleased) {
    const ReadyGroup ready = next.ready();
    borrow(Show(ready), leases_->LendReleased(lease_now, ttl));
  } else {
    const ReadyGroup ready = TakeReady();
    borrow(Show(ready), leases_->Lend(HeldOf(ready), lease_now, ttl));
  }
}

bool FoldBook::ExpireLeases(LeaseTime lease_now, size_t& budget) {
  if (leases_ == nullptr || leases_->NextDue() > lease_now) return true;
  if (bytes_ >= backlog_from_) {
    size_t everything = std::numeric_limits<size_t>::max();
    seen_ = std::max(seen_, timeline_.now());
    CloseGroups(seen_, everything);  // what time has done before
  }
  bool all = false;
  Settle([&](Leases::Drop drop) {
    all = leases_->Expire(lease_now, budget, drop);
    return Leases::Answer{};
  });
  return all;
}

LeaseTime FoldBook::NextLeaseDue() const noexcept {
  return leases_ == nullptr ? LeaseTime(kNever) : leases_->NextDue();
}

// Has `change(drop)` change the leases and does what follows: frees what is over, and tells listeners if there is
// something to hand out that there was not before.
template <class Change>
LeaseOutcome FoldBook::Settle(const Change& change) {
  const uint64_t returns = leases_->returns();
  const bool could_hold = leases_->CanHold();
  const auto drop = [this](const ReadyGroup& dropped) {
    Discard(dropped);
    ++ledger_.dropped;
  };
  const Leases::Answer answer = change(drop);
  if (answer.over) Discard(answer.emission);
  if (leases_->returns() > returns || (leases_->CanHold() && !could_hold)) TellListeners();
  return answer.outcome;
}

LeaseOutcome FoldBook::Ack(const LeaseToken& token, LeaseTime lease_now) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  CatchUp(timeline_.now());
  return Settle([&](Leases::Drop) {
    const Leases::Answer answer = leases_->Ack(token, lease_now);
    if (answer.over) ++ledger_.acked;
    return answer;
  });
}

LeaseOutcome FoldBook::Nack(const LeaseToken& token, Duration delay, LeaseTime lease_now) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  CatchUp(timeline_.now());
  return Settle([&](Leases::Drop drop) { return leases_->Nack(token, delay, lease_now, drop); });
}

Extension FoldBook::Extend(const LeaseToken& token, Duration ttl, LeaseTime lease_now) {
  return leases_ == nullptr ? Extension{} : leases_->Extend(token, ttl, lease_now);
}

// Which letters there are depends on what has run out.

LeaseOutcome FoldBook::RetryDeadLetter(const LeaseToken& token, LeaseTime lease_now) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  CatchUp(timeline_.now());
  size_t budget = std::numeric_limits<size_t>::max();
  ExpireLeases(lease_now, budget);
  return Settle([&](Leases::Drop) { return leases_->Retry(token, lease_now); });
}

LeaseOutcome FoldBook::DropDeadLetter(const LeaseToken& token, LeaseTime lease_now) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  CatchUp(timeline_.now());
  size_t budget = std::numeric_limits<size_t>::max();
  ExpireLeases(lease_now, budget);
  return Settle([&](Leases::Drop) {
    const Leases::Answer answer = leases_->TakeDead(token);
    if (answer.over) ++ledger_.dropped;
    return answer;
  });
}

bool FoldBook::ScanDeadLetters(uint32_t& place, size_t max, LeaseTime lease_now, size_t& seen,
                               AnyFolder::SeeDead see) {
  if (leases_ == nullptr) return true;
  size_t budget = std::numeric_limits<size_t>::max();
  ExpireLeases(lease_now, budget);
  return leases_->ScanDead(place, max, seen, [&](const ReadyGroup& ready, const Death& death) {
    see(Show(ready), death);
  });
}

// The backlog is one too long by `newest`: the first that never went out and whose key is free goes, or else the
// first of those that wait for the same key.
void FoldBook::DropOldest(const ReadyGroup& newest) {
  ++ledger_.dropped;
  if (leases_ == nullptr) return Discard(TakeReady());
  for (;;) {
    const ReadyGroup* const ready = ready_.empty() ? nullptr : &ready_.front();
    if (ReleasedBefore(ready) != nullptr)
      return Discard(leases_->TakeReleased(timeline_.lease_now()));
    if (ready == nullptr) return Discard(leases_->TakeFirstWaiting(HolderOf(newest)));
    const uint32_t holder = HolderOf(*ready);
    if (holder == Leases::kNone) return Discard(TakeReady());
    PutInLine(holder);
  }
}

}  // namespace pleat::inline v0_1
