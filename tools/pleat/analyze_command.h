// The command `pleat analyze`.
#pragma once

namespace pleat::inline v0_1 {

// `argv` begins with the command's name. Returns the exit code.
int AnalyzeMain(int argc, const char* const* argv);

}  // namespace pleat::inline v0_1
