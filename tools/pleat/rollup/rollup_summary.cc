#include "tools/pleat/rollup/rollup_summary.h"

#include <utility>

#include "tools/pleat/quantity_text.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

// "0 invalid, 0 late, 0 over limit", and the other fates that are not zero.
std::string Fates(const RollupTotals& t) {
  const RollupLedger& c = t.counter;
  std::string out = Grouped(t.lines.invalid) + " invalid, " + Grouped(c.late) + " late, " +
                    Grouped(c.over_limit) + " over limit";
  const std::pair<uint64_t, const char*> if_any[] = {{c.duplicate, " duplicate"},
                                                     {c.conflict, " conflicting"},
                                                     {c.clamped, " clamped"},
                                                     {c.corrected, " as corrections"},
                                                     {t.lines.excluded, " excluded"}};
  for (const auto& [count, fate] : if_any) {
    if (count != 0) out += ", " + Grouped(count) + fate;
  }
  return out;
}

}  // namespace

std::string StatsJson(const RollupTotals& t) {
  const RollupLedger& c = t.counter;
  const std::pair<std::string_view, uint64_t> members[] = {{"lines", t.lines.lines},
                                                           {"events", t.lines.events},
                                                           {"invalid", t.lines.invalid},
                                                           {"added", c.added},
                                                           {"late", c.late},
                                                           {"duplicate", c.duplicate},
                                                           {"conflict", c.conflict},
                                                           {"clamped", c.clamped},
                                                           {"corrected", c.corrected},
                                                           {"over_limit", c.over_limit},
                                                           {"mismatched", t.lines.mismatched},
                                                           {"windows", c.windows},
                                                           {"final", c.made_final},
                                                           {"ended", c.ended},
                                                           {"open", c.open}};
  std::string out = "{";
  for (const auto& [name, number] : members) {
    if (out.size() > 1) out += ',';
    out += '"' + std::string(name) + "\":" + std::to_string(number);
  }
  out += StampMembers(t.stamps, t.stated);
  if (t.selects) out += ",\"excluded\":" + std::to_string(t.lines.excluded);
  out += ClockMember(t.clock_behind);
  return out + "}\n";
}

std::string HumanSummary(const RollupTotals& t, const RunEffort& effort, std::string_view fate) {
  const RollupLedger& c = t.counter;
  const uint64_t mismatched = t.lines.mismatched;
  const std::string no_numbers = mismatched == 0
                                     ? ""
                                     : "; " + Counted(mismatched, "value") + " that " +
                                           (mismatched == 1 ? "is" : "are") + " no number";
  return SummaryText({{"lines", Grouped(t.lines.lines), Fates(t)},
                      {"windows", Grouped(c.windows),
                       Grouped(c.made_final) + " final, " + Grouped(c.ended) +
                           " ended with the input, " + Grouped(c.open) + " left open"},
                      {"output", Grouped(t.output),
                       std::string(fate) + no_numbers +
                           SaturatedText(t.saturated, "line", "which says \"saturated\"")},
                      TookRow(effort)});
}

}  // namespace pleat::cli
