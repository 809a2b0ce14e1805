// The command `pleat rollup`.
#pragma once

#include "tools/pleat/engine_command.h"
#include "tools/pleat/rollup/rollup_options.h"

namespace pleat::cli {

extern const EngineCommand<RollupRunOptions> kRollupCommand;

}  // namespace pleat::cli
