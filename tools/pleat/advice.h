// Advice after a run that went through: options that did not fit the input.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/job_options.h"

namespace pleat::cli {

// Whether the path of an option leads to the member `name` at the top of a line.
bool LeadsTo(std::string_view path, std::string_view name);

// That the path of `asked` leads to the first of several columns.
std::string DoubledSentence(const std::string& input, const DoubledName& doubled,
                            const OptionPath& asked);

// A line for each option that likely did not fit, to be printed behind the summary.
// `absent`: the paths that led to no member in any line, of which `line` is one, for hints; it may be
// empty.
std::vector<std::string> AdviceOn(const JobOptions& options, std::span<const OptionPath> absent,
                                  std::string_view line, const LineCounts& lines,
                                  const StampCounts& stamps);

// The part about a --time that leaves out the time of day; empty if it does not.
std::string AboutDays(const JobOptions& options, std::string_view line);

// The part about options that kept no line; empty if they kept any.
std::string AboutExcluded(const JobOptions& options, std::string_view line,
                          const LineCounts& lines);

// The part about values that are NaN or Infinity; empty if there were none.
std::string AboutNotNumbers(const LineCounts& lines);

}  // namespace pleat::cli
