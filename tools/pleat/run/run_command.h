// `pleat run`: folds or counts the records of an event store, partition by partition, so that
// nothing is lost and nothing counts twice, whoever dies.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

inline constexpr std::string_view kRunActions[] = {"fold", "rollup", "live"};

std::vector<Flag> RunFlags(RunOptions& options);

std::string RunHelp();

int RunMain(int argc, const char* const* argv);

}  // namespace pleat::cli
