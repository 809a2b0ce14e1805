// An analysis as text: a table for people, a JSON object for scripts.
#pragma once

#include <string>

#include "tools/pleat/recommendation.h"

namespace pleat::cli {

// Several lines, the last one ended too.
std::string AnalysisTable(const KeyAnalysis& key);

// One line. Quiet periods are exact, to the microsecond; ratios the shortest that read back the same.
std::string AnalysisJson(const KeyAnalysis& key);

// For people, and for a quiet period exact: "250 ms", "1.5 s", "5 min", "2 h 30 min".
std::string DurationText(Duration d);

// Two or three digits of a duration: "1.53 s", "17.2 min".
std::string RoundedDuration(Duration d);

// "93.4 %", with more digits where it is nearly all, and never "100 %" or "0 %" for what is not.
std::string PercentText(double ratio);

// "1,234", "17.2", "0.172", "0.0017": three digits, of what is small two.
std::string RateText(double per_second);

}  // namespace pleat::cli
