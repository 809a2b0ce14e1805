// The reference model: what a Folder in an Engine promises, written so that one can see that it is
// right. It is the executable specification; where engine and model differ, one of the two is wrong
// and the documents decide which.
//
// It is an ordered map of open groups and an ordered map of closed ones. A group is simply the list
// of what was folded into it. There are no partitions, threads, hashes, wheels, slots or budgets:
// the point of all those is that they do not show.
//
//   time        moves only forward; everything due by it closes the moment it moves, so no open
//               group is ever due by the model's time
//   due         the smaller of: largest stamp + quiet period, stamp of the opener + max hold
//   position    the number of a call among the calls that can open or close a group
//   ripe        the instant at which an emission becomes final, that is, can be popped
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <pleat/any_folder.h>
#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0 {

// A group, open or closed. `events` are the numbers given to Fold(), in the order of the calls.
struct ModelGroup {
  std::string key;
  std::vector<uint64_t> events;
  EngineTime opened;      // stamp of the event that opened it, which need not be the smallest
  EngineTime first;       // smallest stamp
  EngineTime last;        // largest stamp
  uint64_t position = 0;  // of the event that opened it

  // Of closed groups only.
  EngineTime closed;
  Reason reason = Reason::kQuiet;
};

class FoldModel {
 public:
  using Wanted = std::function<bool(const std::string& key)>;

  // Models all options except max_bytes and, with more than one partition, max_groups.
  FoldModel(const EngineOptions& engine, const FolderOptions& folder)
      : engine_(engine), folder_(folder) {}

  void Advance(EngineTime now) { MoveTime(now); }
  FoldOutcome Fold(std::string_view key, uint64_t event, EngineTime at);
  bool Flush(std::string_view key);
  bool Cancel(std::string_view key);
  void CloseAll();
  void Stop() { stopped_ = true; }

  // The group of `key` if one is open, else null. Valid until the next call.
  const ModelGroup* Peek(std::string_view key) const;

  // Takes the first `max` final emissions whose key is wanted, in order.
  std::vector<ModelGroup> Pop(size_t max, const Wanted& wanted = [](const auto&) { return true; });

  EngineTime now() const { return time_; }
  std::optional<EngineTime> FirstDue() const;
  Ledger ledger() const;

 private:
  // The order of all output, in these words: by ripe; of equal ones, what time closed before what
  // an event (or a call) closed; then by position, of the opener for what time closed, else of the
  // closing event or call. CloseAll() closes several groups at one position: by due, then opener.
  struct Order {
    EngineTime ripe;
    bool by_event = false;
    uint64_t position = 0;
    EngineTime due;
    uint64_t opener = 0;

    friend auto operator<=>(const Order&, const Order&) = default;
  };
  using Groups = std::map<std::string, ModelGroup, std::less<>>;

  EngineTime QuietDeadline(const ModelGroup& group) const {
    return SaturatingAdd(group.last, folder_.quiet_period);
  }
  EngineTime HoldDeadline(const ModelGroup& group) const {
    return SaturatingAdd(group.opened, folder_.max_hold);
  }
  EngineTime Due(const ModelGroup& group) const {
    return std::min(QuietDeadline(group), HoldDeadline(group));
  }
  Order ByEvent(const ModelGroup& group, uint64_t position) const;

  void MoveTime(EngineTime to);
  void AddEvent(ModelGroup& group, uint64_t event, EngineTime at);
  ModelGroup TakeOpen(Groups::iterator open);
  void CloseByTime(ModelGroup group, std::optional<uint64_t> opened_overdue_by = std::nullopt);
  void CloseByEvent(ModelGroup group, Reason reason, uint64_t position);

  const EngineOptions engine_;
  const FolderOptions folder_;
  EngineTime time_ = kBeginningOfTime;  // which also says: not moved yet
  uint64_t next_position_ = 0;
  bool stopped_ = false;

  Groups open_;
  std::set<std::tuple<EngineTime, uint64_t, std::string>> by_due_;  // (due, position, key) of open_
  std::map<Order, ModelGroup> overtaken_;  // closed, and final when time gets to their due
  std::map<Order, ModelGroup> ready_;      // final, not popped
  Ledger ledger_;                          // without `open` and `ready`
};

}  // namespace pleat::inline v0
