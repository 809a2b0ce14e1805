// How long it is between the events of a key: a histogram as SVG, and in a few lines of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/analyze/recommendation.h"

namespace pleat::cli {

// Gaps from `from` up to, but not including, `to`. Gaps of 0 have a range of their own.
struct GapRange {
  Duration from{0};
  Duration to{0};
  double count = 0;
};

// At most some 60 ranges, evenly spaced on a log scale, with round ends: so the counts are exact.
std::vector<GapRange> GapBars(const GapHistogram& gaps);

// Between durations that people know.
std::vector<GapRange> GapRanges(const GapHistogram& gaps);

// An element of a page, as ChartElement() is. Bars of gaps that fold at the marked quiet period
// have another colour.
std::string GapChartElement(const KeyAnalysis& key, int width, std::string_view class_name,
                            std::string_view id);

}  // namespace pleat::cli
