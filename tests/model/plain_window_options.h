// The options of `pleat window` that say what comes out, for the model.
#pragma once

#include <string>
#include <vector>

#include "tests/model/window_lines_model.h"

namespace pleat::inline v0_1 {

struct PlainWindowCall {
  WindowLinesOptions options;
  std::string unknown;  // the first option that the model does not know; empty: it knows all
};

// As ReadPlainOptions().
PlainWindowCall ReadPlainWindowOptions(const std::vector<std::string>& arguments);

}  // namespace pleat::inline v0_1
