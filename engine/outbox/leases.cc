#include "engine/outbox/leases.h"

#include <algorithm>
#include <new>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

Leases::Leases(PagePool& pool, const LeaseOptions& options, const LeaseToken& origin,
               Duration usual_ttl)
    : options_(options),
      origin_(origin),
      records_(pool, sizeof(Record), std::max(usual_ttl, Duration{1}), Records{*this}),
      waiters_(pool, sizeof(Waiter)),
      returned_(pool) {}

uint32_t Leases::NewRecord(const Held& held) {
  const uint32_t number = records_.New();
  ::new (records_.hot(number)) Record{.held = held};
  return number;
}

// From now on the record, which holds its key, is lent or delayed.
void Leases::Arm(uint32_t number, State state, LeaseTime until) {
  PLEAT_DCHECK(IsHolder(number));
  Record& record = At(number);
  record.state = state;
  record.until = until;
  records_.Arm(number);
}

// For the index, which takes its tags from bits that a short hash has not.
uint64_t Leases::Lengthen(uint32_t hash) noexcept { return hash | uint64_t{hash >> 6} << 48; }

void Leases::Hold(uint32_t number) {
  if (!At(number).fresh) ++holding_;
  records_.Index(Lengthen(At(number).held.hash), number);
}

void Leases::LetGo(uint32_t number) {
  if (!At(number).fresh) --holding_;
  records_.Unindex(number);
}

uint32_t Leases::HolderOf(const PackedKey& key, uint32_t hash) const {
  return records_.Find(Lengthen(hash),
                       [&](uint32_t number) { return *At(number).held.key == key; });
}

// --- The line behind a holder

void Leases::Wait(uint32_t holder, const Held& emission) {
  const uint32_t number = waiters_.Allocate();
  ::new (waiters_.hot(number)) Waiter{.held = emission, .next = kNone};
  Record& record = At(holder);
  (record.first == kNone ? record.first : WaiterAt(record.last).next) = number;
  record.last = number;
  ++new_;
}

Leases::Held Leases::PopWaiter(Record& holder) {
  const uint32_t number = holder.first;
  const Waiter waiter = WaiterAt(number);
  waiters_.Free(number);
  holder.first = waiter.next;
  if (holder.first == kNone) holder.last = kNone;
  return waiter.held;
}

Ready Leases::TakeFirstWaiting(uint32_t holder) {
  --new_;
  return PopWaiter(At(holder)).emission;
}

// The holder is finished; the caller looks after its record. The first of the line takes its place.
void Leases::LetNextCome(uint32_t number, const When& when) {
  LetGo(number);
  Record& record = At(number);
  uint32_t next = record.first_letter;
  if (next != kNone) {
    record.first_letter = At(next).first_letter;
    if (record.first_letter == kNone) record.last_letter = kNone;
  } else if (record.first != kNone) {
    const Held held = PopWaiter(record);
    next = NewRecord(held);
    released_.push_back({.generation = held.emission.generation, .record = next});
    std::push_heap(released_.begin(), released_.end());
  } else {
    return;
  }
  Record& successor = At(next);
  successor.first = record.first;
  successor.last = record.last;
  successor.first_letter = record.first_letter;
  successor.last_letter = record.last_letter;
  Hold(next);
  if (!successor.fresh) return Return(next, when);
  successor.state = State::kReleased;
  ++returns_;
}

// A retried dead letter comes before the released emission of its key, which goes to the front of
// the line.
void Leases::TakePlaceOf(uint32_t released, uint32_t letter) {
  Record& before = At(released);
  Record& record = At(letter);
  const uint32_t number = waiters_.Allocate();
  ::new (waiters_.hot(number)) Waiter{.held = before.held, .next = before.first};
  record.first = number;
  record.last = before.last == kNone ? number : before.last;
  LetGo(released);
  records_.Free(released);
}

const Ready* Leases::FirstReleased() {
  while (!released_.empty()) {
    const Released& first = released_.front();
    if (records_.Holds(first.record)) {
      const Record& record = At(first.record);
      if (record.state == State::kReleased && record.held.emission.generation == first.generation) {
        return &record.held.emission;
      }
    }
    std::pop_heap(released_.begin(), released_.end());
    released_.pop_back();
  }
  return nullptr;
}

Ready Leases::TakeReleased(const Instant& at) {
  const uint32_t number = released_.front().record;
  const Ready emission = At(number).held.emission;
  --new_;
  LetNextCome(number, ByCall(at));
  records_.Free(number);
  return emission;
}

Delivery Leases::LendReleased(const Instant& at, Duration ttl) {
  return LendRecord(released_.front().record, at, ttl);
}

// --- Deliveries

Delivery Leases::Lend(const Held& emission, const Instant& at, Duration ttl) {
  const uint32_t number = NewRecord(emission);
  Hold(number);
  ++new_;
  return LendRecord(number, at, ttl);
}

Delivery Leases::LendReturned(const Instant& at, Duration ttl) {
  const uint32_t number = returned_.front().record;
  returned_.PopFront();
  return LendRecord(number, at, ttl);
}

Delivery Leases::LendRecord(uint32_t number, const Instant& at, Duration ttl) {
  Record& record = At(number);
  if (record.fresh) {
    record.fresh = false;
    ++holding_;
    --new_;
    ++unacked_;
  }
  if (record.deliveries == 0) record.first_leased = at.leases;
  ttl = std::clamp(ttl, Duration::zero(), options_.max_age);
  ++record.deliveries;
  ++deliveries_;
  record.lease = last_lease_ + 1;
  Remember(record.lease);
  record.last_leased = at.leases;
  record.position = at.position;
  Arm(number, State::kLent, SaturatingAdd(at.leases, ttl));
  return {.token = TokenOf(number), .until = record.until, .deliveries = record.deliveries};
}

LeaseToken Leases::TokenOf(uint32_t number) const noexcept {
  const Record& record = At(number);
  return {.epoch = origin_.epoch,
          .lease = record.lease,
          .generation = record.held.emission.generation,
          .collection = origin_.collection,
          .partition = origin_.partition,
          .place = number};
}

// The record that the token's delivery was of, if that is the last one of its emission; else kNone.
uint32_t Leases::RecordOf(const LeaseToken& token) const noexcept {
  if (!records_.Holds(token.place)) return kNone;
  const Record& record = At(token.place);
  if (record.fresh) return kNone;
  const bool same =
      record.lease == token.lease && record.held.emission.generation == token.generation;
  return same ? token.place : kNone;
}

uint32_t Leases::LiveRecordOf(const LeaseToken& token, LeaseTime now) const noexcept {
  const uint32_t number = RecordOf(token);
  if (number == kNone) return kNone;
  const Record& record = At(number);
  return record.state == State::kLent && record.until > now ? number : kNone;
}

Ready Leases::TakeReturned(const Instant& at) {
  const uint32_t number = returned_.front().record;
  returned_.PopFront();
  const Ready emission = At(number).held.emission;
  --unacked_;
  LetNextCome(number, ByCall(at));
  records_.Free(number);
  return emission;
}

Leases::Answer Leases::Ack(const LeaseToken& token, const Instant& at) {
  const uint32_t number = LiveRecordOf(token, at.leases);
  uint64_t* const acked = AckedBy(token.lease);
  if (number == kNone) {
    const bool repeated = acked != nullptr && *acked != kNotAcked && *acked == token.generation;
    return {repeated ? LeaseOutcome::kDone : LeaseOutcome::kStale};
  }
  const Ready emission = At(number).held.emission;
  if (acked != nullptr) *acked = emission.generation;
  --unacked_;
  LetNextCome(number, ByCall(at));
  records_.Free(number);
  return {.outcome = LeaseOutcome::kDone, .over = true, .emission = emission};
}

Leases::Answer Leases::Nack(const LeaseToken& token, Duration delay, const Instant& at, Drop drop) {
  const uint32_t number = LiveRecordOf(token, at.leases);
  if (number == kNone) return {};
  if (At(number).deliveries >= options_.max_deliveries) {
    // Letters that died before this one come before.
    size_t budget = SIZE_MAX;
    Expire(at, budget, drop);
  }
  ++nacked_;
  Record& record = At(number);
  record.why = DeadReason::kNacked;
  const LeaseTime back =
      SaturatingAdd(at.leases, std::clamp(delay, Duration::zero(), options_.max_nack_delay));
  if (Dies(record)) {
    Bury(number, ByCall(at), drop);
  } else if (back <= at.leases) {
    Return(number, ByCall(at));
  } else {
    Arm(number, State::kDelayed, back);
  }
  return {delay > options_.max_nack_delay ? LeaseOutcome::kClamped : LeaseOutcome::kDone};
}

Extension Leases::Extend(const LeaseToken& token, Duration ttl, const Instant& at) {
  const uint32_t number = LiveRecordOf(token, at.leases);
  if (number == kNone) return {};
  Record& record = At(number);
  const LeaseTime wanted = SaturatingAdd(at.leases, ttl);
  const LeaseTime latest = SaturatingAdd(record.last_leased, options_.max_age);
  record.until = std::max(record.until, std::min(wanted, latest));
  ++extended_;
  return {wanted > latest ? LeaseOutcome::kClamped : LeaseOutcome::kDone, record.until};
}

// --- Coming back, or dying

void Leases::Return(uint32_t number, const When& when) {
  records_.Disarm(number);
  Record& record = At(number);
  record.state = State::kReturned;
  ++returns_;
  const Returned returned{.at = when.at,
                          .order = when.by_call ? when.position : record.position,
                          .record = number,
                          .by_call = when.by_call};
  returned_.Insert(returned,
                   [](const Returned& one, const Returned& other) { return one.IsBefore(other); });
}

// Whether the end of its delivery makes it a dead letter.
bool Leases::Dies(const Record& record) const noexcept {
  return record.deliveries >= options_.max_deliveries &&
         (dead_ < options_.max_dead_letters || options_.on_dead_limit == OnDeadLimit::kDropOldest);
}

void Leases::Bury(uint32_t number, const When& when, Drop drop) {
  if (dead_ == options_.max_dead_letters) {
    const uint32_t oldest = first_dead_;
    UnlinkDead(At(oldest));
    drop(At(oldest).held.emission);
    records_.Free(oldest);
  }
  LetNextCome(number, when);
  records_.Disarm(number);
  Record& record = At(number);
  record.state = State::kDead;
  record.died = when.at;
  record.first_letter = record.last_letter = kNone;
  record.first = kNone;
  record.last = last_dead_;
  (last_dead_ == kNone ? first_dead_ : At(last_dead_).first) = number;
  last_dead_ = number;
  --unacked_;
  ++dead_;
}

void Leases::UnlinkDead(Record& dead) {
  (dead.last == kNone ? first_dead_ : At(dead.last).first) = dead.first;
  (dead.first == kNone ? last_dead_ : At(dead.first).last) = dead.last;
  dead.first = dead.last = kNone;
  --dead_;
}

Leases::Answer Leases::TakeDead(const LeaseToken& token) {
  const uint32_t number = RecordOf(token);
  if (number == kNone || At(number).state != State::kDead) return {};
  const Ready emission = At(number).held.emission;
  UnlinkDead(At(number));
  records_.Free(number);
  return {.outcome = LeaseOutcome::kDone, .over = true, .emission = emission};
}

Leases::Answer Leases::Retry(const LeaseToken& token, const Instant& at) {
  const uint32_t number = RecordOf(token);
  if (number == kNone || At(number).state != State::kDead) return {};
  Record& record = At(number);
  UnlinkDead(record);
  record.deliveries = 0;
  ++unacked_;
  const uint32_t holder = HolderOf(*record.held.key, record.held.hash);
  if (holder != kNone && At(holder).state != State::kReleased) {
    record.state = State::kWaiting;
    Record& held = At(holder);
    (held.first_letter == kNone ? held.first_letter : At(held.last_letter).first_letter) = number;
    held.last_letter = number;
    return {LeaseOutcome::kDone};
  }
  if (holder != kNone) TakePlaceOf(holder, number);
  Hold(number);
  Return(number, ByCall(at));
  return {LeaseOutcome::kDone};
}

bool Leases::Expire(const Instant& at, size_t& budget, Drop drop) {
  return records_.ApplyDue(EngineTime(at.leases), budget, [&](const Due& due) {
    Record& record = At(due.number);
    if (record.state == State::kDelayed) return Return(due.number, ByTime(due));
    ++ran_out_;
    record.why = DeadReason::kRanOut;
    Dies(record) ? Bury(due.number, ByTime(due), drop) : Return(due.number, ByTime(due));
  });
}

bool Leases::ScanDead(uint32_t& place, size_t max, size_t& seen,
                      absl::FunctionRef<void(const Ready&, const Death&)> see) const {
  return records_.ForEachFrom(place, [&](uint32_t number) {
    const Record& record = At(number);
    if (record.state != State::kDead) return true;
    if (seen == max) return false;
    ++seen;
    see(record.held.emission, {.token = TokenOf(number),
                               .deliveries = record.deliveries,
                               .first_leased = record.first_leased,
                               .died = record.died,
                               .why = record.why});
    return true;
  });
}

void Leases::CheckWhole() const {
  size_t dead = 0;
  size_t unacked = 0;
  size_t never_out = 0;
  size_t holding = 0;
  records_.ForEach([&](uint32_t number) {
    const Record& record = At(number);
    const bool armed = record.state == State::kLent || record.state == State::kDelayed;
    PLEAT_CHECK(armed == (records_.cold(number).armed));
    dead += record.state == State::kDead;
    unacked += record.state != State::kDead && !record.fresh;
    never_out += record.fresh;
    const bool holds = record.state != State::kDead && record.state != State::kWaiting;
    PLEAT_CHECK(holds == IsHolder(number));
    if (holds) PLEAT_CHECK(HolderOf(*record.held.key, record.held.hash) == number);
    holding += holds && !record.fresh;
    for (uint32_t n = holds ? record.first : kNone; n != kNone; n = WaiterAt(n).next) ++never_out;
  });
  records_.CheckWhole();
  PLEAT_CHECK(dead == dead_ && unacked == unacked_ && never_out == new_ && holding == holding_);
  const Returned* before = nullptr;
  returned_.ForEach([&](const Returned& returned) {
    PLEAT_CHECK(At(returned.record).state == State::kReturned);
    PLEAT_CHECK(before == nullptr || !returned.IsBefore(*before));
    before = &returned;
  });
}

// --- Acked deliveries

void Leases::Remember(uint64_t lease) {
  last_lease_ = lease;
  if (acked_.size() < kRemembered) {
    acked_.push_back(kNotAcked);
  } else {
    *AckedBy(lease) = kNotAcked;
  }
}

}  // namespace pleat::inline v0_1
