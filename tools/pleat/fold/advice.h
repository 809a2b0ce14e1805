// Advice after a run that went through: options that did not fit the input.
#pragma once

#include <string>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// A line for each option that likely did not fit, to be printed behind the summary.
std::vector<std::string> AdviceOn(const FoldOptions& options, const JsonFolder& folder);

}  // namespace pleat::cli
