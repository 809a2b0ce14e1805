// The options of `pleat fold` that say what comes out, for the model.
#pragma once

#include <string>
#include <vector>

#include "tests/model/ndjson_model.h"

namespace pleat::inline v0_1 {

struct PlainCall {
  NdjsonOptions options;
  std::vector<std::string> files;
  std::string stats;    // the file of --stats; empty: none is wanted
  std::string unknown;  // the first option that the model does not know; empty: it knows all
};

// Options that change no output (--threads, --strict, --quiet-summary) are taken and ignored. The values of the
// others must be right.
PlainCall ReadPlainOptions(const std::vector<std::string>& arguments);

}  // namespace pleat::inline v0_1
