// `pleat store read`: the records of a store as lines of JSON, in the order in which they were
// appended.
#pragma once

#include <string>

#include "tools/pleat/store/store_options.h"

namespace pleat::cli {

// Returns the exit code.
int ReadStore(const std::string& directory, const StoreOptions& options);

}  // namespace pleat::cli
