#include "engine/outbox/outbox.h"

#include <tuple>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// How many leases are taken back, or emissions put in line, before others get the lock.
constexpr size_t kPerTurn = 1024;

}  // namespace

Outbox::Outbox(Pages& pool, const OutboxOptions& options, uint32_t partition,
               OutboxEntries& entries, const Listeners& listeners, TraceLog* trace)
    : options_(options),
      partition_(partition),
      pool_(pool),
      entries_(entries),
      listeners_(listeners),
      trace_(trace),
      queue_(pool) {}

void Outbox::SetOptions(const OutboxOptions& options, const Instant& at) {
  options_ = options;
  if (leases_ == nullptr) return;
  const bool could_lend = leases_->CanLendNew();
  const uint64_t returns = leases_->returns();
  leases_->SetOptions(options.leases, at.leases);
  const bool returned = leases_->returns() > returns;
  if (returned) listeners_.NoteFilled();  // before listeners are told
  if (returned || (leases_->CanLendNew() && !could_lend)) TellListeners();
}

void Outbox::ForEachEmission(absl::FunctionRef<void(const Ready&)> see) const {
  queue_.ForEach(see);
  if (leases_ != nullptr) leases_->ForEachEmission(see);
}

void Outbox::Push(Ready ready, const Instant& at) {
  const size_t behind = Insert(ready);
  if (saving_ != nullptr && queue_.size() - behind <= saving_->passed) [[unlikely]]
    ++saving_->passed;
  if (trace_ != nullptr) [[unlikely]]
    trace_->NoteReady(ready, at);
  const bool drops = options_.on_backlog == OnBacklog::kDropOldest && !passes_on_;
  if (drops && backlog() > options_.max_backlog) DropOldest(ready, at);
  NotePushed();
}

// --- Handing out

// Once in a call, so that an emission that is lent and whose lease is over at once does not go out
// twice.
bool Outbox::TakeBack(const Instant& at) {
  Budget budget(kPerTurn);
  return ExpireLeases(at, budget);
}

// The first of the queue. A batch under way may have ended groups at a time that only the batch
// knows so far: they are not final.
const Ready* Outbox::Front(EngineTime now) const noexcept {
  return queue_.empty() || queue_.front().ripe > now ? nullptr : &queue_.front();
}

Handout Outbox::NextSlowly(const Instant& at, bool lends, size_t& budget) {
  if (leases_ != nullptr) {
    if (const Leases::Returned* returned = leases_->FirstReturned()) return Handout(returned);
    if (lends && !leases_->CanLendNew()) return Handout();
  }
  for (;; --budget) {
    const Ready* const ready = Front(at.now);
    if (const Ready* requeued = RequeuedBefore(ready)) {
      return requeued->ripe > at.now ? Handout() : Handout(Handout::What::kRequeued, requeued);
    }
    if (ready == nullptr)
      return Handout(queue_.empty() ? Handout::What::kEmpty : Handout::What::kNothing);
    const uint32_t head = HeadOf(*ready);
    if (head == Leases::kNone) return Handout(Handout::What::kReady, ready);
    if (budget == 0) return Handout(Handout::What::kLater);
    PutInLine(head);
  }
}

// The first requeued emission, unless `ready` comes before in the order of emissions.
const Ready* Outbox::RequeuedBefore(const Ready* ready) {
  if (leases_ == nullptr) return nullptr;
  const Ready* const requeued = leases_->FirstRequeued();
  if (requeued == nullptr || ready == nullptr) return requeued;
  return requeued->generation < ready->generation ? requeued : nullptr;
}

bool Outbox::PassOver(const Instant& at, size_t most) {
  if (leases_ == nullptr || leases_->dead() == 0) return true;
  for (; most > 0; --most) {
    const Ready* const ready = Front(at.now);
    const uint32_t head = ready == nullptr ? Leases::kNone : HeadOf(*ready);
    if (head == Leases::kNone) return true;
    PutInLine(head);
  }
  return false;
}

// The first of the queue waits for its key.
void Outbox::PutInLine(uint32_t head) {
  PLEAT_DCHECK(head != Leases::kNone && !queue_.empty());
  leases_->Wait(head, WithKey(LeaveQueue()));
}

Leases::Keyed Outbox::WithKey(const Ready& ready) const noexcept {
  const OutboxEntries::HashedKey name = entries_.KeyOf(ready.entry);
  return {.emission = ready, .key = &name.key, .hash = name.hash};
}

uint32_t Outbox::HeadOf(const Ready& ready) const {
  if (leases_ == nullptr) return Leases::kNone;
  const OutboxEntries::HashedKey name = entries_.KeyOf(ready.entry);
  return leases_->HeadOf(name.key, name.hash);
}

// An emission that came back, or that waited for its key.
Ready Outbox::TakeLeased(const Handout& next, const Instant& at) {
  return next.what() == Handout::What::kReturned ? leases_->TakeReturned(at)
                                                 : leases_->TakeRequeued(at);
}

void Outbox::Lend(const Handout& next, const Instant& at, Duration visibility_timeout,
                  LeaseToken origin, Borrow borrow) {
  PLEAT_DCHECK(static_cast<bool>(next));
  if (leases_ == nullptr) {
    origin.partition = partition_;
    leases_ = std::make_unique<Leases>(pool_, options_.leases, origin, visibility_timeout);
    leases_->SkipAhead(leases_before_);
    leases_->SetTrace(trace_);
  }
  if (next.what() == Handout::What::kReturned) {
    const Ready ready = leases_->EmissionOf(next.returned());
    borrow(entries_.Show(ready), leases_->LendReturned(at, visibility_timeout));
  } else if (next.what() == Handout::What::kRequeued) {
    const Ready ready = next.ready();
    borrow(entries_.Show(ready), leases_->LendRequeued(at, visibility_timeout));
  } else {
    const Ready ready = TakeFront();
    borrow(entries_.Show(ready), leases_->Lend(WithKey(ready), at, visibility_timeout));
  }
}

// The backlog is one too long by `newest`: the first that never went out and whose key is free
// goes, or else the first of those that wait for the same key.
void Outbox::DropOldest(const Ready& newest, const Instant& at) {
  ++dropped_;
  for (;;) {
    const Ready* const ready = queue_.empty() ? nullptr : &queue_.front();
    if (RequeuedBefore(ready) != nullptr) return Drop(leases_->TakeRequeued(at), at);
    if (ready == nullptr) {
      return Drop(leases_->TakeFirstWaiting(HeadOf(newest)), at);
    }
    const uint32_t head = HeadOf(*ready);
    if (head == Leases::kNone) return Drop(TakeFront(), at);
    PutInLine(head);
  }
}

void Outbox::Drop(const Ready& ready, const Instant& at) {
  NoteGone(TraceStep::kDropped, {&ready, 1}, at);
  entries_.Discard(ready);
}

void Outbox::TellListeners() const noexcept {
  for (EmissionListener* listener : listeners_.all) listener->MayHaveEmissions();
}

void Outbox::TellOfDrained() const noexcept {
  for (EmissionListener* listener : listeners_.all) listener->MayBeDrained();
}

// What the queue has left may all wait behind dead letters: who looks will find out.
void Outbox::TellOfDeaths() const noexcept {
  const bool may_be_drained = options_.leases.wait_behind_dead && !queue_.empty();
  for (EmissionListener* listener : listeners_.all) {
    listener->MayHaveDeadLetters();
    if (may_be_drained) listener->MayBeDrained();
  }
}

// --- Leases

// Has `change(drop)` change the leases; then discards emissions that are over, and tells the
// listeners if emissions have become available, or dead letters.
template <class Change>
LeaseOutcome Outbox::ChangeLeases(const Change& change) {
  const uint64_t returns = leases_->returns();
  const uint64_t deaths = leases_->deaths();
  const bool could_lend = leases_->CanLendNew();
  const auto drop = [this](const Ready& dropped) {
    entries_.Discard(dropped);
    ++dropped_;
  };
  const Leases::Answer answer = change(drop);
  if (answer.over) entries_.Discard(answer.emission);
  if (leases_->returns() > returns || (leases_->CanLendNew() && !could_lend)) TellListeners();
  if (leases_->deaths() > deaths) TellOfDeaths();
  return answer.outcome;
}

bool Outbox::ExpireLeases(const Instant& at, Budget& budget) {
  if (NextLeaseDue() > at.leases) return true;
  bool all = false;
  ChangeLeases([&](Leases::Drop drop) {
    all = leases_->Expire(at, budget, drop);
    return Leases::Answer{};
  });
  return all;
}

LeaseOutcome Outbox::Ack(const LeaseToken& token, const Instant& at) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  return ChangeLeases([&](Leases::Drop) {
    const Leases::Answer answer = leases_->Ack(token, at);
    if (answer.over) ++acked_;
    return answer;
  });
}

LeaseOutcome Outbox::AckAndTake(const LeaseToken& token, const Instant& at,
                                AnyCollection::Take take) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  return ChangeLeases([&](Leases::Drop) {
    const Leases::Answer answer = leases_->Ack(token, at);
    if (!answer.over) return answer;
    ++acked_;
    GiveRun(entries_, {&answer.emission, 1}, take);
    return Leases::Answer{answer.outcome};  // nothing is left to discard
  });
}

LeaseOutcome Outbox::Nack(const LeaseToken& token, Duration delay, const Instant& at) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  return ChangeLeases([&](Leases::Drop drop) { return leases_->Nack(token, delay, at, drop); });
}

Extension Outbox::Extend(const LeaseToken& token, Duration visibility_timeout, const Instant& at) {
  return leases_ == nullptr ? Extension{} : leases_->Extend(token, visibility_timeout, at);
}

size_t Outbox::EndLeases(const Instant& at) {
  if (leases_ == nullptr) return 0;
  size_t ended = 0;
  ChangeLeases([&](Leases::Drop drop) {
    ended = leases_->EndAll(at, drop);
    return Leases::Answer{};
  });
  return ended;
}

// Leases that have run out may have become letters.

LeaseOutcome Outbox::RetryDeadLetter(const LeaseToken& token, const Instant& at) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  Budget budget;
  ExpireLeases(at, budget);
  if (leases_->dead() > 0) listeners_.NoteFilled();  // before listeners are told of the letter
  return ChangeLeases([&](Leases::Drop) { return leases_->Retry(token, at); });
}

LeaseOutcome Outbox::DropDeadLetter(const LeaseToken& token, const Instant& at) {
  if (leases_ == nullptr) return LeaseOutcome::kStale;
  Budget budget;
  ExpireLeases(at, budget);
  if (leases_->dead() > 0) listeners_.NoteFilled();  // as what waits behind the letter goes on
  return ChangeLeases([&](Leases::Drop) {
    const Leases::Answer answer = leases_->TakeDead(token, at);
    if (answer.over) ++dropped_;
    return answer;
  });
}

bool Outbox::ScanDeadLetters(uint32_t& place, size_t max, size_t& seen, SeeDead see) const {
  if (leases_ == nullptr) return true;
  return leases_->ScanDead(place, max, seen, [&](const Ready& ready, const Death& death) {
    see(entries_.Show(ready), death);
  });
}

void Outbox::AddTo(Ledger& ledger) const noexcept {
  ledger.popped += popped_;
  ledger.acked += acked_;
  ledger.dropped += dropped_;
  ledger.ready += queue_.size();
  if (leases_ == nullptr) return;
  ledger.ready += leases_->waiting();
  ledger.unacked += leases_->unacked();
  ledger.dead += leases_->dead();
  ledger.deliveries += leases_->deliveries();
  ledger.nacked += leases_->nacked();
  ledger.ran_out += leases_->ran_out();
}

void Outbox::CheckWhole() const {
  const Ready* before = nullptr;
  queue_.ForEach([&](const Ready& ready) {
    PLEAT_CHECK(ready.generation < next_generation_);
    PLEAT_CHECK(before == nullptr || !IsBefore(ready, *this, *before));
    before = &ready;
  });
  if (leases_ != nullptr) leases_->CheckWhole();
}

}  // namespace pleat::inline v0_1
