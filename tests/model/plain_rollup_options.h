// The options of `pleat rollup` that say what comes out, for the model.
#pragma once

#include <string>
#include <vector>

#include "tests/model/rollup_lines_model.h"

namespace pleat::inline v0_1 {

struct PlainRollupCall {
  RollupLinesOptions options;
  std::string unknown;  // the first option that the model does not know; empty: it knows all
};

// As ReadPlainOptions().
PlainRollupCall ReadPlainRollupOptions(const std::vector<std::string>& arguments);

}  // namespace pleat::inline v0_1
