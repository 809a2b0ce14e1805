// The main plot of an analysis, as SVG that we write ourselves. Three panels above each other show
// the folding ratio, the emissions and their delay against the quiet period.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/pleat/analyze/chart_scale.h"
#include "tools/pleat/analyze/recommendation.h"

namespace pleat::cli {

inline constexpr std::string_view kSvgBeginning = "<svg ";

// A document of its own, with a line for each of `keys`. It brings its colours, light and dark, and
// refers to nothing.
std::string AnalysisSvg(std::span<const KeyAnalysis> keys);

// Where figures are on the panels: shares of the way to the right, and up.
struct ChartScales {
  explicit ChartScales(std::span<const KeyAnalysis> keys);

  double Ratio(const WhatIfRow& row) const { return row.folding_ratio; }
  double Emissions(const WhatIfRow& row) const {
    return emissions.Share(static_cast<double>(row.emissions));
  }
  double Delay(const WhatIfRow& row) const { return delay.Share(row.delay_p99); }

  LogScale quiet;  // microseconds
  LogScale emissions;
  LogScale delay;  // microseconds
};

// The same plot as an element of a page, which has the colours. `class_name` is a further class.
// The element's ids begin with `id`. With one key the plot has a hidden cursor, for a script to
// move.
std::string ChartElement(std::span<const KeyAnalysis> keys, int width, std::string_view class_name,
                         std::string_view id);

// The name of the marked row: "recommended", "meets the goal" and so on.
const char* MarkName(const Recommendation& recommended);

// The row that is marked; null if there is none.
const AnalysisRow* MarkedRow(const KeyAnalysis& key);

}  // namespace pleat::cli
