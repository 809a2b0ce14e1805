// A run of `pleat run`: a processor over a consumer of a store, and one thread that reads, folds,
// commits, writes messages, and acks those that stay.
#pragma once

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// Returns the exit code.
int RunLanes(const RunOptions& options);

// Says what would be guaranteed, and whether it could begin. Returns the exit code.
int CheckRun(const RunOptions& options);

}  // namespace pleat::cli
