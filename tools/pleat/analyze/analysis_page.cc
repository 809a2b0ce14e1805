#include "tools/pleat/analyze/analysis_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/analyze/gap_chart.h"
#include "tools/pleat/analyze/page_assets.h"
#include "tools/pleat/analyze/page_text.h"
#include "tools/pleat/analyze/what_if_curve.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

constexpr int kWide = 860;
constexpr int kNarrow = 360;
constexpr size_t kKeyCharactersMax = 160;

using Texts = std::vector<std::string>;

// A source of the policy: 'sha256-...' with the digest in base64.
std::string HashSource(std::string_view hex) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  std::string base64;
  unsigned bits = 0;
  int held = 0;
  for (const char c : hex) {
    bits = (bits << 4 | nibble(c)) & 0xFFFu;
    held += 4;
    if (held < 6) continue;
    held -= 6;
    base64 += kDigits[bits >> held & 63];
  }
  if (held > 0) base64 += kDigits[bits << (6 - held) & 63];
  while (base64.size() % 4 != 0) base64 += '=';
  return "'sha256-" + base64 + "'";
}

// A text of the data, which keeps its direction of reading to itself.
std::string Foreign(std::string_view text) {
  return "<bdi>" + Escaped(text, kKeyCharactersMax) + "</bdi>";
}

std::string TimeText(EngineTime time) {
  std::string text = FormatTimestamp(time);  // 2015-09-12T00:47:35.776000Z
  if (text.size() > 19) text.resize(19);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

std::string Head(std::string_view title) {
  return std::string(kPageBeginning) +
         "\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src " +
         HashSource(kPageScriptDigest) + "; style-src " + HashSource(kChartStyleDigest) + " " +
         HashSource(kPageStyleDigest) +
         "; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"referrer\" content=\"no-referrer\">\n<title>" +
         std::string(title) + "</title>\n<style>" + std::string(kChartStyle) + "</style>\n<style>" +
         std::string(kPageStyle) + "</style>\n</head>\n<body>\n";
}

// The start of a table: its caption, and the names of its columns. It is narrow enough for a page
// or moves sideways by itself, for which the keyboard has to reach it.
std::string TableStart(const std::string& class_name, const std::string& id,
                       const std::string& caption, const Texts& columns) {
  std::string out = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"" + id +
                    "\">\n<table class=\"" + class_name + "\">\n<caption id=\"" + id + "\">" +
                    caption + "</caption>\n<thead><tr>";
  for (const std::string& column : columns) out += "<th scope=\"col\">" + column + "</th>";
  return out + "</tr></thead>\n<tbody>\n";
}

constexpr const char* kTableEnd = "</tbody>\n</table>\n</div>\n";

void AppendRow(std::string& out, const Texts& cells, bool marked = false) {
  out += marked ? "<tr class=\"marked\">" : "<tr>";
  for (size_t i = 0; i < cells.size(); ++i)
    out += i == 0 ? "<th scope=\"row\">" + cells[0] + "</th>" : "<td>" + cells[i] + "</td>";
  out += "</tr>\n";
}

// The columns of the what-if table. The slider shows the same figures.
const Texts& FigureNames() {
  static const Texts names = {"Quiet period", "Folding ratio", "Emissions", "Per second",
                              "Delay p50",    "Delay p99",     "Open peak"};
  return names;
}

// `near`: a word before figures that are interpolated.
Texts FigureTexts(const WhatIfRow& row, const std::string& near_ratio = "",
                  const std::string& near_rest = "") {
  return {DurationText(row.quiet_period),
          near_ratio + PercentText(row.folding_ratio),
          near_ratio + Grouped(row.emissions),
          near_ratio + RateText(row.emissions_per_second),
          near_rest + RoundedDuration(row.delay_p50),
          near_rest + RoundedDuration(row.delay_p99),
          near_rest + Grouped(row.open_peak)};
}

std::string WhatIfTable(const KeyAnalysis& key, const std::string& id) {
  const AnalysisRow* marked = MarkedRow(key);
  std::string out =
      TableStart("numbers", id + "what-if", "What each quiet period comes to", FigureNames());
  for (const AnalysisRow& row : key.analysis->rows) {
    Texts cells = FigureTexts(row);
    if (&row == marked)
      cells[0] += std::string("<span class=\"tag\">") + MarkName(key.recommended) + "</span>";
    AppendRow(out, cells, &row == marked);
  }
  return out + kTableEnd;
}

std::string GapTable(const Analysis& analysis, const std::string& id) {
  const auto events = static_cast<double>(std::max<uint64_t>(analysis.events, 1));
  std::string out =
      TableStart("numbers", id + "gaps", "How long after the one before them events of a key came",
                 {"Gap", "Events", "Of all events", "Added up"});
  double below = 0;
  for (const GapRange& range : GapRanges(analysis.gaps)) {
    below += range.count;
    const std::string name = range.to == Duration{1}
                                 ? "0: at the same instant"
                                 : DurationText(range.from) + " to " + DurationText(range.to);
    AppendRow(out, {name, Grouped(static_cast<uint64_t>(std::llround(range.count))),
                    PercentText(range.count / events), PercentText(below / events)});
  }
  const uint64_t without = analysis.events - std::min(analysis.events, analysis.gaps.count());
  AppendRow(out, {"none: the first of their key", Grouped(without),
                  PercentText(static_cast<double>(without) / events), PercentText(1)});
  return out + kTableEnd;
}

std::string BurstTable(const std::vector<Burst>& bursts, const std::string& id,
                       const std::string& caption) {
  std::string out = TableStart("keys", id, caption, {"Key", "Events", "Lasted", "Opened"});
  for (const Burst& burst : bursts) {
    AppendRow(out, {Foreign(burst.key), Grouped(burst.events), RoundedDuration(burst.lasted),
                    TimeText(burst.opened)});
  }
  return out + kTableEnd;
}

// The plots for wide and for narrow screens, of which the style sheet shows one.
template <class Element>
std::string BothWidths(const std::string& id, Element element) {
  return element(kWide, "wide", id + "wide-") + element(kNarrow, "narrow", id + "narrow-");
}

std::string Facts(const KeyAnalysis& key) {
  const Analysis& analysis = *key.analysis;
  std::string out = "<dl class=\"facts\">\n";
  const auto add = [&out](const char* name, const std::string& text) {
    out += std::string("<div><dt>") + name + "</dt><dd>" + text + "</dd></div>\n";
  };
  add("Events", Grouped(analysis.events));
  add("Keys", Grouped(analysis.keys));
  if (analysis.events > 0) {
    add("Over", RoundedDuration(analysis.span()));
    add("From", TimeText(analysis.first));
  }
  if (analysis.max_wait != kForever) add("Max wait", DurationText(analysis.max_wait));
  if (key.out_of_order > 0) add("Out of order", Grouped(key.out_of_order));
  if (analysis.left_out > 0) add("Left out, for lack of memory", Grouped(analysis.left_out));
  return out + "</dl>\n";
}

// For the script: every point of the curve with its place on the plot and its figures as texts.
// Only numbers in it come from the log.
std::string Points(const KeyAnalysis& key, const std::vector<CurvePoint>& curve, size_t start) {
  const Analysis& analysis = *key.analysis;
  const ChartScales scales({&key, 1});
  const bool told = GapsTellRatio(analysis);
  std::string out = "<script type=\"application/json\" class=\"points\">{\"notes\":[\"Measured.\"";
  for (size_t i = 0; i + 1 < analysis.rows.size(); ++i) {
    out += std::string(",\"") + (told ? "Ratio and emissions are counted; " : "") +
           "≈ is interpolated between " + DurationText(analysis.rows[i].quiet_period) + " and " +
           DurationText(analysis.rows[i + 1].quiet_period) + ".\"";
  }
  out += "],\n\"start\":" + std::to_string(start) + ",\"at\":[";
  for (const CurvePoint& point : curve) {
    const WhatIfRow& row = point.figures;
    const bool first = &point == curve.data();
    Print(out, "%s\n[%lld,%.4f,[%.4f,%.4f,%.4f],%zu,[", first ? "" : ",",
          static_cast<long long>(row.quiet_period.count()), scales.quiet.Share(row.quiet_period),
          scales.Ratio(row), scales.Emissions(row), scales.Delay(row),
          point.measured ? size_t{0} : point.row + 1);
    const Texts texts =
        FigureTexts(row, point.measured || told ? "" : "≈ ", point.measured ? "" : "≈ ");
    for (size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "\"" : ",\"") + texts[i] + "\"";
    out += "]]";
  }
  return out + "]}</script>\n";
}

// The figures at one quiet period, and the slider that a script makes choose another.
std::string WhatIf(const KeyAnalysis& key, const std::string& id) {
  const std::vector<AnalysisRow>& rows = key.analysis->rows;
  const size_t row = MarkedRow(key) != nullptr ? *key.recommended.row : rows.size() / 2;
  const std::vector<CurvePoint> curve = CurveOf(*key.analysis, row);
  const auto start = std::ranges::find_if(
      curve, [row](const CurvePoint& point) { return point.measured && point.row == row; });
  const size_t index = static_cast<size_t>(start - curve.begin());
  const Texts figures = FigureTexts(rows[row]);

  std::string out = "<div class=\"slider\" hidden>\n<input type=\"range\" id=\"" + id +
                    "quiet\" min=\"0\" max=\"10000\" aria-valuetext=\"" + figures[0] +
                    "\">\n<label for=\"" + id +
                    "quiet\">Quiet period: drag, or use the arrow keys</label>\n</div>\n";
  out +=
      "<div class=\"figures\" role=\"status\" aria-live=\"polite\" aria-atomic=\"true\">\n<dl>\n";
  for (size_t i = 0; i < figures.size(); ++i)
    out += "<div><dt>" + FigureNames()[i] + "</dt><dd>" + figures[i] + "</dd></div>\n";
  return out + "</dl>\n<p>Measured.</p>\n</div>\n" + Points(key, curve, index);
}

std::string Bursts(const KeyAnalysis& key, const std::string& id) {
  const std::vector<AnalysisRow>& rows = key.analysis->rows;
  const AnalysisRow* marked = MarkedRow(key);
  const AnalysisRow& row = marked != nullptr ? *marked : rows[rows.size() / 2];
  const std::string at = DurationText(row.quiet_period);
  std::string out;
  if (!row.biggest.empty()) {
    out += "<h3>The burstiest keys</h3>\n" +
           BurstTable(row.biggest, id + "bursts",
                      "The biggest group of each, at a quiet period of " + at);
  }
  if (marked != nullptr && !key.recommended.never_quiet.empty()) {
    out += "<h3>Keys that never go quiet</h3>\n" +
           BurstTable(key.recommended.never_quiet, id + "never-quiet",
                      "Each in one group for half of the log or more, at a quiet period of " + at +
                          ": to hear of them in time takes a max wait");
  }
  return out;
}

std::string Section(const KeyAnalysis& key, const std::string& id) {
  const Analysis& analysis = *key.analysis;
  std::string out = "<p class=\"why\">" + Escaped(key.recommended.why) + "</p>\n" + Facts(key);
  if (analysis.rows.empty() || analysis.events == 0) return out;

  const auto chart = [&](int width, const char* class_name, const std::string& chart_id) {
    return ChartElement({&key, 1}, width, class_name, chart_id);
  };
  out += "<figure class=\"main\">\n" + BothWidths(id + "chart-", chart) + "</figure>\n" +
         WhatIf(key, id);
  out += "<h3>All quiet periods that were tried</h3>\n";
  if (analysis.max_wait != kForever)
    out += "<p class=\"hint\">The open peak leaves the max wait out of account.</p>\n";
  out += WhatIfTable(key, id);

  const auto gaps = [&](int width, const char* class_name, const std::string& chart_id) {
    return GapChartElement(key, width, class_name, chart_id);
  };
  out +=
      "<h3>Gaps between the events of a key</h3>\n<p class=\"hint\">An event folds if it comes "
      "less "
      "than the quiet period after the one before it: those are in colour. The others, and the "
      "first of each key, open a group.";
  if (!GapsTellRatio(analysis))
    out += " So does the first event after the max wait has closed one, however short its gap.";
  out += "</p>\n";
  if (analysis.gaps.count() > 0)
    out += "<figure>\n" + BothWidths(id + "gap-", gaps) + "</figure>\n";
  return out + GapTable(analysis, id) + Bursts(key, id);
}

// The recommendation in a few words.
std::string Answer(const KeyAnalysis& key) {
  const AnalysisRow* row = MarkedRow(key);
  if (key.analysis->events == 0) return "There are no events";
  if (row == nullptr) return "This log hardly folds";
  if (key.recommended.kind == Recommendation::Kind::kOutOfReach)
    return "Out of reach; nearest is " + DurationText(row->quiet_period);
  return "Quiet period: <bdi>" + DurationText(row->quiet_period) + "</bdi>";
}

// One of several.
std::string NamedSection(const KeyAnalysis& key, const std::string& id) {
  std::string out = "<section id=\"" + id + "\" aria-labelledby=\"" + id + "-name\">\n";
  out += "<h2 id=\"" + id + "-name\">By " + Foreign(key.shown()) + "</h2>\n";
  out += "<h3>" + Answer(key) + "</h3>\n";
  return out + Section(key, id + "-") + "</section>\n";
}

std::string Comparison(std::span<const KeyAnalysis> keys) {
  const auto chart = [&](int width, const char* class_name, const std::string& id) {
    return ChartElement(keys, width, class_name, id);
  };
  std::string out = "<figure>\n" + BothWidths("all-", chart) + "</figure>\n" +
                    TableStart("numbers", "all-keys", "What is recommended for each key",
                               {"Key", "Keys", "Quiet period", "Folding ratio", "Emissions",
                                "Delay p99", "Open peak"});
  for (size_t i = 0; i < keys.size(); ++i) {
    Texts cells = {"<a href=\"#k" + std::to_string(i) + "\">" + Foreign(keys[i].shown()) + "</a>",
                   Grouped(keys[i].analysis->keys)};
    if (const AnalysisRow* row = MarkedRow(keys[i])) {
      const Texts texts = FigureTexts(*row);
      for (const size_t column : {0, 1, 2, 5, 6}) cells.push_back(texts[column]);
    } else {
      cells.insert(cells.end(), {"none", "", "", "", ""});
    }
    AppendRow(out, cells);
  }
  return out + kTableEnd;
}

}  // namespace

std::string AnalysisPage(std::span<const KeyAnalysis> keys, std::string_view source) {
  const std::string from = Escaped(source, 400);
  std::string out =
      Head("Quiet period: " + from) + "<main>\n<p class=\"source\"><bdi>" + from + "</bdi>";
  if (keys.size() == 1) {
    out += ", by " + Foreign(keys[0].shown()) + "</p>\n<section>\n<h1>" + Answer(keys[0]) +
           "</h1>\n" + Section(keys[0], "k0-") + "</section>\n";
  } else {
    out += "</p>\n<h1>Which quiet period, by which key?</h1>\n" + Comparison(keys);
    for (size_t i = 0; i < keys.size(); ++i) out += NamedSection(keys[i], "k" + std::to_string(i));
  }
  out +=
      "</main>\n<footer>Made by <code>pleat analyze</code>. This page is one file and asks for no "
      "other."
      "</footer>\n<script>" +
      std::string(kPageScript) + "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace pleat::cli
