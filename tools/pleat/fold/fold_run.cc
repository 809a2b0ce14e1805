#include "tools/pleat/fold/fold_run.h"

#include "tools/pleat/errno_status.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// "; 500 values of "total" (sum of "amount") were left out: sum() takes no text", or nothing.
std::string MismatchText(uint64_t count, const std::optional<MergeMismatch>& mismatch) {
  if (count == 0) return {};
  const bool one = count == 1;
  const std::string values = "; " + Counted(count, "value");
  std::string not_taken =
      values + (one ? " was of a type its" : " were of a type their") + " reducer does not take";
  if (!mismatch) return not_taken;
  const MergeMismatch& first = *mismatch;
  const std::string merge =
      InQuotes(first.name) + " (" + first.reducer + " of " + InQuotes(first.path) + ")";
  if (!first.only) return not_taken + ", such as " + first.type + " in " + merge;
  return values + " of " + merge + (one ? " was" : " were") + " left out: " + first.reducer +
         "() takes no " + first.type;
}

// Groups that were neither closed nor cancelled.
uint64_t OpenGroups(const Ledger& groups) {
  return groups.opened + groups.partial + groups.corrected -
         (groups.popped + groups.silent + groups.cancelled);
}

// 0 when there was no event.
double FoldingRatio(const Ledger& groups, const LineCounts& lines) {
  if (lines.events == 0) return 0.0;
  return static_cast<double>(groups.folded) / static_cast<double>(lines.events);
}

}  // namespace

absl::Status FoldRun::Open() {
  absl::Status opened = OpenCollection();
  return opened.ok() ? Recover() : opened;
}

LineJob::Tally FoldRun::tally() const {
  const Ledger ledger = collection().ledger();
  return {collection().counts(), ledger.over_limit > 0, ledger.folded, "folded"};
}

void FoldRun::TakeLines(Readers& readers) {
  collection().Fold(*readers.front(), SIZE_MAX, arrival(),
                    [this](const UnusualLine& line) { return TookUnusual(line); });
}

LineResult FoldRun::TakeLongLine(std::string_view beginning) {
  return collection().FoldLine(beginning, arrival());
}

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
  return collection().ledger().over_byte_limit > 0
             ? "--max-memory " + std::to_string(options().max_memory)
             : "--max-groups " + std::to_string(options().fold.folder.limits.max_groups);
}

// --- The figures, which always add up (docs/command-line.md, Statistics)

std::string FoldRun::LedgerSoFar() const {
  const LineCounts lines = collection().counts();
  const Ledger groups = collection().ledger();
  const StampCounts stamps = collection().stamps();
  return LedgerOf(
      {{"lines", lines.lines},
       {"events", lines.events},
       {"invalid", lines.invalid},
       {"late", groups.late},
       {"over_limit", groups.over_limit},
       {"opened", groups.opened},
       {"folded", groups.folded},
       {"emissions", groups.popped},
       {"open", OpenGroups(groups)},
       {"mismatched", lines.mismatched},
       {"folding_ratio", ShortestText(FoldingRatio(groups, lines))},
       {"duplicate", groups.duplicate},
       {"conflict", groups.conflict},
       {"corrected", groups.corrected},
       {"control", lines.control},
       {"cancelled", groups.cancelled},
       {"silent", groups.silent},
       {"partial", groups.partial},
       {"late_folded", groups.late_folded},
       {"out_of_order", stamps.out_of_order},
       {"most_behind_s", ShortestText(static_cast<double>(stamps.most_behind.count()) / 1e6)}});
}

std::string FoldRun::Summary(std::string_view fate) const {
  const LineCounts lines = collection().counts();
  const Ledger groups = collection().ledger();
  const uint64_t open = OpenGroups(groups);
  return SummaryText(
      {LinesRow(lines, groups.late, groups.over_limit,
                {{groups.duplicate, "duplicate"},
                 {groups.conflict, "conflicting"},
                 {groups.corrected, "as corrections"}}),
       {"groups", Grouped(groups.opened), open == 0 ? "all closed" : Grouped(open) + " left open"},
       {"emissions", Grouped(groups.popped),
        std::string(fate) + MismatchText(lines.mismatched, collection().mismatch()) +
            SaturatedText(collection().saturated(), "emission", "named under \"saturated\"")},
       {"folded", FixedText(100 * FoldingRatio(groups, lines), 1) + " %", "of events folded away"},
       TookRow(effort())});
}

}  // namespace pleat::cli
