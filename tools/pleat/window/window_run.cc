#include "tools/pleat/window/window_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include <pleat/json_text.h>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// At how many multiples of --every one step of time prints counts.
constexpr int64_t kCountsAtOnce = 1'000'000;

// The first multiple of `every` since 1970 after `now`; kNever if there is none.
EngineTime NextMultiple(EngineTime now, Duration every) {
  Duration into = now.time_since_epoch() % every;
  if (into < Duration{0}) into += every;
  const Duration left = every - into;
  return left > kEndOfTime - now ? kNever : now + left;
}

}  // namespace

absl::Status WindowRun::Open() {
  if (absl::Status opened = OpenEngine(); !opened.ok()) return opened;
  absl::StatusOr<std::unique_ptr<JsonWindow>> window =
      JsonWindow::Open(engine(), "window", SpecOf(options_));
  if (!window.ok()) return window.status();
  window_ = *std::move(window);
  if (absl::Status recovered = Recover(); !recovered.ok()) return recovered;
  if (!options_.prints_counts()) window_->WatchChanges();
  window_->SetOnTime([this](EngineTime now, size_t line) {
    if (options_.prints_counts()) {
      WriteCountsUpTo(now, line);
    } else {
      WriteUntil(now);
    }
    return NextHalt();
  });
  return absl::OkStatus();
}

LineJob::Tally WindowRun::tally() const {
  const WindowLedger ledger = window_->ledger();
  return {window_->counts(), ledger.over_limit > 0, ledger.added, "added"};
}

// ---

void WindowRun::StartBlock() {
  if (!on_event_time()) WriteUntil(arrival());
}

LineJob::Readers WindowRun::NewReaders() {
  Readers readers;
  readers.push_back(std::make_unique<JsonLines>(window_->plan()));
  return readers;
}

void WindowRun::TakeLines(Readers& readers) {
  JsonLines& lines = *readers.front();
  while (lines.left() > 0 && !stopped()) {
    window_->Add(lines, kLinesAtOnce, arrival(), [this](const UnusualLine& line) {
      NoteUnusual(line);
      if (line.result.kind == LineResult::Kind::kEvent) OnEvent(line);
      return !stopped();
    });
    if (!options_.prints_counts()) WriteChanges();
  }
}

LineResult WindowRun::TakeLongLine(std::string_view beginning) {
  return window_->AddLine(beginning, arrival());
}

void WindowRun::OnEvent(const UnusualLine& line) {
  switch (line.result.window) {
    case WindowOutcome::kLate: AppendLine(late_file(), line.text); break;
    case WindowOutcome::kOverLimit: SayRefused(line.index, ReachedLimit()); break;
    case WindowOutcome::kConflict: SayConflict(line); break;
    default: break;
  }
}

// At the first refusal.
std::string WindowRun::ReachedLimit() const {
  const WindowSizes sizes = window_->sizes();
  const WindowLimits& limits = options_.window.window.limits;
  if (sizes.members >= limits.max_members) {
    return "--max-members " + std::to_string(limits.max_members);
  }
  if (sizes.series >= limits.max_series) return "--max-series " + std::to_string(limits.max_series);
  return "--max-memory " + std::to_string(options_.spec.folder.limits.max_bytes);
}

// ---

void WindowRun::WriteUntil(EngineTime now) {
  if (options_.prints_counts()) return WriteCountsUpTo(now);
  // Only time moves; members end as their changes are taken, a few at a time.
  [[maybe_unused]] const bool done = engine().Advance(now, 0);
  WriteChanges();
}

std::optional<EngineTime> WindowRun::NextDue() const {
  if (!options_.prints_counts()) return engine().NextDeadline();
  if (window_->ledger().live == 0) return std::nullopt;
  return NextHalt();
}

// The next instant at which there is something to write before a line moves time past it.
EngineTime WindowRun::NextHalt() const {
  if (options_.prints_counts()) return NextMultiple(engine().now(), options_.every);
  return engine().NextDeadline().value_or(kNever);
}

// This is the only place where changes are taken.
void WindowRun::WriteChanges() {
  StopFor(
      window_->TakeChanges(options_.refreshes, [this](std::string_view lines) { Write(lines); }));
}

// Between events members only end: if some are left behind that many multiples, there were some at
// each of them.
bool WindowRun::IsTooFar(EngineTime now) const {
  const EngineTime first = NextMultiple(engine().now(), options_.every);
  if (first > now || (now - first) / options_.every < kCountsAtOnce) return false;
  bool any = false;
  window_->WriteCounts(first + kCountsAtOnce * options_.every, {.top = 1, .within = {}},
                       [&](std::string_view) { any = true; });
  return any;
}

// `line`: the one that moves time, of the block under way; none: the clock does.
void WindowRun::SayLeftOut(EngineTime now, std::optional<size_t> line) {
  FailAtEnd();
  if (!left_out_.Shows()) return;
  const EngineTime first = NextMultiple(engine().now(), options_.every);
  const auto multiples = static_cast<uint64_t>((now - first) / options_.every + 1);
  const std::string text = "time moves at once from " + FormatTimestamp(engine().now()) + " to " +
                           FormatTimestamp(now) + ": the counts at " + Grouped(multiples) +
                           " multiples of --every " + FormatDuration(options_.every) +
                           " are left out";
  if (!line) return Say(text);
  SayOf(*line, text + "; if the stamp is wrong, --future-limit makes the line an invalid one");
}

void WindowRun::WriteCountsUpTo(EngineTime now, std::optional<size_t> line) {
  if (IsTooFar(now)) {
    SayLeftOut(now, line);
    engine().Advance(now);
    return;
  }
  const CountSpec counts{.top = options_.top > 0 ? static_cast<size_t>(options_.top) : SIZE_MAX,
                         .within = options_.within};
  while (window_->ledger().live > 0 && !stopped()) {
    const EngineTime at = NextMultiple(engine().now(), options_.every);
    if (at > now) break;
    engine().Advance(at);
    window_->WriteCounts(at, counts, [this](std::string_view lines) { Write(lines); });
  }
  engine().Advance(now);
}

void WindowRun::Write(std::string_view lines) {
  AddResults(static_cast<uint64_t>(std::ranges::count(lines, '\n')));
  StopFor(AppendResults(lines));
}

void WindowRun::WriteLive() {
  if (open_file() == nullptr) return;
  absl::Status written;
  window_->WriteLive([&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
  StopFor(written);
}

// After the last event nothing more expires.
void WindowRun::Finish() {
  const bool read_all = complete();
  SayHidden(left_out_, "jumps");
  if (!options_.prints_counts() && !reader_gone()) WriteChanges();
  if (!read_all) return;
  WriteLive();
  CommitFiles(/*flushed=*/false);
}

WindowTotals WindowRun::Totals() const {
  return {window_->counts(), window_->ledger(),  results(),     window_->stamps(),
          on_event_time(),   options_.selects(), clock_behind()};
}

}  // namespace pleat::cli
