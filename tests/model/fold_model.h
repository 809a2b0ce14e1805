// The reference model: what a Folder in an Engine promises, written so that one can see that it is
// right. It is the executable specification; where engine and model differ, one of the two is wrong
// and the documents decide which.
//
// It is an ordered map of open groups and a list of emissions. A group is simply the list of what was
// folded into it. There are no threads, hashes, wheels, slots or budgets: the point of all those is
// that they do not show. Partitions show in the ids of emissions only.
//
//   time        moves only forward; everything due by it happens the moment it moves, so no open
//               group is ever due by the model's time
//   due         the smaller of: the latest stamp + quiet period of any event, stamp of the opener +
//               max hold
//   grid        of a group with partials: the stamp of its opener + k * partial_every
//   position    the number of a Fold() among all of them
//   ripe        the instant at which an emission becomes final, that is, can be popped
//
// What becomes final is appended to the emissions: since time closes things in the order of their
// instants, and events and calls only add behind it, the list is always in the order of all output.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/any_folder.h>
#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0 {

// A group, open or closed, or what it hands out. `events` are the numbers given to Fold(), in the order
// of the calls: they are the state.
struct ModelGroup {
  std::string key;
  std::vector<uint64_t> events;
  EngineTime opened;      // stamp of the event that opened it, which need not be the smallest
  EngineTime first;       // smallest stamp
  EngineTime last;        // largest stamp
  uint64_t position = 0;  // of the event that opened it

  EngineTime quiet_deadline;  // the latest stamp + quiet period
  EngineTime edge;            // the latest edge of its events: grid instants up to here have passed
  bool news = false;          // whether something was folded in since its last emission
  uint32_t revision = 0;      // its emissions so far; of an emission: with itself

  // Of emissions only.
  EngineTime closed;
  Reason reason = Reason::kQuiet;
  bool partial = false;
  EmissionId id;
  std::optional<EmissionId> corrects = std::nullopt;
};

// What a collection is given beside its options. `condition` and `weight` look at the events of a group.
struct ModelRules {
  using Events = std::vector<uint64_t>;

  std::function<bool(const Events&)> condition = nullptr;
  std::function<size_t(const Events&)> weight = nullptr;  // needed for max_group_bytes
  bool has_ids = false;
  std::function<int(std::string_view key)> partition = [](std::string_view) { return 0; };
};

class FoldModel {
 public:
  using Wanted = std::function<bool(const std::string& key)>;

  // Models all options except max_bytes and, with more than one partition, max_groups.
  FoldModel(const EngineOptions& engine, const FolderOptions& folder, ModelRules rules = {})
      : engine_(engine), folder_(folder), rules_(std::move(rules)) {}

  void Advance(EngineTime now) { MoveTime(now); }
  FoldOutcome Fold(std::string_view key, uint64_t event, EngineTime at,
                   const EventMarks& marks = {});
  bool Flush(std::string_view key);
  bool Cancel(std::string_view key);
  void CloseAll();
  void Stop() { stopped_ = true; }

  // The group of `key` if one is open, else null. Valid until the next call.
  const ModelGroup* Peek(std::string_view key) const;

  // All open groups, by key.
  std::vector<ModelGroup> Scan() const;

  // Takes the first `max` final emissions whose key is wanted, in order.
  std::vector<ModelGroup> Pop(size_t max, const Wanted& wanted = [](const auto&) { return true; });

  EngineTime now() const { return time_; }
  std::optional<EngineTime> FirstDue() const;  // of what time will close or cut
  Ledger ledger() const;

 private:
  using Groups = std::map<std::string, ModelGroup, std::less<>>;
  using Instant = std::pair<EngineTime, uint64_t>;  // what time does at once is in opening order
  struct TakenId {
    EngineTime at;
    uint64_t content;
  };
  struct LastEmission {
    EmissionId id;
    EngineTime ripe;
  };

  // Deadlines and the grid.
  EngineTime EdgeOf(EngineTime at) const;  // of an event: it comes after all instants up to here
  EngineTime HoldDeadline(const ModelGroup& group) const;
  EngineTime Due(const ModelGroup& group) const;
  Reason ReasonOfTime(const ModelGroup& group) const;
  EngineTime NextOnGrid(const ModelGroup& group) const;  // kNever if it is not before the deadline
  EngineTime Wakes(const ModelGroup& group) const;       // the next instant at which time shows
  EngineTime OldestAccepted() const { return SaturatingSub(time_, folder_.accept_limit); }

  // Time.
  void MoveTime(EngineTime to);
  void CutPartial(ModelGroup& group);
  void CloseByTime(Groups::iterator open);

  // The steps of Fold().
  void Correct(std::string_view key, uint64_t event, EngineTime at);
  std::optional<FoldOutcome> TakenBefore(std::string_view key, const EventMarks& marks) const;
  bool Full() const { return open_.size() + overtaken_ >= folder_.max_groups; }
  void CloseNextForLimit();
  Groups::iterator OpenGroup(std::string_view key, EngineTime at, uint64_t position);
  void AddEvent(ModelGroup& group, uint64_t event, EngineTime at, Duration quiet_period);
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
  void Surface(std::map<Instant, ModelGroup>::iterator waiting, EngineTime ripe);

  const EngineOptions engine_;
  const FolderOptions folder_;
  const ModelRules rules_;
  EngineTime time_ = kBeginningOfTime;  // which also says: not moved yet
  uint64_t next_position_ = 0;
  bool stopped_ = false;

  Groups open_;
  std::set<std::tuple<EngineTime, uint64_t, std::string>>
      wakes_;  // (wakes, position, key) of open_

  // Decided, and final when time gets to their instant: overtaken groups and partials.
  std::map<Instant, ModelGroup> waiting_;
  size_t overtaken_ = 0;  // of waiting_: the groups

  std::list<ModelGroup> ready_;                // final, in order, not popped
  std::map<int, uint64_t> generations_;        // per partition, of its next emission
  std::map<std::string, LastEmission> last_;   // per key, corrections not among them
  std::map<std::string, EngineTime> reopens_;  // per key: quiet deadline of what closed early
  std::map<std::pair<std::string, std::string>, TakenId> ids_;  // per key and id
  Ledger ledger_;                                               // without `open` and `ready`
};

}  // namespace pleat::inline v0
