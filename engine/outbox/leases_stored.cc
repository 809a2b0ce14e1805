// Leases as bytes. Records keep their numbers, so that tokens of before find them.
#include <algorithm>
#include <new>
#include <set>

#include "engine/base/read_fields.h"
#include "engine/outbox/leases.h"

namespace pleat::inline v0_1 {

// --- Writing

void Leases::Save(FieldWriter& out, const OutboxEntries& entries) const {
  out(origin_.epoch, origin_.collection, usual_timeout_);
  out(acked_.last(), returns_, counts_.deliveries, counts_.nacked, counts_.ran_out, extended_);
  size_t records = 0;
  records_.ForEach([&](uint32_t) { ++records; });
  out.PutNumber(records);
  records_.ForEach([&](uint32_t number) { SaveRecord(out, number, entries); });
  SaveLists(out);
}

void Leases::SaveRecord(FieldWriter& out, uint32_t number, const OutboxEntries& entries) const {
  const Record& record = At(number);
  out(number, record.lease, record.position, record.until, record.first_leased, record.last_leased,
      record.died, record.deliveries, record.state, record.fresh, record.why);
  entries.Save(out, record.keyed.emission);
  if (!IsHead(number)) return;
  size_t waiters = 0;
  for (uint32_t n = record.first; n != kNone; n = WaiterAt(n).next) ++waiters;
  out.PutNumber(waiters);
  for (uint32_t n = record.first; n != kNone; n = WaiterAt(n).next) {
    entries.Save(out, WaiterAt(n).keyed.emission);
  }
}

// The orders that records stand in: by number, behind the count of each list.
void Leases::SaveLists(FieldWriter& out) const {
  out.PutNumber(returned_.size());
  returned_.ForEach([&](const Returned& returned) {
    out(returned.at, returned.order, returned.record, returned.by_call);
  });
  out.PutNumber(dead_);
  for (uint32_t n = first_dead_; n != kNone; n = At(n).younger) out.PutNumber(n);
  records_.ForEach([&](uint32_t number) {
    if (!IsHead(number)) return;
    for (uint32_t n = At(number).first_letter; n != kNone; n = At(n).first_letter) {
      out(number, n);
    }
  });
  acked_.Save(out);
}

// --- Reading

std::unique_ptr<Leases> Leases::Load(FieldReader& in, Pages& pool, const LeaseOptions& options,
                                     uint32_t partition, OutboxEntries& entries) {
  LeaseToken origin;
  origin.partition = partition;
  Duration usual_timeout{};
  in(origin.epoch, origin.collection, usual_timeout);
  auto leases = std::make_unique<Leases>(pool, options, origin, usual_timeout);
  leases->acked_.LoadLast(in);
  in(leases->returns_, leases->counts_.deliveries, leases->counts_.nacked, leases->counts_.ran_out,
     leases->extended_);
  uint32_t last = kNone;
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    last = leases->LoadRecord(in, last, entries);
  }
  if (in.ok()) leases->LoadLists(in);
  return leases;
}

Leases::Keyed Leases::LoadKeyed(FieldReader& in, OutboxEntries& entries) {
  const Ready ready = entries.Load(in);
  if (!in.ok()) return {};
  const OutboxEntries::HashedKey key = entries.KeyOf(ready.entry);
  return {.emission = ready, .key = &key.key, .hash = key.hash};
}

// Records come by number. One that is lent, delayed or requeued is placed here, and so is the line of
// each head; LoadLists() places those that were returned, that wait, or that are dead.
uint32_t Leases::LoadRecord(FieldReader& in, uint32_t last, OutboxEntries& entries) {
  uint32_t number = 0;
  Record read;
  in(number, read.lease, read.position);
  read.until = ReadLeaseTime(in);
  read.first_leased = ReadLeaseTime(in);
  read.last_leased = ReadLeaseTime(in);
  read.died = ReadLeaseTime(in);
  in(read.deliveries);
  read.state = ReadEnum(in, State::kHolding);
  in(read.fresh);
  read.why = ReadEnum(in, DeadReason::kRanOut);
  read.keyed = LoadKeyed(in, entries);
  if (!in.ok()) return kNone;
  const bool ascends = last == kNone || number > last;
  const bool never_out = read.state == State::kRequeued;
  if (!in.Expect(ascends && records_.HasPlace(number) && read.fresh == never_out &&
                 read.lease <= acked_.last() &&
                 read.keyed.emission.generation != AckedDeliveries::kNotAcked)) {
    return kNone;
  }
  records_.NewAt(number);
  Record& record = *::new (records_.hot(number)) Record(read);
  if (record.fresh) {
    ++new_;
  } else {
    ++(IsDead(record.state) ? dead_ : unacked_);
  }
  if (record.state == State::kDead || record.state == State::kWaiting) return number;
  if (!in.Expect(HeadOf(*record.keyed.key, record.keyed.hash) == kNone)) return kNone;
  PutAtHead(number);
  if (record.state == State::kLent || record.state == State::kDelayed) records_.Arm(number);
  if (record.state == State::kRequeued) {
    requeued_.push_back({.generation = record.keyed.emission.generation, .record = number});
    std::push_heap(requeued_.begin(), requeued_.end());
  }
  LoadLine(in, number, entries);
  return number;
}

void Leases::LoadLine(FieldReader& in, uint32_t number, OutboxEntries& entries) {
  for (uint64_t left = in.Number(); left > 0; --left) {
    const Keyed keyed = LoadKeyed(in, entries);
    if (!in.ok() || !in.Expect(*keyed.key == *At(number).keyed.key)) return;
    Wait(number, keyed);
  }
}

// Each record stands in the one list that its state asks for.
void Leases::LoadLists(FieldReader& in) {
  std::set<uint32_t> returned;
  std::set<uint32_t> dead;
  std::set<uint32_t> waiting;
  records_.ForEach([&](uint32_t number) {
    const State state = At(number).state;
    if (state == State::kReturned) returned.insert(number);
    if (IsDead(state)) dead.insert(number);
    if (state == State::kWaiting) waiting.insert(number);
  });
  if (!in.Expect(in.Number() == returned.size())) return;
  Returned before{.at = LeaseTime(), .order = 0, .record = 0, .by_call = false};
  for (size_t i = 0, count = returned.size(); i < count; ++i) {
    Returned each{.at = ReadLeaseTime(in), .order = 0, .record = 0, .by_call = false};
    in(each.order, each.record, each.by_call);
    const bool in_order = i == 0 || !each.IsBefore(before);
    if (!in.Expect(in_order && returned.erase(each.record) == 1)) return;
    returned_.Insert(each, [](const Returned&, const Returned&) { return false; });
    before = each;
  }
  if (!in.Expect(in.Number() == dead.size())) return;
  for (size_t left = dead.size(); left > 0; --left) {
    uint32_t number = 0;
    in(number);
    if (!in.Expect(dead.erase(number) == 1)) return;
    LinkDead(number);
  }
  counts_.deaths = dead_;
  uint32_t last_head = 0;
  while (!waiting.empty()) {
    uint32_t head = 0;
    uint32_t letter = 0;
    in(head, letter);
    if (!in.Expect(head >= last_head && records_.Holds(head) && IsHead(head) &&
                   At(head).state != State::kRequeued && waiting.erase(letter) == 1 &&
                   *At(letter).keyed.key == *At(head).keyed.key)) {
      return;
    }
    PutLetterInLine(At(head), letter);
    last_head = head;
  }
  acked_.Load(in);
}

bool Leases::GenerationsAreBelow(uint64_t next) const {
  bool all = true;
  records_.ForEach([&](uint32_t number) {
    const Record& record = At(number);
    all = all && record.keyed.emission.generation < next;
    if (!IsHead(number)) return;
    for (uint32_t n = record.first; n != kNone; n = WaiterAt(n).next) {
      all = all && WaiterAt(n).keyed.emission.generation < next;
    }
  });
  return all;
}

}  // namespace pleat::inline v0_1
