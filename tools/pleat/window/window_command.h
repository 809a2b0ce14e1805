// The command `pleat window`.
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "tools/pleat/window/window_options.h"

namespace pleat::cli {

// Reads the command line, which begins with the command's name, and the spec document it names.
// Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
absl::StatusOr<WindowRunOptions> ParseWindowOptions(int argc, const char* const* argv);

// The spec document that amounts to `options`: those that differ from the defaults.
// Errors: kInvalidArgument if a text, such as a file name, is not valid UTF-8.
absl::StatusOr<std::string> WindowDocument(WindowRunOptions options);

// Runs the command. Returns the exit code.
int WindowMain(int argc, const char* const* argv);

}  // namespace pleat::cli
