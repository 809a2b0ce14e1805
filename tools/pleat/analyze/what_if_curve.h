// The what-if table as a curve: what an analysis says of the quiet periods between its rows.
//
// How many events fold is read off the gaps, as they fold exactly if their gap is shorter. With a max hold gaps
// do not tell, nor do they ever tell delays and open groups: those are interpolated between two rows,
// evenly on the log scale that they are drawn on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <pleat/analysis.h>
#include <pleat/what_if.h>

namespace pleat::cli {

struct CurvePoint {
  WhatIfRow figures;
  size_t row = 0;         // the last one of the analysis that is not longer
  bool measured = false;  // it is that row
};

// Points evenly spaced on a log scale from the first row to the last, as far as rows and durations that people
// know allow: a point close to one of them is that one. `keep`: a row that has to be among them.
std::vector<CurvePoint> CurveOf(const Analysis& analysis, size_t keep = 0);

// Whether ratio and emissions between rows are counts, and not interpolated.
inline bool GapsTellRatio(const Analysis& analysis) { return analysis.max_hold == kForever; }

// Durations that people know, ascending: a few for the marks of an axis, and those between them.
std::span<const Duration> KnownDurations();
std::span<const Duration> LesserKnownDurations();

}  // namespace pleat::cli
