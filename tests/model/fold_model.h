// The reference model: what a Folder in an Engine promises, written so that one can see that it is
// right. It is the executable specification; where engine and model differ, one of the two is wrong
// and the documents decide which.
//
// It is an ordered map of open groups, and the emissions that they become. A group is simply the list of what was
// folded into it. There are no threads, hashes, wheels, slots or budgets: the point of all those is
// that they do not show. Partitions show in the ids of emissions only.
//
// One answer may depend on them, that at the limit on the backlog, which counts the emissions that have
// been closed so far. The model closes everything the moment it is due. So near that limit engine and
// model agree if all that is due has been closed before each call, as Episode sees to.
//
//   time        moves only forward; everything due by it happens the moment it moves, so no open
//               group is ever due by the model's time
//   due         the smaller of: the latest stamp + quiet period of any event, stamp of the opener +
//               max wait, closing time
//   grid        of a group with partials: the stamp of its opener + k * partial_every
//   position    the number of a Fold() among all of them
//   ripe        the instant at which an emission becomes final, that is, can be popped
//
// What becomes final is added to the emissions: since time closes things in the order of their instants, and
// events and calls only add behind it, they come in the order of all output. What becomes of them is
// in delivery_model.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "tests/model/delivery_model.h"
#include "tests/model/model_group.h"
#include "tests/model/plain_learner.h"

namespace pleat::inline v0_1 {

// What a collection is given beside its options. `condition` and `weight` look at the events of a group.
struct ModelRules {
  using Events = std::vector<uint64_t>;

  std::function<bool(const Events&)> condition = nullptr;
  std::function<size_t(const Events&)> weight = nullptr;  // needed for max_group_bytes
  bool has_ids = false;
  std::function<EngineTime(EngineTime opened)> closing_time = nullptr;
  std::function<int(std::string_view key)> partition = [](std::string_view) { return 0; };
};

class FoldModel {
 public:
  // Models all options except max_bytes and, with more than one partition, max_groups.
  FoldModel(const EngineOptions& engine, const FolderOptions& folder, ModelRules rules = {})
      : engine_(engine),
        folder_(folder),
        rules_(std::move(rules)),
        delivery_(folder, engine.partitions) {}

  void Advance(EngineTime now) { MoveTime(now); }
  void AdvanceLeases(LeaseTime now) { delivery_.MoveTime(now); }
  FoldOutcome Fold(std::string_view key, uint64_t event, EngineTime at,
                   const EventMarks& marks = {});
  FoldOutcome PassBy(std::string_view key, EngineTime at);  // an event outside the range of a batch
  bool Flush(std::string_view key);
  bool Cancel(std::string_view key);
  bool SetDeadline(std::string_view key, EngineTime deadline);
  void CloseAll();
  void Stop() { stopped_ = true; }
  void SetOptions(const FolderOptions& options);

  // The group of `key` if one is open, else null. Valid until the next call.
  const ModelGroup* Peek(std::string_view key) const;

  // All open groups, by key.
  std::vector<ModelGroup> Scan() const;

  // Of deliveries, which have numbers for tokens: see delivery_model.h. By default LeaseTime stays.
  std::vector<ModelGroup> Pop(size_t max, PartitionRange from = {}) {
    return delivery_.Pop(max, from);
  }
  std::vector<ModelLease> Lease(size_t max, Duration ttl, PartitionRange from = {},
                                LeaseTime now = LeaseTime(kBeginningOfTime)) {
    delivery_.MoveTime(now);
    return delivery_.Lease(max, ttl, from);
  }
  std::optional<ModelGroup> LentBy(uint64_t delivery) { return delivery_.LentBy(delivery); }
  LeaseOutcome Ack(uint64_t delivery) { return delivery_.Ack(delivery); }
  LeaseOutcome AckAgain(uint64_t delivery) const { return delivery_.AckAgain(delivery); }
  LeaseOutcome Nack(uint64_t delivery, Duration delay = Duration{0},
                    LeaseTime now = LeaseTime(kBeginningOfTime)) {
    delivery_.MoveTime(now);
    return delivery_.Nack(delivery, delay);
  }
  Extension Extend(uint64_t delivery, Duration ttl, LeaseTime now = LeaseTime(kBeginningOfTime)) {
    delivery_.MoveTime(now);
    return delivery_.Extend(delivery, ttl);
  }
  std::vector<ModelLetter> DeadLetters() const { return delivery_.DeadLetters(); }
  LeaseOutcome RetryDeadLetter(uint64_t delivery) { return delivery_.RetryDeadLetter(delivery); }
  LeaseOutcome DropDeadLetter(uint64_t delivery) { return delivery_.DropDeadLetter(delivery); }
  uint64_t deaths() const { return delivery_.deaths(); }
  size_t behind_dead() const { return delivery_.behind_dead(); }

  EngineTime now() const { return time_; }
  LeaseTime lease_now() const { return delivery_.now(); }
  std::optional<EngineTime> FirstDue() const;  // of what Advance() will bring about
  std::optional<LeaseTime> FirstLeaseDue() const { return delivery_.FirstDue(); }
  Ledger ledger() const;

  // The steps of groups so far, of which one brings each emission about; and those of emissions from
  // there on.
  const std::vector<TraceRecord>& group_steps() const { return steps_; }
  const std::vector<TraceRecord>& emission_steps() const { return delivery_.steps(); }

 private:
  using Groups = std::map<std::string, ModelGroup, std::less<>>;
  using Instant = std::pair<EngineTime, uint64_t>;  // what time does at once is in opening order
  struct TakenId {
    EngineTime at;
    uint64_t content;
  };
  struct LastEmission {
    EmissionId id;
    EngineTime until;  // it is remembered
  };

  // Deadlines and the grid.
  EngineTime EdgeOf(EngineTime at) const;  // of an event: it comes after all instants up to here
  EngineTime HoldDeadline(const ModelGroup& group) const;
  EngineTime ClosingTimeFor(EngineTime opened) const;
  EngineTime Due(const ModelGroup& group) const;
  Reason ReasonOfTime(const ModelGroup& group) const;
  EngineTime NextOnGrid(const ModelGroup& group) const;  // kNever if it is not before the deadline
  EngineTime Wakes(const ModelGroup& group) const;       // the next instant at which time shows
  std::optional<Reason> ReasonOfCaps(const ModelGroup& group) const;
  EngineTime OldestRemembered() const;
  EngineTime OldestAccepted() const { return SaturatingSub(time_, folder_.late.allowed_lateness); }

  // Time.
  void MoveTime(EngineTime to);
  std::optional<Instant> NextInstant() const;
  void CutPartial(ModelGroup& group, EngineTime until);
  void CloseByTime(Groups::iterator open);

  // The steps of Fold().
  bool IsFuture(EngineTime at) const;
  void Correct(std::string_view key, uint64_t event, EngineTime at, uint64_t position);
  std::optional<FoldOutcome> TakenBefore(std::string_view key, const EventMarks& marks) const;
  bool Overloaded(std::string_view key) const;
  bool Full() const { return open_.size() + overtaken_ >= folder_.limits.max_groups; }
  void CloseNextForLimit();
  Groups::iterator OpenGroup(std::string_view key, EngineTime at, uint64_t position);
  void AddEvent(ModelGroup& group, uint64_t event, EngineTime at, Duration quiet_period);
  Duration QuietPeriodAfter(std::string_view key, EngineTime at, bool opening,
                            const EventMarks& marks);
  void StateClosingTime(ModelGroup& group, EngineTime stated, EngineTime edge);
  void CloseIfFull(Groups::iterator open, bool end_mark);

  // Closing and handing out.
  ModelGroup TakeOpen(Groups::iterator open, Reason reason, EngineTime closed);
  ModelGroup AsItIs(ModelGroup& group, Reason reason, EngineTime closed);
  void Schedule(const ModelGroup& group) {
    wakes_.insert({Wakes(group), group.position, group.key});
  }
  void Unschedule(const ModelGroup& group) {
    wakes_.erase({Wakes(group), group.position, group.key});
  }
  void Close(ModelGroup group, EngineTime ripe);
  void CloseNow(Groups::iterator open, Reason reason);
  void HandOut(ModelGroup emission, EngineTime ripe);
  void Surface(std::multimap<Instant, ModelGroup>::iterator waiting, EngineTime ripe);

  const EngineOptions engine_;
  FolderOptions folder_;
  const ModelRules rules_;
  EngineTime time_ = kBeginningOfTime;  // which also says: not moved yet
  uint64_t next_position_ = 0;
  bool stopped_ = false;

  Groups open_;
  std::set<std::tuple<EngineTime, uint64_t, std::string>>
      wakes_;  // (wakes, position, key) of open_

  // Decided, and final when time gets to their instant: overtaken groups and partials.
  std::multimap<Instant, ModelGroup> waiting_;
  size_t overtaken_ = 0;  // of waiting_: the groups

  std::map<int, PlainLearner> learners_;      // per partition; none without a floor
  std::map<int, uint64_t> generations_;       // per partition, of its next emission
  std::map<std::string, LastEmission> last_;  // per key, corrections not among them
  std::map<std::pair<std::string, std::string>, TakenId> ids_;  // per key and id
  Ledger ledger_;  // without `open` and what delivery_ knows
  std::vector<TraceRecord> steps_;
  DeliveryModel delivery_;
};

}  // namespace pleat::inline v0_1
