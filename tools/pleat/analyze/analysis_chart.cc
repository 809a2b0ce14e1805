#include "tools/pleat/analyze/analysis_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tools/pleat/analyze/page_assets.h"
#include "tools/pleat/analyze/page_text.h"
#include "tools/pleat/analyze/what_if_curve.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

constexpr size_t kColors = 4;  // classes line-0 ... of chart.css; later lines are dashed

// The panels from top to bottom. A heading takes kHeading above each.
enum Panel : size_t { kRatio, kEmissions, kDelay, kPanels };
constexpr double kHeights[kPanels] = {190, 110, 130};
constexpr double kHeading = 34;
constexpr double kLegendLine = 20;

using Share = double (ChartScales::*)(const WhatIfRow&) const;
constexpr Share kShares[kPanels] = {&ChartScales::Ratio, &ChartScales::Emissions,
                                    &ChartScales::Delay};

struct Range {
  double low = HUGE_VAL;
  double high = 0;

  void Take(double value) {
    low = std::min(low, std::max(value, 1.0));
    high = std::max(high, std::max(value, 1.0));
  }
};

// The range of `of` over the rows, from the smallest to the largest, never empty.
template <class Of>
Range RangeOf(std::span<const KeyAnalysis> keys, Of of) {
  Range range;
  for (const KeyAnalysis& key : keys) {
    for (const AnalysisRow& row : key.analysis->rows) of(row, range);
  }
  if (range.low > range.high) return {1, 10};
  return range;
}

LogScale QuietScale(std::span<const KeyAnalysis> keys) {
  const Range range = RangeOf(keys, [](const AnalysisRow& row, Range& all) {
    all.Take(static_cast<double>(row.quiet_period.count()));
  });
  const double margin = range.low < range.high ? 1 : 1.5;
  return {range.low / margin, range.high * margin};
}

LogScale EmissionsScale(std::span<const KeyAnalysis> keys) {
  const Range range = RangeOf(keys, [](const AnalysisRow& row, Range& all) {
    all.Take(static_cast<double>(row.emissions));
  });
  const double low = RoundDown125(range.low);
  return {low, std::max(RoundUp125(range.high), 2 * low)};
}

LogScale DelayScale(std::span<const KeyAnalysis> keys) {
  const Range range = RangeOf(keys, [](const AnalysisRow& row, Range& all) {
    all.Take(static_cast<double>(row.delay_p50.count()));
    all.Take(static_cast<double>(row.delay_p99.count()));
  });
  return {range.low / 1.2, range.high * 1.2};
}

// Draws into pixels; the origin is at the top left.
class Drawing {
 public:
  Drawing(std::span<const KeyAnalysis> keys, int width)
      : keys_(keys),
        scales_(keys),
        narrow_(width < 500),
        left_(narrow_ ? 56 : 68),
        right_(width - (narrow_ ? 14 : 24)),
        // A legend if there is something to tell apart, else a line for the label of the mark.
        top_(keys.size() > 1 ? kLegendLine * static_cast<double>(keys.size()) + 4 : kLegendLine) {
    double y = top_;
    for (size_t panel = 0; panel < kPanels; ++panel) {
      tops_[panel] = y + kHeading;
      y = tops_[panel] + kHeights[panel];
    }
  }

  double height() const { return Bottom(kPanels - 1) + 26; }

  std::string Draw() {
    DrawQuietAxis();
    DrawPanels();
    for (size_t i = keys_.size(); i-- > 0;) DrawLines(i);
    for (size_t i = 0; i < keys_.size(); ++i) DrawMark(i);
    if (keys_.size() > 1) {
      DrawLegend();
    } else {
      DrawCursor();
    }
    return std::move(out_);
  }

 private:
  double Bottom(size_t panel) const { return tops_[panel] + kHeights[panel]; }
  double X(Duration quiet) const { return left_ + scales_.quiet.Share(quiet) * (right_ - left_); }
  double YOf(size_t panel, double share) const { return Bottom(panel) - share * kHeights[panel]; }
  double Y(size_t panel, const WhatIfRow& row) const {
    return YOf(panel, (scales_.*kShares[panel])(row));
  }

  void DrawQuietAxis() {
    for (const Duration mark :
         DurationMarks(scales_.quiet, right_ - left_, narrow_ ? 46.0 : 56.0)) {
      for (size_t panel = 0; panel < kPanels; ++panel) {
        Print(out_, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
              X(mark), X(mark), tops_[panel], Bottom(panel));
      }
      // Kept inside at both ends.
      const char* anchor = X(mark) > right_ - 12 ? "end" : X(mark) < left_ + 2 ? "start" : "middle";
      Print(out_, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
            X(mark), height() - 8, anchor, DurationText(mark).c_str());
    }
  }

  void DrawPanels() {
    Heading(kRatio, "Folding ratio", "of all events");
    for (const double ratio : {0.0, 0.25, 0.5, 0.75, 1.0})
      Mark(kRatio, ratio, std::to_string(static_cast<int>(100 * ratio)) + " %");

    Heading(kEmissions, "Emissions", "log scale");
    for (const double mark : CountMarks(scales_.emissions, kHeights[kEmissions], 20)) {
      Mark(kEmissions, scales_.emissions.Share(mark),
           Grouped(static_cast<uint64_t>(std::llround(mark))));
    }

    Heading(kDelay, "Delay", keys_.size() > 1 ? "p99" : "p50 and p99");
    for (const Duration mark : DurationMarks(scales_.delay, kHeights[kDelay], 20))
      Mark(kDelay, scales_.delay.Share(mark), DurationText(mark));
  }

  void Heading(size_t panel, const char* name, const char* note) {
    Print(out_,
          "<text class=\"heading\" x=\"%.1f\" y=\"%.1f\">%s<tspan class=\"note\" dx=\"8\">%s"
          "</tspan></text>\n",
          left_, tops_[panel] - 11, name, note);
  }

  // A mark of the vertical axis of a panel.
  void Mark(size_t panel, double share, const std::string& label) {
    const double y = YOf(panel, share);
    Print(out_, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
          share == 0 ? "base" : "grid", left_, right_, y, y);
    Print(out_, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
          left_ - 8, y + 4, label.c_str());
  }

  void DrawLines(size_t i) {
    const Analysis& analysis = *keys_[i].analysis;
    const std::vector<CurvePoint> curve = CurveOf(analysis);
    std::string ratio;
    std::string emissions;
    std::string p50;
    std::string p99;
    for (const CurvePoint& point : curve) {
      const WhatIfRow& row = point.figures;
      Continue(ratio, row, Y(kRatio, row));
      Continue(emissions, row, Y(kEmissions, row));
      if (!point.measured) continue;
      Continue(p50, row, YOf(kDelay, scales_.delay.Share(row.delay_p50)));
      Continue(p99, row, Y(kDelay, row));
    }
    if (keys_.size() == 1) {
      Path("line second", p50);
      if (!analysis.rows.empty()) LabelDelays(analysis.rows);
    }
    for (const std::string* path : {&ratio, &emissions, &p99}) Path(LineClass(i).c_str(), *path);
  }

  // Names the two lines where they are farthest apart, on the outer side of each.
  void LabelDelays(const std::vector<AnalysisRow>& rows) {
    const AnalysisRow* marked = MarkedRow(keys_[0]);
    const auto distance = [&](const AnalysisRow& row) {
      // Not so near to either side that the label would not fit, nor to that of the mark.
      const double x = X(row.quiet_period);
      if (x < left_ + 40 || x > right_ - 40) return -1.0;
      if (marked != nullptr && std::abs(x - X(marked->quiet_period)) < 90) return -1.0;
      return scales_.delay.Share(row.delay_p99) - scales_.delay.Share(row.delay_p50);
    };
    const auto row = std::ranges::max_element(rows, {}, distance);
    const double x = X(row->quiet_period);
    Print(out_, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">p99</text>\n",
          x - 4, Y(kDelay, *row) - 7);
    Print(out_, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">p50</text>\n", x + 4,
          YOf(kDelay, scales_.delay.Share(row->delay_p50)) + 16);
  }

  void Continue(std::string& path, const WhatIfRow& row, double y) const {
    Print(path, path.empty() ? "M%.1f %.1f" : "L%.1f %.1f", X(row.quiet_period), y);
  }

  void Path(const char* class_name, const std::string& d) {
    if (d.empty()) return;
    out_ += std::string("<path class=\"") + class_name + "\" d=\"" + d + "\"/>\n";
  }

  static std::string LineClass(size_t i) {
    return "line line-" + std::to_string(i % kColors) + (i < kColors ? "" : " dashed");
  }

  void DrawMark(size_t i) {
    const AnalysisRow* row = MarkedRow(keys_[i]);
    if (row == nullptr) return;
    const double x = X(row->quiet_period);
    const std::string color = " mark-" + std::to_string(i % kColors);
    Print(out_, "<line class=\"mark%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
          color.c_str(), x, x, keys_.size() > 1 ? tops_[kRatio] : top_ + 4, Bottom(kPanels - 1));
    for (size_t panel = 0; panel < kPanels; ++panel) {
      Print(out_, "<circle class=\"dot%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", color.c_str(), x,
            Y(panel, *row));
    }
    if (keys_.size() > 1) return;

    const char* anchor = x < left_ + 80 ? "start" : x > right_ - 80 ? "end" : "middle";
    Print(out_, "<text class=\"answer\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s: %s</text>\n",
          x, top_ - 4, anchor, MarkName(keys_[i].recommended),
          DurationText(row->quiet_period).c_str());
    Label(kRatio, *row, PercentText(row->folding_ratio));
    Label(kEmissions, *row, Grouped(row->emissions));
    Label(kDelay, *row, RoundedDuration(row->delay_p99));
  }

  // On the side of the mark where there is room, and on that side of the line where it turns away:
  // emissions fall, the others rise. Below the delay's there is another line.
  void Label(size_t panel, const WhatIfRow& row, const std::string& text) {
    const double x = X(row.quiet_period);
    const bool right_of = x < left_ + (panel == kDelay ? 0.15 : 0.62) * (right_ - left_);
    const bool below = (panel != kEmissions) == right_of;
    const double y =
        std::clamp(Y(panel, row) + (below ? 18 : -9), tops_[panel] + 12.0, Bottom(panel) - 5.0);
    Print(out_, "<text class=\"value\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
          right_of ? x + 9 : x - 9, y, right_of ? "start" : "end", text.c_str());
  }

  void DrawLegend() {
    for (size_t i = 0; i < keys_.size(); ++i) {
      const double y = kLegendLine * (static_cast<double>(i) + 0.5);
      Print(out_, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n", LineClass(i).c_str(), left_, y,
            left_ + 24);
      Print(out_, "<text x=\"%.1f\" y=\"%.1f\">", left_ + 34, y + 4);
      out_ += Escaped(keys_[i].key, narrow_ ? 16 : 48) + "<tspan class=\"note\" dx=\"8\">";
      if (const AnalysisRow* row = MarkedRow(keys_[i])) {
        out_ += narrow_ ? "" : std::string(MarkName(keys_[i].recommended)) + ": ";
        out_ += DurationText(row->quiet_period) + ", " + PercentText(row->folding_ratio);
      } else {
        out_ += "hardly folds";
      }
      out_ += "</tspan></text>\n";
    }
  }

  // Says where the panels are: the script knows shares only.
  void DrawCursor() {
    Print(out_,
          "<g class=\"cursor\" visibility=\"hidden\" data-left=\"%.1f\" data-right=\"%.1f\">\n"
          "<line x1=\"0\" x2=\"0\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
          left_, right_, tops_[kRatio], Bottom(kPanels - 1));
    for (size_t panel = 0; panel < kPanels; ++panel) {
      Print(out_, "<circle r=\"4\" data-top=\"%.1f\" data-bottom=\"%.1f\"/>\n", tops_[panel],
            Bottom(panel));
    }
    out_ += "</g>\n";
  }

  std::span<const KeyAnalysis> keys_;
  ChartScales scales_;
  bool narrow_;
  double left_;
  double right_;
  double top_;
  std::array<double, kPanels> tops_{};
  std::string out_;
};

// The plot in words, for readers who cannot see it: both ends of its lines, and the recommendation.
std::string Description(std::span<const KeyAnalysis> keys) {
  std::string text;
  for (const KeyAnalysis& key : keys) {
    const std::vector<AnalysisRow>& rows = key.analysis->rows;
    if (rows.empty()) continue;
    const auto figures = [](const AnalysisRow& row) {
      return "at a quiet period of " + DurationText(row.quiet_period) + ", " +
             PercentText(row.folding_ratio) + " of the events fold and " + Grouped(row.emissions) +
             " emissions remain";
    };
    text += "By " + Escaped(key.shown(), 120) + ": " + figures(rows.front()) + "; " +
            figures(rows.back()) + ". ";
    if (const AnalysisRow* row = MarkedRow(key)) {
      text += std::string("Marked as ") + MarkName(key.recommended) + ": " + figures(*row) +
              ", half of them within " + RoundedDuration(row->delay_p50) + ", 99 % within " +
              RoundedDuration(row->delay_p99) + ". ";
    }
  }
  return text;
}

// `open`: the rest of the opening tag. `before`: the elements before the drawing.
std::string Svg(std::span<const KeyAnalysis> keys, int width, double head, const std::string& open,
                const std::string& id, const std::string& before) {
  Drawing drawing(keys, width);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" ";
  Print(out, "viewBox=\"0 0 %d %.0f\" role=\"img\" ", width, head + drawing.height());
  out += "aria-labelledby=\"" + id + "title " + id + "desc\" " + open + ">\n";
  out += "<title id=\"" + id +
         "title\">Folding ratio, emissions and delay against the quiet period" +
         (keys.size() == 1 ? " of events by " + Escaped(keys[0].key, 120) : "") + "</title>\n";
  out += "<desc id=\"" + id + "desc\">" + Description(keys) + "</desc>\n" + before;
  Print(out, "<g transform=\"translate(0 %.0f)\">\n", head);
  return out + drawing.Draw() + "</g>\n</svg>\n";
}

}  // namespace

ChartScales::ChartScales(std::span<const KeyAnalysis> keys)
    : quiet(QuietScale(keys)), emissions(EmissionsScale(keys)), delay(DelayScale(keys)) {}

const char* MarkName(const Recommendation& recommended) {
  return recommended.kind == Recommendation::Kind::kOutOfReach ? "nearest" : "recommended";
}

const AnalysisRow* MarkedRow(const KeyAnalysis& key) {
  const std::optional<size_t> row = key.recommended.row;
  return row && *row < key.analysis->rows.size() ? &key.analysis->rows[*row] : nullptr;
}

std::string ChartElement(std::span<const KeyAnalysis> keys, int width, std::string_view class_name,
                         std::string_view id) {
  return Svg(keys, width, 0, "class=\"chart " + std::string(class_name) + "\"", std::string(id),
             "");
}

std::string AnalysisSvg(std::span<const KeyAnalysis> keys) {
  static constexpr int kWidth = 860;
  static constexpr double kHead = 48;
  std::string before = "<style>" + std::string(kChartStyle) + "</style>\n";
  before +=
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n<text class=\"title\" x=\"24\" "
      "y=\"34\">";
  before += "What each quiet period comes to";
  if (keys.size() == 1) before += ": events by " + Escaped(keys[0].key, 40);
  before += "</text>\n";
  return Svg(keys, kWidth, kHead, "class=\"chart\"", "", before);
}

}  // namespace pleat::cli
