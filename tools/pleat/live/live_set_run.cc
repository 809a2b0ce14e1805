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
  if (absl::Status opened = OpenCollection(); !opened.ok()) return opened;
  if (absl::Status recovered = Recover(); !recovered.ok()) return recovered;
  if (!options().prints_counts()) collection().WatchChanges();
  collection().SetOnTime([this](EngineTime now, int64_t line) {
    if (options().prints_counts()) {
      WriteCountsUpTo(now, line);
    } else {
      WriteUntil(now);
    }
    return NextHalt();
  });
  return absl::OkStatus();
}

LineJob::Tally LiveSetRun::tally() const {
  const LiveSetLedger ledger = collection().ledger();
  return {collection().counts(), ledger.over_limit > 0, ledger.added, "added"};
}

// ---

void LiveSetRun::StartBlock() {
  if (!on_event_time()) WriteUntil(arrival());
}

void LiveSetRun::TakeLines(Readers& readers) {
  JsonLines& lines = *readers.front();
  while (lines.left() > 0 && !stopped()) {
    collection().Add(lines, kLinesAtOnce, arrival(),
                     [this](const UnusualLine& line) { return TookUnusual(line); });
    if (!options().prints_counts()) WriteChanges();
  }
}

LineResult LiveSetRun::TakeLongLine(std::string_view beginning) {
  return collection().AddLine(beginning, arrival());
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
  const LiveSetSizes sizes = collection().sizes();
  const LiveSetLimits& limits = options().live_set.live_set.limits;
  if (sizes.members >= limits.max_members) {
    return "--max-members " + std::to_string(limits.max_members);
  }
  if (sizes.series >= limits.max_series) return "--max-series " + std::to_string(limits.max_series);
  return "--max-memory " + std::to_string(options().max_memory);
}

void LiveSetRun::TookWaiting() {
  if (!options().prints_counts()) WriteChanges();
}

// ---

void LiveSetRun::WriteUntil(EngineTime now) {
  if (options().prints_counts()) return WriteCountsUpTo(now);
  // Only time moves; members end as their changes are taken, a few at a time.
  [[maybe_unused]] const bool done = engine().Advance(now, 0);
  WriteChanges();
}

std::optional<EngineTime> LiveSetRun::NextDue() const {
  if (!options().prints_counts()) return engine().NextDeadline();
  if (collection().ledger().live == 0) return std::nullopt;
  return NextHalt();
}

// The next instant at which there is something to write before a line moves time past it.
EngineTime LiveSetRun::NextHalt() const {
  if (options().prints_counts()) return NextMultiple(engine().now(), options().every);
  return engine().NextDeadline().value_or(kNever);
}

// This is the only place where changes are taken.
void LiveSetRun::WriteChanges() {
  StopFor(collection().TakeChanges(options().refreshes,
                                   [this](std::string_view lines) { Write(lines); }));
}

// Between events members only end: if some are left behind that many multiples, there were some at
// each of them.
bool LiveSetRun::IsTooFar(EngineTime now) const {
  const EngineTime first = NextMultiple(engine().now(), options().every);
  if (first > now || (now - first) / options().every < kCountsAtOnce) return false;
  bool any = false;
  collection().WriteCounts(first + kCountsAtOnce * options().every, {.top = 1, .within = {}},
                           [&](std::string_view) { any = true; });
  return any;
}

// `line`: the one that moves time, of the block under way; none: the clock does.
void LiveSetRun::SayLeftOut(EngineTime now, std::optional<int64_t> line) {
  FailAtEnd();
  if (!left_out_.Shows()) return;
  const EngineTime first = NextMultiple(engine().now(), options().every);
  const auto multiples = static_cast<uint64_t>((now - first) / options().every + 1);
  const std::string text = "time moves at once from " + FormatTimestamp(engine().now()) + " to " +
                           FormatTimestamp(now) + ": the counts at " + Grouped(multiples) +
                           " multiples of --every " + FormatDuration(options().every) +
                           " are left out";
  if (!line) return Say(text);
  SayOf(*line, text + "; if the stamp is wrong, --future-limit makes the line an invalid one");
}

void LiveSetRun::WriteCountsUpTo(EngineTime now, std::optional<int64_t> line) {
  if (IsTooFar(now)) {
    SayLeftOut(now, line);
    engine().Advance(now);
    return;
  }
  const CountSpec counts{.top = options().top > 0 ? static_cast<size_t>(options().top) : SIZE_MAX,
                         .within = options().within};
  while (collection().ledger().live > 0 && !stopped()) {
    const EngineTime at = NextMultiple(engine().now(), options().every);
    if (at > now) break;
    engine().Advance(at);
    collection().WriteCounts(at, counts, [this](std::string_view lines) { Write(lines); });
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
  collection().WriteLive(
      [&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
  StopFor(written);
}

// After the last event nothing more expires.
void LiveSetRun::Finish() {
  const bool read_all = complete();
  if (read_all && !reader_gone()) TakeWaiting();
  SayHidden(left_out_, "jumps");
  if (!options().prints_counts() && !reader_gone()) WriteChanges();
  if (!read_all) return;
  WriteLive();
  CommitFiles(/*flushed=*/false);
}

// --- The figures, which always add up (docs/command-line.md, Statistics of live sets)

std::string LiveSetRun::LedgerSoFar() const {
  const LineCounts lines = collection().counts();
  const LiveSetLedger m = collection().ledger();
  return LedgerOf({{"lines", lines.lines},
                   {"events", lines.events},
                   {"invalid", lines.invalid},
                   {"added", m.added},
                   {"refreshed", m.refreshed},
                   {"updated", m.updated},
                   {"unchanged", m.unchanged},
                   {"duplicate", m.duplicate},
                   {"conflict", m.conflict},
                   {"late", m.late},
                   {"tombstoned", m.tombstoned},
                   {"over_limit", m.over_limit},
                   {"control", lines.control},
                   {"expired", m.expired},
                   {"removed", m.removed},
                   {"replaced", m.replaced},
                   {"dropped", m.dropped},
                   {"live", m.live},
                   {"changes", m.changes}});
}

std::string LiveSetRun::Summary(std::string_view fate) const {
  const LineCounts lines = collection().counts();
  const LiveSetLedger m = collection().ledger();
  const std::string ends =
      "added; " + Grouped(m.expired) + " expired" +
      IfAny({{m.removed, "removed"}, {m.replaced, "replaced"}, {m.dropped, "dropped"}}) + ", " +
      Grouped(m.live) + " live";
  return SummaryText({LinesRow(lines, m.late, m.over_limit,
                               {{m.duplicate, "duplicate"},
                                {m.conflict, "conflicting"},
                                {m.tombstoned, "after their removal"},
                                {lines.control, "that remove"}}),
                      {"members", Grouped(m.added), ends},
                      {"output", Grouped(results()), std::string(fate)},
                      TookRow(effort())});
}

}  // namespace pleat::cli
