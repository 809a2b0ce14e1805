// The command `pleat live`.
#pragma once

#include "tools/pleat/engine_command.h"
#include "tools/pleat/live/live_set_options.h"

namespace pleat::cli {

extern const EngineCommand<LiveSetRunOptions> kLiveSetCommand;

}  // namespace pleat::cli
