// The values of a line that no walk by names finds: those behind `|`, and those in a list that is
// searched. They are found when the walk is over, from the values that it has found.
#pragma once

#include <span>

#include "engine/lines/scan/path.h"
#include "engine/lines/scan/value.h"

namespace pleat::inline v0_1 {

// Sets the derived ones of the `values` of a good line, by slot.
void DeriveValues(const PathTree& paths, std::span<Value> values);

}  // namespace pleat::inline v0_1
