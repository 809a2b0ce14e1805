#include "tools/pleat/fold/summary.h"

#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string InQuotes(std::string_view text) {
  std::string quoted;
  AppendJsonString(Printable(text), quoted);
  return quoted;
}

// "; 500 values of "total" (sum of "amount") were left out: sum() takes no text", or nothing.
std::string MismatchText(const RunTotals& t) {
  const uint64_t count = t.lines.mismatched;
  if (count == 0) return {};
  const bool one = count == 1;
  const std::string values = "; " + Counted(count, "value");
  std::string not_taken =
      values + (one ? " was of a type its" : " were of a type their") + " reducer does not take";
  if (!t.mismatch) return not_taken;
  const MergeMismatch& first = *t.mismatch;
  const std::string merge =
      InQuotes(first.name) + " (" + first.reducer + " of " + InQuotes(first.path) + ")";
  if (!first.only) return not_taken + ", such as " + first.type + " in " + merge;
  std::string text = values + " of " + merge + (one ? " was" : " were") +
                     " left out: " + first.reducer + "() takes no " + first.type;
  if (!first.filter.empty()) text += "; jq -c '" + first.filter + "' makes numbers of text";
  return text;
}

}  // namespace

uint64_t RunTotals::open() const {
  return groups.opened + groups.partial + groups.corrected -
         (groups.popped + groups.silent + groups.cancelled);
}

double RunTotals::FoldingRatio() const { return Ratio(groups.folded, lines.events); }

std::string StatsJson(const RunTotals& t) {
  const std::pair<std::string_view, std::string> members[] = {
      {"lines", std::to_string(t.lines.lines)},
      {"events", std::to_string(t.lines.events)},
      {"invalid", std::to_string(t.lines.invalid)},
      {"late", std::to_string(t.groups.late)},
      {"over_limit", std::to_string(t.groups.over_limit)},
      {"opened", std::to_string(t.groups.opened)},
      {"folded", std::to_string(t.groups.folded)},
      {"emissions", std::to_string(t.groups.popped)},
      {"open", std::to_string(t.open())},
      {"mismatched", std::to_string(t.lines.mismatched)},
      {"folding_ratio", ShortestText(t.FoldingRatio())},
      {"duplicate", std::to_string(t.groups.duplicate)},
      {"conflict", std::to_string(t.groups.conflict)},
      {"corrected", std::to_string(t.groups.corrected)},
      {"control", std::to_string(t.lines.control)},
      {"cancelled", std::to_string(t.groups.cancelled)},
      {"silent", std::to_string(t.groups.silent)},
      {"partial", std::to_string(t.groups.partial)},
      {"late_folded", std::to_string(t.groups.late_folded)},
      {"out_of_order", std::to_string(t.stamps.out_of_order)},
      {"most_behind_s", ShortestText(static_cast<double>(t.stamps.most_behind.count()) / 1e6)},
  };
  std::string out = "{";
  for (const auto& [name, number] : members) {
    if (out.size() > 1) out += ',';
    out += '"' + std::string(name) + "\":" + number;
  }
  out += StampMembers(t.stamps, t.stated);
  if (t.selects) out += ",\"excluded\":" + std::to_string(t.lines.excluded);
  out += ClockMember(t.clock_behind);
  return out + "}\n";
}

std::string HumanSummary(const RunTotals& t, const RunEffort& effort, std::string_view fate) {
  std::string fates = Grouped(t.lines.invalid) + " invalid, " + Grouped(t.groups.late) + " late, " +
                      Grouped(t.groups.over_limit) + " over limit";
  const std::pair<uint64_t, const char*> if_any[] = {{t.groups.duplicate, " duplicate"},
                                                     {t.groups.conflict, " conflicting"},
                                                     {t.groups.corrected, " as corrections"},
                                                     {t.lines.excluded, " excluded"}};
  for (const auto& [count, fate_of] : if_any) {
    if (count != 0) fates += ", " + Grouped(count) + fate_of;
  }
  return SummaryText(
      {{"lines", Grouped(t.lines.lines), fates},
       {"groups", Grouped(t.groups.opened),
        t.open() == 0 ? "all closed" : Grouped(t.open()) + " left open"},
       {"emissions", Grouped(t.groups.popped),
        std::string(fate) + MismatchText(t) +
            SaturatedText(t.saturated, "emission", "named under \"saturated\"")},
       {"folded", FixedText(100 * t.FoldingRatio(), 1) + " %", "of events folded away"},
       TookRow(effort)});
}

}  // namespace pleat::cli
