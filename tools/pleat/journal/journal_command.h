// `pleat journal show|check|salvage`: looking after a directory of snapshots.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/flags.h"

namespace pleat::cli {

inline constexpr std::string_view kJournalActions[] = {"show", "check", "salvage"};

struct JournalOptionsGiven {
  std::string out;
  bool json = false;
  bool help = false;
};

std::vector<Flag> JournalFlags(JournalOptionsGiven& options);
std::string JournalHelp();

int JournalMain(int argc, const char* const* argv);

}  // namespace pleat::cli
