#include "tools/pleat/analyze/gap_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/analyze/chart_scale.h"
#include "tools/pleat/analyze/page_text.h"
#include "tools/pleat/analyze/what_if_curve.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

constexpr size_t kBarsMax = 60;
constexpr double kTop = 14;
constexpr double kHeight = 150;
constexpr double kBottom = kTop + kHeight;

double Us(Duration d) { return static_cast<double>(d.count()); }

// The ranges between `ends`, without the empty ones at both sides, and without those between 0 and
// the shortest gap above it.
std::vector<GapRange> Between(const GapHistogram& gaps, std::span<const Duration> ends) {
  std::vector<GapRange> ranges;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    const auto below = [&](Duration d) {
      return gaps.CountBelow(static_cast<uint64_t>(d.count()));
    };
    const double count = below(ends[i + 1]) - below(ends[i]);
    if (count > 0 || !ranges.empty()) ranges.push_back({ends[i], ends[i + 1], count});
  }
  while (!ranges.empty() && ranges.back().count == 0) ranges.pop_back();
  const auto longer = std::ranges::find_if(
      ranges, [](const GapRange& range) { return range.from > Duration{0} && range.count > 0; });
  if (longer != ranges.begin() && longer != ranges.end()) ranges.erase(ranges.begin() + 1, longer);
  return ranges;
}

// Every `step`th of Renard's ten round numbers to a decade, over all that a histogram may hold.
std::vector<Duration> RoundEnds(size_t step) {
  static constexpr int kHundredths[] = {100, 125, 160, 200, 250, 315, 400, 500, 630, 800};
  std::vector<Duration> ends = {Duration{0}};
  for (double power = 1; power < 1e18; power *= 10) {
    for (size_t i = 0; i < std::size(kHundredths); i += step) {
      const Duration end{std::llround(std::ceil(kHundredths[i] * power / 100))};
      if (end > ends.back()) ends.push_back(end);
    }
  }
  return ends;
}

// The next round step of which some three make `max`.
double CountStep(double max) { return std::max(1.0, RoundUp125(max / 4)); }

class GapDrawing {
 public:
  GapDrawing(const KeyAnalysis& key, int width)
      : key_(key),
        bars_(GapBars(key.analysis->gaps)),
        narrow_(width < 500),
        left_(narrow_ ? 56 : 68),
        right_(width - (narrow_ ? 14 : 24)) {
    has_zero_ = !bars_.empty() && bars_.front().from == Duration{0};
    // Events at the same instant have a place of their own, left of the scale.
    scale_left_ = has_zero_ ? left_ + 28 : left_;
    for (const GapRange& bar : bars_) {
      count_max_ = std::max(count_max_, bar.count);
      if (bar.from > Duration{0}) {
        low_ = low_ == 0 ? Us(bar.from) : low_;
        high_ = Us(bar.to);
      }
    }
    if (low_ == 0) low_ = 1;
    high_ = std::max(high_, low_ * 10);
  }

  double height() const { return kBottom + 26; }

  std::string Draw(const std::string& id) {
    DrawAxes();
    std::string d;
    for (const GapRange& bar : bars_) AppendBar(d, bar);
    out_ += "<path class=\"bars\" d=\"" + d + "\"/>\n";
    const AnalysisRow* row = MarkedRow(key_);
    const double end = row == nullptr ? 0 : std::clamp(X(row->quiet_period), 0.0, right_);
    out_ += "<clipPath id=\"" + id + "clip\">";
    Print(
        out_,
        "<rect class=\"shorter\" x=\"0\" y=\"0\" width=\"%.1f\" height=\"%.0f\" data-left=\"%.1f\" "
        "data-right=\"%.1f\" data-low=\"%.0f\" data-high=\"%.0f\"/></clipPath>\n",
        end, kBottom, scale_left_, right_, low_, high_);
    out_ += "<path class=\"bars folds\" clip-path=\"url(#" + id + "clip)\" d=\"" + d + "\"/>\n";
    if (row != nullptr && end > scale_left_ && end < right_) {
      Print(out_, "<line class=\"mark mark-0\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>\n",
            end, end, kTop, kBottom);
    }
    return std::move(out_);
  }

 private:
  double X(Duration d) const {
    return scale_left_ + LogScale(low_, high_).Share(d) * (right_ - scale_left_);
  }
  double Y(double count) const { return kBottom - count / count_max_ * kHeight; }

  void DrawAxes() {
    const double step = CountStep(count_max_);
    for (double count = 0; count <= count_max_; count += step) {
      Print(out_, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            count == 0 ? "base" : "grid", left_, right_, Y(count), Y(count));
      Print(out_, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            left_ - 8, Y(count) + 4, Grouped(static_cast<uint64_t>(count)).c_str());
    }
    if (has_zero_) Tick(left_ + 10, "0");
    for (const Duration mark :
         DurationMarks({low_, high_}, right_ - scale_left_, narrow_ ? 46 : 56))
      Tick(X(mark), DurationText(mark));
  }

  void Tick(double x, const std::string& text) {
    const char* anchor = x > right_ - 12 ? "end" : "middle";
    Print(out_, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x,
          height() - 8, anchor, text.c_str());
  }

  void AppendBar(std::string& d, const GapRange& bar) const {
    if (bar.count == 0) return;
    const bool zero = bar.from == Duration{0};
    const double from = zero ? left_ + 3 : X(bar.from) + 0.5;
    const double to = zero ? left_ + 17 : X(bar.to) - 0.5;
    // A bar that is not empty can be seen.
    const double y = std::min(Y(bar.count), kBottom - 1);
    Print(d, "M%.1f %.1fV%.1fH%.1fV%.1fZ", from, kBottom, y, std::max(to, from + 1), kBottom);
  }

  const KeyAnalysis& key_;
  std::vector<GapRange> bars_;
  bool narrow_;
  double left_;
  double right_;
  bool has_zero_ = false;
  double scale_left_ = 0;
  double low_ = 0;
  double high_ = 0;
  double count_max_ = 1;
  std::string out_;
};

}  // namespace

std::vector<GapRange> GapBars(const GapHistogram& gaps) {
  std::vector<GapRange> bars;
  for (const size_t step : {1, 2, 5}) {
    bars = Between(gaps, RoundEnds(step));
    if (bars.size() <= kBarsMax) break;
  }
  return bars;
}

std::vector<GapRange> GapRanges(const GapHistogram& gaps) {
  std::vector<Duration> ends = {Duration{0}};
  ends.insert(ends.end(), KnownDurations().begin(), KnownDurations().end());
  ends.push_back(ends.back() * 10000);
  return Between(gaps, ends);
}

std::string GapChartElement(const KeyAnalysis& key, int width, std::string_view class_name,
                            std::string_view id_view) {
  const std::string id(id_view);
  GapDrawing drawing(key, width);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" ";
  Print(out, "viewBox=\"0 0 %d %.0f\" role=\"img\" ", width, drawing.height());
  out += "aria-labelledby=\"" + id + "title\" class=\"chart " + std::string(class_name) + "\">\n";
  out += "<title id=\"" + id +
         "title\">How many events came how long after the one before them by " +
         Escaped(key.shown(), 120) + "; the table beside has the figures</title>\n";
  return out + drawing.Draw(id) + "</svg>\n";
}

}  // namespace pleat::cli
