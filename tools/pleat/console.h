// The program's answers to whoever started it: help, errors of usage, exit codes.
#pragma once

#include <string_view>

#include <absl/status/status.h>

namespace pleat::cli {

// The exit codes of every command, as docs/command-line.md promises them.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSignal = 128;  // plus the number of the signal

// Writes `text` to standard output. Returns the exit code: a reader that has seen enough, as in
// `pleat --help | head`, is no failure; a full disk is one, and is said.
int Print(std::string_view text);

// Writes `line` to standard error: all that is said to people comes by here. Control characters, which
// may come from an argument, a file or a directory, become '?'. Adds the newline if `line` has none.
void WriteLine(std::string_view line);

// Says why `pleat command` cannot start. Returns the exit code: kExitUsage for kInvalidArgument,
// with a hint at the help unless the message has a better one, else kExitFailed.
int Complain(std::string_view command, const absl::Status& status);

}  // namespace pleat::cli
