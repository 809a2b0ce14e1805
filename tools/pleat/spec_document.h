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

#include "tools/pleat/flags.h"

namespace pleat::cli {

// The name of an option, and its text.
using OptionText = std::pair<std::string, std::string>;

// Whether a document may hold the flag's option: all but those that belong to one call.
bool InDocument(const Flag& flag);

// Reads the document in `file`. Errors: kInvalidArgument; kUnavailable if the file cannot be read.
absl::Status ReadDocument(const std::string& file, std::span<const Flag> flags);

// Sets the options of a document. `file` is for messages. Errors: kInvalidArgument.
absl::Status ApplyDocument(std::string_view document, std::string_view file,
                           std::span<const Flag> flags);

// The options that have another text than in `usual`, the same table on default options. Those
// that belong to a spec are not among them.
std::vector<OptionText> ChangedOptions(std::span<const Flag> flags, std::span<const Flag> usual);

// The document of these options, one a line; several of one name, which follow each other, are a
// list.
std::string DocumentOf(std::span<const OptionText> options, std::span<const Flag> flags);

}  // namespace pleat::cli
