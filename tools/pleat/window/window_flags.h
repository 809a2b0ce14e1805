// The flags of `pleat window`, and its help.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/window/window_options.h"

namespace pleat::cli {

// The table of them. They set `options`, which outlives them.
std::vector<Flag> WindowFlags(WindowRunOptions& options);

// The help text: examples first, then every option, then input, output and exit codes.
std::string WindowHelp();

}  // namespace pleat::cli
