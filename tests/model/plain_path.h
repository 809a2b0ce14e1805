// Paths to members, for the model: "a.b" nests, and what starts with / is a JSON Pointer.
#pragma once

#include <string>
#include <vector>

#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

using PlainPath = std::vector<std::string>;  // one member name, or index, per step

// Quotes are not known here. The text must be right.
PlainPath ReadPlainPath(const std::string& text);

// The value at `path`, which goes through objects by name and through arrays by index; null if there
// is none. The empty path is the object itself.
const PlainJson* FindPlain(const PlainJson& object, const PlainPath& path);

}  // namespace pleat::inline v0_1
