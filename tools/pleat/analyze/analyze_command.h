// The command `pleat analyze`.
#pragma once

namespace pleat::cli {

// `argv` begins with the command's name. Returns the exit code.
int AnalyzeMain(int argc, const char* const* argv);

}  // namespace pleat::cli
