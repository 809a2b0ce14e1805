// Paths as options have them: where a value is, and what stands for it where it is absent.
//
//   path:    way, or several with `|` between, and maybe a `?` behind the last one
//   way:     /a/b                     a JSON Pointer, which has no end but that of the path
//            part.part[name=value].part
//   part:    one step, or a JSON string; in quotes stands a dotted path or a pointer
//
// In quotes and in a pointer all marks are letters, but for the `?` behind either. A `[` begins a
// search only if name, `=`, value and `]` follow; `a[0]` is a name. Beside `|`, `?`, quotes or a search the
// marks of other options, such as a comma, have to be in quotes, so that a path can stand in any of them.
#pragma once

#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include "engine/lines/scan/path.h"

namespace pleat::inline v0_1 {

// Errors: kInvalidArgument, a phrase to follow the path: `... has an empty step`.
absl::StatusOr<WrittenPath> ParseWrittenPath(std::string_view text);

// The first way to the value, up to a search. REQUIRES: `text` is well formed.
Path FirstSteps(std::string_view text);

// The last step of the first way. REQUIRES: `text` is well formed.
std::string LastStep(std::string_view text);

// Where the path that `text` begins with ends: at one of the `stops`, outside of quotes and searches,
// or with the text. In a pointer every stop counts.
size_t EndOfWritten(std::string_view text, std::string_view stops);

// The same up to the first place for which `is_end(rest)` is true.
size_t EndOfWritten(std::string_view text, absl::FunctionRef<bool(std::string_view rest)> is_end);

// The text of a path that reads as `quoted` would in quotes: without them, if it may be.
std::string UnquotedPath(std::string_view quoted);

// The same for the text of an option; one that is not all in quotes stays as it is.
std::string NormalPath(std::string_view text);

// A text that is read as `path` in every option: all steps in quotes.
std::string FormatWritten(const WrittenPath& path);

// Whether `text` has to stand as it is, since it is more than a plain path. False if it is malformed.
bool IsWrittenWithMarks(std::string_view text);

}  // namespace pleat::inline v0_1
