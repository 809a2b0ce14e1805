// JsonLiveSet: lines to events of a live set (LineFeed), its members and changes to lines.
//
// On event time a batch ends before an event that moves the engine's time to the instant at which
// on_time wants to look around. So a batch never passes such an instant, and between two of them
// events go in together.
#include <pleat/json_live_set.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/live_set_options.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/lines/feed/line_companion.h"
#include "engine/lines/feed/line_feed.h"
#include "engine/lines/feed/line_intake.h"
#include "engine/lines/feed/live_set_line.h"
#include "engine/lines/feed/payload_text.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/reduce/line_writer.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
namespace {

// How much is printed before it is handed on.
constexpr size_t kWrittenAtOnce = 64 * 1024;

// How many changes are taken by one call.
constexpr size_t kChangesAtOnce = 1024;
constexpr WatchScope kAllSeries{.name = {}, .is_prefix = true};

// How many members of a series are listed by one call.
constexpr size_t kListedAtOnce = 256;

EventPlan PlanOf(const LiveSetSpec& spec) {
  EventPlan plan(spec.event);
  plan.AddMember(spec.member);
  if (!spec.payload.empty()) plan.AddValue("payload", spec.payload, ValueForm::kText);
  return plan;
}

struct CountedSeries {
  std::string name;
  size_t count;
};

}  // namespace

class [[gnu::visibility("hidden")]] JsonLiveSet::Impl {
 public:
  using Outcome = LiveSetOutcome;
  static constexpr auto kOutcome = &LineResult::live_set;

  // See OpenAlone() and OpenFed().
  static absl::StatusOr<std::shared_ptr<Impl>> Open(Engine& engine, std::string_view name,
                                                    const LiveSetSpec& spec,
                                                    Companion::NamedTexts stored_options,
                                                    std::unique_ptr<AnyIntake> intake);
  // The spec's options that have a part in the results, but for those of the engine and the live set,
  // which look after themselves.
  static Companion::NamedTexts StoredOptionsOf(const LiveSetSpec& spec) {
    return OptionsNamed(OptionsOf(spec),
                        {"key", "member", "ttl-path", "payload", "version", "remove-when", "time",
                         "time-unit", "reorder", "where", "from", "to"});
  }

  Impl(Engine& engine, const AnyLiveSet& live_set, const LiveSetSpec& spec,
       std::shared_ptr<LineCompanion> companion, std::unique_ptr<AnyIntake> intake)
      : engine_(engine),
        intake_(std::move(intake)),
        live_set_(live_set),
        spec_(spec),
        may_be_future_(spec.event.future_limit != kForever && companion->stage() == nullptr),
        companion_(std::move(companion)),
        changes_printer_(spec),
        feed_(companion_->plan(), companion_->tally(), companion_->stage()),
        counts_events_(spec.member.id.empty()) {}

  LineFeed<LiveSetOutcome>& feed() noexcept { return feed_; }
  const AnyLiveSet& collection() const noexcept { return live_set_; }
  void SetOnTime(OnTime on_time) {
    if (feed_.has_intake()) Fail("SetOnTime() of a live set that a JsonIntake feeds");
    on_time_ = std::move(on_time);
  }

  // For the feed.
  size_t BatchSize(const EventBatch& events, size_t first, size_t end, int64_t line);
  size_t Add(const EventBatch& events, size_t first, size_t end,
             std::span<LiveSetOutcome> outcomes);
  AnyBatch EventsOf(const EventBatch& events, size_t first, size_t end);  // until the next call
  bool Obey(const ControlEvent& control, EngineTime at, int64_t line);
  EngineTime NextHalt() const noexcept { return on_time_ ? halt_ : kNever; }
  void MoveTime(EngineTime now, int64_t line);
  static std::string ConflictOf(const EventBatch& events, size_t i);
  static bool IsUsual(LiveSetOutcome outcome) noexcept;
  static bool IsTaken(LiveSetOutcome outcome) noexcept {
    return outcome == LiveSetOutcome::kAdded || outcome == LiveSetOutcome::kRefreshed ||
           outcome == LiveSetOutcome::kUpdated;
  }

  void WatchChanges() noexcept;
  using EachLine = absl::FunctionRef<void(std::string_view key, std::string_view line)>;
  absl::Status TakeChanges(bool refreshes, WriteLines write);
  absl::Status TakeChanges(bool refreshes, EachLine each);
  void WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const;
  void WriteLive(WriteLines write) const;

 private:
  void Reach(EngineTime at, int64_t line);

  void ForEachSeries(EngineTime at, size_t top, AnyLiveSet::SeeSeries see) const;

  Engine& engine_;
  const std::unique_ptr<AnyIntake>
      intake_;  // kept, so that there is no other one; null without a bound
  AnyLiveSet live_set_;
  const LiveSetSpec spec_;
  const bool may_be_future_;  // the engine may find an event beyond the future limit
  const std::shared_ptr<LineCompanion> companion_;
  LiveSetPrinter changes_printer_;
  OnTime on_time_;
  EngineTime halt_ = kBeginningOfTime;  // on_time_ is called before time comes here

  LineFeed<LiveSetOutcome> feed_;
  std::vector<KeyedEvent<MemberEvent>> batch_;

  // Without members, the id of each event. Events of an earlier run may still count, whose numbers
  // nobody knows: a secret tells runs apart.
  struct OwnId {
    uint64_t run;
    uint64_t number;
  };
  const bool counts_events_;
  const uint64_t run_ = RandomHashKey()[0];
  uint64_t next_id_ = 0;
  std::vector<OwnId> own_ids_;

  ChangeCursor changes_;  // those that were taken
};

// How many events from `first` on are added at once. Where the engine may find one invalid, no later
// one may be added before that was said. Where one may be refused, its limit is still reached when
// it is said which. And none may move time to `halt_` but the first.
size_t JsonLiveSet::Impl::BatchSize(const EventBatch& events, size_t first, size_t end,
                                    int64_t line) {
  Reach(events.events[first].at, line);
  if (may_be_future_) return 1;
  const size_t most = std::min(end - first, feed_.kEventsAtOnce);
  const LiveSetLimits& limits = spec_.live_set.limits;
  const LiveSetSizes sizes = live_set_.sizes();
  const bool may_refuse = limits.max_members - std::min(limits.max_members, sizes.members) < most ||
                          limits.max_series - std::min(limits.max_series, sizes.series) < most;
  if (may_refuse && limits.on_limit == OnLiveSetLimit::kRefuse) return 1;
  size_t size = 1;
  const bool halts = feed_.on_event_time() && on_time_;
  while (size < most && !(halts && events.events[first + size].at >= halt_)) ++size;
  return size;
}

AnyBatch JsonLiveSet::Impl::EventsOf(const EventBatch& events, size_t first, size_t end) {
  const size_t values = events.values_an_event();
  batch_.clear();
  if (counts_events_) own_ids_.resize(end - first);
  for (size_t i = first; i < end; ++i) {
    const KeyedEvent<LineEvent>& line = events.events[i];
    KeyedEvent<MemberEvent>& event = batch_.emplace_back();
    event.key = line.key;
    event.at = line.at;
    if (counts_events_) {
      OwnId& id = own_ids_[i - first];
      id = {run_, next_id_++};
      event.event.member.id = {reinterpret_cast<const char*>(&id), sizeof(id)};
    } else {
      const MemberMarks& marks = events.members[i];
      event.event.member = {.id = marks.id, .ttl = marks.ttl, .version = marks.version};
    }
    if (values > 0 && events.values[i * values].present) {
      event.event.payload = PayloadText::Of(events.values[i * values].text);
    }
  }
  return AnyBatch::Of<MemberEvent>(batch_);
}

size_t JsonLiveSet::Impl::Add(const EventBatch& events, size_t first, size_t end,
                              std::span<LiveSetOutcome> outcomes) {
  const LiveSetCounts counts = live_set_.AddBatch(EventsOf(events, first, end), outcomes);
  return counts[LiveSetOutcome::kAdded] + counts[LiveSetOutcome::kRefreshed] +
         counts[LiveSetOutcome::kUpdated];
}

// Before a line stamped `at` moves the engine's time.
void JsonLiveSet::Impl::Reach(EngineTime at, int64_t line) {
  if (!feed_.on_event_time() || !on_time_) return;
  const EngineTime before = engine_.now();
  if (at < halt_) return;
  if (may_be_future_ && IsBeyondFuture(at, before, spec_.event.future_limit)) return;
  // The first event sets time, and the future limit does not apply to it: leave that to the engine.
  if (before != kBeginningOfTime) halt_ = on_time_(at, line);
}

void JsonLiveSet::Impl::MoveTime(EngineTime now, int64_t line) {
  Reach(now, line);
  [[maybe_unused]] const bool none_due = engine_.Advance(now, 0);
}

bool JsonLiveSet::Impl::Obey(const ControlEvent& control, EngineTime at, int64_t line) {
  Reach(at, line);
  const RemoveOptions leave{.at = at, .only_if_not_newer = true, .later_wins = true};
  return live_set_.Remove(control.key, control.member, leave) != LiveSetControl::kFuture;
}

std::string JsonLiveSet::Impl::ConflictOf(const EventBatch& events, size_t i) {
  return "member " + invalid_line::Shown(SpelledKey::Of(events.members[i].id).shown) + " of key " +
         invalid_line::Shown(SpelledKey::Of(events.events[i].key).shown) +
         " has another payload with the same stamp and version";
}

bool JsonLiveSet::Impl::IsUsual(LiveSetOutcome outcome) noexcept {
  switch (outcome) {
    case LiveSetOutcome::kLate:
    case LiveSetOutcome::kFuture:
    case LiveSetOutcome::kConflict:
    case LiveSetOutcome::kFull:
    case LiveSetOutcome::kOverLimit:
    case LiveSetOutcome::kStopped: return false;
    default: return true;
  }
}

void JsonLiveSet::Impl::WatchChanges() noexcept {
  changes_ = live_set_.Watch(kAllSeries, [](std::string_view, size_t) {});
}

absl::Status JsonLiveSet::Impl::TakeChanges(bool refreshes, WriteLines write) {
  LineWriter lines;
  const auto print = [&](const AnyChange& change) {
    if (change.cause != Cause::kRefreshed || refreshes)
      changes_printer_.AppendChange(change, lines);
  };
  for (ReadChanges read = ReadChanges::kMore; read == ReadChanges::kMore;) {
    read = live_set_.Read(kAllSeries, changes_, kChangesAtOnce, print);
    if (read == ReadChanges::kResync) {
      return absl::ResourceExhaustedError("more changes at once than are kept");
    }
    lines.HandOn(write, kWrittenAtOnce);
  }
  lines.HandOn(write);
  return absl::OkStatus();
}

absl::Status JsonLiveSet::Impl::TakeChanges(bool refreshes, EachLine each) {
  LineWriter line;
  const auto print = [&](const AnyChange& change) {
    if (change.cause == Cause::kRefreshed && !refreshes) return;
    line.Clear();
    changes_printer_.AppendChange(change, line);
    each(SpelledKey::Of(change.series).identity, line.text().substr(0, line.size() - 1));
  };
  for (ReadChanges read = ReadChanges::kMore; read == ReadChanges::kMore;) {
    read = live_set_.Read(kAllSeries, changes_, kChangesAtOnce, print);
    if (read == ReadChanges::kResync) {
      return absl::ResourceExhaustedError("more changes at once than are kept");
    }
  }
  return absl::OkStatus();
}

void JsonLiveSet::Impl::WriteCounts(EngineTime at, const CountSpec& counts,
                                    WriteLines write) const {
  LiveSetPrinter printer(spec_);
  LineWriter lines;
  std::vector<size_t> within(counts.within.size());
  ForEachSeries(at, counts.top, [&](std::string_view name, size_t count) {
    for (size_t i = 0; i < within.size(); ++i) {
      const Duration length = counts.within[i].length;
      within[i] =
          length > at - kBeginningOfTime ? count : live_set_.CountSince(name, at - length, at);
    }
    printer.AppendCount(name, at, count, counts.within, within, lines);
    lines.HandOn(write, kWrittenAtOnce);
  });
  lines.HandOn(write);
}

// All, or the largest. `see` may call the engine.
void JsonLiveSet::Impl::ForEachSeries(EngineTime at, size_t top, AnyLiveSet::SeeSeries see) const {
  if (top == SIZE_MAX) return live_set_.AllSeries(at, see);
  std::vector<CountedSeries> largest;
  live_set_.TopSeries(top, at, [&](std::string_view name, size_t count) {
    largest.push_back({std::string(name), count});
  });
  for (const CountedSeries& series : largest) see(series.name, series.count);
}

void JsonLiveSet::Impl::WriteLive(WriteLines write) const {
  const EngineTime now = engine_.now();
  LiveSetPrinter printer(spec_);
  LineWriter lines;
  ForEachSeries(now, SIZE_MAX, [&](std::string_view name, size_t) {
    ListCursor cursor;
    const ListOptions part{.newest_first = false, .limit = kListedAtOnce, .now = now};
    const auto print = [&](const AnyLive& member) { printer.AppendMember(name, member, lines); };
    for (bool more = true; more;) {
      more = live_set_.List(name, part, cursor, print);
      lines.HandOn(write, kWrittenAtOnce);
    }
  });
  lines.HandOn(write);
}

absl::StatusOr<std::shared_ptr<JsonLiveSet::Impl>> JsonLiveSet::Impl::Open(
    Engine& engine, std::string_view name, const LiveSetSpec& spec,
    Companion::NamedTexts stored_options, std::unique_ptr<AnyIntake> intake) {
  const PayloadOps ops = spec.payload.empty() ? PayloadOps{} : PayloadTextOps();
  absl::StatusOr<AnyLiveSet> live_set = AnyLiveSet::Open(engine, name, spec.live_set, ops);
  if (!live_set.ok()) return live_set.status();
  auto companion = std::make_shared<LineCompanion>(PlanOf(spec), StageFor(spec.event),
                                                   std::move(stored_options));
  if (absl::Status kept = SetCompanion(engine, name, companion); !kept.ok()) return kept;
  return std::make_shared<Impl>(engine, *live_set, spec, std::move(companion), std::move(intake));
}

absl::StatusOr<std::unique_ptr<JsonLiveSet>> JsonLiveSet::Open(Engine& engine,
                                                               std::string_view name,
                                                               const LiveSetSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenAlone<Impl>(engine, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonLiveSet>(new JsonLiveSet(*std::move(impl)));
}
absl::StatusOr<std::unique_ptr<JsonLiveSet>> JsonLiveSet::Open(JsonIntake& intake,
                                                               std::string_view name,
                                                               const LiveSetSpec& spec) {
  absl::StatusOr<std::shared_ptr<Impl>> impl = OpenFed<Impl>(intake, name, spec);
  if (!impl.ok()) return impl.status();
  return std::unique_ptr<JsonLiveSet>(new JsonLiveSet(*std::move(impl)));
}

JsonLiveSet::JsonLiveSet(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonLiveSet::~JsonLiveSet() = default;

size_t JsonLiveSet::Add(JsonLines& lines, size_t max, EngineTime arrival,
                        OnUnusualLine on_unusual) {
  return impl_->feed().Take(*impl_, lines.read(), max, arrival, on_unusual);
}
LineResult JsonLiveSet::AddLine(std::string_view line, EngineTime arrival,
                                OnUnusualLine on_unusual) {
  return impl_->feed().TakeLine(*impl_, line, arrival, on_unusual);
}
void JsonLiveSet::Advance(EngineTime now, OnUnusualLine on_unusual) {
  impl_->feed().Advance(*impl_, now, on_unusual);
}
void JsonLiveSet::TakeWaiting(OnUnusualLine on_unusual) {
  impl_->feed().TakeWaiting(*impl_, on_unusual);
}
std::optional<EngineTime> JsonLiveSet::next_waiting() const { return impl_->feed().next_waiting(); }
void JsonLiveSet::SetOnTaken(std::function<void()> on_taken) {
  impl_->feed().SetOnTaken(std::move(on_taken));
}
void JsonLiveSet::SetOnTime(OnTime on_time) { impl_->SetOnTime(std::move(on_time)); }
void JsonLiveSet::StartInput() noexcept { impl_->feed().StartInput(); }
void JsonLiveSet::WatchChanges() noexcept { impl_->WatchChanges(); }
absl::Status JsonLiveSet::TakeChanges(bool refreshes, WriteLines write) {
  return impl_->TakeChanges(refreshes, write);
}
absl::Status JsonLiveSet::TakeChanges(bool refreshes, EachLine each) {
  return impl_->TakeChanges(refreshes, each);
}
void JsonLiveSet::WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const {
  impl_->WriteCounts(at, counts, write);
}
void JsonLiveSet::WriteLive(WriteLines write) const { impl_->WriteLive(write); }
LineCounts JsonLiveSet::counts() const noexcept { return impl_->feed().counts(); }
StampCounts JsonLiveSet::stamps() const noexcept { return impl_->feed().stamps(); }
LiveSetLedger JsonLiveSet::ledger() const noexcept { return impl_->collection().ledger(); }
LiveSetSizes JsonLiveSet::sizes() const noexcept { return impl_->collection().sizes(); }
std::vector<OptionPath> JsonLiveSet::absent_paths() const { return impl_->feed().absent_paths(); }
std::vector<OptionPath> JsonLiveSet::asked_paths() const { return impl_->feed().asked_paths(); }
const EventPlan& JsonLiveSet::plan() const noexcept { return impl_->feed().plan(); }

}  // namespace pleat::inline v0_1
