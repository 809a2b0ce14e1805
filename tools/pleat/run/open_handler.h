// Which handler a run has.
#pragma once

#include <memory>

#include <absl/status/statusor.h>
#include <pleat/engine.h>
#include <pleat/processor.h>

#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// A handler for the collections of the options. Borrows all. Collections that do not agree about time are
// an error.
absl::StatusOr<std::unique_ptr<RunHandler>> OpenHandler(Engine& engine, const RunOptions& options,
                                                        RunCounts& counts);
// REQUIRES: OpenHandler() has no error.
MakeHandler HandlerFor(const RunOptions& options, RunCounts& counts);

}  // namespace pleat::cli
