#include "tools/pleat/analyze/analyze_output.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

constexpr size_t kBurstsShown = 5;

// Exact: "0.25", "90", "0.000001".
std::string SecondsText(Duration d) {
  std::string text = std::to_string(d.count() / 1'000'000);
  if (const int64_t rest = d.count() % 1'000'000; rest != 0) {
    std::string digits = std::to_string(1'000'000 + rest).substr(1);
    text += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return text;
}

// In characters; some are wider than a column, which nobody here can know.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Columns flush right but for the first, two spaces apart.
std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - WidthOf(row[i]), ' ');
      if (i > 0) out += "  ";
      out += i == 0 ? row[i] + padding : padding + row[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

// Of Recommendation::Kind.
constexpr std::string_view kKinds[] = {"knee", "goal", "out_of_reach", "none"};

// The bytes of a character that could rewrite a terminal or turn its lines around: a control, a
// mark of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
size_t HostileBytes(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 2;
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;
  if (byte(0) != 0xe2) return 0;
  const bool general = byte(1) == 0x80 &&
                       (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae));
  const bool isolate = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  return general || isolate ? 3 : 0;
}

std::string KeyText(std::string_view key) {
  constexpr size_t kShown = 48;
  std::string text;
  while (!key.empty()) {
    const size_t hostile = HostileBytes(key);
    text += hostile > 0 ? '?' : key[0];
    key.remove_prefix(std::max<size_t>(hostile, 1));
  }
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string AnalysisTable(const KeyAnalysis& key) {
  const Analysis& analysis = *key.analysis;
  const Recommendation& recommended = key.recommended;
  std::string out = KeyText(key.shown()) + ": " + Counted(analysis.events, "event") + " of " +
                    Counted(analysis.keys, "key") + " in " + RoundedDuration(analysis.span());
  if (analysis.max_wait != kForever) out += ", held at most " + DurationText(analysis.max_wait);
  if (key.out_of_order > 0) out += ", " + Grouped(key.out_of_order) + " out of order";
  if (analysis.left_out > 0) out += ", " + Grouped(analysis.left_out) + " more left out";
  out += "\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"  quiet", "folded", "emissions", "per s", "delay p50", "delay p99",
       analysis.max_wait == kForever ? "open" : "open <="}};
  for (size_t i = 0; i < analysis.rows.size(); ++i) {
    const AnalysisRow& row = analysis.rows[i];
    rows.push_back({(recommended.row == i ? "> " : "  ") + DurationText(row.quiet_period),
                    PercentText(row.folding_ratio), Grouped(row.emissions),
                    RateText(row.emissions_per_second), RoundedDuration(row.delay_p50),
                    RoundedDuration(row.delay_p99), Grouped(row.open_peak)});
  }
  if (analysis.events > 0) out += Columns(rows) + "\n";
  out += recommended.why + "\n";
  const auto add_bursts = [&out](const std::vector<Burst>& bursts) {
    std::vector<std::vector<std::string>> lines;
    for (const Burst& burst : bursts) {
      if (lines.size() == kBurstsShown) break;
      lines.push_back(
          {"  " + KeyText(burst.key), Counted(burst.events, "event"),
           burst.lasted == Duration{0} ? "at once" : "in " + RoundedDuration(burst.lasted)});
    }
    out += Columns(lines);
  };
  if (recommended.row && !analysis.rows[*recommended.row].biggest.empty()) {
    out +=
        "Biggest bursts at " + DurationText(analysis.rows[*recommended.row].quiet_period) + ":\n";
    add_bursts(analysis.rows[*recommended.row].biggest);
  }
  if (!recommended.never_quiet.empty()) {
    out += "Keys that do not go quiet:\n";
    add_bursts(recommended.never_quiet);
  }
  return out;
}

std::string AnalysisJson(const KeyAnalysis& key) {
  const Analysis& analysis = *key.analysis;
  const Recommendation& recommended = key.recommended;
  std::string out = "{\"key\":";
  AppendJsonString(key.key, out);
  out += ",\"events\":" + std::to_string(analysis.events) +
         ",\"keys\":" + std::to_string(analysis.keys) +
         ",\"span_s\":" + SecondsText(analysis.span()) + ",\"grid\":[";
  for (const AnalysisRow& row : analysis.rows) {
    if (out.back() != '[') out += ',';
    out += "{\"quiet_s\":" + SecondsText(row.quiet_period) +
           ",\"folding_ratio\":" + ShortestText(row.folding_ratio) +
           ",\"emissions\":" + std::to_string(row.emissions) +
           ",\"delay_p50_s\":" + SecondsText(row.delay_p50) +
           ",\"delay_p99_s\":" + SecondsText(row.delay_p99) +
           ",\"open_peak\":" + std::to_string(row.open_peak) + "}";
  }
  out += "],\"recommended\":{\"quiet_s\":";
  out += recommended.row ? SecondsText(analysis.rows[*recommended.row].quiet_period) : "null";
  out += ",\"why\":";
  AppendJsonString(recommended.why, out);
  out += ",\"restless\":[";
  for (const Burst& burst : recommended.never_quiet) {
    if (out.back() != '[') out += ',';
    out += key.compound ? "[" + burst.key + "]" : burst.key;
  }
  out += "],\"kind\":\"" + std::string(kKinds[static_cast<size_t>(recommended.kind)]);
  out += "\"},\"out_of_order\":" + std::to_string(key.out_of_order) +
         ",\"left_out\":" + std::to_string(analysis.left_out) +
         ",\"bytes\":" + std::to_string(analysis.bytes) + "}\n";
  return out;
}

}  // namespace pleat::cli
