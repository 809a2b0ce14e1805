// See the header. Read Fold() first: it is the order of all decisions about one event, with the
// numbers that semantics.md gives them.
#include "tests/model/fold_model.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {
namespace {

// What is forever has none.
EngineTime EndOf(Duration period, EngineTime from) {
  return period == kForever ? kNever : SaturatingAdd(from, period);
}

}  // namespace

FoldOutcome FoldModel::Fold(std::string_view key, uint64_t event, EngineTime at,
                            const EventMarks& marks) {
  if (stopped_) return FoldOutcome::kStopped;  // 1
  const uint64_t position = next_position_++;
  ++ledger_.events;
  at = Clamp(at);
  const bool arrival = engine_.axis == Axis::kArrival;

  // 2, 3: what is refused here changes nothing, time included.
  if (key.size() > kKeyBytesMax) {
    ++ledger_.over_limit;
    return FoldOutcome::kOverLimit;
  }
  if (IsFuture(at)) {
    ++ledger_.future;
    return FoldOutcome::kFuture;
  }

  // The backlog counts what has closed before this event; what it brings due comes on top.
  const bool overloaded = Overloaded(key);

  // 4, 5: on event time a usable event, a late one included, moves time before anything else.
  if (!arrival) MoveTime(SaturatingSub(at, engine_.watermark_delay));

  // 6
  const bool late = folder_.late.allowed_lateness != kForever && time_ != kBeginningOfTime &&
                    at < OldestAccepted();
  if (late && folder_.late.on_late == OnLate::kReject) {
    ++ledger_.late;
    return FoldOutcome::kLate;
  }
  if (late && folder_.late.on_late == OnLate::kCorrect) {
    if (Overloaded(key)) {  // here all that is due counts: it may be what is corrected
      ++ledger_.overloaded;
      return FoldOutcome::kOverloaded;
    }
    Correct(key, event, at, position);
    return FoldOutcome::kCorrected;
  }

  // 7
  if (rules_.has_ids) {
    if (const std::optional<FoldOutcome> taken = TakenBefore(key, marks)) {
      ++(*taken == FoldOutcome::kDuplicate ? ledger_.duplicate : ledger_.conflict);
      return *taken;
    }
  }

  // 8: on arrival time what is due by the stamp is decided ahead of time, and surfaces when time gets
  // there. An overtaken group counts as open until then; so it makes no room for the one that
  // overtakes it. 9 says that a refused event leaves no trace, so it is asked first.
  auto open = open_.find(key);
  const bool overtakes = arrival && open != open_.end() && Due(open->second) <= at;
  const bool needs_room = open == open_.end() || overtakes;
  const bool too_old =
      arrival && open != open_.end() && at < SaturatingSub(open->second.opened, folder_.max_wait);
  const bool hands_out = folder_.edge != Edge::kTrailing && open != open_.end() &&
                         open->second.events.size() < folder_.leading_events;
  if ((needs_room || marks.starts || too_old || hands_out) && overloaded) {
    ++ledger_.overloaded;
    return FoldOutcome::kOverloaded;
  }
  if (needs_room && Full() && folder_.limits.on_limit == OnLimit::kRefuse) {
    ++ledger_.over_limit;
    return FoldOutcome::kOverLimit;
  }
  if (arrival && open != open_.end() && NextOnGrid(open->second) <= at) {
    CutPartial(open->second, at);
  }
  if (overtakes) CloseByTime(std::exchange(open, open_.end()));

  // 9
  while (needs_room && Full()) CloseNextForLimit();

  // 10
  if ((marks.starts || too_old) && open != open_.end()) {
    CloseNow(std::exchange(open, open_.end()),
             marks.starts ? Reason::kStartMark : Reason::kMaxWait);
  }

  // 11
  const bool opening = open == open_.end();
  if (opening) open = OpenGroup(key, at, position);
  ++(opening ? ledger_.opened : ledger_.folded);
  if (late) ++ledger_.late_folded;
  AddEvent(open->second, event, at, QuietPeriodAfter(key, at, opening, marks));
  if (opening) steps_.push_back(StepOf(TraceStep::kOpened, open->second, at));
  if (marks.close_at < kNever) StateClosingTime(open->second, marks.close_at, EdgeOf(at));
  if (rules_.has_ids && !marks.id.empty()) {
    ids_[{std::string(key), std::string(marks.id)}] = {.at = at, .content = marks.content};
  }

  // 12
  if (folder_.edge != Edge::kTrailing && open->second.events.size() <= folder_.leading_events) {
    ++ledger_.partial;
    HandOut(AsItIs(open->second, Reason::kLeading, time_), time_);
  }

  // 13
  CloseIfFull(open, marks.ends);
  return opening ? FoldOutcome::kOpened : FoldOutcome::kFolded;
}

// 0: an event outside the range of partitions only moves time, as if it were usable.
FoldOutcome FoldModel::PassBy(std::string_view key, EngineTime at) {
  at = Clamp(at);
  const bool usable = key.size() <= kKeyBytesMax && !IsFuture(at) && !stopped_;
  if (engine_.axis == Axis::kEvent && usable) MoveTime(SaturatingSub(at, engine_.watermark_delay));
  return FoldOutcome::kElsewhere;
}

// Unless it is told, the limit is a leap year on arrival time, and none on event time.
bool FoldModel::IsFuture(EngineTime at) const {
  const bool arrival = engine_.axis == Axis::kArrival;
  const Duration unless_told = arrival ? 366 * std::chrono::hours(24) : kForever;
  const Duration limit = engine_.future_limit.value_or(unless_told);
  return time_ != kBeginningOfTime && at > SaturatingAdd(time_, limit);
}

// Whether an event that makes the backlog grow is turned away.
bool FoldModel::Overloaded(std::string_view key) const {
  return folder_.limits.on_backlog == OnBacklog::kRefuse &&
         delivery_.BacklogIsFull(rules_.partition(key));
}

void FoldModel::Correct(std::string_view key, uint64_t event, EngineTime at, uint64_t position) {
  ModelGroup correction{.key = std::string(key), .events = {event}, .first = at, .last = at};
  correction.revision = 1;
  correction.position = position;
  correction.closed = time_;
  correction.reason = Reason::kCorrection;

  const auto last = last_.find(correction.key);
  if (last != last_.end() && time_ <= last->second.until) correction.corrects = last->second.id;
  ++ledger_.corrected;
  HandOut(std::move(correction), time_);
}

// An id is known for as long as an event with the stamp of its first one would not be late.
std::optional<FoldOutcome> FoldModel::TakenBefore(std::string_view key,
                                                  const EventMarks& marks) const {
  if (marks.id.empty()) return std::nullopt;
  const auto taken = ids_.find({std::string(key), std::string(marks.id)});
  if (taken == ids_.end() || taken->second.at < OldestRemembered()) return std::nullopt;
  return taken->second.content == marks.content ? FoldOutcome::kDuplicate : FoldOutcome::kConflict;
}

EngineTime FoldModel::OldestRemembered() const {
  return SaturatingSub(time_,
                       std::max(folder_.late.allowed_lateness, folder_.late.deduplication_window));
}

// What would close next closes, or, if that is decided already, surfaces.
void FoldModel::CloseNextForLimit() {
  auto next = open_.end();
  Instant soonest{kNever, 0};
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    const ModelGroup& group = open->second;
    const Instant instant{std::min(Due(group), NextOnGrid(group)), group.position};
    if (next == open_.end() || instant < soonest) {
      next = open;
      soonest = instant;
    }
  }
  if (!waiting_.empty() && waiting_.begin()->first < soonest)
    return Surface(waiting_.begin(), time_);
  CloseNow(next, Reason::kLimit);
}

FoldModel::Groups::iterator FoldModel::OpenGroup(std::string_view key, EngineTime at,
                                                 uint64_t position) {
  ModelGroup group{.key = std::string(key), .opened = at, .first = at, .last = at};
  group.position = position;
  group.quiet_deadline = kBeginningOfTime;
  group.edge = kBeginningOfTime;
  group.closing_time = ClosingTimeFor(at);
  return open_.emplace(group.key, group).first;
}

// What is learned is learned also where the event knows better.
Duration FoldModel::QuietPeriodAfter(std::string_view key, EngineTime at, bool opening,
                                     const EventMarks& marks) {
  Duration quiet = folder_.quiet_period;
  if (folder_.quiet_floor > Duration{0}) {
    const auto [learner, is_new] =
        learners_.try_emplace(rules_.partition(key), folder_.quiet_floor, folder_.quiet_period);
    const std::string key_class = marks.key_class == 0 ? "" : std::to_string(marks.key_class);
    quiet = learner->second.QuietAfter(std::string(key), key_class, EdgeOf(at), at, opening);
  }
  return marks.quiet_period > Duration{0} ? marks.quiet_period : quiet;
}

void FoldModel::AddEvent(ModelGroup& group, uint64_t event, EngineTime at, Duration quiet_period) {
  Unschedule(group);
  group.events.push_back(event);
  group.first = std::min(group.first, at);
  group.last = std::max(group.last, at);
  group.quiet_deadline = std::max(group.quiet_deadline, EndOf(quiet_period, at));
  group.edge = std::max(group.edge, EdgeOf(at));
  group.news = true;
  Schedule(group);
}

void FoldModel::CloseIfFull(Groups::iterator open, bool end_mark) {
  const ModelGroup& group = open->second;
  if (end_mark) {
    CloseNow(open, Reason::kEndMark);
  } else if (rules_.condition && rules_.condition(group.events)) {
    CloseNow(open, Reason::kCondition);
  } else if (const std::optional<Reason> reason = ReasonOfCaps(group)) {
    CloseNow(open, *reason);
  } else if (Due(group) <= time_) {
    // Only a group that was opened overdue gets here, or whose event stated a closing time that is
    // past. Time is the reason, but this event is what brought it out, so it takes that event's place.
    const EngineTime due = Due(group);
    Close(TakeOpen(open, ReasonOfTime(group), due), time_);
  }
}

std::optional<Reason> FoldModel::ReasonOfCaps(const ModelGroup& group) const {
  if (group.events.size() >= folder_.max_events) return Reason::kMaxEvents;
  const bool weighs = folder_.max_group_bytes != kNoByteCap &&
                      rules_.weight(group.events) >= folder_.max_group_bytes;
  return weighs ? std::optional(Reason::kMaxBytes) : std::nullopt;
}

// What is due has closed by the options so far, and what waits keeps its instant. Open groups go on by
// the new ones; those that are over by them close now, by (deadline, opening position).
void FoldModel::SetOptions(const FolderOptions& options) {
  const Duration quiet_before = folder_.quiet_period;
  for (const auto& [key, group] : open_) Unschedule(group);
  folder_ = options;
  delivery_.SetOptions(options);
  std::map<Instant, std::pair<std::string, Reason>> over;
  for (auto& [key, group] : open_) {
    if (group.quiet_deadline == EndOf(quiet_before, group.last)) {
      group.quiet_deadline = EndOf(folder_.quiet_period, group.last);
    }
    Schedule(group);
    const std::optional<Reason> reason =
        Due(group) <= time_ ? ReasonOfTime(group) : ReasonOfCaps(group);
    if (reason) over[{Due(group), group.position}] = {key, *reason};
  }
  for (const auto& [instant, group] : over) CloseNow(open_.find(group.first), group.second);
}

bool FoldModel::Flush(std::string_view key) {
  const auto open = open_.find(key);
  if (open == open_.end()) return false;
  CloseNow(open, Reason::kFlush);
  return true;
}

bool FoldModel::SetDeadline(std::string_view key, EngineTime deadline) {
  const auto open = open_.find(key);
  if (open == open_.end()) return false;
  StateClosingTime(open->second, deadline, time_);
  if (Due(open->second) > time_) return true;
  const EngineTime due = Due(open->second);
  Close(TakeOpen(open, ReasonOfTime(open->second), due), time_);
  return true;
}

bool FoldModel::Cancel(std::string_view key) {
  const auto open = open_.find(key);
  if (open == open_.end()) return false;
  Unschedule(open->second);
  steps_.push_back(StepOf(TraceStep::kCancelled, open->second, time_));
  open_.erase(open);
  ++ledger_.cancelled;
  return true;
}

// By (deadline, opening position). What waits was decided already, each at its instant; here it becomes
// final with the others.
void FoldModel::CloseAll() {
  while (!open_.empty()) {
    const auto open = open_.begin();
    const Instant due{Due(open->second), open->second.position};
    waiting_.emplace(due, TakeOpen(open, Reason::kEnd, time_));
    ++overtaken_;
  }
  while (!waiting_.empty()) Surface(waiting_.begin(), time_);
}

const ModelGroup* FoldModel::Peek(std::string_view key) const {
  const auto open = open_.find(key);
  return open == open_.end() ? nullptr : &open->second;
}

std::vector<ModelGroup> FoldModel::Scan() const {
  std::vector<ModelGroup> out;
  for (const auto& [key, group] : open_) out.push_back(group);
  return out;
}

std::optional<EngineTime> FoldModel::FirstDue() const {
  const std::optional<Instant> next = NextInstant();
  if (!next || next->first == kNever) return std::nullopt;
  return next->first;
}

Ledger FoldModel::ledger() const {
  Ledger ledger = ledger_;
  ledger.open = open_.size() + overtaken_;
  delivery_.AddTo(ledger);
  return ledger;
}

EngineTime FoldModel::EdgeOf(EngineTime at) const {
  return engine_.axis == Axis::kArrival ? std::max(time_, at) : time_;
}

EngineTime FoldModel::HoldDeadline(const ModelGroup& group) const {
  return EndOf(folder_.max_wait, group.opened);
}

// The first instant phase + k * every, for any whole k, behind the opening.
EngineTime FoldModel::ClosingTimeFor(EngineTime opened) const {
  EngineTime at = rules_.closing_time ? rules_.closing_time(opened) : kNever;
  if (folder_.closing.every == kForever) return at;
  __extension__ using Wide = __int128;
  const Wide every = folder_.closing.every.count();
  Wide instant = folder_.closing.phase.count();
  const Wide from = opened.time_since_epoch().count();
  instant += (from - instant) / every * every;  // near `from`: rounded towards zero
  while (instant > from) instant -= every;
  while (instant <= from) instant += every;
  if (instant > kEndOfTime.time_since_epoch().count()) return at;
  return std::min(at, EngineTime{Duration{static_cast<Duration::rep>(instant)}});
}

// What was stated last holds; what is past by then counts as `edge`.
void FoldModel::StateClosingTime(ModelGroup& group, EngineTime stated, EngineTime edge) {
  Unschedule(group);
  group.closing_time = ClosingTimeFor(group.opened);
  // A partial that the event's stamp has passed comes before.
  const bool has_partial = folder_.partial_every < kForever && edge > time_ &&
                           edge > group.opened &&
                           (edge - group.opened) % folder_.partial_every == Duration{0};
  if (has_partial) edge += Duration{1};
  if (stated < kNever) {
    group.closing_time = std::min(group.closing_time, std::max(stated, edge));
  }
  Schedule(group);
}

EngineTime FoldModel::Due(const ModelGroup& group) const {
  return std::min({group.quiet_deadline, HoldDeadline(group), group.closing_time});
}

// Of deadlines that tie, quiet is the reason, then max wait.
Reason FoldModel::ReasonOfTime(const ModelGroup& group) const {
  const EngineTime others = std::min(group.quiet_deadline, HoldDeadline(group));
  if (group.closing_time < others) return Reason::kClosingTime;
  return HoldDeadline(group) < group.quiet_deadline ? Reason::kMaxWait : Reason::kQuiet;
}

// The first instant opened + k * partial_every, k = 1, 2, ..., after the edge and after time.
EngineTime FoldModel::NextOnGrid(const ModelGroup& group) const {
  const Duration every = folder_.partial_every;
  if (every > kEndOfTime - kBeginningOfTime) return kNever;
  const Duration passed = std::max({group.edge, time_, group.opened}) - group.opened;
  const EngineTime next = group.opened + (passed / every + 1) * every;
  return next < Due(group) ? next : kNever;
}

EngineTime FoldModel::Wakes(const ModelGroup& group) const {
  return group.news ? std::min(Due(group), NextOnGrid(group)) : Due(group);
}

// What time brings about next: of an open group, or of what waits for its instant.
std::optional<FoldModel::Instant> FoldModel::NextInstant() const {
  std::set<Instant> next;
  if (!wakes_.empty()) next.insert({std::get<0>(*wakes_.begin()), std::get<1>(*wakes_.begin())});
  if (!waiting_.empty()) next.insert(waiting_.begin()->first);
  return next.empty() ? std::nullopt : std::optional(*next.begin());
}

// One instant after the other.
void FoldModel::MoveTime(EngineTime to) {
  to = std::max(time_, Clamp(to));
  for (auto next = NextInstant(); next && next->first <= to; next = NextInstant()) {
    if (!waiting_.empty() && waiting_.begin()->first == *next) {
      Surface(waiting_.begin(), next->first);
      continue;
    }
    const auto open = open_.find(std::get<2>(*wakes_.begin()));
    if (Wakes(open->second) < Due(open->second)) {
      CutPartial(open->second, to);
    } else {
      CloseByTime(open);
    }
  }
  time_ = to;
}

// Decides the partial of the next grid instant. Nothing new, no partial; and at the limit on the backlog none
// up to `until`.
void FoldModel::CutPartial(ModelGroup& group, EngineTime until) {
  if (!group.news) return;
  const EngineTime instant = NextOnGrid(group);
  if (!delivery_.BacklogIsFull(rules_.partition(group.key))) {
    waiting_.emplace(Instant{instant, group.position}, AsItIs(group, Reason::kPartial, instant));
    return;
  }
  Unschedule(group);
  group.edge = std::max(instant, until);
  Schedule(group);
}

// Closed at its due, whoever noticed and whenever.
void FoldModel::CloseByTime(Groups::iterator open) {
  const EngineTime due = Due(open->second);
  const Instant instant{due, open->second.position};
  waiting_.emplace(instant, TakeOpen(open, ReasonOfTime(open->second), due));
  ++overtaken_;
}

// The group as it goes, no longer open.
ModelGroup FoldModel::TakeOpen(Groups::iterator open, Reason reason, EngineTime closed) {
  Unschedule(open->second);
  ModelGroup group = std::move(open->second);
  open_.erase(open);
  ++group.revision;
  group.reason = reason;
  group.closed = closed;
  return group;
}

// An emission of a group that goes on.
ModelGroup FoldModel::AsItIs(ModelGroup& group, Reason reason, EngineTime closed) {
  Unschedule(group);
  group.news = false;
  Schedule(group);
  ++group.revision;
  ModelGroup emission = group;
  emission.reason = reason;
  emission.closed = closed;
  emission.partial = true;
  return emission;
}

void FoldModel::CloseNow(Groups::iterator open, Reason reason) {
  Close(TakeOpen(open, reason, time_), time_);
}

// After a leading emission a group has nothing to add, or only what has followed.
void FoldModel::Close(ModelGroup group, EngineTime ripe) {
  ++ledger_.closed;
  const bool silent =
      folder_.edge == Edge::kLeading ||
      (folder_.edge == Edge::kBoth && group.events.size() <= folder_.leading_events);
  if (silent) {
    ++ledger_.silent;
    steps_.push_back(StepOf(TraceStep::kSilent, group, group.closed));
    steps_.back().reason = group.reason;
  } else {
    HandOut(std::move(group), ripe);
  }
}

void FoldModel::HandOut(ModelGroup emission, EngineTime ripe) {
  const int partition = rules_.partition(emission.key);
  emission.id = {.partition = static_cast<uint32_t>(partition),
                 .generation = generations_[partition]++};
  constexpr Duration kMuch = kForever / 20;  // ten times two of it are no overflow
  const Duration remembered =
      10 * (std::min(folder_.late.allowed_lateness, kMuch) + std::min(folder_.quiet_period, kMuch));
  if (emission.reason != Reason::kCorrection) {
    last_[emission.key] = {.id = emission.id, .until = SaturatingAdd(ripe, remembered)};
  }
  ++ledger_.emissions[IndexOf(emission.reason)];
  const TraceStep step = emission.reason == Reason::kCorrection ? TraceStep::kCorrected
                         : emission.partial                     ? TraceStep::kPartial
                                                                : TraceStep::kClosed;
  steps_.push_back(StepOf(step, emission, emission.closed));
  steps_.back().emission = emission.id;
  steps_.back().reason = emission.reason;
  steps_.back().revision = emission.revision;
  delivery_.Add(std::move(emission));
}

// What waited becomes final.
void FoldModel::Surface(std::multimap<Instant, ModelGroup>::iterator waiting, EngineTime ripe) {
  ModelGroup emission = std::move(waiting->second);
  waiting_.erase(waiting);
  if (emission.partial) {
    ++ledger_.partial;
    HandOut(std::move(emission), ripe);
  } else {
    --overtaken_;
    Close(std::move(emission), ripe);
  }
}

}  // namespace pleat::inline v0_1
