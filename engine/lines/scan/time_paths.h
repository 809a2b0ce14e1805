// The members that an event time is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pleat::inline v0_1 {

// The paths of a time, `date,time` or one alone. One in quotes may have commas, and so may a pointer, which
// is the last one. They may be malformed.
std::vector<std::string> SplitTimePaths(std::string_view text);

}  // namespace pleat::inline v0_1
