// `pleat lanes`: how the consumers of an event store stand, and what a person decides about keys and
// messages that wait for one.
#pragma once

#include <string>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/lanes/lanes_options.h"

namespace pleat::cli {

std::vector<Flag> LanesFlags(LanesOptions& options);
std::string LanesHelp();

int LanesMain(int argc, const char* const* argv);

}  // namespace pleat::cli
