// Leases keeps the emissions that a book has lent: which keys are in flight, until when, and which
// emissions wait for their key. A pure state machine: time comes in as an argument, and every
// method runs under the partition's lock.
//
// An emission's way from its first delivery on:
//
//                     +--- ran out; Nack() ---> (delayed) ---+
//                     |                                      v
//   lent for the first time ---> lent <--- lent again --- returned
//                                 | |
//                       Ack() ----+ +--- too many deliveries ---> dead ---> retried, dropped
//
// All but the dead ones keep their key *in flight*: other emissions of the key wait in the *line*
// of the key, behind its *head*. With LeaseOptions::wait_behind_dead a dead letter stays the head of
// its line, which waits for it, and the key is not in flight meanwhile: it *holds* the key. When the head is finished, retried dead letters of the key come
// first, one after the other. Then the first emission that never went out is *requeued*, as the new
// head: it has its old place in the order of emissions, as if there had been no line. A requeued
// emission does not count as in flight yet.
//
// A token names a delivery by the place of its record, the same while the lease lives, and by a
// number of its own. So a token finds its record in O(1), and a stale or forged token finds
// nothing.
//
// Records are entries of an ExpiringTable: indexed while they are heads, armed while they are lent
// or delayed. A nack's delay moves the deadline earlier.
//
// Invariants:
//   - A key has at most one head, which is in flight or requeued, or holds the key.
//   - `returned_` is in the order in which emissions came back.
//   - Nothing that can be observed, but behind_dead(), depends on which emissions were put into the
//     line of their key already, and which are still in the book's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/emission.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/outbox/acked_deliveries.h"
#include "engine/outbox/outbox_entries.h"
#include "engine/outbox/paged_queue.h"
#include "engine/outbox/ready.h"
#include "engine/outbox/trace_log.h"
#include "engine/table/expiring_table.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class Leases {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  // An emission, and the key in its entry, which stays there while the entry lives.
  struct Keyed {
    Ready emission;
    const PackedKey* key;
    uint32_t hash;
    // Of the head of a line: how many wait there, letters included. It is here because here is room.
    uint32_t in_line = 0;
  };

  // An emission that came back, in order: by (at, by time before by a call, order).
  struct Returned {
    LeaseTime at;
    uint64_t order;
    uint32_t record;
    bool by_call;

    bool IsBefore(const Returned& other) const noexcept {
      if (at != other.at) return at < other.at;
      if (by_call != other.by_call) return other.by_call;
      return order < other.order;
    }
  };

  // The result of a token; `over`: the emission ended, too.
  struct Answer {
    LeaseOutcome outcome = LeaseOutcome::kStale;
    bool over = false;
    Ready emission{};
  };

  // Receives emissions that are dropped because there are too many dead letters.
  using Drop = absl::FunctionRef<void(const Ready&)>;

  // `origin`: engine, collection and partition, as in each token. `usual_timeout`: how long most leases
  // are.
  Leases(Pages& pool, const LeaseOptions& options, const LeaseToken& origin,
         Duration usual_timeout);

  // From now on each step is noted in `trace`, unless that is null.
  void SetTrace(TraceLog* trace) noexcept { trace_ = trace; }
  // From now on these hold: for what is lent, prolonged, taken back and counted as dead. Letters let
  // their keys go if none shall hold one. O(dead letters) then.
  void SetOptions(const LeaseOptions& options, LeaseTime now);

  // The record at the head of the key's line, or kNone.
  uint32_t HeadOf(const PackedKey& key, uint32_t hash) const;
  // Whether the limit on keys in flight allows one more.
  bool CanLendNew() const noexcept { return in_flight_ < options_.max_leased; }

  // Puts an emission at the end of the line of its key.
  void Wait(uint32_t head, const Keyed& emission);
  // Takes the first emission of the line that never went out. REQUIRES: there is one.
  Ready TakeFirstWaiting(uint32_t head);

  // The first requeued emission in the order of emissions, or null.
  const Ready* FirstRequeued();
  Ready TakeRequeued(const Instant& at);
  Delivery LendRequeued(const Instant& at, Duration visibility_timeout);

  // Lends for the first time. REQUIRES: CanLendNew(), and the key has no head.
  Delivery Lend(const Keyed& emission, const Instant& at, Duration visibility_timeout);

  // The emission that came back first, or null.
  const Returned* FirstReturned() const noexcept {
    return returned_.empty() ? nullptr : &returned_.front();
  }
  const Ready& EmissionOf(const Returned& returned) const noexcept {
    return At(returned.record).keyed.emission;
  }
  Delivery LendReturned(const Instant& at, Duration visibility_timeout);
  // Gives the first away for good.
  Ready TakeReturned(const Instant& at);

  Answer Ack(const LeaseToken& token, const Instant& at);
  Answer Nack(const LeaseToken& token, Duration delay, const Instant& at, Drop drop);
  Extension Extend(const LeaseToken& token, Duration visibility_timeout, const Instant& at);
  Answer Retry(const LeaseToken& token, const Instant& at);
  Answer TakeDead(const LeaseToken& token, const Instant& at);

  // Takes back leases that have run out by `at`, and ends delays that are over; looks at no more
  // than `budget` records, and lowers `budget`. Returns whether that was all.
  bool Expire(const Instant& at, Budget& budget, Drop drop);
  // Has all leases run out by `at`, and takes them back. Returns how many. O(records).
  size_t EndAll(const Instant& at, Drop drop);
  LeaseTime NextDue() const noexcept { return LeaseTime(records_.NextDue()); }

  // Shows the dead letters from `place` on; see FoldBook::Scan().
  bool ScanDead(uint32_t& place, size_t max, size_t& seen,
                absl::FunctionRef<void(const Ready&, const Death&)> see) const;

  // Shows all emissions that are here, in no order.
  void ForEachEmission(absl::FunctionRef<void(const Ready&)> see) const;

  // See Book. `entries`: the book's, which saves and loads the emissions.
  void Save(FieldWriter& out, const OutboxEntries& entries) const;
  static std::unique_ptr<Leases> Load(FieldReader& in, Pages& pool, const LeaseOptions& options,
                                      uint32_t partition, OutboxEntries& entries);
  bool GenerationsAreBelow(uint64_t next) const;
  // See Outbox. Deliveries of before are remembered under their own numbers.
  void SkipAhead(uint64_t by) { acked_.SkipAhead(by); }

  // Stops the program if an invariant does not hold. O(records).
  void CheckWhole() const;

  uint64_t returns() const noexcept { return returns_; }  // counts emissions that became available
  size_t waiting() const noexcept { return new_; }        // never handed out
  size_t unacked() const noexcept { return unacked_; }
  size_t dead() const noexcept { return dead_; }
  size_t backlog() const noexcept { return new_ + unacked_ + dead_; }
  // Of those that wait or are unacked: in the lines of letters that hold their keys.
  size_t behind_dead() const noexcept { return behind_dead_; }
  // Those that are yet to be popped or acked, and wait for nobody's decision.
  size_t undelivered() const noexcept { return new_ + unacked_ - behind_dead_; }

  // How many emissions have become dead letters, those included that were loaded.
  uint64_t deaths() const noexcept { return counts_.deaths; }
  // For the ledger.
  uint64_t deliveries() const noexcept { return counts_.deliveries; }
  uint64_t nacked() const noexcept { return counts_.nacked; }
  uint64_t ran_out() const noexcept { return counts_.ran_out; }

 private:
  enum class State : uint8_t {
    kLent,
    kDelayed,
    kReturned,
    kRequeued,
    kWaiting,  // a retried dead letter in the line of its key
    kDead,     // a dead letter that holds nothing
    kHolding,  // a dead letter that holds its key
  };
  static bool IsDead(State state) noexcept {
    return state == State::kDead || state == State::kHolding;
  }

  struct Record {
    Keyed keyed;
    uint64_t lease = 0;     // the number of its last delivery
    uint64_t position = 0;  // of that among all calls
    LeaseTime until{};      // the end of the lease, or of the delay
    LeaseTime first_leased{};
    LeaseTime last_leased{};
    LeaseTime died{};
    uint32_t deliveries = 0;
    State state = State::kRequeued;
    bool fresh = true;  // never went out
    DeadReason why = DeadReason::kRanOut;
    // Of a head: the line behind the head.
    uint32_t first = kNone;
    uint32_t last = kNone;
    // Of a head: the retried dead letters, ahead of that line. Of one of those: the next one.
    uint32_t first_letter = kNone;
    uint32_t last_letter = kNone;
    // Of a dead letter: its neighbours.
    uint32_t younger = kNone;
    uint32_t older = kNone;
  };
  static_assert(sizeof(Record) <= 128);

  // In the line of a key.
  struct Waiter {
    Keyed keyed;
    uint32_t next;
  };

  // When a delivery ended: by a call, or by time.
  struct When {
    LeaseTime at;
    uint64_t position;  // of the call
    bool by_call;
  };
  static When ByCall(const Instant& at) noexcept { return {at.leases, at.position, true}; }
  static When ByTime(const Due& due) noexcept { return {LeaseTime(due.ripe), 0, false}; }

  // In a heap by generation, which within a book is the order of emissions. One whose record has
  // other things to do by now is void.
  struct Requeued {
    uint64_t generation;
    uint32_t record;

    bool operator<(const Requeued& other) const noexcept { return generation > other.generation; }
  };

  // Answers the table about a record.
  struct Records {
    const Leases& leases;
    uint32_t HashOf(uint32_t number) const noexcept { return leases.At(number).keyed.hash; }
    EngineTime DueOf(uint32_t number) const noexcept { return EngineTime(leases.At(number).until); }
    uint64_t OrderOf(uint32_t number) const noexcept { return leases.At(number).position; }
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&leases.At(number)); }
    uint64_t Version() const noexcept { return leases.extended_; }
  };

  const Record& At(uint32_t number) const noexcept {
    return *reinterpret_cast<const Record*>(records_.hot(number));
  }
  Record& At(uint32_t number) noexcept { return *reinterpret_cast<Record*>(records_.hot(number)); }
  const Waiter& WaiterAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Waiter*>(waiters_.hot(number));
  }
  Waiter& WaiterAt(uint32_t number) noexcept {
    return *reinterpret_cast<Waiter*>(waiters_.hot(number));
  }
  uint32_t NewRecord(const Keyed& keyed);
  bool IsHead(uint32_t number) const noexcept { return records_.cold(number).indexed; }
  // Of a head: whether it counts as in flight.
  static bool IsInFlight(const Record& head) noexcept {
    return !head.fresh && head.state != State::kHolding;
  }
  void CountIntoLine(Record& head) noexcept {
    ++head.keyed.in_line;
    if (head.state == State::kHolding) ++behind_dead_;
  }
  void CountOutOfLine(Record& head) noexcept {
    --head.keyed.in_line;
    if (head.state == State::kHolding) --behind_dead_;
  }
  void Arm(uint32_t number, State state, LeaseTime until);
  LeaseToken TokenOf(uint32_t number) const noexcept;
  inline uint32_t RecordOf(const LeaseToken& token) const noexcept;
  inline uint32_t LiveRecordOf(const LeaseToken& token, LeaseTime now) const noexcept;
  Delivery LendRecord(uint32_t number, const Instant& at, Duration visibility_timeout);
  static uint64_t Lengthen(uint32_t hash) noexcept;
  void PutAtHead(uint32_t number);
  void TakeFromHead(uint32_t number);
  Keyed PopWaiter(Record& head);
  void LetNextCome(uint32_t number, const When& when);
  void PutLetterInLine(Record& head, uint32_t letter);
  void Hold(Record& letter) noexcept;
  void LetGo(Record& letter) noexcept;
  void TakePlaceOf(uint32_t requeued, uint32_t letter);
  void Return(uint32_t number, const When& when);
  bool Dies(const Record& record) const noexcept;
  void Bury(uint32_t number, const When& when, const Instant& at, Drop drop);
  // Of a lease that ended at `when`, or ends now.
  void NoteStep(TraceStep step, const Record& record, LeaseTime when, const Instant& at) {
    if (trace_ == nullptr) [[likely]]
      return;
    trace_->NoteLease(step, record.keyed.emission, when, record.deliveries, at);
  }
  void LinkDead(uint32_t number);
  void UnlinkDead(Record& dead);
  void SaveRecord(FieldWriter& out, uint32_t number, const OutboxEntries& entries) const;
  uint32_t LoadRecord(FieldReader& in, uint32_t last, OutboxEntries& entries);
  void LoadLine(FieldReader& in, uint32_t number, OutboxEntries& entries);
  void SaveLists(FieldWriter& out) const;
  void LoadLists(FieldReader& in);
  Keyed LoadKeyed(FieldReader& in, OutboxEntries& entries);

  LeaseOptions options_;
  const LeaseToken origin_;
  const Duration usual_timeout_;
  TraceLog* trace_ = nullptr;
  ExpiringTable<Records, TicketBits> records_;  // its deadlines are in LeaseTime
  Slab<> waiters_;
  PagedQueue<Returned> returned_;
  std::vector<Requeued> requeued_;
  AckedDeliveries acked_;
  uint64_t extended_ = 0;        // counts the leases that were extended
  uint32_t first_dead_ = kNone;  // the oldest
  uint32_t last_dead_ = kNone;
  uint64_t returns_ = 0;
  size_t in_flight_ = 0;  // heads that are not requeued
  size_t new_ = 0;
  size_t unacked_ = 0;
  size_t dead_ = 0;
  size_t behind_dead_ = 0;
  struct {
    uint64_t deliveries = 0;
    uint64_t nacked = 0;
    uint64_t ran_out = 0;
    uint64_t deaths = 0;
  } counts_;
};

}  // namespace pleat::inline v0_1
