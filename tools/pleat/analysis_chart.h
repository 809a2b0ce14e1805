// The plots of an analysis, as SVG that we write ourselves.
#pragma once

#include <span>
#include <string>

#include "tools/pleat/recommendation.h"

namespace pleat::inline v0 {

// Folding ratio and emissions against the quiet period, a line for each of `keys`, their recommendations
// marked. A document of its own: it brings its colours, light and dark, and refers to nothing.
std::string AnalysisSvg(std::span<const KeyAnalysis> keys);

}  // namespace pleat::inline v0
