// A run of `pleat run`: threads that each have a share of the partitions, and one output.
#pragma once

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// Returns the exit code.
int RunLanes(const RunOptions& options);

}  // namespace pleat::cli
