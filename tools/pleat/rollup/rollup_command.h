// The command `pleat rollup`.
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "tools/pleat/rollup/rollup_options.h"

namespace pleat::cli {

// Reads the command line, which begins with the command's name, and the spec document it names.
// Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
absl::StatusOr<RollupRunOptions> ParseRollupOptions(int argc, const char* const* argv);

// The spec document that amounts to `options`: those that differ from the defaults.
// Errors: kInvalidArgument if a text, such as a file name, is not valid UTF-8.
absl::StatusOr<std::string> RollupDocument(RollupRunOptions options);

// Runs the command. Returns the exit code.
int RollupMain(int argc, const char* const* argv);

}  // namespace pleat::cli
