// JsonWindow: lines to events of a live window (LineFeed), its members and changes to lines.
//
// On event time a batch ends before an event that moves the engine's time to the instant at which
// on_time wants to look around. So a batch never passes such an instant, and between two of them
// events go in together.
#include <pleat/json_window.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/any_window.h>

#include "engine/json/event_plan.h"
#include "engine/json/line_companion.h"
#include "engine/json/line_feed.h"
#include "engine/json/line_writer.h"
#include "engine/json/payload_text.h"
#include "engine/json/window_line.h"

namespace pleat::inline v0_1 {
namespace {

// How much is printed before it is handed on.
constexpr size_t kWrittenAtOnce = 64 * 1024;

// How many changes are taken by one call.
constexpr size_t kChangesAtOnce = 1024;
constexpr WatchScope kAllSeries{.name = {}, .is_prefix = true};

// How many members of a series are listed by one call.
constexpr size_t kListedAtOnce = 256;

EventPlan PlanOf(const WindowSpec& spec) {
  EventPlan plan(spec.event);
  plan.AddMember(spec.member);
  if (!spec.payload.empty()) plan.AddValue("payload", spec.payload, ValueForm::kText);
  return plan;
}

// The spec's options that have a part in the results, but for those of the engine and the window,
// which look after themselves.
Companion::NamedTexts StoredOptionsOf(const WindowSpec& spec) {
  return OptionsNamed(OptionsOf(spec), {"key", "member", "ttl-path", "payload", "version",
                                        "remove-when", "time", "time-unit", "where", "from", "to"});
}

struct CountedSeries {
  std::string name;
  size_t count;
};

}  // namespace

class [[gnu::visibility("hidden")]] JsonWindow::Impl {
 public:
  using Outcome = WindowOutcome;
  static constexpr auto kOutcome = &LineResult::window;

  Impl(Engine& engine, const AnyWindow& window, const WindowSpec& spec,
       std::shared_ptr<LineCompanion> companion)
      : engine_(engine),
        window_(window),
        spec_(spec),
        future_limit_(spec.event.future_limit),
        companion_(std::move(companion)),
        changes_printer_(spec),
        feed_(companion_->plan(), companion_->tally()) {}

  LineFeed<WindowOutcome>& feed() noexcept { return feed_; }
  const AnyWindow& window() const noexcept { return window_; }
  void SetOnTime(OnTime on_time) { on_time_ = std::move(on_time); }

  // For the feed.
  size_t BatchSize(const EventBatch& events, size_t first, size_t end, size_t line);
  size_t Add(const EventBatch& events, size_t first, size_t end, std::span<WindowOutcome> outcomes);
  bool Obey(const ControlEvent& control, EngineTime at, size_t line);
  static std::string ConflictOf(const EventBatch& events, size_t i);
  static bool IsUsual(WindowOutcome outcome) noexcept;
  static bool IsTaken(WindowOutcome outcome) noexcept {
    return outcome == WindowOutcome::kAdded || outcome == WindowOutcome::kRefreshed ||
           outcome == WindowOutcome::kUpdated;
  }

  void WatchChanges() noexcept;
  absl::Status TakeChanges(bool refreshes, WriteLines write);
  void WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const;
  void WriteLive(WriteLines write) const;

 private:
  void Reach(EngineTime at, size_t line);
  EngineTime TimeAfter(EngineTime at) const noexcept {
    return SaturatingSub(at, spec_.event.reorder);
  }

  void ForEachSeries(EngineTime at, size_t top, AnyWindow::SeeSeries see) const;

  Engine& engine_;
  AnyWindow window_;
  const WindowSpec spec_;
  const Duration future_limit_;
  const std::shared_ptr<LineCompanion> companion_;
  WindowPrinter changes_printer_;
  OnTime on_time_;
  EngineTime halt_ = kBeginningOfTime;  // on_time_ is called before time comes here

  LineFeed<WindowOutcome> feed_;
  std::vector<KeyedEvent<MemberEvent>> batch_;
  ChangeCursor changes_;  // those that were taken
};

// How many events from `first` on are added at once. Where the engine may find one invalid, no later
// one may be added before that was said. Where one may be refused, its limit is still reached when
// it is said which. And none may move time to `halt_` but the first.
size_t JsonWindow::Impl::BatchSize(const EventBatch& events, size_t first, size_t end,
                                   size_t line) {
  Reach(events.events[first].at, line);
  if (future_limit_ != kForever) return 1;
  const size_t most = std::min(end - first, feed_.kEventsAtOnce);
  const WindowLimits& limits = spec_.window.limits;
  const WindowSizes sizes = window_.sizes();
  const bool may_refuse = limits.max_members - std::min(limits.max_members, sizes.members) < most ||
                          limits.max_series - std::min(limits.max_series, sizes.series) < most;
  if (may_refuse && limits.on_limit == OnWindowLimit::kRefuse) return 1;
  size_t size = 1;
  const bool halts = feed_.on_event_time() && on_time_;
  while (size < most && !(halts && TimeAfter(events.events[first + size].at) >= halt_)) ++size;
  return size;
}

size_t JsonWindow::Impl::Add(const EventBatch& events, size_t first, size_t end,
                             std::span<WindowOutcome> outcomes) {
  const size_t values = events.values_an_event();
  batch_.clear();
  for (size_t i = first; i < end; ++i) {
    const KeyedEvent<LineEvent>& line = events.events[i];
    const MemberMarks& marks = events.members[i];
    KeyedEvent<MemberEvent>& event = batch_.emplace_back();
    event.key = line.key;
    event.at = line.at;
    event.event.member = {.id = marks.id, .ttl = marks.ttl, .version = marks.version};
    if (values > 0 && events.values[i * values].present) {
      event.event.payload = PayloadText::Of(events.values[i * values].text);
    }
  }
  const WindowCounts counts = window_.AddBatch(AnyBatch::Of<MemberEvent>(batch_), outcomes);
  return counts[WindowOutcome::kAdded] + counts[WindowOutcome::kRefreshed] +
         counts[WindowOutcome::kUpdated];
}

// Before a line stamped `at` moves the engine's time.
void JsonWindow::Impl::Reach(EngineTime at, size_t line) {
  if (!feed_.on_event_time() || !on_time_) return;
  const EngineTime now = TimeAfter(at);
  const EngineTime before = engine_.now();
  if (now < halt_ || IsBeyondFuture(at, before, future_limit_)) return;
  // The first event sets time, and the future limit does not apply to it: leave that to the engine.
  if (before != kBeginningOfTime) halt_ = on_time_(now, line);
}

bool JsonWindow::Impl::Obey(const ControlEvent& control, EngineTime at, size_t line) {
  Reach(at, line);
  return window_.Remove(control.key, control.member, {.at = at}) != WindowControl::kFuture;
}

std::string JsonWindow::Impl::ConflictOf(const EventBatch& events, size_t i) {
  return "member " + invalid_line::Shown(events.members[i].id) + " of key " +
         invalid_line::Shown(events.events[i].key) +
         " has another payload with the same stamp and version";
}

bool JsonWindow::Impl::IsUsual(WindowOutcome outcome) noexcept {
  switch (outcome) {
    case WindowOutcome::kLate:
    case WindowOutcome::kFuture:
    case WindowOutcome::kConflict:
    case WindowOutcome::kFull:
    case WindowOutcome::kOverLimit:
    case WindowOutcome::kStopped: return false;
    default: return true;
  }
}

void JsonWindow::Impl::WatchChanges() noexcept {
  changes_ = window_.Watch(kAllSeries, [](std::string_view, size_t) {});
}

absl::Status JsonWindow::Impl::TakeChanges(bool refreshes, WriteLines write) {
  LineWriter lines;
  const auto print = [&](const AnyChange& change) {
    if (change.cause != Cause::kRefreshed || refreshes)
      changes_printer_.AppendChange(change, lines);
  };
  for (ReadChanges read = ReadChanges::kMore; read == ReadChanges::kMore;) {
    read = window_.Read(kAllSeries, changes_, kChangesAtOnce, print);
    if (read == ReadChanges::kResync) {
      return absl::ResourceExhaustedError("more changes at once than are kept");
    }
    lines.HandOn(write, kWrittenAtOnce);
  }
  lines.HandOn(write);
  return absl::OkStatus();
}

void JsonWindow::Impl::WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const {
  WindowPrinter printer(spec_);
  LineWriter lines;
  std::vector<size_t> within(counts.within.size());
  ForEachSeries(at, counts.top, [&](std::string_view name, size_t count) {
    for (size_t i = 0; i < within.size(); ++i) {
      const Duration length = counts.within[i].length;
      within[i] =
          length > at - kBeginningOfTime ? count : window_.CountSince(name, at - length, at);
    }
    printer.AppendCount(name, at, count, counts.within, within, lines);
    lines.HandOn(write, kWrittenAtOnce);
  });
  lines.HandOn(write);
}

// All, or the largest. `see` may call the engine.
void JsonWindow::Impl::ForEachSeries(EngineTime at, size_t top, AnyWindow::SeeSeries see) const {
  if (top == SIZE_MAX) return window_.AllSeries(at, see);
  std::vector<CountedSeries> largest;
  window_.TopSeries(top, at, [&](std::string_view name, size_t count) {
    largest.push_back({std::string(name), count});
  });
  for (const CountedSeries& series : largest) see(series.name, series.count);
}

void JsonWindow::Impl::WriteLive(WriteLines write) const {
  const EngineTime now = engine_.now();
  WindowPrinter printer(spec_);
  LineWriter lines;
  ForEachSeries(now, SIZE_MAX, [&](std::string_view name, size_t) {
    ListCursor cursor;
    const ListOptions part{.newest_first = false, .limit = kListedAtOnce, .now = now};
    const auto print = [&](const AnyLive& member) { printer.AppendMember(name, member, lines); };
    for (bool more = true; more;) {
      more = window_.List(name, part, cursor, print);
      lines.HandOn(write, kWrittenAtOnce);
    }
  });
  lines.HandOn(write);
}

absl::StatusOr<std::unique_ptr<JsonWindow>> JsonWindow::Open(Engine& engine, std::string_view name,
                                                             const WindowSpec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  const PayloadOps ops = spec.payload.empty() ? PayloadOps{} : PayloadTextOps();
  absl::StatusOr<AnyWindow> window = AnyWindow::Open(engine, name, spec.window, ops);
  if (!window.ok()) return window.status();
  auto companion = std::make_shared<LineCompanion>(PlanOf(spec), StoredOptionsOf(spec));
  if (absl::Status kept = SetCompanion(engine, name, companion); !kept.ok()) return kept;
  return std::unique_ptr<JsonWindow>(
      new JsonWindow(std::make_unique<Impl>(engine, *window, spec, std::move(companion))));
}

JsonWindow::JsonWindow(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonWindow::~JsonWindow() = default;

size_t JsonWindow::Add(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual) {
  return impl_->feed().Take(*impl_, lines.read(), max, arrival, on_unusual);
}
LineResult JsonWindow::AddLine(std::string_view line, EngineTime arrival) {
  return impl_->feed().TakeLine(*impl_, line, arrival);
}
void JsonWindow::SetOnTime(OnTime on_time) { impl_->SetOnTime(std::move(on_time)); }
void JsonWindow::StartInput() noexcept { impl_->feed().StartInput(); }
void JsonWindow::WatchChanges() noexcept { impl_->WatchChanges(); }
absl::Status JsonWindow::TakeChanges(bool refreshes, WriteLines write) {
  return impl_->TakeChanges(refreshes, write);
}
void JsonWindow::WriteCounts(EngineTime at, const CountSpec& counts, WriteLines write) const {
  impl_->WriteCounts(at, counts, write);
}
void JsonWindow::WriteLive(WriteLines write) const { impl_->WriteLive(write); }
LineCounts JsonWindow::counts() const noexcept { return impl_->feed().counts(); }
StampCounts JsonWindow::stamps() const noexcept { return impl_->feed().stamps(); }
WindowLedger JsonWindow::ledger() const noexcept { return impl_->window().ledger(); }
WindowSizes JsonWindow::sizes() const noexcept { return impl_->window().sizes(); }
std::vector<OptionPath> JsonWindow::absent_paths() const { return impl_->feed().absent_paths(); }
const EventPlan& JsonWindow::plan() const noexcept { return impl_->feed().plan(); }

}  // namespace pleat::inline v0_1
