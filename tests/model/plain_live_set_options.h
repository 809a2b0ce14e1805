// The options of `pleat live` that say what comes out, for the model.
#pragma once

#include <string>
#include <vector>

#include "tests/model/live_set_lines_model.h"

namespace pleat::inline v0_1 {

struct PlainLiveSetCall {
  LiveSetLinesOptions options;
  std::string unknown;  // the first option that the model does not know; empty: it knows all
};

// As ReadPlainOptions().
PlainLiveSetCall ReadPlainLiveSetOptions(const std::vector<std::string>& arguments);

}  // namespace pleat::inline v0_1
