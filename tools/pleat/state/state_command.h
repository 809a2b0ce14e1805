// `pleat state show|check|salvage`: looking after a state directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/flags.h"

namespace pleat::cli {

inline constexpr std::string_view kStateActions[] = {"show", "check", "salvage"};

struct StateOptionsGiven {
  std::string out;
  bool json = false;
  bool help = false;
};

std::vector<Flag> StateFlags(StateOptionsGiven& options);
std::string StateHelp();

int StateMain(int argc, const char* const* argv);

}  // namespace pleat::cli
