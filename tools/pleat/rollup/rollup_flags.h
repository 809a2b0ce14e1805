// The flags of `pleat rollup`, and its help.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/rollup/rollup_options.h"

namespace pleat::cli {

// The table of them. They set `options`, which outlives them.
std::vector<Flag> RollupFlags(RollupRunOptions& options);

// The help text: examples first, then every option, then input, output and exit codes.
std::string RollupHelp();

}  // namespace pleat::cli
