// JSON inside an option, checked as strictly as a line of input.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/statusor.h>

namespace pleat::inline v0_1 {

// Why `text` is not one JSON object, or nothing. A text that passes is fit for ForEachMember() once
// the white space before the object is removed.
std::string WhyNoObject(std::string_view text);

// Whether `text` is a string, a number, true, false or null, with nothing around it.
bool IsJsonScalar(std::string_view text);

// The bytes that a checked string in quotes stands for.
std::string Unescaped(std::string_view quoted);

// Removes a string in quotes from the front of `rest`, and returns its unescaped text.
// REQUIRES: `rest` begins with a quote.
absl::StatusOr<std::string> TakeQuoted(std::string_view& rest);

// The canonical text of a checked JSON scalar.
std::string Canonical(std::string_view scalar);

// The JSON string that stands for `text`, which is UTF-8.
std::string JsonString(std::string_view text);

// Without the white space at both ends.
std::string_view Trimmed(std::string_view text) noexcept;

}  // namespace pleat::inline v0_1
