// An analysis as text: a table for people, a JSON object for scripts.
#pragma once

#include <string>

#include "tools/pleat/analyze/recommendation.h"

namespace pleat::cli {

// Several lines, the last one ended too.
std::string AnalysisTable(const KeyAnalysis& key);

// One line. Quiet periods are exact, to the microsecond; ratios the shortest that read back the
// same.
std::string AnalysisJson(const KeyAnalysis& key);

}  // namespace pleat::cli
