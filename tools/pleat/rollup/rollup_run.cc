#include "tools/pleat/rollup/rollup_run.h"

#include <string>
#include <utility>

namespace pleat::cli {
namespace {

constexpr size_t kWindowsPoppedAtOnce = 1024;

}  // namespace

absl::Status RollupRun::Open() {
  if (absl::Status opened = OpenEngine(); !opened.ok()) return opened;
  absl::StatusOr<std::unique_ptr<JsonRollup>> rollup =
      JsonRollup::Open(engine(), "rollup", SpecOf(options_));
  if (!rollup.ok()) return rollup.status();
  rollup_ = *std::move(rollup);
  rollup_->SetOnFull([this] { Emit(); });
  return Recover();
}

LineJob::Tally RollupRun::tally() const {
  const RollupLedger ledger = rollup_->ledger();
  return {rollup_->counts(), ledger.over_limit > 0, ledger.added, "added"};
}

// ---

void RollupRun::StartBlock() {
  if (!on_event_time()) engine().Advance(arrival());
}

LineJob::Readers RollupRun::NewReaders() {
  Readers readers;
  readers.push_back(std::make_unique<JsonLines>(rollup_->plan()));
  return readers;
}

void RollupRun::TakeLines(Readers& readers) {
  rollup_->Add(*readers.front(), SIZE_MAX, arrival(), [this](const UnusualLine& line) {
    NoteUnusual(line);
    if (line.result.kind == LineResult::Kind::kEvent) OnEvent(line);
    return !stopped();
  });
}

LineResult RollupRun::TakeLongLine(std::string_view beginning) {
  return rollup_->AddLine(beginning, arrival());
}

void RollupRun::OnEvent(const UnusualLine& line) {
  switch (line.result.add) {
    case AddOutcome::kLate:
    case AddOutcome::kLateUnknown: AppendLine(late_file(), line.text); break;
    case AddOutcome::kOverLimit: SayRefused(line.index, ReachedLimit()); break;
    case AddOutcome::kConflict: SayConflict(line); break;
    default: break;
  }
}

// The limit that the first refused event met.
std::string RollupRun::ReachedLimit() const {
  return rollup_->ledger().over_byte_limit > 0
             ? "--max-memory " + std::to_string(options_.max_memory)
             : "--max-keys " + std::to_string(options_.rollup.rollup.limits.max_keys);
}

// ---

// Moves time to `now`, and writes the windows that are final by then. Only time moves at first:
// windows become final as they are taken, a few at a time.
void RollupRun::WriteUntil(EngineTime now) {
  [[maybe_unused]] const bool none_due = engine().Advance(now, 0);
  Emit();
}

void RollupRun::Emit() {
  absl::Status appended;
  const auto append = [&](std::string_view lines) { appended.Update(AppendResults(lines)); };
  while (appended.ok()) {
    const size_t popped = rollup_->Pop(kWindowsPoppedAtOnce, append);
    if (popped == 0) break;
    AddResults(popped);
  }
  StopFor(appended);
}

void RollupRun::CloseOpenWindows() {
  absl::Status appended;
  AddResults(
      rollup_->CloseAndPop([&](std::string_view lines) { appended.Update(AppendResults(lines)); }));
  StopFor(appended);
}

void RollupRun::WriteOpenWindows() {
  if (open_file() == nullptr) return;
  absl::Status written;
  rollup_->Scan([&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
  StopFor(written);
}

// Final windows are written even if the run failed, so that the output does not depend on when
// they were popped.
void RollupRun::Finish() {
  const bool read_all = complete();
  const bool flushes = at_end() == AtEnd::kFlush;
  if (!reader_gone()) {
    WriteUntil(Present(/*silent=*/Duration{0}));
    if (read_all) WriteOpenWindows();
    if (read_all && flushes) CloseOpenWindows();
  }
  if (read_all) CommitFiles(flushes);
}

RollupTotals RollupRun::Totals() const {
  return {rollup_->counts(), rollup_->ledger(),  results(),      rollup_->stamps(),
          on_event_time(),   options_.selects(), clock_behind(), rollup_->saturated()};
}

}  // namespace pleat::cli
