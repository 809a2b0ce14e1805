// See the header. Read Fold() first: it is the order of all decisions about one event.
#include "tests/model/fold_model.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0 {

FoldModel::Order FoldModel::ByEvent(const ModelGroup& group, uint64_t position) const {
  return {.ripe = time_,
          .by_event = true,
          .position = position,
          .due = Due(group),
          .opener = group.position};
}

FoldOutcome FoldModel::Fold(std::string_view key, uint64_t event, EngineTime at) {
  if (stopped_) return FoldOutcome::kStopped;
  const uint64_t position = next_position_++;
  ++ledger_.events;
  at = Clamp(at);

  // What is refused here changes nothing, time included.
  if (key.size() > kKeyBytesMax) {
    ++ledger_.refused;
    return FoldOutcome::kOverLimit;
  }
  if (time_ != kBeginningOfTime && at > SaturatingAdd(time_, engine_.future_limit)) {
    ++ledger_.future;
    return FoldOutcome::kFuture;
  }

  // On event time a usable event, a late one included, moves time before anything else; what is due
  // closes with that.
  if (engine_.axis == Axis::kEvent) MoveTime(SaturatingSub(at, engine_.lateness));
  if (folder_.accept_limit != kForever && time_ != kBeginningOfTime &&
      at < SaturatingSub(time_, folder_.accept_limit)) {
    ++ledger_.late;
    return FoldOutcome::kLate;
  }

  // On arrival time an event closes its own group if that is due by the stamp, ahead of time. Such
  // an overtaken group surfaces when time gets to its due, and counts as open until then; so it makes
  // no room for the one that overtakes it, and a refused event overtakes nothing.
  auto open = open_.find(key);
  const bool overtakes =
      engine_.axis == Axis::kArrival && open != open_.end() && Due(open->second) <= at;
  const bool opening = open == open_.end() || overtakes;
  if (opening) {
    if (open_.size() + overtaken_.size() >= folder_.max_groups) {
      ++ledger_.refused;
      return FoldOutcome::kOverLimit;
    }
    if (overtakes) CloseByTime(TakeOpen(open));
    ModelGroup group{.key = std::string(key), .opened = at, .first = at, .last = at};
    group.position = position;
    open = open_.emplace(group.key, group).first;
    ++ledger_.opened;
  } else {
    ++ledger_.folded;
  }
  AddEvent(open->second, event, at);

  if (open->second.events.size() >= folder_.max_events) {
    CloseByEvent(TakeOpen(open), Reason::kMaxEvents, position);
  } else if (Due(open->second) <= time_) {
    // Only a group that was opened overdue gets here: folding never makes a deadline earlier. Time
    // is the reason, but this event is what brought it out, so it takes that event's place.
    CloseByTime(TakeOpen(open), position);
  }
  return opening ? FoldOutcome::kOpened : FoldOutcome::kFolded;
}

bool FoldModel::Flush(std::string_view key) {
  const uint64_t position = next_position_++;
  const auto open = open_.find(key);
  if (open == open_.end()) return false;
  CloseByEvent(TakeOpen(open), Reason::kFlush, position);
  return true;
}

bool FoldModel::Cancel(std::string_view key) {
  const auto open = open_.find(key);
  if (open == open_.end()) return false;
  TakeOpen(open);
  ++ledger_.cancelled;
  return true;
}

void FoldModel::CloseAll() {
  const uint64_t position = next_position_++;
  while (!open_.empty()) CloseByEvent(TakeOpen(open_.begin()), Reason::kEnd, position);
  // Overtaken groups have closed already, each at its due; here they become final with the others.
  for (auto& [order, group] : std::exchange(overtaken_, {})) {
    ++ledger_.closed;
    ready_.emplace(ByEvent(group, position), std::move(group));
  }
}

const ModelGroup* FoldModel::Peek(std::string_view key) const {
  const auto open = open_.find(key);
  return open == open_.end() ? nullptr : &open->second;
}

std::vector<ModelGroup> FoldModel::Pop(size_t max, const Wanted& wanted) {
  std::vector<ModelGroup> out;
  for (auto next = ready_.begin(); next != ready_.end() && out.size() < max;) {
    if (wanted(next->second.key)) {
      out.push_back(std::move(next->second));
      next = ready_.erase(next);
    } else {
      ++next;
    }
  }
  ledger_.popped += out.size();
  return out;
}

std::optional<EngineTime> FoldModel::FirstDue() const {
  std::set<EngineTime> dues;
  if (!by_due_.empty()) dues.insert(std::get<0>(*by_due_.begin()));
  if (!overtaken_.empty()) dues.insert(overtaken_.begin()->first.ripe);
  return dues.empty() ? std::nullopt : std::optional(*dues.begin());
}

Ledger FoldModel::ledger() const {
  Ledger ledger = ledger_;
  ledger.open = open_.size() + overtaken_.size();
  ledger.ready = ready_.size();
  return ledger;
}

void FoldModel::MoveTime(EngineTime to) {
  time_ = std::max(time_, Clamp(to));
  while (!by_due_.empty() && std::get<0>(*by_due_.begin()) <= time_) {
    CloseByTime(TakeOpen(open_.find(std::get<2>(*by_due_.begin()))));
  }
  while (!overtaken_.empty() && overtaken_.begin()->first.ripe <= time_) {
    ready_.insert(overtaken_.extract(overtaken_.begin()));
    ++ledger_.closed;
  }
}

void FoldModel::AddEvent(ModelGroup& group, uint64_t event, EngineTime at) {
  by_due_.erase({Due(group), group.position, group.key});
  group.events.push_back(event);
  group.first = std::min(group.first, at);
  group.last = std::max(group.last, at);
  by_due_.insert({Due(group), group.position, group.key});
}

ModelGroup FoldModel::TakeOpen(Groups::iterator open) {
  ModelGroup group = std::move(open->second);
  by_due_.erase({Due(group), group.position, group.key});
  open_.erase(open);
  return group;
}

// Closed at its due, whoever noticed and whenever. Of two deadlines that tie, quiet is the reason.
void FoldModel::CloseByTime(ModelGroup group, std::optional<uint64_t> opened_overdue_by) {
  group.closed = Due(group);
  group.reason = HoldDeadline(group) < QuietDeadline(group) ? Reason::kMaxHold : Reason::kQuiet;
  const Order order = opened_overdue_by ? ByEvent(group, *opened_overdue_by)
                                        : Order{.ripe = group.closed, .position = group.position};
  const bool final = order.ripe <= time_;
  if (final) ++ledger_.closed;
  (final ? ready_ : overtaken_).emplace(order, std::move(group));
}

void FoldModel::CloseByEvent(ModelGroup group, Reason reason, uint64_t position) {
  group.closed = time_;
  group.reason = reason;
  ++ledger_.closed;
  ready_.emplace(ByEvent(group, position), std::move(group));
}

}  // namespace pleat::inline v0
