// The flags of `pleat live`, and its help.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/live/live_set_options.h"

namespace pleat::cli {

// The table of them. They set `options`, which outlives them.
std::vector<Flag> LiveSetFlags(LiveSetRunOptions& options);

// The help text: examples first, then every option, then input, output and exit codes.
std::string LiveSetHelp();

}  // namespace pleat::cli
