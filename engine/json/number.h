// JSON numbers as text. They are checked by the grammar whatever their size, compared exactly, and
// converted only where a reducer or a time asks for it; identity never goes through a double.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace pleat::inline v0 {

// Whether eight bytes are all digits: each has high half 3, also after adding 6 to its low half.
inline bool AreDigits(uint64_t bytes) noexcept {
  const uint64_t carried = bytes + 0x0606060606060606;
  return ((bytes & 0xf0f0f0f0f0f0f0f0) | (carried & 0xf0f0f0f0f0f0f0f0) >> 4) == 0x3333333333333333;
}

// Whether `token` is an integer of up to 16 digits, without a sign, as most numbers are; a false says
// nothing.
inline bool IsShortInteger(std::string_view token) noexcept {
  const char* const p = token.data();
  const size_t size = token.size();
  const auto load = [p]<class Word>(size_t at, Word word) noexcept -> uint64_t {
    std::memcpy(&word, p + at, sizeof(word));
    return word;
  };
  if (size == 1) return *p >= '0' && *p <= '9';
  if (*p == '0' || size > 16) return false;
  if (size >= 8) return AreDigits(load(0, uint64_t{})) && AreDigits(load(size - 8, uint64_t{}));
  if (size >= 4) return AreDigits(load(0, uint32_t{}) | load(size - 4, uint32_t{}) << 32);
  return AreDigits(load(0, uint16_t{}) | load(size - 2, uint16_t{}) << 16 | 0x3030303000000000);
}

// The value of a token for which that is true.
int64_t ReadShortInteger(std::string_view token) noexcept;

// Whether `token` is a number by RFC 8259.
bool IsNumber(std::string_view token) noexcept;

// The rest takes tokens for which IsNumber() is true.

struct Number {
  bool integer = false;  // written without '.', 'e' or 'E'
  bool fits = false;     // an integer of 64 bits; `whole` is its value
  int64_t whole = 0;
  double real = 0;  // the nearest double; a value too small for one is a zero of its sign
};

// Reads `token`; false if its nearest double is infinite.
bool ReadNumber(std::string_view token, Number& out) noexcept;

// Negative, zero or positive as a < b, a == b, a > b: by value, exactly, at any length. Exponents
// beyond +-10^15 count as that.
int CompareNumbers(std::string_view a, std::string_view b) noexcept;

// token * 10^shift, cut toward zero; false if that takes more than 18 digits. |shift| <= 18.
bool ScaledToInteger(std::string_view token, int shift, int64_t& out) noexcept;

}  // namespace pleat::inline v0
