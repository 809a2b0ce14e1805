// `pleat store consumers` and `pleat store trim`: how far a store was read, and what may go.
#pragma once

#include <string>

#include "tools/pleat/store/store_options.h"

namespace pleat::cli {

// Lists the consumers, moves one, or removes one. Returns the exit code.
int ShowConsumers(const std::string& directory, const StoreOptions& options);

// Removes the oldest files. Returns the exit code.
int TrimStore(const std::string& directory, const StoreOptions& options);

}  // namespace pleat::cli
