// Where the data of tests lie.
#pragma once

#include <string>

namespace pleat::inline v0_1 {

// The root of the source tree, without a slash at the end.
std::string SourceDir();

// The folder of large data sets that are no part of the tree; may not exist.
std::string SharedData();

}  // namespace pleat::inline v0_1
