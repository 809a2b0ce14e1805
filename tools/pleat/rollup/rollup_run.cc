#include "tools/pleat/rollup/rollup_run.h"

#include "tools/pleat/errno_status.h"
#include "tools/pleat/line_member.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// ", such as "2.495,75 EUR"; a number is written as 2495.75", if the first line has such a text.
std::string ExampleOfText(std::string_view line, const std::string& path) {
  const std::string text = TextAt(line, path);
  constexpr size_t kBytesShown = 40;
  const bool is_amount = text.find_first_of("0123456789") != text.npos &&
                         text.find(',') != text.npos && text.find_first_of(":/;") == text.npos;
  if (!is_amount || text.size() > kBytesShown) return {};
  return ", such as \"" + Printable(text) +
         "\"; a number is written as 2495.75, without a currency";
}

}  // namespace

absl::Status RollupRun::Open() {
  if (absl::Status opened = OpenCollection(); !opened.ok()) return opened;
  collection().SetOnFull([this] { PopAll(); });
  return Recover();
}

LineJob::Tally RollupRun::tally() const {
  const RollupLedger ledger = collection().ledger();
  return {collection().counts(), ledger.over_limit > 0, ledger.added, "added"};
}

void RollupRun::TakeLines(Readers& readers) {
  collection().Add(*readers.front(), SIZE_MAX, arrival(),
                   [this](const UnusualLine& line) { return TookUnusual(line); });
}

LineResult RollupRun::TakeLongLine(std::string_view beginning) {
  return collection().AddLine(beginning, arrival());
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
  return collection().ledger().over_byte_limit > 0
             ? "--max-memory " + std::to_string(options().max_memory)
             : "--max-keys " + std::to_string(options().rollup.rollup.limits.max_keys);
}

// --- The figures, which always add up (docs/command-line.md, Statistics of rollups)

std::string RollupRun::LedgerSoFar() const {
  const LineCounts lines = collection().counts();
  const RollupLedger c = collection().ledger();
  return LedgerOf({{"lines", lines.lines},
                   {"events", lines.events},
                   {"invalid", lines.invalid},
                   {"added", c.added},
                   {"late", c.late},
                   {"duplicate", c.duplicate},
                   {"conflict", c.conflict},
                   {"clamped", c.clamped},
                   {"corrected", c.corrected},
                   {"over_limit", c.over_limit},
                   {"mismatched", lines.mismatched},
                   {"windows", c.windows},
                   {"final", c.made_final},
                   {"ended", c.ended},
                   {"open", c.open}});
}

std::string RollupRun::Summary(std::string_view fate) const {
  const LineCounts lines = collection().counts();
  const RollupLedger c = collection().ledger();
  const uint64_t mismatched = lines.mismatched;
  const std::string no_numbers =
      mismatched == 0
          ? ""
          : "; " + Counted(mismatched, "value") + " of " + InQuotes(options().rollup.value) +
                (mismatched == 1 ? " is" : " are") + " no number" +
                // Of the first line nobody knows whether it was left out.
                (options().event.where.kind == Condition::Kind::kNone
                     ? ExampleOfText(first_line(), options().rollup.value)
                     : "");
  return SummaryText(
      {LinesRow(lines, c.late, c.over_limit,
                {{c.duplicate, "duplicate"},
                 {c.conflict, "conflicting"},
                 {c.clamped, "clamped"},
                 {c.corrected, "as corrections"}}),
       {"windows", Grouped(c.windows),
        Grouped(c.made_final) + " final, " + Grouped(c.ended) + " ended with the input, " +
            Grouped(c.open) + " left open"},
       {"output", Grouped(results()),
        std::string(fate) + no_numbers +
            SaturatedText(collection().saturated(), "line", "which says \"saturated\"")},
       TookRow(effort())});
}

}  // namespace pleat::cli
