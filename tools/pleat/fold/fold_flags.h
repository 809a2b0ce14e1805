// The flags of `pleat fold`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// The table of them, by which the command line is read and the help is written.
std::span<const Flag> FoldFlags();

// The kind of the option `name`; kText if there is no such option.
FlagKind KindOf(std::string_view name);

// The options that a spec document may hold, without dashes.
std::vector<std::string_view> FoldOptionNames();

// The help text: examples first, then every option, then what comes out.
std::string FoldHelp();

struct FoldCall {
  bool help = false;
  FoldOptions options;
};

// Reads the arguments after `fold`, and the spec document they name.
// Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
absl::StatusOr<FoldCall> ParseFoldCall(int argc, const char* const* argv);

}  // namespace pleat::cli
