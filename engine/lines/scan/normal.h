// The normal form of numbers: numbers that are equal have one, whatever their spelling. 123, 123.0 and
// 1.23e2 are 123; 0 and -0 are 0. Keys, ids and elements of sets are told apart by it, exactly at any
// length: it comes from the digits and the exponent, and no number is ever expanded.
//
// Most numbers are written in it: an integer with at most 20 zeros behind its last other digit; a
// decimal number that does not end with 0 and has at most 5 zeros between its point and its first other
// digit. All others have an exponent: 1e+30, 1.5e-10. A number whose exponent has more than 18
// digits is its own normal form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pleat::inline v0_1 {

// Of a number for which IsNumber() is true.
bool IsNormalNumber(std::string_view number) noexcept;

// How much longer a number can become: 1e20.
inline constexpr size_t kNormalGrowth = 20;

// Writes the normal form of a number; returns its end.
char* WriteNormalNumber(std::string_view number, char* to) noexcept;

// --- Canonical texts of any values, and such texts joined by commas (text.h)

// Whether all numbers in `text`, outside strings, are in normal form.
bool IsNormal(std::string_view text) noexcept;

// The same, but fast for text in quotes, which is most of it.
inline bool IsNormalElement(std::string_view text) noexcept {
  return text[0] == '"' || IsNormal(text);
}

// Appends `text` with all its numbers in normal form.
void AppendNormal(std::string_view text, std::string& out);
std::string Normal(std::string_view text);

// Whether two texts are the same but for the spelling of numbers.
bool AreSameValue(std::string_view a, std::string_view b);

}  // namespace pleat::inline v0_1
