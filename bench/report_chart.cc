#include "bench/report_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <vector>

namespace pleat::bench {
namespace {

constexpr int kWidth = 860;
constexpr int kLeft = 190;   // where bars begin
constexpr int kRight = 770;  // where the axis ends
constexpr int kRow = 22;
constexpr double kFirstDecade = 3;  // the axis begins at 1,000 a second
constexpr double kLastDecade = 8;

struct Group {
  const char* prefix;
  const char* heading;
};
constexpr Group kGroups[] = {
    {"job/uniform_1M/", "Whole job, a million keys hit at random"},
    {"job/zipf_1M/", "Whole job, a million keys, a few of them hot (Zipf 0.99)"},
    {"job/wikiticker/", "Whole job, a day of Wikipedia edits by user"},
    {"fold/uniform_1M/", "Fold alone, a million keys hit at random"},
    {"fold/zipf_1M/", "Fold alone, a million keys, a few of them hot (Zipf 0.99)"},
};

// What a contestant is called, and its colour's class.
struct Contestant {
  const char* name;
  const char* label;
  const char* kind;
};
constexpr Contestant kContestants[] = {
    {"pleat_batch_2t", "pleat, 2 threads", "pleat"},
    {"pleat_batch", "pleat", "pleat"},
    {"pleat_single", "pleat, one at a time", "pleat"},
    {"absl_upsert", "bare hash map", "library"},
    {"expert", "written for this job", "library"},
    {"multi_index", "Boost.MultiIndex", "library"},
    {"map_and_set", "map + set", "library"},
    {"steady_timer_per_key", "a timer per key", "library"},
    {"redis_lua", "Redis, Lua", "server"},
    {"redis_recipe", "Redis", "server"},
    {"valkey_recipe", "Valkey", "server"},
};

double X(double rate) {
  const double share = (std::log10(rate) - kFirstDecade) / (kLastDecade - kFirstDecade);
  return kLeft + std::clamp(share, 0.0, 1.0) * (kRight - kLeft);
}

template <class... Values>
void Print(std::string& out, const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof(text), format, values...);
  out += text;
}

struct Bar {
  Contestant contestant;
  double rate;
};

std::vector<Bar> BarsOf(const Results& results, const Group& group) {
  std::vector<Bar> bars;
  for (const Contestant& contestant : kContestants) {
    const auto rate = results.Rate(std::string(group.prefix) + contestant.name);
    if (rate) bars.push_back({contestant, *rate});
  }
  return bars;
}

// For who cannot see it: what each group shows, in a sentence.
std::string Description(const Results& results) {
  std::string text;
  for (const Group& group : kGroups) {
    const std::vector<Bar> bars = BarsOf(results, group);
    if (bars.empty()) continue;
    text.append(group.heading).append(", events per second:");
    for (const Bar& bar : bars) {
      text.append(" ").append(bar.contestant.label).append(" ").append(Short(bar.rate)).append(";");
    }
    text.back() = '.';
    text += ' ';
  }
  return text;
}

void AppendGroup(std::string& out, const Group& group, const std::vector<Bar>& bars, int& y) {
  Print(out, "<text class=\"heading\" x=\"20\" y=\"%d\">%s</text>\n", y + 16, group.heading);
  y += 28;
  for (const Bar& bar : bars) {
    Print(out, "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", kLeft - 10, y + 15,
          bar.contestant.label);
    Print(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
          bar.contestant.kind, kLeft, y + 3, std::max(2.0, X(bar.rate) - kLeft), kRow - 6);
    Print(out, "<text x=\"%.1f\" y=\"%d\">%s/s</text>\n", X(bar.rate) + 6, y + 15,
          Short(bar.rate).c_str());
    y += kRow;
  }
  y += 16;
}

void AppendAxis(std::string& out, int top, int bottom) {
  for (int decade = static_cast<int>(kFirstDecade); decade <= kLastDecade; ++decade) {
    const double rate = std::pow(10.0, decade);
    Print(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", X(rate),
          X(rate), top, bottom);
    Print(out, "<text class=\"tick\" x=\"%.1f\" y=\"%d\">%s</text>\n", X(rate), bottom + 16,
          Short(rate).c_str());
  }
}

constexpr const char* kStyle = R"(<style>
  svg { font: 13px sans-serif; fill: #24292f; }
  .paper { fill: #ffffff; }
  .title { font-size: 18px; font-weight: bold; }
  .heading { font-weight: bold; }
  .name { text-anchor: end; }
  .tick { text-anchor: middle; font-size: 11px; }
  .note { font-size: 12px; }
  .grid { stroke: #8c959f; stroke-width: 1; stroke-opacity: 0.35; }
  .pleat { fill: #0b7a75; }
  .library { fill: #7a828c; }
  .server { fill: #c2571a; }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3; }
    .paper { fill: #0d1117; }
    .pleat { fill: #2bb5ac; }
    .library { fill: #8b949e; }
    .server { fill: #e8834a; }
  }
</style>
)";

constexpr const char* kLegend =
    R"(<rect class="pleat" x="20" y="47" width="12" height="12"/>
<text class="note" x="38" y="58">pleat, in the process</text>
<rect class="library" x="180" y="47" width="12" height="12"/>
<text class="note" x="198" y="58">other libraries, in the process</text>
<rect class="server" x="400" y="47" width="12" height="12"/>
<text class="note" x="418" y="58">servers, over a unix socket: another kind of thing</text>
)";

}  // namespace

std::string Short(double figure) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G"};
  size_t unit = 0;
  for (; figure >= 999.5 && unit + 1 < std::size(kUnits); ++unit) figure /= 1000;
  std::string text;
  const bool whole = figure >= 99.5 || figure == std::floor(figure);
  Print(text, whole ? "%.0f%s" : figure >= 9.95 ? "%.1f%s" : "%.2f%s", figure, kUnits[unit]);
  return text;
}

std::string Chart(const Results& results) {
  constexpr int kTop = 86;
  std::string groups;
  int y = kTop;
  for (const Group& group : kGroups) {
    const std::vector<Bar> bars = BarsOf(results, group);
    if (!bars.empty()) AppendGroup(groups, group, bars, y);
  }
  const int height = y + 50;

  std::string out;
  Print(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "aria-labelledby=\"title desc\">\n",
        kWidth, height);
  out += "<title id=\"title\">Events per second: pleat and what else does the job</title>\n";
  out += "<desc id=\"desc\">" + Description(results) + "</desc>\n";
  out += kStyle;
  Print(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", kWidth, height);
  out +=
      "<text class=\"title\" x=\"20\" y=\"32\">Events per second; each line is ten times the one "
      "before</text>\n";
  out += kLegend;
  AppendAxis(out, kTop - 12, y);
  out += groups;
  Print(out, "<text class=\"note\" x=\"20\" y=\"%d\">pleat %s, %s</text>\n", height - 10,
        std::string(results.Context("commit")).c_str(),
        std::string(results.Context("cpu")).c_str());
  return out + "</svg>\n";
}

}  // namespace pleat::bench
