// `pleat run --check`: whether a run could begin, and what would be guaranteed.
#pragma once

#include <string>

#include <absl/status/status.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// The collections in an engine of no lane: whether they agree.
absl::Status TryCollections(const RunOptions& options);

// A sentence where a group of all events was meant, and there is one for each partition; else nothing.
std::string AdviceOnKey(const RunOptions& options, int partitions);

// Changes nothing. Returns the exit code.
int CheckRun(const RunOptions& options);

}  // namespace pleat::cli
