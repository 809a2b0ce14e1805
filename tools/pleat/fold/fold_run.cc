#include "tools/pleat/fold/fold_run.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tools/pleat/fold/advice.h"
#include "tools/pleat/fold/summary.h"

namespace pleat::cli {
namespace {

constexpr size_t kPopAtOnce = 1024;
constexpr size_t kOpenAtOnce = 4;  // they are held as text

}  // namespace

absl::Status FoldRun::Open() {
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Open(EngineOptionsFor(options_.spec.event));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  FoldSpec spec = options_.spec;
  spec.folder.limits.count_ready = false;
  absl::StatusOr<std::unique_ptr<JsonFolder>> folder = JsonFolder::Open(*engine_, "fold", spec);
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  return absl::OkStatus();
}

std::vector<WantedOutput> FoldRun::Outputs() {
  using Mode = OutputFile::Mode;
  return {{NamedOutput("--open", options_.open_file), Mode::kWhole, open_groups_},
          {NamedOutput("--stats", options_.stats_file, STDERR_FILENO), Mode::kWhole, stats_},
          {NamedOutput("--late", options_.late_file), Mode::kStream, late_}};
}

LineJob::Tally FoldRun::tally() const {
  const Ledger ledger = folder_->ledger();
  return {folder_->counts(), ledger.refused > 0, ledger.folded, "folded"};
}

// ---

void FoldRun::StartBlock() {
  if (!on_event_time()) engine_->Advance(arrival());
}

LineJob::Readers FoldRun::NewReaders() {
  Readers readers;
  readers.push_back(std::make_unique<JsonLines>(folder_->plan()));
  return readers;
}

void FoldRun::TakeLines(Readers& readers) {
  folder_->Fold(*readers.front(), SIZE_MAX, arrival(), [this](const UnusualLine& line) {
    NoteUnusual(line);
    if (line.result.kind == LineResult::Kind::kEvent) OnEvent(line);
    return !stopped();
  });
}

LineResult FoldRun::TakeLongLine(std::string_view beginning) {
  return folder_->FoldLine(beginning, arrival());
}

// An event that was not simply folded.
void FoldRun::OnEvent(const UnusualLine& line) {
  switch (line.result.fold) {
    case FoldOutcome::kLate: AppendLine(late_.get(), line.text); break;
    case FoldOutcome::kOverLimit: OnRefused(line.index); break;
    case FoldOutcome::kConflict:
      if (conflicts_.Shows()) SayOf(line.index, line.result.reason);
      break;
    default: break;
  }
}

void FoldRun::OnRefused(size_t line_index) {
  if (std::exchange(refusal_said_, true)) return;
  const std::string limit =
      folder_->ledger().refused_for_bytes > 0
          ? "--max-memory " + std::to_string(options_.spec.folder.limits.max_bytes)
          : "--max-groups " + std::to_string(options_.spec.folder.limits.max_groups);
  SayOf(line_index,
        "event refused: " + limit + " reached; further refusals are counted, not shown");
}

// ---

// Whether the watermark follows the wall clock, as --idle asks for.
bool FoldRun::FollowsWall(Duration silent) const {
  return on_event_time() && options_.idle != kForever && silent >= options_.idle;
}

// The engine's time while the input is silent.
EngineTime FoldRun::Present(Duration silent) const {
  if (!on_event_time()) return ArrivalNow();
  return FollowsWall(silent) ? SaturatingSub(Now(), options_.spec.event.lateness) : engine_->now();
}

Duration FoldRun::OnSilence(Duration silent) {
  const uint64_t popped = folder_->ledger().popped;
  EmitUntil(Present(silent));
  Flush();
  // A deadline may be announced a little early: then do not ask again at once.
  const bool woke_for_nothing = silent > Duration{0} && folder_->ledger().popped == popped;
  const Duration least = std::chrono::milliseconds(woke_for_nothing ? 1 : 0);
  return std::max(UntilDue(silent), least);
}

// The watermark is moved as if it had followed the clock until now.
void FoldRun::OnInputAgain(Duration silent) {
  if (FollowsWall(silent)) engine_->Advance(Present(silent));
}

// For how long nothing falls due, by the clock.
Duration FoldRun::UntilDue(Duration silent) const {
  if (on_event_time() && !FollowsWall(silent)) {
    return options_.idle == kForever ? kForever : options_.idle - silent;
  }
  const std::optional<EngineTime> deadline = engine_->NextDeadline();
  if (!deadline) return kForever;
  const Duration behind = on_event_time() ? options_.spec.event.lateness : Duration{0};
  return SaturatingAdd(*deadline, behind) - Now();
}

// ---

// Moves time to `now`, and writes the groups that have closed by then.
void FoldRun::EmitUntil(EngineTime now) {
  engine_->Advance(now);
  Emit();
}

void FoldRun::Emit() {
  absl::Status appended;
  const auto append = [&](std::string_view lines) { appended.Update(output().Append(lines)); };
  while (appended.ok() && folder_->Pop(kPopAtOnce, append) > 0) {
  }
  StopFor(appended);
}

void FoldRun::WriteOpenGroups() {
  if (open_groups_ == nullptr) return;
  ScanCursor cursor;
  absl::Status written;
  for (bool more = true; more && written.ok();) {
    std::string lines;
    more = folder_->Scan(cursor, kOpenAtOnce, lines);
    written = open_groups_->Append(lines);
  }
  StopFor(written);
}

// Groups that have closed are written even if the run failed, so that it does not matter when they
// were popped.
void FoldRun::Finish() {
  const bool read_all = complete();
  if (!reader_gone()) {
    EmitUntil(Present(/*silent=*/Duration{0}));
    if (read_all) WriteOpenGroups();
    if (read_all && options_.at_end == FoldOptions::AtEnd::kFlush) folder_->CloseAll();
    if (read_all) Emit();
  }
  if (!read_all || no_line_usable()) return;
  const absl::Status written = output().Commit();
  all_written_ = written.ok();
  StopFor(written);
  if (open_groups_ != nullptr) StopFor(open_groups_->Commit());
}

void FoldRun::Conclude() {
  const RunTotals totals{folder_->counts(), folder_->stamps(), folder_->ledger()};
  SayHidden(conflicts_, "conflicts");
  if (stats_ != nullptr) {
    absl::Status written = stats_->Append(StatsJson(totals));
    written.Update(stats_->Commit());
    StopFor(written);
  }
  if (options_.quiet_summary || reader_gone()) return;
  std::string_view fate = "made, but the output is not complete";
  if (all_written_) fate = "written";
  if (unusable()) fate = "no line was usable";
  SayPlain(HumanSummary(totals, bytes_read(), elapsed(), fate));
  if (!complete()) return;
  for (const std::string& line : AdviceOn(options_, *folder_)) Say(line);
}

}  // namespace pleat::cli
