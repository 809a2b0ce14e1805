#include "tools/pleat/live/live_set_summary.h"

#include <utility>
#include <vector>

#include "tools/pleat/quantity_text.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

// "0 invalid, 0 late, 0 over limit", and what else there was.
std::string Fates(const LiveSetTotals& t) {
  const LiveSetLedger& m = t.members;
  std::string out = Grouped(t.lines.invalid) + " invalid, " + Grouped(m.late) + " late, " +
                    Grouped(m.over_limit) + " over limit";
  const std::pair<uint64_t, const char*> if_any[] = {{m.duplicate, " duplicate"},
                                                     {m.conflict, " conflicting"},
                                                     {m.tombstoned, " after their removal"},
                                                     {t.lines.control, " that remove"},
                                                     {t.lines.excluded, " excluded"}};
  for (const auto& [count, fate] : if_any) {
    if (count != 0) out += ", " + Grouped(count) + fate;
  }
  return out;
}

// "added; 12 expired, 3 live", and what else became of them.
std::string Ends(const LiveSetLedger& m) {
  std::string out = "added; " + Grouped(m.expired) + " expired";
  const std::pair<uint64_t, const char*> if_any[] = {
      {m.removed, " removed"}, {m.replaced, " replaced"}, {m.dropped, " dropped"}};
  for (const auto& [count, end] : if_any) {
    if (count != 0) out += ", " + Grouped(count) + end;
  }
  return out + ", " + Grouped(m.live) + " live";
}

}  // namespace

std::string StatsJson(const LiveSetTotals& t) {
  const LiveSetLedger& m = t.members;
  const std::pair<std::string_view, uint64_t> members[] = {
      {"lines", t.lines.lines},     {"events", t.lines.events},
      {"invalid", t.lines.invalid}, {"added", m.added},
      {"refreshed", m.refreshed},   {"updated", m.updated},
      {"unchanged", m.unchanged},   {"duplicate", m.duplicate},
      {"conflict", m.conflict},     {"late", m.late},
      {"tombstoned", m.tombstoned}, {"over_limit", m.over_limit},
      {"control", t.lines.control}, {"expired", m.expired},
      {"removed", m.removed},       {"replaced", m.replaced},
      {"dropped", m.dropped},       {"live", m.live},
      {"changes", m.changes}};
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

std::string HumanSummary(const LiveSetTotals& t, const RunEffort& effort, std::string_view fate) {
  return SummaryText({{"lines", Grouped(t.lines.lines), Fates(t)},
                      {"members", Grouped(t.members.added), Ends(t.members)},
                      {"output", Grouped(t.output), std::string(fate)},
                      TookRow(effort)});
}

}  // namespace pleat::cli
