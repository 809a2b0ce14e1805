// The command `pleat fold`.
#pragma once

#include "tools/pleat/engine_command.h"
#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

extern const EngineCommand<FoldOptions> kFoldCommand;

}  // namespace pleat::cli
