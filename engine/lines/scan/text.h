// JSON text to JSON text: strings unescaped, escaped again, and values copied in canonical form.
//
// The canonical form of a value has no white space outside strings, numbers as they were written,
// and strings with as few escapes as possible: `"`, `\` and control characters only. We print this
// form, and it is the identity of keys and set elements: two scalars are the same if and only if
// their canonical texts are, but for the spelling of numbers (normal.h). NaN and the infinities, which
// the scanner lets pass as nulls, are null in it.
//
// Except CheckEscapes() and HasOneByteEscapes(), all of this takes text that the scanner has accepted.
#pragma once

#include <cstddef>
#include <string_view>

#include <absl/functional/function_ref.h>

namespace pleat::inline v0_1 {

constexpr bool IsJsonSpace(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Checks the escapes in `inside`, the text between the quotes of a string: all known, no lone
// surrogate. Returns the error (see reasons.h), or nothing.
std::string_view CheckEscapes(std::string_view inside) noexcept;

// Whether `inside`, any text, has no escapes but such that stand for one byte, as the inside of a
// canonical string.
bool HasOneByteEscapes(std::string_view inside) noexcept;

// Writes the bytes that `inside` stands for; returns their end. At most inside.size() bytes.
char* WriteUnescaped(std::string_view inside, char* to) noexcept;

// How many bytes the canonical form of a text of `size` bytes has at most: null is longer than NaN.
constexpr size_t CanonicalBytes(size_t size) noexcept { return size + size / 3; }

// Writes the canonical form of the value `text`; returns its end.
char* WriteCanonical(std::string_view text, char* to) noexcept;

// The end of the scalar, array or object that starts at `value`.
const char* SkipValue(const char* value) noexcept;

// Calls `visit` with the text of every element of the array `text`.
void ForEachElement(std::string_view text, absl::FunctionRef<void(std::string_view)> visit);

// Calls `visit` with the name, quotes included, and the value of every member of the object `text`.
void ForEachMember(std::string_view text,
                   absl::FunctionRef<void(std::string_view name, std::string_view value)> visit);

}  // namespace pleat::inline v0_1
