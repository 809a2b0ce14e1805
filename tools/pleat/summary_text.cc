#include "tools/pleat/summary_text.h"

#include <algorithm>

#include <pleat/json_lines.h>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {

std::string SummaryText(const std::vector<SummaryRow>& rows) {
  size_t width = 6;
  for (const SummaryRow& row : rows) width = std::max(width, row.value.size());
  std::string out;
  for (const SummaryRow& row : rows) {
    std::string label = row.label;
    label.resize(10 + width - row.value.size(), ' ');
    out += label + row.value + "  " + row.more + "\n";
  }
  return out;
}

std::string IfAny(std::initializer_list<CountAndWhat> counts) {
  std::string out;
  for (const auto& [count, what] : counts) {
    if (count != 0) out.append(", ").append(Grouped(count)).append(" ").append(what);
  }
  return out;
}

SummaryRow LinesRow(const LineCounts& lines, uint64_t late, uint64_t over_limit,
                    std::initializer_list<CountAndWhat> more) {
  return {"lines", Grouped(lines.lines),
          Grouped(lines.invalid) + " invalid, " + Grouped(late) + " late, " + Grouped(over_limit) +
              " over limit" + IfAny(more) +
              IfAny({{lines.excluded, "excluded"}, {lines.waiting, "waiting for the next run"}})};
}

std::string MembersText(std::initializer_list<LedgerMember> members) {
  std::string out;
  for (const LedgerMember& each : members) {
    if (!out.empty()) out += ',';
    out.append("\"").append(each.name).append("\":").append(each.number);
  }
  return out;
}

std::string StampMembers(const StampCounts& stamps, bool stated) {
  const bool any = stated && stamps.oldest <= stamps.newest;
  const auto text = [any](EngineTime at) {
    return any ? '"' + FormatTimestamp(at) + '"' : std::string("null");
  };
  return ",\"first_stamp\":" + text(stamps.oldest) + ",\"last_stamp\":" + text(stamps.newest);
}

std::string ClockMember(std::optional<Duration> behind) {
  if (!behind) return {};
  return ",\"clock_behind_s\":" + ShortestText(static_cast<double>(behind->count()) / 1e6);
}

std::string SaturatedText(uint64_t count, std::string_view what, std::string_view where) {
  if (count == 0) return {};
  return "; " + Counted(count, std::string(what)) + (count == 1 ? " has" : " have") +
         " a sum at the end of its range, " + std::string(where);
}

SummaryRow TookRow(const RunEffort& effort) {
  const double seconds = static_cast<double>(std::max<int64_t>(effort.took.count(), 1)) / 1e6;
  const double lines_a_second = static_cast<double>(effort.lines) / seconds;
  return {"took", FixedText(seconds, 2) + " s",
          Grouped(static_cast<uint64_t>(lines_a_second)) + " lines/s, " +
              ByteText(static_cast<double>(effort.bytes) / seconds) + "/s read"};
}

}  // namespace pleat::cli
