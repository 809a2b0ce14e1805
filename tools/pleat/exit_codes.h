// The exit codes of every command, as docs/command-line.md promises them.
#pragma once

namespace pleat::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSignal = 128;  // plus the number of the signal

}  // namespace pleat::cli
