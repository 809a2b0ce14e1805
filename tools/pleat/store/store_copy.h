// `pleat store copy` and `pleat store salvage`: another store of the same records.
#pragma once

#include <string>

#include "tools/pleat/store/store_options.h"

namespace pleat::cli {

// Returns the exit code.
int CopyStore(const std::string& from, const std::string& to, const StoreOptions& options);

// Copies what is whole of a damaged one. The same.
int SalvageStore(const std::string& from, const std::string& to, const StoreOptions& options);

}  // namespace pleat::cli
