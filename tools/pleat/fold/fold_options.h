// The options of `pleat fold`. Those that the library knows are in the FoldSpec of the JobOptions;
// the rest, which is about files and the process, is here.
#pragma once

#include <cstdint>
#include <string>

#include <pleat/time.h>

#include "tools/pleat/job_options.h"

namespace pleat::cli {

struct FoldOptions : JobOptions {
  enum class AtEnd : uint8_t { kFlush, kDrop };

  AtEnd at_end = AtEnd::kFlush;
  Duration idle = kForever;
  std::string late_file;  // these files: empty means none
  std::string open_file;
  std::string stats_file;  // "-" is stderr

  bool print_spec = false;  // belongs to one call
};

}  // namespace pleat::cli
