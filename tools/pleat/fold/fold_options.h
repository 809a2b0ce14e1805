// The options of `pleat fold`. Those that the library knows are in the FoldSpec of the JobOptions.
#pragma once

#include <cstdint>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

struct FoldOptions : EngineJobOptions {
  enum class AtEnd : uint8_t { kFlush, kDrop };

  AtEnd at_end = AtEnd::kFlush;
};

}  // namespace pleat::cli
