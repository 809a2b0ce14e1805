// The two options of a FoldSpec that have a grammar of their own.
//
//   key:    ITEM[,ITEM...]    ITEM = PATH or NAME=PATH; without NAME, the path's last step is it
//   merge:  NAME=REDUCER(PATH)
//           NAME=REDUCER(PATH[,N])          array, distinct, set, keys: at most N elements
//           NAME=concat(PATH[,SEP[,N]])     at most N bytes
//
// A NAME, PATH or SEP that holds one of the marks `,` `=` `(` `)` is written as a JSON string, in
// quotes: "a,b". An item that starts with / is a path without NAME, so that only commas end it.
// White space around all but a SEP without quotes is not part of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json.h>

namespace pleat::inline v0_1 {

// Errors: kInvalidArgument; the message does not name the option.
absl::StatusOr<std::vector<KeyField>> ParseKeyFields(std::string_view text);
absl::StatusOr<Merge> ParseMerge(std::string_view text);

// The text that is parsed as these.
std::string FormatKeyField(const KeyField& field);
std::string FormatMerge(const Merge& merge);

// The last step of a well-formed path.
std::string DefaultName(std::string_view path);

std::string_view NameOf(Reducer reducer);

// Whether it can do without a path.
bool TakesNoPath(Reducer reducer);

// Whether it takes kWholeEvent for a path.
bool TakesWholeEvent(Reducer reducer);

}  // namespace pleat::inline v0_1
