// Spec documents of `pleat fold`: all that flags can say, as one JSON object.
//
// A document goes through the table of flags, by the same names and with the same texts, so that
// every mistake reads the same.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/fold/fold_options.h"

namespace pleat::cli {

// Sets the options of a document. `file` is for messages. Errors: kInvalidArgument.
absl::Status ApplyDocument(std::string_view document, std::string_view file, FoldOptions& options);

// The document that amounts to `options`: those that differ from the defaults, one a line.
// Errors: kInvalidArgument if a text, such as a file name, is not valid UTF-8.
absl::StatusOr<std::string> PrintDocument(FoldOptions options);

}  // namespace pleat::cli
