// The options of `pleat analyze`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/analysis.h>

#include "tools/pleat/analyze/recommendation.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/job_options.h"

namespace pleat::cli {

// The EventSpec of the JobOptions has no key: there are several.
struct AnalyzeOptions : JobOptions {
  std::vector<std::string> keys;  // one analysis each
  AnalyzerOptions analyzer;
  Goal goal;
  bool json = false;
  std::string html_file;  // empty: none
  std::string svg_file;
};

// Errors: kInvalidArgument, for people.
absl::StatusOr<AnalyzeOptions> ParseAnalyzeOptions(int argc, const char* const* argv);

// "1s..1d" gives kGridPointsUsual quiet periods, evenly spaced on a log scale, in whole
// microseconds; "1s..1d/100" gives 100 of them; "1s,5s,1m" gives these three.
// Errors: kInvalidArgument.
absl::StatusOr<std::vector<Duration>> ParseQuietGrid(std::string_view text);

// The table of its flags. They set `options`, which outlives them.
std::vector<Flag> AnalyzeFlags(AnalyzeOptions& options);

// The help text: examples first, then every option, then the output and exit codes.
std::string AnalyzeHelp();

}  // namespace pleat::cli
