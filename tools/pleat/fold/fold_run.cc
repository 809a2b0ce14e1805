#include "tools/pleat/fold/fold_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace pleat::cli {
namespace {

constexpr size_t kPopAtOnce = 1024;

}  // namespace

absl::Status FoldRun::Open() {
  if (absl::Status opened = OpenEngine(); !opened.ok()) return opened;
  absl::StatusOr<std::unique_ptr<JsonFolder>> folder =
      JsonFolder::Open(engine(), "fold", SpecOf(options_));
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  return Recover();
}

LineJob::Tally FoldRun::tally() const {
  const Ledger ledger = folder_->ledger();
  return {folder_->counts(), ledger.over_limit > 0, ledger.folded, "folded"};
}

// ---

void FoldRun::StartBlock() {
  if (!on_event_time()) engine().Advance(arrival());
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
    case FoldOutcome::kLate: AppendLine(late_file(), line.text); break;
    case FoldOutcome::kOverLimit: SayRefused(line.index, ReachedLimit()); break;
    case FoldOutcome::kConflict: SayConflict(line); break;
    default: break;
  }
}

// At the first refusal.
std::string FoldRun::ReachedLimit() const {
  return folder_->ledger().over_byte_limit > 0
             ? "--max-memory " + std::to_string(options_.max_memory)
             : "--max-groups " + std::to_string(options_.fold.folder.limits.max_groups);
}

// ---

// Moves time to `now`, and writes the groups that have closed by then. Only time moves at first:
// groups close as they are taken, a few at a time.
void FoldRun::WriteUntil(EngineTime now) {
  [[maybe_unused]] const bool none_due = engine().Advance(now, 0);
  Emit();
}

void FoldRun::Emit() {
  absl::Status appended;
  const auto append = [&](std::string_view lines) { appended.Update(AppendResults(lines)); };
  while (appended.ok()) {
    const size_t popped = folder_->Pop(kPopAtOnce, append);
    if (popped == 0) break;
    AddResults(popped);
  }
  StopFor(appended);
}

void FoldRun::CloseOpenGroups() {
  absl::Status appended;
  AddResults(
      folder_->CloseAndPop([&](std::string_view lines) { appended.Update(AppendResults(lines)); }));
  StopFor(appended);
}

void FoldRun::WriteOpenGroups() {
  if (open_file() == nullptr) return;
  absl::Status written;
  folder_->Scan([&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
  StopFor(written);
}

// Groups that have closed are written even if the run failed, so that it does not matter when they
// were popped.
void FoldRun::Finish() {
  const bool read_all = complete();
  const bool flushes = at_end() == AtEnd::kFlush;
  if (!reader_gone()) {
    WriteUntil(Present(/*silent=*/Duration{0}));
    if (read_all) WriteOpenGroups();
    if (read_all && flushes) CloseOpenGroups();
  }
  if (read_all) CommitFiles(flushes);
}

RunTotals FoldRun::Totals() const {
  return {folder_->counts(),  folder_->stamps(),   folder_->ledger(), on_event_time(),
          options_.selects(), folder_->mismatch(), clock_behind(),    folder_->saturated()};
}

}  // namespace pleat::cli
