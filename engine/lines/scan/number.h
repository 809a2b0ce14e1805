// JSON numbers as text. They are checked by the grammar whatever their size, and compared exactly.
// Only a reducer or a time converts them; two numbers are never told apart by their doubles.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/lines/scan/sixteen.h"

namespace pleat::inline v0_1 {

// Whether `token` is an integer of up to 16 digits, without a sign, as most numbers are; false says
// nothing. REQUIRES: the first byte is a digit, and 16 bytes can be read from there on.
inline bool IsShortInteger(std::string_view token) noexcept {
  return token.size() <= 16 && AreDigits(token.data(), token.size()) &&
         (token[0] != '0' || token.size() == 1);
}

// The value of a token. REQUIRES: IsShortInteger(token).
inline int64_t ReadShortInteger(std::string_view token) noexcept {
  const char* const p = token.data();
  const size_t size = token.size();
  if (size <= 8) return static_cast<int64_t>(NumberOfEight(p, size));
  const uint64_t high = NumberOfEight(p, size - 8);
  return static_cast<int64_t>(high * 100'000'000 + NumberOfEight(p + size - 8, 8));
}

// Whether `token` is a number by RFC 8259.
bool IsNumber(std::string_view token) noexcept;

// The rest takes tokens for which IsNumber() is true.

struct Number {
  bool integer = false;  // written without '.', 'e' or 'E'
  bool fits = false;     // an integer of 64 bits; `whole` is its value
  int64_t whole = 0;
  // The nearest double: of a value too small for one a zero of its sign, of one too large an
  // infinity.
  double real = 0;
};

Number ReadNumber(std::string_view token) noexcept;

// Negative, zero or positive as a < b, a == b, a > b: by value, exactly, at any length. Exponents
// beyond +-10^18 count as that.
int CompareNumbers(std::string_view a, std::string_view b) noexcept;

// token * 10^shift, cut toward zero; false if that takes more than 18 digits. |shift| <= 18.
bool ScaledToInteger(std::string_view token, int shift, int64_t& out) noexcept;

}  // namespace pleat::inline v0_1
