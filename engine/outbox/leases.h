// Leases keeps the emissions that a book has lent: which emission holds its key, until when, and
// which emissions wait behind it. A pure state machine: time comes in as an argument, and every
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
// All but the dead ones *hold* their key: other emissions of the key wait in a line behind them.
// When the holder is finished, retried dead letters of the key come first, one after the other.
// Then the first emission that never went out is *released*, with the line behind: its turn comes
// at its old place in the order of emissions, as if there had been no line, and until then it holds
// the key in name only.
//
// A token names a delivery by the place of its record, the same while the lease lives, and by a
// number of its own. So a token finds its record in O(1), and a stale or forged token finds
// nothing.
//
// Records are entries of an ExpiringTable: indexed while they hold their key, armed while they are
// lent or delayed. A nack's delay moves the deadline earlier.
//
// Invariants:
//   - A key has at most one holder.
//   - `returned_` is in the order in which emissions came back.
//   - Nothing that can be observed depends on which emissions of a held key were put into its line
//     already, and which are still in the book's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/any_folder.h>
#include <pleat/lease.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/outbox/paged_queue.h"
#include "engine/outbox/ready.h"
#include "engine/table/expiring_table.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class Leases {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  // An emission, and the key in its entry, which stays there while the entry lives.
  struct Held {
    Ready emission;
    const PackedKey* key;
    uint32_t hash;
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

  // `origin`: engine, collection and partition, as in each token. `usual_ttl`: how long most leases
  // are.
  Leases(PagePool& pool, const LeaseOptions& options, const LeaseToken& origin, Duration usual_ttl);

  // The record that holds the key, if only in name, or kNone.
  uint32_t HolderOf(const PackedKey& key, uint32_t hash) const;
  bool CanHold() const noexcept { return holding_ < options_.max_leased; }

  // Puts an emission at the end of the line behind the holder of its key.
  void Wait(uint32_t holder, const Held& emission);
  // Takes the first one from there that never went out. REQUIRES: there is one.
  Ready TakeFirstWaiting(uint32_t holder);

  // The first released emission in the order of emissions, or null.
  const Ready* FirstReleased();
  Ready TakeReleased(const Instant& at);
  Delivery LendReleased(const Instant& at, Duration ttl);

  // Lends for the first time. REQUIRES: CanHold(), and nothing holds the key.
  Delivery Lend(const Held& emission, const Instant& at, Duration ttl);

  // The emission that came back first, or null.
  const Returned* FirstReturned() const noexcept {
    return returned_.empty() ? nullptr : &returned_.front();
  }
  const Ready& EmissionOf(const Returned& returned) const noexcept {
    return At(returned.record).held.emission;
  }
  Delivery LendReturned(const Instant& at, Duration ttl);
  // Gives the first away for good.
  Ready TakeReturned(const Instant& at);

  Answer Ack(const LeaseToken& token, const Instant& at);
  Answer Nack(const LeaseToken& token, Duration delay, const Instant& at, Drop drop);
  Extension Extend(const LeaseToken& token, Duration ttl, const Instant& at);
  Answer Retry(const LeaseToken& token, const Instant& at);
  Answer TakeDead(const LeaseToken& token);

  // Takes back leases that have run out by `at`, and ends delays that are over; looks at no more
  // than `budget` records, and lowers `budget`. Returns whether that was all.
  bool Expire(const Instant& at, size_t& budget, Drop drop);
  LeaseTime NextDue() const noexcept { return LeaseTime(records_.NextDue()); }

  // Shows the dead letters from `place` on; see FoldBook::Scan().
  bool ScanDead(uint32_t& place, size_t max, size_t& seen,
                absl::FunctionRef<void(const Ready&, const Death&)> see) const;

  // Stops the program if an invariant does not hold. O(records).
  void CheckWhole() const;

  uint64_t returns() const noexcept { return returns_; }  // counts emissions that became available
  size_t waiting() const noexcept { return new_; }        // never handed out
  size_t unacked() const noexcept { return unacked_; }
  size_t dead() const noexcept { return dead_; }
  size_t backlog() const noexcept { return new_ + unacked_ + dead_; }

  // For the ledger.
  uint64_t deliveries() const noexcept { return deliveries_; }
  uint64_t nacked() const noexcept { return nacked_; }
  uint64_t ran_out() const noexcept { return ran_out_; }

 private:
  enum class State : uint8_t {
    kLent,
    kDelayed,
    kReturned,
    kReleased,
    kWaiting,  // a retried dead letter behind the holder of its key
    kDead,
  };

  struct Record {
    Held held;
    uint64_t lease = 0;     // the number of its last delivery
    uint64_t position = 0;  // of that among all calls
    LeaseTime until{};      // the end of the lease, or of the delay
    LeaseTime first_leased{};
    LeaseTime last_leased{};
    LeaseTime died{};
    uint32_t deliveries = 0;
    State state = State::kReleased;
    bool fresh = true;  // never went out
    DeadReason why = DeadReason::kRanOut;
    // Of a holder: the line behind it. Of a dead letter: its neighbours, younger and older.
    uint32_t first = kNone;
    uint32_t last = kNone;
    // Of a holder: the retried dead letters, ahead of that line. Of one of those: the next one.
    uint32_t first_letter = kNone;
    uint32_t last_letter = kNone;
  };
  static_assert(sizeof(Record) <= 128);

  // In the line behind a holder.
  struct Waiter {
    Held held;
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
  struct Released {
    uint64_t generation;
    uint32_t record;

    bool operator<(const Released& other) const noexcept { return generation > other.generation; }
  };

  // Answers the table about a record.
  struct Records {
    const Leases& leases;
    uint32_t HashOf(uint32_t number) const noexcept { return leases.At(number).held.hash; }
    EngineTime DueOf(uint32_t number) const noexcept { return EngineTime(leases.At(number).until); }
    uint64_t OrderOf(uint32_t number) const noexcept { return leases.At(number).position; }
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&leases.At(number)); }
    uint64_t Version() const noexcept { return leases.extended_; }
  };

  // Deliveries whose outcome is remembered, so that an Ack() can be repeated.
  static constexpr size_t kRemembered = 65'536;
  static constexpr uint64_t kNotAcked = UINT64_MAX;

  Record& At(uint32_t number) const noexcept {
    return *reinterpret_cast<Record*>(records_.hot(number));
  }
  Waiter& WaiterAt(uint32_t number) const noexcept {
    return *reinterpret_cast<Waiter*>(waiters_.hot(number));
  }
  uint32_t NewRecord(const Held& held);
  bool IsHolder(uint32_t number) const noexcept { return records_.cold(number).indexed; }
  void Arm(uint32_t number, State state, LeaseTime until);
  LeaseToken TokenOf(uint32_t number) const noexcept;
  uint32_t RecordOf(const LeaseToken& token) const noexcept;
  uint32_t LiveRecordOf(const LeaseToken& token, LeaseTime now) const noexcept;
  Delivery LendRecord(uint32_t number, const Instant& at, Duration ttl);
  static uint64_t Lengthen(uint32_t hash) noexcept;
  void Hold(uint32_t number);
  void LetGo(uint32_t number);
  Held PopWaiter(Record& holder);
  void LetNextCome(uint32_t number, const When& when);
  void TakePlaceOf(uint32_t released, uint32_t letter);
  void Return(uint32_t number, const When& when);
  bool Dies(const Record& record) const noexcept;
  void Bury(uint32_t number, const When& when, Drop drop);
  void UnlinkDead(Record& dead);
  void Remember(uint64_t lease);
  uint64_t* AckedBy(uint64_t lease) noexcept {
    const bool remembered = lease <= last_lease_ && last_lease_ - lease < acked_.size();
    return remembered ? &acked_[(lease - 1) % kRemembered] : nullptr;
  }

  const LeaseOptions options_;
  const LeaseToken origin_;
  ExpiringTable<Records, TicketBits> records_;  // its deadlines are in LeaseTime
  Slab<> waiters_;
  PagedQueue<Returned> returned_;
  std::vector<Released> released_;
  // For each of the latest deliveries, the first at 0, and so round: the generation that was acked,
  // or kNotAcked.
  std::vector<uint64_t> acked_;
  uint64_t last_lease_ = 0;
  uint64_t extended_ = 0;        // counts the leases that were extended
  uint32_t first_dead_ = kNone;  // the oldest
  uint32_t last_dead_ = kNone;
  uint64_t returns_ = 0;
  size_t holding_ = 0;  // records that hold their key, and not only in name
  size_t new_ = 0;
  size_t unacked_ = 0;
  size_t dead_ = 0;
  uint64_t deliveries_ = 0;
  uint64_t nacked_ = 0;
  uint64_t ran_out_ = 0;
};

}  // namespace pleat::inline v0_1
