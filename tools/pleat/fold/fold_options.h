// The options of `pleat fold`.
#pragma once

#include <pleat/json.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// The key, the time and --max-memory are in the JobOptions; see SpecOf().
struct FoldOptions : EngineJobOptions {
  FoldSpec fold;
};

// The spec for the library.
inline FoldSpec SpecOf(const FoldOptions& options) {
  FoldSpec spec = options.fold;
  spec.event = options.event;
  spec.folder.limits.max_bytes = options.collection_memory();
  spec.folder.limits.count_ready = false;
  return spec;
}

}  // namespace pleat::cli
