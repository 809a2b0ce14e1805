// `pleat store`: looks into an event store, appends to it, and keeps it in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/flags.h"
#include "tools/pleat/store/store_options.h"

namespace pleat::cli {

inline constexpr std::string_view kStoreActions[] = {"show",      "check", "read", "append",
                                                     "consumers", "trim",  "copy", "salvage"};

std::vector<Flag> StoreFlags(StoreOptions& options);
std::string StoreHelp();

int StoreMain(int argc, const char* const* argv);

}  // namespace pleat::cli
