// The command `pleat fold`.
#pragma once

#include <absl/status/statusor.h>

#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// Reads the command line, which begins with the command's name, and the spec document it names.
// Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
absl::StatusOr<FoldOptions> ParseFoldOptions(int argc, const char* const* argv);

// Runs the command. Returns the exit code.
int FoldMain(int argc, const char* const* argv);

}  // namespace pleat::cli
