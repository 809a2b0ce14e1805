// See the header. Read Fold() first: it is the order of all decisions about one event.
#include "tests/model/plain_folder.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

EngineTime Later(EngineTime t, Duration d) { return d == kForever ? kNever : SaturatingAdd(t, d); }

// Ten times their sum; for ever if that is longer than time itself.
Duration TenTimes(Duration a, Duration b) {
  constexpr Duration kLongest = kEndOfTime - kBeginningOfTime;
  return a > kLongest || b > kLongest ? kForever : 10 * (a + b);
}

}  // namespace

FoldOutcome PlainFolder::Fold(const PlainEvent& event) {
  ++ledger_.events;
  if (TooFarAhead(event.at)) return ++ledger_.future, FoldOutcome::kFuture;
  MoveTime(SaturatingSub(event.at, engine_.watermark_delay));

  const EngineTime oldest = SaturatingSub(time_, folder_.late.allowed_lateness);
  const bool late = event.at < oldest;
  if (late && folder_.late.on_late == OnLate::kReject) return ++ledger_.late, FoldOutcome::kLate;
  if (late && folder_.late.on_late == OnLate::kCorrect) {
    Correct(event);
    return ++ledger_.corrected, FoldOutcome::kCorrected;
  }

  if (event.id) {
    const auto taken = taken_.find({event.key, *event.id});
    const Duration remembered =
        std::max(folder_.late.allowed_lateness, folder_.late.deduplication_window);
    if (taken != taken_.end() && taken->second.at >= SaturatingSub(time_, remembered)) {
      if (taken->second.content != event.content) return ++ledger_.conflict, FoldOutcome::kConflict;
      return ++ledger_.duplicate, FoldOutcome::kDuplicate;
    }
  }

  // A group that takes the place of the one before it needs no room.
  auto open = open_.find(event.key);
  if (open == open_.end() && !MakeRoom()) return ++ledger_.over_limit, FoldOutcome::kOverLimit;
  if (open != open_.end() && event.starts) {
    Close(open, Reason::kStartMark, time_);
    open = open_.end();
  }
  if (late) ++ledger_.late_folded;
  if (event.id) taken_.insert_or_assign({event.key, *event.id}, Taken{event.at, event.content});

  const bool opens = open == open_.end();
  if (opens) open = OpenGroup(event);
  AddEvent(open, event);
  if (folder_.edge != Edge::kTrailing && open->second.events.size() <= folder_.leading_events) {
    Emit(open, Reason::kLeading, time_);
  }
  CloseBehind(open, event);
  ++(opens ? ledger_.opened : ledger_.folded);
  return opens ? FoldOutcome::kOpened : FoldOutcome::kFolded;
}

bool PlainFolder::Flush(const std::string& key, EngineTime at) {
  if (TooFarAhead(at)) return false;
  MoveTime(SaturatingSub(at, engine_.watermark_delay));
  if (const auto open = open_.find(key); open != open_.end()) Close(open, Reason::kFlush, time_);
  return true;
}

bool PlainFolder::Cancel(const std::string& key, EngineTime at) {
  if (TooFarAhead(at)) return false;
  MoveTime(SaturatingSub(at, engine_.watermark_delay));
  if (const auto open = open_.find(key); open != open_.end()) {
    Drop(open);
    ++ledger_.cancelled;
  }
  return true;
}

void PlainFolder::CloseAll() {
  std::map<Next, std::string> by_deadline;
  for (const auto& [key, group] : open_) by_deadline[{Deadline(group), group.position}] = key;
  for (const auto& [next, key] : by_deadline) Close(open_.find(key), Reason::kEnd, time_);
}

Ledger PlainFolder::ledger() const {
  Ledger ledger = ledger_;
  ledger.open = open_.size();
  return ledger;
}

bool PlainFolder::TooFarAhead(EngineTime at) const {
  return time_ != kBeginningOfTime && at > Later(time_, engine_.future_limit.value_or(kForever));
}

// Goes through everything on the agenda, one instant after the other.
void PlainFolder::MoveTime(EngineTime to) {
  while (!agenda_.empty() && agenda_.begin()->first.first <= to) {
    const auto& [next, key] = *agenda_.begin();
    time_ = next.first;
    const auto open = open_.find(key);
    if (Deadline(open->second) == time_) {
      CloseByTime(open);
    } else {
      PassInstant(open, to);
    }
  }
  time_ = std::max(time_, to);
}

// An instant of the group's grid: a partial, if there is anything new to tell. Nothing folds in before
// `to`, so that no instant up to it has anything to tell after this one.
void PlainFolder::PassInstant(Groups::iterator open, EngineTime to) {
  Group& group = open->second;
  if (group.changed) Emit(open, Reason::kPartial, time_);
  agenda_.erase(NextOf(group));
  group.next_partial = FirstInstantAfter(group, to);
  agenda_[NextOf(group)] = open->first;
}

bool PlainFolder::MakeRoom() {
  while (open_.size() >= folder_.limits.max_groups) {
    if (folder_.limits.on_limit == OnLimit::kRefuse) return false;
    Close(open_.find(agenda_.begin()->second), Reason::kLimit, time_);
  }
  return true;
}

PlainFolder::Groups::iterator PlainFolder::OpenGroup(const PlainEvent& event) {
  const Group group{.position = ++groups_,
                    .opened = event.at,
                    .quiet_due = kBeginningOfTime,
                    .closing = NextOfGrid(event.at)};
  return open_.emplace(event.key, group).first;
}

void PlainFolder::AddEvent(Groups::iterator open, const PlainEvent& event) {
  Group& group = open->second;
  agenda_.erase(NextOf(group));
  group.events.push_back(event);
  group.bytes += event.bytes;
  Duration quiet = event.own_quiet.value_or(folder_.quiet_period);
  if (learner_) {
    quiet =
        learner_->QuietAfter(event.key, event.key_class, time_, event.at, group.events.size() == 1);
  }
  group.quiet_due = std::max(group.quiet_due, Later(event.at, quiet));
  if (event.close_at) {
    // What is past by now means now.
    group.closing = std::min(NextOfGrid(group.opened), std::max(*event.close_at, time_));
  }
  group.next_partial = FirstInstantAfter(group, time_);
  group.changed = true;
  agenda_[NextOf(group)] = open->first;
}

void PlainFolder::CloseBehind(Groups::iterator open, const PlainEvent& event) {
  const Group& group = open->second;
  if (event.ends) return Close(open, Reason::kEndMark, time_);
  if (condition_ && condition_(group.events)) return Close(open, Reason::kCondition, time_);
  if (group.events.size() >= folder_.max_events) return Close(open, Reason::kMaxEvents, time_);
  if (group.bytes >= folder_.max_group_bytes) return Close(open, Reason::kMaxBytes, time_);
  if (Deadline(group) <= time_) CloseByTime(open);  // opened overdue, or told to close
}

// Of deadlines that tie, quiet is the reason, and max wait before the closing time.
void PlainFolder::CloseByTime(Groups::iterator open) {
  const Group& group = open->second;
  const EngineTime due = Deadline(group);
  const Reason reason = group.quiet_due == due  ? Reason::kQuiet
                        : HoldDue(group) == due ? Reason::kMaxWait
                                                : Reason::kClosingTime;
  Close(open, reason, due);
}

void PlainFolder::Close(Groups::iterator open, Reason reason, EngineTime closed) {
  const size_t events = open->second.events.size();
  const bool told = folder_.edge == Edge::kLeading ||
                    (folder_.edge == Edge::kBoth && events <= folder_.leading_events);
  if (told) {
    ++ledger_.silent;
  } else {
    Emit(open, reason, closed);
  }
  ++ledger_.closed;
  Drop(open);
}

void PlainFolder::Drop(Groups::iterator open) {
  agenda_.erase(NextOf(open->second));
  open_.erase(open);
}

void PlainFolder::Emit(Groups::iterator open, Reason reason, EngineTime closed) {
  auto& [key, group] = *open;
  const bool partial = reason == Reason::kLeading || reason == Reason::kPartial;
  const auto [first, last] = std::ranges::minmax_element(group.events, {}, &PlainEvent::at);
  emitted_[key] = {.generation = ledger_.popped, .final = time_};
  out_.push_back({.key = key,
                  .events = group.events,
                  .first = first->at,
                  .last = last->at,
                  .closed = closed,
                  .reason = reason,
                  .generation = ledger_.popped++,
                  .revision = ++group.revisions,
                  .partial = partial});
  ++ledger_.emissions[IndexOf(reason)];
  if (partial) ++ledger_.partial;
  group.changed = false;
}

void PlainFolder::Correct(const PlainEvent& event) {
  PlainEmission correction{.key = event.key,
                           .events = {event},
                           .first = event.at,
                           .last = event.at,
                           .closed = time_,
                           .reason = Reason::kCorrection,
                           .generation = ledger_.popped++};
  const Duration remembered = TenTimes(folder_.late.allowed_lateness, folder_.quiet_period);
  if (const auto last = emitted_.find(event.key);
      last != emitted_.end() && time_ <= Later(last->second.final, remembered)) {
    correction.corrects = last->second.generation;
  }
  ++ledger_.emissions[IndexOf(Reason::kCorrection)];
  out_.push_back(std::move(correction));
}

EngineTime PlainFolder::HoldDue(const Group& group) const {
  return Later(group.opened, folder_.max_wait);
}

EngineTime PlainFolder::Deadline(const Group& group) const {
  return std::min({group.quiet_due, HoldDue(group), group.closing});
}

// The first instant behind `opened` that is some periods away from 1970 and the phase.
EngineTime PlainFolder::NextOfGrid(EngineTime opened) const {
  const Duration every = folder_.closing.every;
  if (every == kForever) return kNever;
  Duration since = (opened - folder_.closing.phase).time_since_epoch() % every;
  if (since < Duration{0}) since += every;
  return every - since > kEndOfTime - opened ? kNever : opened + (every - since);
}

EngineTime PlainFolder::FirstInstantAfter(const Group& group, EngineTime now) const {
  if (folder_.partial_every == kForever) return kNever;
  const auto passed = now < group.opened ? 0 : (now - group.opened) / folder_.partial_every;
  const EngineTime instant = Later(group.opened, (passed + 1) * folder_.partial_every);
  return instant > now ? instant : kNever;
}

PlainFolder::Next PlainFolder::NextOf(const Group& group) const {
  return {std::min(group.next_partial, Deadline(group)), group.position};
}

}  // namespace pleat::inline v0_1
