// Spec documents: all that the flags of a command can say, as one JSON object.
//
// A document goes through the table of flags, by the same names and with the same texts, so that
// every mistake reads the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/flags.h"

namespace pleat::cli {

// The name of an option, and its text.
using OptionText = std::pair<std::string, std::string>;

// Reads the document in `file`. Errors: kInvalidArgument; kUnavailable if the file cannot be read.
absl::Status ReadDocument(const std::string& file, std::span<const Flag> flags);

// The document of a command's options: those of its specs, `of_specs`, and all others that have
// another text in `flags` than in `usual`, the same table on default options. One option a line;
// several of one name, which follow each other, are a list. `again`, the table on other default
// options, is where the document is read back. Errors: kInvalidArgument if that does not work.
absl::StatusOr<std::string> PrintDocument(std::vector<OptionText> of_specs,
                                          std::span<const Flag> flags, std::span<const Flag> usual,
                                          std::span<const Flag> again);

}  // namespace pleat::cli
