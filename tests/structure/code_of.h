// The code of a source: its comments, strings and characters left out, its lines as they were.
#pragma once

#include <string>
#include <string_view>

namespace pleat_structure {

// The tree has no /* */.
std::string CodeOf(std::string_view text);

}  // namespace pleat_structure
