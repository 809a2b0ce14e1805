// The what-if table as a curve, with the quiet periods between its rows.
//
// The number of events that fold is read off the gaps: an event folds exactly if its gap is
// shorter. Gaps do not tell delays and open groups, and with a max wait they do not tell the ratio
// either: these are interpolated between two rows, evenly on the log scale of the plot.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <pleat/analysis.h>

namespace pleat::cli {

struct CurvePoint {
  WhatIfRow figures;
  size_t row = 0;         // the last one of the analysis that is not longer
  bool measured = false;  // it is that row
};

// Points evenly spaced on a log scale from the first row to the last. A point close to a row, or
// to a duration that people know, is moved there. `keep`: a row that has to be among the points.
std::vector<CurvePoint> CurveOf(const Analysis& analysis, size_t keep = 0);

// Whether ratio and emissions between rows are counts, and not interpolated.
inline bool GapsTellRatio(const Analysis& analysis) { return analysis.max_wait == kForever; }

// Durations that people know, ascending: a few for the marks of an axis, and those between them.
std::span<const Duration> KnownDurations();
std::span<const Duration> LesserKnownDurations();

}  // namespace pleat::cli
