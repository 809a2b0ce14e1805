// The options of a run as those of a processor.
#pragma once

#include <pleat/processor.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// `partitions`: that all processors of the run have together.
ProcessorOptions OptionsFor(const RunOptions& options, int partitions);

}  // namespace pleat::cli
