// The options of `pleat rollup`.
#pragma once

#include <cstdint>

#include <pleat/json_rollup.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// The key, the time and --max-memory are in the JobOptions; see SpecOf().
struct RollupRunOptions : EngineJobOptions {
  RollupSpec rollup;
};

// The spec for the library.
inline RollupSpec SpecOf(const RollupRunOptions& options) {
  RollupSpec spec = options.rollup;
  spec.event = options.event;
  spec.rollup.limits.max_bytes = options.collection_memory();
  return spec;
}

}  // namespace pleat::cli
