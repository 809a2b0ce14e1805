#include "tools/pleat/analyze_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/summary.h"

namespace pleat::cli {
namespace {

constexpr size_t kBurstsShown = 5;

struct Unit {
  int64_t us;
  std::string_view name;
};
constexpr Unit kUnits[] = {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "min"},
                           {1'000'000, "s"},      {1'000, "ms"},        {1, "us"}};

const Unit& UnitFor(Duration d) {
  for (const Unit& unit : kUnits) {
    if (d.count() >= unit.us) return unit;
  }
  return kUnits[std::size(kUnits) - 1];
}

std::string Number(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Exact: "0.25", "90", "0.000001".
std::string Seconds(Duration d) {
  std::string text = std::to_string(d.count() / 1'000'000);
  if (const int64_t rest = d.count() % 1'000'000; rest != 0) {
    std::string digits = std::to_string(1'000'000 + rest).substr(1);
    text += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return text;
}

std::string Fixed(double value, int decimals) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return {text.data(), static_cast<size_t>(std::clamp<int>(size, 0, text.size() - 1))};
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

// The bytes of a character that could rewrite a terminal or turn its lines around: a control, a mark of
// direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
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

std::string DurationText(Duration d) {
  if (d == kForever) return "inf";
  const Unit& unit = UnitFor(d);
  std::string text = std::to_string(d.count() / unit.us);
  const int64_t rest = d.count() % unit.us;
  if (rest != 0 && unit.us <= 1'000'000) {
    const std::string digits = std::to_string(unit.us + rest).substr(1);
    text += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  text += " " + std::string(unit.name);
  if (rest != 0 && unit.us > 1'000'000) text += " " + DurationText(Duration{rest});
  return text;
}

std::string RoundedDuration(Duration d) {
  const Unit& unit = UnitFor(d);
  const double value = static_cast<double>(d.count()) / static_cast<double>(unit.us);
  std::string text = Fixed(value, value >= 99.95 || unit.us == 1 ? 0 : value >= 9.995 ? 1 : 2);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + " " + std::string(unit.name);
}

std::string PercentText(double ratio) {
  if (ratio <= 0) return "0 %";
  if (ratio >= 1) return "100 %";
  for (int decimals = 1; decimals < 8; ++decimals) {
    const std::string text = Fixed(100 * ratio, decimals);
    if (std::stod(text) < 100 && std::stod(text) > 0) return text + " %";
  }
  return Fixed(100 * ratio, 8) + " %";
}

std::string RateText(double per_second) {
  if (per_second >= 100) return Grouped(static_cast<uint64_t>(std::llround(per_second)));
  if (per_second >= 0.1 || per_second <= 0)
    return Fixed(per_second, per_second >= 10 ? 1 : per_second >= 1 ? 2 : 3);
  // Two digits, however far they are behind the point.
  return Fixed(per_second, std::min(1 - static_cast<int>(std::floor(std::log10(per_second))), 12));
}

std::string AnalysisTable(const KeyAnalysis& key) {
  const Analysis& analysis = *key.analysis;
  const Recommendation& recommended = key.recommended;
  std::string out = KeyText(key.key) + ": " + Counted(analysis.events, "event") + " of " +
                    Counted(analysis.keys, "key") + " in " + RoundedDuration(analysis.span());
  if (analysis.max_hold != kForever) out += ", held at most " + DurationText(analysis.max_hold);
  if (analysis.out_of_order > 0) out += ", " + Grouped(analysis.out_of_order) + " out of order";
  if (analysis.left_out > 0) out += ", " + Grouped(analysis.left_out) + " more left out";
  out += "\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"  quiet", "folded", "emissions", "per s", "delay p50", "delay p99",
       analysis.max_hold == kForever ? "open" : "open <="}};
  for (size_t i = 0; i < analysis.rows.size(); ++i) {
    const AnalysisRow& row = analysis.rows[i];
    rows.push_back({(recommended.row == i ? "> " : "  ") + DurationText(row.quiet_period),
                    PercentText(row.folding_ratio), Grouped(row.emissions),
                    RateText(row.emissions_per_second), RoundedDuration(row.delay_p50),
                    RoundedDuration(row.delay_p99), Grouped(row.open_peak)});
  }
  out += Columns(rows) + "\n" + recommended.why + "\n";
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
  if (!recommended.restless.empty()) {
    out += "Keys that do not go quiet:\n";
    add_bursts(recommended.restless);
  }
  return out;
}

std::string AnalysisJson(const KeyAnalysis& key) {
  const Analysis& analysis = *key.analysis;
  const Recommendation& recommended = key.recommended;
  std::string out = "{\"key\":";
  AppendJsonString(key.key, out);
  out += ",\"events\":" + std::to_string(analysis.events) +
         ",\"keys\":" + std::to_string(analysis.keys) + ",\"span_s\":" + Seconds(analysis.span()) +
         ",\"grid\":[";
  for (const AnalysisRow& row : analysis.rows) {
    if (out.back() != '[') out += ',';
    out += "{\"quiet_s\":" + Seconds(row.quiet_period) +
           ",\"folding_ratio\":" + Number(row.folding_ratio) +
           ",\"emissions\":" + std::to_string(row.emissions) +
           ",\"delay_p50_s\":" + Seconds(row.delay_p50) +
           ",\"delay_p99_s\":" + Seconds(row.delay_p99) +
           ",\"open_peak\":" + std::to_string(row.open_peak) + "}";
  }
  out += "],\"recommended\":{\"quiet_s\":";
  out += recommended.row ? Seconds(analysis.rows[*recommended.row].quiet_period) : "null";
  out += ",\"why\":";
  AppendJsonString(recommended.why, out);
  out += ",\"restless\":[";
  for (const Burst& burst : recommended.restless) {
    if (out.back() != '[') out += ',';
    out += key.compound ? "[" + burst.key + "]" : burst.key;
  }
  out += "],\"kind\":\"" + std::string(kKinds[static_cast<size_t>(recommended.kind)]);
  out += "\"},\"out_of_order\":" + std::to_string(analysis.out_of_order) +
         ",\"left_out\":" + std::to_string(analysis.left_out) +
         ",\"bytes\":" + std::to_string(analysis.bytes) + "}\n";
  return out;
}

}  // namespace pleat::cli
