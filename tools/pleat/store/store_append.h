// `pleat store append`: the lines of FILEs become records of a store.
#pragma once

#include <string>

#include "tools/pleat/store/store_options.h"

namespace pleat::cli {

// Returns the exit code. `options.append.inputs` are complete.
int AppendToStore(const std::string& directory, const StoreOptions& options);

}  // namespace pleat::cli
