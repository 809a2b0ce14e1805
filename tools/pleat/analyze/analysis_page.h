// An analysis as a page to read in a browser: one file that asks for nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/pleat/analyze/recommendation.h"

namespace pleat::cli {

inline constexpr std::string_view kPageBeginning = "<!DOCTYPE html>";

// `source` names the input, such as "a.ndjson, b.ndjson".
std::string AnalysisPage(std::span<const KeyAnalysis> keys, std::string_view source);

}  // namespace pleat::cli
