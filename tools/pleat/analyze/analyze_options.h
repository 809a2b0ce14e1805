// What `pleat analyze` was asked to do.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/analysis.h>
#include <pleat/json.h>

#include "tools/pleat/analyze/recommendation.h"
#include "tools/pleat/flags.h"

namespace pleat::cli {

struct AnalyzeOptions {
  std::vector<std::string> keys;  // one analysis each
  FoldSpec spec;                  // time, time_unit, lateness
  AnalyzerOptions analyzer;
  Goal goal;
  bool json = false;
  std::string html_file;  // empty: none
  std::string svg_file;
  std::string output_file = "-";
  bool strict = false;
  bool quiet_summary = false;
  int threads = 1;
  std::vector<std::string> inputs;
};

struct AnalyzeCall {
  bool help = false;
  AnalyzeOptions options;
};

// Errors: kInvalidArgument, for people.
absl::StatusOr<AnalyzeCall> ParseAnalyzeCall(int argc, const char* const* argv);

// "1s..1d" is kGridPointsUsual quiet periods, evenly spaced on a log scale, in whole microseconds; "1s..1d/100" so many;
// "1s,5s,1m" these. Errors: kInvalidArgument.
absl::StatusOr<std::vector<Duration>> ParseQuietGrid(std::string_view text);

// The table of its flags, by which the command line is read and the help is written.
std::span<const Flag> AnalyzeFlags();

// The help text: examples first, then every option, then what comes out.
std::string AnalyzeHelp();

}  // namespace pleat::cli
