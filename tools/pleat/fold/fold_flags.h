// The flags of `pleat fold`, and its help.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// The table of them. They set `options`, which outlives them.
std::vector<Flag> FoldFlags(FoldOptions& options);

// The help text: examples first, then every option, then input, output and exit codes.
std::string FoldHelp();

}  // namespace pleat::cli
