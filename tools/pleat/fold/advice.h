// What a run that went through may still have got wrong.
#pragma once

#include <string>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// A line each, to be said behind the summary: options that did not fit the input, as far as that shows.
std::vector<std::string> AdviceOn(const FoldOptions& options, const JsonFolder& folder);

}  // namespace pleat::cli
