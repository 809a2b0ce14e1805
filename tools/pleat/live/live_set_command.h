// The command `pleat live`.
#pragma once

#include <absl/status/statusor.h>

#include "tools/pleat/live/live_set_options.h"

namespace pleat::cli {

// Reads the command line, which begins with the command's name, and the spec document it names.
// Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
absl::StatusOr<LiveSetRunOptions> ParseLiveSetOptions(int argc, const char* const* argv);

// Runs the command. Returns the exit code.
int LiveSetMain(int argc, const char* const* argv);

}  // namespace pleat::cli
