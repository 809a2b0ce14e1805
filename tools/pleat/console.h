// Texts for whoever started the program: help and errors of usage.
#pragma once

#include <string_view>

#include <absl/status/status.h>

namespace pleat::cli {

// Writes `text` to standard output. Returns the exit code: a reader that has seen enough, as in
// `pleat --help | head`, is no failure.
int Print(std::string_view text);

// Writes `line` to standard error. Adds the newline if `line` has none.
void WriteLine(std::string_view line);

// Says why `pleat command` cannot start. Returns the exit code: kExitUsage for kInvalidArgument,
// with a hint at the help unless the message has a better one, else kExitFailed.
int Complain(std::string_view command, const absl::Status& status);

}  // namespace pleat::cli
