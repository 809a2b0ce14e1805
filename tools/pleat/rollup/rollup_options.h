// The options of `pleat rollup`.
#pragma once

#include <cstdint>

#include <pleat/json_rollup.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// The key, the time and --max-memory are in the FoldSpec of the JobOptions; see SpecOf().
struct RollupRunOptions : EngineJobOptions {
  RollupSpec rollup;
};

// The spec for the library.
inline RollupSpec SpecOf(const RollupRunOptions& options) {
  RollupSpec spec = options.rollup;
  spec.event = options.spec.event;
  spec.rollup.limits.max_bytes = options.spec.folder.limits.max_bytes;
  return spec;
}

}  // namespace pleat::cli
