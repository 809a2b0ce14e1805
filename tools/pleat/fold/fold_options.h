// The options of `pleat fold`. Those that the library knows are in the FoldSpec of the JobOptions.
#pragma once

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

using FoldOptions = EngineJobOptions;

}  // namespace pleat::cli
