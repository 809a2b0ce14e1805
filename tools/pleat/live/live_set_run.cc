#include "tools/pleat/live/live_set_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include <pleat/json_lines.h>

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

absl::Status LiveSetRun::Open() {
  if (absl::Status opened = OpenEngine(); !opened.ok()) return opened;
  absl::StatusOr<std::unique_ptr<JsonLiveSet>> live_set =
      JsonLiveSet::Open(engine(), "live", SpecOf(options_));
  if (!live_set.ok()) return live_set.status();
  live_set_ = *std::move(live_set);
  if (absl::Status recovered = Recover(); !recovered.ok()) return recovered;
  if (!options_.prints_counts()) live_set_->WatchChanges();
  live_set_->SetOnTime([this](EngineTime now, size_t line) {
    if (options_.prints_counts()) {
      WriteCountsUpTo(now, line);
    } else {
      WriteUntil(now);
    }
    return NextHalt();
  });
  return absl::OkStatus();
}

LineJob::Tally LiveSetRun::tally() const {
  const LiveSetLedger ledger = live_set_->ledger();
  return {live_set_->counts(), ledger.over_limit > 0, ledger.added, "added"};
}

// ---

void LiveSetRun::StartBlock() {
  if (!on_event_time()) WriteUntil(arrival());
}

LineJob::Readers LiveSetRun::NewReaders() {
  Readers readers;
  readers.push_back(std::make_unique<JsonLines>(live_set_->plan()));
  return readers;
}

void LiveSetRun::TakeLines(Readers& readers) {
  JsonLines& lines = *readers.front();
  while (lines.left() > 0 && !stopped()) {
    live_set_->Add(lines, kLinesAtOnce, arrival(), [this](const UnusualLine& line) {
      NoteUnusual(line);
      if (line.result.kind == LineResult::Kind::kEvent) OnEvent(line);
      return !stopped();
    });
    if (!options_.prints_counts()) WriteChanges();
  }
}

LineResult LiveSetRun::TakeLongLine(std::string_view beginning) {
  return live_set_->AddLine(beginning, arrival());
}

void LiveSetRun::OnEvent(const UnusualLine& line) {
  switch (line.result.live_set) {
    case LiveSetOutcome::kLate: AppendLine(late_file(), line.text); break;
    case LiveSetOutcome::kOverLimit: SayRefused(line.index, ReachedLimit()); break;
    case LiveSetOutcome::kConflict: SayConflict(line); break;
    default: break;
  }
}

// At the first refusal.
std::string LiveSetRun::ReachedLimit() const {
  const LiveSetSizes sizes = live_set_->sizes();
  const LiveSetLimits& limits = options_.live_set.live_set.limits;
  if (sizes.members >= limits.max_members) {
    return "--max-members " + std::to_string(limits.max_members);
  }
  if (sizes.series >= limits.max_series) return "--max-series " + std::to_string(limits.max_series);
  return "--max-memory " + std::to_string(options_.max_memory);
}

// ---

void LiveSetRun::WriteUntil(EngineTime now) {
  if (options_.prints_counts()) return WriteCountsUpTo(now);
  // Only time moves; members end as their changes are taken, a few at a time.
  [[maybe_unused]] const bool done = engine().Advance(now, 0);
  WriteChanges();
}

std::optional<EngineTime> LiveSetRun::NextDue() const {
  if (!options_.prints_counts()) return engine().NextDeadline();
  if (live_set_->ledger().live == 0) return std::nullopt;
  return NextHalt();
}

// The next instant at which there is something to write before a line moves time past it.
EngineTime LiveSetRun::NextHalt() const {
  if (options_.prints_counts()) return NextMultiple(engine().now(), options_.every);
  return engine().NextDeadline().value_or(kNever);
}

// This is the only place where changes are taken.
void LiveSetRun::WriteChanges() {
  StopFor(
      live_set_->TakeChanges(options_.refreshes, [this](std::string_view lines) { Write(lines); }));
}

// Between events members only end: if some are left behind that many multiples, there were some at
// each of them.
bool LiveSetRun::IsTooFar(EngineTime now) const {
  const EngineTime first = NextMultiple(engine().now(), options_.every);
  if (first > now || (now - first) / options_.every < kCountsAtOnce) return false;
  bool any = false;
  live_set_->WriteCounts(first + kCountsAtOnce * options_.every, {.top = 1, .within = {}},
                         [&](std::string_view) { any = true; });
  return any;
}

// `line`: the one that moves time, of the block under way; none: the clock does.
void LiveSetRun::SayLeftOut(EngineTime now, std::optional<size_t> line) {
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

void LiveSetRun::WriteCountsUpTo(EngineTime now, std::optional<size_t> line) {
  if (IsTooFar(now)) {
    SayLeftOut(now, line);
    engine().Advance(now);
    return;
  }
  const CountSpec counts{.top = options_.top > 0 ? static_cast<size_t>(options_.top) : SIZE_MAX,
                         .within = options_.within};
  while (live_set_->ledger().live > 0 && !stopped()) {
    const EngineTime at = NextMultiple(engine().now(), options_.every);
    if (at > now) break;
    engine().Advance(at);
    live_set_->WriteCounts(at, counts, [this](std::string_view lines) { Write(lines); });
  }
  engine().Advance(now);
}

void LiveSetRun::Write(std::string_view lines) {
  AddResults(static_cast<uint64_t>(std::ranges::count(lines, '\n')));
  StopFor(AppendResults(lines));
}

void LiveSetRun::WriteLive() {
  if (open_file() == nullptr) return;
  absl::Status written;
  live_set_->WriteLive([&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
  StopFor(written);
}

// After the last event nothing more expires.
void LiveSetRun::Finish() {
  const bool read_all = complete();
  SayHidden(left_out_, "jumps");
  if (!options_.prints_counts() && !reader_gone()) WriteChanges();
  if (!read_all) return;
  WriteLive();
  CommitFiles(/*flushed=*/false);
}

LiveSetTotals LiveSetRun::Totals() const {
  return {live_set_->counts(), live_set_->ledger(), results(),     live_set_->stamps(),
          on_event_time(),     options_.selects(),  clock_behind()};
}

}  // namespace pleat::cli
