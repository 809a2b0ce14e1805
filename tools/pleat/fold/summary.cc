#include "tools/pleat/fold/summary.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

template <class... Args>
std::string Format(const char* format, Args... args) {
  char text[160];
  const int size = std::snprintf(text, sizeof(text), format, args...);
  return {text, static_cast<size_t>(std::clamp<int>(size, 0, sizeof(text) - 1))};
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double Seconds(Duration d) { return static_cast<double>(std::max<int64_t>(d.count(), 1)) / 1e6; }

}  // namespace

RunTotals::RunTotals(const LineCounts& counts, const StampCounts& stamps, const Ledger& ledger)
    : lines(counts.lines),
      events(counts.events),
      bad(counts.bad),
      late(ledger.late),
      refused(ledger.refused),
      opened(ledger.opened),
      folded(ledger.folded),
      emissions(ledger.popped),
      open(ledger.opened + ledger.partial + ledger.corrected -
           (ledger.popped + ledger.silent + ledger.cancelled)),
      mismatched(counts.mismatched),
      duplicate(ledger.duplicate),
      conflict(ledger.conflict),
      corrected(ledger.corrected),
      control(counts.control),
      cancelled(ledger.cancelled),
      silent(ledger.silent),
      partial(ledger.partial),
      late_folded(ledger.late_folded),
      out_of_order(stamps.out_of_order),
      most_behind(stamps.most_behind) {}

double RunTotals::FoldingRatio() const { return Ratio(folded, events); }

std::string StatsJson(const RunTotals& t) {
  std::string out = "{";
  const auto add = [&out](const char* name, const std::string& number) {
    if (out.size() > 1) out += ',';
    out += '"' + std::string(name) + "\":" + number;
  };
  const auto add_real = [&add](const char* name, double value) {
    char text[32];
    const auto result = std::to_chars(std::begin(text), std::end(text), value);
    add(name, std::string(text, result.ptr));
  };
  add("lines", std::to_string(t.lines));
  add("events", std::to_string(t.events));
  add("bad", std::to_string(t.bad));
  add("late", std::to_string(t.late));
  add("refused", std::to_string(t.refused));
  add("opened", std::to_string(t.opened));
  add("folded", std::to_string(t.folded));
  add("emissions", std::to_string(t.emissions));
  add("open", std::to_string(t.open));
  add("mismatched", std::to_string(t.mismatched));
  add_real("folding_ratio", t.FoldingRatio());
  add("duplicate", std::to_string(t.duplicate));
  add("conflict", std::to_string(t.conflict));
  add("corrected", std::to_string(t.corrected));
  add("control", std::to_string(t.control));
  add("cancelled", std::to_string(t.cancelled));
  add("silent", std::to_string(t.silent));
  add("partial", std::to_string(t.partial));
  add("late_folded", std::to_string(t.late_folded));
  add("out_of_order", std::to_string(t.out_of_order));
  add_real("most_behind_s", static_cast<double>(t.most_behind.count()) / 1e6);
  return out + "}\n";
}

std::string HumanSummary(const RunTotals& t, uint64_t bytes, Duration took, std::string_view fate) {
  const std::string lines = Grouped(t.lines);
  const std::string groups = Grouped(t.opened);
  const std::string emissions = Grouped(t.emissions);
  const size_t width = std::max({lines.size(), groups.size(), emissions.size(), size_t{6}});
  const auto row = [width](const char* label, const std::string& value, const std::string& more) {
    return Format("%-10s%*s  ", label, static_cast<int>(width), value.c_str()) + more + "\n";
  };
  std::string fates =
      Grouped(t.bad) + " bad, " + Grouped(t.late) + " late, " + Grouped(t.refused) + " refused";
  const std::pair<uint64_t, const char*> if_any[] = {
      {t.duplicate, " duplicate"}, {t.conflict, " conflicting"}, {t.corrected, " as corrections"}};
  for (const auto& [count, fate_of] : if_any) {
    if (count != 0) fates += ", " + Grouped(count) + fate_of;
  }
  std::string out = row("lines", lines, fates);
  out += row("groups", groups, t.open == 0 ? "all closed" : Grouped(t.open) + " left open");
  out += row("emissions", emissions,
             std::string(fate) + (t.mismatched == 0
                                      ? ""
                                      : "; " + Grouped(t.mismatched) +
                                            " values were of a type their reducer does not take"));
  out += row("folded", Format("%.1f %%", 100 * t.FoldingRatio()), "of events folded away");
  out += row("took", Format("%.2f s", Seconds(took)),
             Grouped(static_cast<uint64_t>(static_cast<double>(t.lines) / Seconds(took))) +
                 " lines/s, " + ByteText(static_cast<double>(bytes) / Seconds(took)) + "/s read");
  return out;
}

}  // namespace pleat::cli
