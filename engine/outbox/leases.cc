#include "engine/outbox/leases.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

Leases::Leases(Pages& pool, const LeaseOptions& options, const LeaseToken& origin,
               Duration usual_timeout)
    : options_(options),
      origin_(origin),
      usual_timeout_(std::max(usual_timeout, Duration{1})),
      records_(pool, sizeof(Record), usual_timeout_, Records{*this}),
      waiters_(pool, sizeof(Waiter)),
      returned_(pool) {}

uint32_t Leases::NewRecord(const Keyed& keyed) {
  const uint32_t number = records_.New();
  ::new (records_.hot(number)) Record{.keyed = keyed};
  At(number).keyed.in_line = 0;
  return number;
}

// From now on the record, a head, is lent or delayed.
void Leases::Arm(uint32_t number, State state, LeaseTime until) {
  PLEAT_DCHECK(IsHead(number));
  Record& record = At(number);
  record.state = state;
  record.until = until;
  records_.Arm(number);
}

// For the index, which takes its tags from bits that a short hash has not.
uint64_t Leases::Lengthen(uint32_t hash) noexcept { return hash | uint64_t{hash >> 6} << 48; }

void Leases::PutAtHead(uint32_t number) {
  if (IsInFlight(At(number))) ++in_flight_;
  records_.Index(Lengthen(At(number).keyed.hash), number);
}

void Leases::TakeFromHead(uint32_t number) {
  if (IsInFlight(At(number))) --in_flight_;
  records_.Unindex(number);
}

uint32_t Leases::HeadOf(const PackedKey& key, uint32_t hash) const {
  return records_.Find(Lengthen(hash),
                       [&](uint32_t number) { return *At(number).keyed.key == key; });
}

// --- The line of a key

void Leases::Wait(uint32_t head, const Keyed& emission) {
  const uint32_t number = waiters_.Allocate();
  ::new (waiters_.hot(number)) Waiter{.keyed = emission, .next = kNone};
  Record& record = At(head);
  (record.first == kNone ? record.first : WaiterAt(record.last).next) = number;
  record.last = number;
  CountIntoLine(record);
  ++new_;
}

Leases::Keyed Leases::PopWaiter(Record& head) {
  const uint32_t number = head.first;
  const Waiter waiter = WaiterAt(number);
  waiters_.Free(number);
  head.first = waiter.next;
  if (head.first == kNone) head.last = kNone;
  CountOutOfLine(head);
  return waiter.keyed;
}

Ready Leases::TakeFirstWaiting(uint32_t head) {
  --new_;
  return PopWaiter(At(head)).emission;
}

// A head is finished, and the caller looks after its record. The next of the line becomes the head.
void Leases::LetNextCome(uint32_t number, const When& when) {
  TakeFromHead(number);
  Record& record = At(number);
  if (record.state == State::kHolding) LetGo(record);
  uint32_t next = record.first_letter;
  if (next != kNone) {
    record.first_letter = At(next).first_letter;
    if (record.first_letter == kNone) record.last_letter = kNone;
    --record.keyed.in_line;
  } else if (record.first != kNone) {
    const Keyed next_in_line = PopWaiter(record);
    next = NewRecord(next_in_line);
    requeued_.push_back({.generation = next_in_line.emission.generation, .record = next});
    std::push_heap(requeued_.begin(), requeued_.end());
  } else {
    return;
  }
  Record& successor = At(next);
  successor.keyed.in_line = std::exchange(record.keyed.in_line, 0);
  successor.first = std::exchange(record.first, kNone);
  successor.last = std::exchange(record.last, kNone);
  successor.first_letter = std::exchange(record.first_letter, kNone);
  successor.last_letter = std::exchange(record.last_letter, kNone);
  PutAtHead(next);
  if (!successor.fresh) return Return(next, when);
  successor.state = State::kRequeued;
  ++returns_;
}

// A retried dead letter becomes the head of its key. The requeued emission that was the head goes
// back to the front of the line.
void Leases::TakePlaceOf(uint32_t requeued, uint32_t letter) {
  Record& before = At(requeued);
  Record& record = At(letter);
  const uint32_t number = waiters_.Allocate();
  ::new (waiters_.hot(number)) Waiter{.keyed = before.keyed, .next = before.first};
  record.first = number;
  record.last = before.last == kNone ? number : before.last;
  record.keyed.in_line = before.keyed.in_line + 1;
  TakeFromHead(requeued);
  records_.Free(requeued);
}

void Leases::PutLetterInLine(Record& head, uint32_t letter) {
  (head.first_letter == kNone ? head.first_letter : At(head.last_letter).first_letter) = letter;
  head.last_letter = letter;
  CountIntoLine(head);
}

// A head that dies stays the head.
void Leases::Hold(Record& letter) noexcept {
  letter.state = State::kHolding;
  --in_flight_;
  behind_dead_ += letter.keyed.in_line;
}

// Its line waits for no dead letter any more. The caller looks after line and head.
void Leases::LetGo(Record& letter) noexcept {
  letter.state = State::kDead;
  behind_dead_ -= letter.keyed.in_line;
}

// As if time had ended what held the keys: what was lent before goes first.
void Leases::SetOptions(const LeaseOptions& options, LeaseTime now) {
  options_ = options;
  if (options.wait_behind_dead) return;
  const When when{.at = now, .position = 0, .by_call = false};
  for (uint32_t n = first_dead_; n != kNone; n = At(n).younger) {
    if (At(n).state == State::kHolding) LetNextCome(n, when);
  }
}

const Ready* Leases::FirstRequeued() {
  while (!requeued_.empty()) {
    const Requeued& first = requeued_.front();
    if (records_.Holds(first.record)) {
      const Record& record = At(first.record);
      if (record.state == State::kRequeued &&
          record.keyed.emission.generation == first.generation) {
        return &record.keyed.emission;
      }
    }
    std::pop_heap(requeued_.begin(), requeued_.end());
    requeued_.pop_back();
  }
  return nullptr;
}

Ready Leases::TakeRequeued(const Instant& at) {
  const uint32_t number = requeued_.front().record;
  const Ready emission = At(number).keyed.emission;
  --new_;
  LetNextCome(number, ByCall(at));
  records_.Free(number);
  return emission;
}

Delivery Leases::LendRequeued(const Instant& at, Duration visibility_timeout) {
  return LendRecord(requeued_.front().record, at, visibility_timeout);
}

// --- Deliveries

Delivery Leases::Lend(const Keyed& emission, const Instant& at, Duration visibility_timeout) {
  const uint32_t number = NewRecord(emission);
  PutAtHead(number);
  ++new_;
  return LendRecord(number, at, visibility_timeout);
}

Delivery Leases::LendReturned(const Instant& at, Duration visibility_timeout) {
  const uint32_t number = returned_.front().record;
  returned_.PopFront();
  return LendRecord(number, at, visibility_timeout);
}

Delivery Leases::LendRecord(uint32_t number, const Instant& at, Duration visibility_timeout) {
  Record& record = At(number);
  if (record.fresh) {
    record.fresh = false;
    ++in_flight_;
    --new_;
    ++unacked_;
  }
  if (record.deliveries == 0) record.first_leased = at.leases;
  visibility_timeout = std::clamp(visibility_timeout, Duration::zero(), options_.max_age);
  ++record.deliveries;
  ++counts_.deliveries;
  record.lease = acked_.Begin();
  record.last_leased = at.leases;
  record.position = at.position;
  NoteStep(TraceStep::kLent, record, at.leases, at);
  Arm(number, State::kLent, SaturatingAdd(at.leases, visibility_timeout));
  return {.token = TokenOf(number), .until = record.until, .deliveries = record.deliveries};
}

LeaseToken Leases::TokenOf(uint32_t number) const noexcept {
  const Record& record = At(number);
  return {.epoch = origin_.epoch,
          .lease = record.lease,
          .generation = record.keyed.emission.generation,
          .collection = origin_.collection,
          .partition = origin_.partition,
          .place = number};
}

// The record that the token's delivery was of, if that is the last one of its emission; else kNone.
[[gnu::always_inline]] inline uint32_t Leases::RecordOf(const LeaseToken& token) const noexcept {
  if (!records_.Holds(token.place)) return kNone;
  const Record& record = At(token.place);
  if (record.fresh) return kNone;
  const bool same =
      record.lease == token.lease && record.keyed.emission.generation == token.generation;
  return same ? token.place : kNone;
}

[[gnu::always_inline]] inline uint32_t Leases::LiveRecordOf(const LeaseToken& token,
                                                            LeaseTime now) const noexcept {
  const uint32_t number = RecordOf(token);
  if (number == kNone) return kNone;
  const Record& record = At(number);
  return record.state == State::kLent && record.until > now ? number : kNone;
}

Ready Leases::TakeReturned(const Instant& at) {
  const uint32_t number = returned_.front().record;
  returned_.PopFront();
  const Ready emission = At(number).keyed.emission;
  --unacked_;
  LetNextCome(number, ByCall(at));
  records_.Free(number);
  return emission;
}

Leases::Answer Leases::Ack(const LeaseToken& token, const Instant& at) {
  const uint32_t number = LiveRecordOf(token, at.leases);
  uint64_t* const acked = acked_.AckedBy(token.lease);
  if (number == kNone) {
    const bool repeated =
        acked != nullptr && *acked != AckedDeliveries::kNotAcked && *acked == token.generation;
    return {repeated ? LeaseOutcome::kDone : LeaseOutcome::kStale};
  }
  const Ready emission = At(number).keyed.emission;
  NoteStep(TraceStep::kAcked, At(number), at.leases, at);
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
    Budget budget;
    Expire(at, budget, drop);
  }
  ++counts_.nacked;
  Record& record = At(number);
  record.why = DeadReason::kNacked;
  NoteStep(TraceStep::kNacked, record, at.leases, at);
  const LeaseTime back =
      SaturatingAdd(at.leases, std::clamp(delay, Duration::zero(), options_.max_nack_delay));
  if (Dies(record)) {
    Bury(number, ByCall(at), at, drop);
  } else if (back <= at.leases) {
    Return(number, ByCall(at));
  } else {
    Arm(number, State::kDelayed, back);
  }
  return {delay > options_.max_nack_delay ? LeaseOutcome::kClamped : LeaseOutcome::kDone};
}

Extension Leases::Extend(const LeaseToken& token, Duration visibility_timeout, const Instant& at) {
  const uint32_t number = LiveRecordOf(token, at.leases);
  if (number == kNone) return {};
  Record& record = At(number);
  const LeaseTime wanted = SaturatingAdd(at.leases, visibility_timeout);
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

// Whether the end of this delivery makes the emission a dead letter.
bool Leases::Dies(const Record& record) const noexcept {
  return record.deliveries >= options_.max_deliveries &&
         (dead_ < options_.max_dead_letters || options_.on_dead_limit == OnDeadLimit::kDropOldest);
}

void Leases::Bury(uint32_t number, const When& when, const Instant& at, Drop drop) {
  if (dead_ >= options_.max_dead_letters) {
    const uint32_t oldest = first_dead_;
    if (At(oldest).state == State::kHolding) LetNextCome(oldest, when);
    UnlinkDead(At(oldest));
    NoteStep(TraceStep::kDropped, At(oldest), when.at, at);
    drop(At(oldest).keyed.emission);
    records_.Free(oldest);
  }
  Record& record = At(number);
  if (options_.wait_behind_dead) {
    Hold(record);
  } else {
    LetNextCome(number, when);
    record.state = State::kDead;
  }
  records_.Disarm(number);
  record.died = when.at;
  NoteStep(TraceStep::kDead, record, when.at, at);
  LinkDead(number);
  --unacked_;
  ++dead_;
  ++counts_.deaths;
}

// As the youngest.
void Leases::LinkDead(uint32_t number) {
  At(number).older = last_dead_;
  (last_dead_ == kNone ? first_dead_ : At(last_dead_).younger) = number;
  last_dead_ = number;
}

void Leases::UnlinkDead(Record& dead) {
  (dead.older == kNone ? first_dead_ : At(dead.older).younger) = dead.younger;
  (dead.younger == kNone ? last_dead_ : At(dead.younger).older) = dead.older;
  dead.younger = dead.older = kNone;
  --dead_;
}

Leases::Answer Leases::TakeDead(const LeaseToken& token, const Instant& at) {
  const uint32_t number = RecordOf(token);
  if (number == kNone || !IsDead(At(number).state)) return {};
  const Ready emission = At(number).keyed.emission;
  NoteStep(TraceStep::kDropped, At(number), at.leases, at);
  if (At(number).state == State::kHolding) LetNextCome(number, ByCall(at));
  UnlinkDead(At(number));
  records_.Free(number);
  return {.outcome = LeaseOutcome::kDone, .over = true, .emission = emission};
}

Leases::Answer Leases::Retry(const LeaseToken& token, const Instant& at) {
  const uint32_t number = RecordOf(token);
  if (number == kNone || !IsDead(At(number).state)) return {};
  Record& record = At(number);
  UnlinkDead(record);
  NoteStep(TraceStep::kRetried, record, at.leases, at);
  record.deliveries = 0;
  ++unacked_;
  if (record.state == State::kHolding) {
    LetGo(record);
    ++in_flight_;
    Return(number, ByCall(at));
    return {LeaseOutcome::kDone};
  }
  const uint32_t head = HeadOf(*record.keyed.key, record.keyed.hash);
  if (head != kNone && At(head).state != State::kRequeued) {
    record.state = State::kWaiting;
    PutLetterInLine(At(head), number);
    return {LeaseOutcome::kDone};
  }
  if (head != kNone) TakePlaceOf(head, number);
  PutAtHead(number);
  Return(number, ByCall(at));
  return {LeaseOutcome::kDone};
}

bool Leases::Expire(const Instant& at, Budget& budget, Drop drop) {
  return records_.ApplyDue(EngineTime(at.leases), budget, [&](const Due& due) {
    Record& record = At(due.number);
    if (record.state == State::kDelayed) return Return(due.number, ByTime(due));
    ++counts_.ran_out;
    record.why = DeadReason::kRanOut;
    NoteStep(TraceStep::kRanOut, record, record.until, at);
    Dies(record) ? Bury(due.number, ByTime(due), at, drop) : Return(due.number, ByTime(due));
  });
}

size_t Leases::EndAll(const Instant& at, Drop drop) {
  const uint64_t before = counts_.ran_out;
  records_.ForEach([&](uint32_t number) {
    const Record& record = At(number);
    if (record.state != State::kLent || record.until <= at.leases) return;
    Arm(number, State::kLent, at.leases);
  });
  Budget budget;
  Expire(at, budget, drop);
  return counts_.ran_out - before;
}

bool Leases::ScanDead(uint32_t& place, size_t max, size_t& seen,
                      absl::FunctionRef<void(const Ready&, const Death&)> see) const {
  return records_.ForEachFrom(place, [&](uint32_t number) {
    const Record& record = At(number);
    if (!IsDead(record.state)) return true;
    if (seen == max) return false;
    ++seen;
    see(record.keyed.emission, {.token = TokenOf(number),
                                .deliveries = record.deliveries,
                                .first_leased = record.first_leased,
                                .died = record.died,
                                .why = record.why});
    return true;
  });
}

void Leases::ForEachEmission(absl::FunctionRef<void(const Ready&)> see) const {
  records_.ForEach([&](uint32_t number) {
    const Record& record = At(number);
    see(record.keyed.emission);
    if (!IsHead(number)) return;
    for (uint32_t n = record.first; n != kNone; n = WaiterAt(n).next) {
      see(WaiterAt(n).keyed.emission);
    }
  });
}

void Leases::CheckWhole() const {
  size_t dead = 0;
  size_t unacked = 0;
  size_t never_out = 0;
  size_t in_flight = 0;
  size_t behind_dead = 0;
  records_.ForEach([&](uint32_t number) {
    const Record& record = At(number);
    const bool armed = record.state == State::kLent || record.state == State::kDelayed;
    PLEAT_CHECK(armed == (records_.cold(number).armed));
    dead += IsDead(record.state);
    unacked += !IsDead(record.state) && !record.fresh;
    never_out += record.fresh;
    const bool leads = record.state != State::kDead && record.state != State::kWaiting;
    PLEAT_CHECK(leads == IsHead(number));
    if (leads) PLEAT_CHECK(HeadOf(*record.keyed.key, record.keyed.hash) == number);
    if (!leads) return;
    in_flight += IsInFlight(record);
    size_t in_line = 0;
    for (uint32_t n = record.first; n != kNone; n = WaiterAt(n).next) ++in_line;
    never_out += in_line;
    for (uint32_t n = record.first_letter; n != kNone; n = At(n).first_letter) ++in_line;
    PLEAT_CHECK(in_line == record.keyed.in_line);
    if (record.state == State::kHolding) behind_dead += in_line;
  });
  records_.CheckWhole();
  PLEAT_CHECK(dead == dead_ && unacked == unacked_ && never_out == new_ && in_flight == in_flight_);
  PLEAT_CHECK(behind_dead == behind_dead_);
  const Returned* before = nullptr;
  returned_.ForEach([&](const Returned& returned) {
    PLEAT_CHECK(At(returned.record).state == State::kReturned);
    PLEAT_CHECK(before == nullptr || !returned.IsBefore(*before));
    before = &returned;
  });
}

}  // namespace pleat::inline v0_1
