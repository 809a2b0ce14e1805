// `pleat fold`: NDJSON in, folded NDJSON out.
#pragma once

namespace pleat::cli {

// `argv` begins with the subcommand's name. Returns the exit code.
int FoldMain(int argc, const char* const* argv);

}  // namespace pleat::cli
