// The second half of the reference model: what becomes of an emission once it is final. See fold_model.h, which
// adds emissions here and passes calls on.
//
// An emission that is not finished (acked, popped or dropped) is in exactly one of these:
//
//   new_        the emission never went out
//   timers_     the emission is lent, or delayed by a Nack(): time will bring it back
//   back_       the emission came back
//   in_flight_  a retried dead letter, in the line of its key
//   dead_       a dead letter
//
// A key is in flight for as long as one of its emissions is in timers_ or back_, of which there is one at most. Its
// new emissions are passed over meanwhile. With wait_behind_dead so they are for as long as a letter of the key is in
// holders_; such a key is taken, but is not one of those that are counted against max_leased.
//
// Deliveries are named by their number among all, from 1: there are no tokens to forge here. Number 0 stands for
// whatever never was one.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <pleat/batch.h>
#include <pleat/emission.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "tests/model/model_group.h"

namespace pleat::inline v0_1 {

// An emission, lent.
struct ModelLease {
  ModelGroup emission;
  uint64_t delivery = 0;      // its name
  uint64_t of_partition = 0;  // its number among the partition's, from 1
  uint32_t deliveries = 0;    // of this emission, this one included
  LeaseTime until{};
};

// A dead letter. `delivery` is its last one, and names it.
struct ModelLetter {
  ModelGroup emission;
  uint64_t delivery = 0;
  uint32_t deliveries = 0;
  LeaseTime first_leased{};
  LeaseTime died{};
  DeadReason why = DeadReason::kRanOut;
};

class DeliveryModel {
 public:
  // So many deliveries of a partition are remembered, to answer an Ack() again.
  static constexpr uint64_t kRemembered = 65'536;

  DeliveryModel(const FolderOptions& options, int partitions)
      : options_(options), partitions_(static_cast<size_t>(partitions)) {}

  // From now on these hold, for what comes.
  void SetOptions(const FolderOptions& options);

  // An emission that has become final; it comes behind all others.
  void Add(ModelGroup emission);

  // Whether the partition's backlog is at its limit.
  bool BacklogIsFull(int partition) const;

  // Moves lease time, and with it what runs out or has been delayed until then.
  void MoveTime(LeaseTime to);
  LeaseTime now() const { return now_; }
  std::optional<LeaseTime> FirstDue() const;

  std::vector<ModelGroup> Pop(size_t max, PartitionRange from);
  std::vector<ModelLease> Lease(size_t max, Duration ttl, PartitionRange from);
  std::optional<ModelGroup> LentBy(uint64_t delivery);  // while the delivery's lease is live
  LeaseOutcome Ack(uint64_t delivery);
  LeaseOutcome AckAgain(uint64_t delivery) const;  // by a token that is right but for the place
  LeaseOutcome Nack(uint64_t delivery, Duration delay);
  Extension Extend(uint64_t delivery, Duration ttl);

  // In the order of dying.
  std::vector<ModelLetter> DeadLetters() const;
  LeaseOutcome RetryDeadLetter(uint64_t delivery);
  LeaseOutcome DropDeadLetter(uint64_t delivery);
  uint64_t deaths() const { return deaths_; }
  size_t behind_dead() const;  // emissions that wait behind a dead letter of their key

  void AddTo(Ledger& ledger) const;  // the columns about emissions

  // What became of emissions so far. Knows no engine time.
  const std::vector<TraceRecord>& steps() const { return steps_; }

 private:
  using Number = uint64_t;  // of an emission among all: the order of emissions

  // When an emission came back, and its turn among those of that instant: first what came back by time, in
  // the order of lending, then what came back by calls, in theirs.
  struct Return {
    LeaseTime at{};
    bool by_call = false;
    uint64_t turn = 0;

    auto operator<=>(const Return&) const = default;
  };

  enum class Stage { kNew, kInLine, kLent, kDelayed, kBack, kDead };

  struct Parcel {
    ModelGroup emission;
    Stage stage = Stage::kNew;
    uint32_t deliveries = 0;
    uint64_t delivery = 0;     // the last one
    LeaseTime first_leased{};  // of the deliveries that count
    LeaseTime leased{};        // the last time
    LeaseTime ends{};          // lent: until; delayed: comes back; dead: died
    DeadReason why = DeadReason::kRanOut;
    Return came_back = {};
  };

  struct Delivery {
    int partition;
    uint64_t of_partition;  // its number there
    Number number;          // of what was delivered
    bool acked = false;
  };

  static int HomeOf(const ModelGroup& emission) { return static_cast<int>(emission.id.partition); }
  int PartitionOf(Number number) const { return HomeOf(parcels_.at(number).emission); }
  size_t Share(size_t limit) const { return std::max<size_t>(1, limit / partitions_); }
  size_t Backlog(int partition) const;

  // The emission of these partitions that is handed out next; `to_lend` keeps to max_leased.
  std::optional<Number> Next(PartitionRange from, bool to_lend) const;
  void TakeOut(Number number);  // of new_ or back_
  ModelLease Lend(Number number, Duration ttl);
  ModelGroup Finish(Number number);
  void Drop(Number number);
  void Note(TraceStep step, const Parcel& parcel, LeaseTime at);

  bool IsInFlight(Number number) const {
    return in_flight_.contains(parcels_.at(number).emission.key);
  }
  void PutInFlight(const ModelGroup& emission);
  void FreeKey(const ModelGroup& emission, Return how);
  void ComeBack(Number number, Return how);
  void WaitForTime(Number number, Stage stage, LeaseTime ends);
  bool Bury(Number number, DeadReason why, Return died);
  void LetGo(Number letter, Return how);
  Return ByCall() { return {.at = now_, .by_call = true, .turn = ++turns_}; }

  // What the delivery was of, if it is the last one and this is where it stands; else null.
  Parcel* Find(uint64_t delivery, Stage stage);
  Number NumberOf(uint64_t delivery) const { return deliveries_[delivery - 1].number; }

  FolderOptions options_;
  const size_t partitions_;
  LeaseTime now_{kBeginningOfTime};
  Number next_number_ = 0;
  uint64_t turns_ = 0;

  std::map<Number, Parcel> parcels_;
  std::set<Number> new_;
  std::map<std::string, std::list<Number>> in_flight_;        // each key in flight, and its line
  std::set<std::tuple<LeaseTime, uint64_t, Number>> timers_;  // (ends, delivery, ...)
  std::map<Return, Number> back_;
  std::list<Number> dead_;                 // in the order of dying
  std::map<std::string, Number> holders_;  // of dead_, those that their keys wait for

  std::vector<Delivery> deliveries_;
  std::map<int, uint64_t> deliveries_of_;  // per partition
  std::map<int, size_t> keys_in_flight_;   // per partition
  Ledger ledger_;                          // without what counts the present
  uint64_t deaths_ = 0;
  std::vector<TraceRecord> steps_;
};

}  // namespace pleat::inline v0_1
