// Paths to members, for the model: "a.b" nests, what starts with / is a JSON Pointer, `list[name=value]` is
// the first element with that member, `a|b` the first that is there and not null, and a path that ends with
// `?` may be absent. Nothing is in quotes.
#pragma once

#include <string>
#include <vector>

#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

using PlainSteps = std::vector<std::string>;  // a member name, an index, or "[name=value]"

struct PlainPath {
  std::vector<PlainSteps> ways;
  bool optional = false;

  bool empty() const { return ways.empty(); }
  const std::string& back() const { return ways.front().back(); }

  friend bool operator==(const PlainPath&, const PlainPath&) = default;
};

// REQUIRES: valid.
PlainPath ReadPlainPath(const std::string& text);

// The value at `path`, which goes through objects by name and through arrays by index; null if there
// is none. The empty path is the object itself.
const PlainJson* FindPlain(const PlainJson& object, const PlainPath& path);

}  // namespace pleat::inline v0_1
