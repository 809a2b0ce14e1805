// The digits and the exponent of a number that is spelled as in JSON, at any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pleat::inline v0_1 {

inline bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

// Whether eight bytes are all digits: each has high half 3, also after adding 6 to its low half.
inline bool AreEightDigits(const char* p) noexcept {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  const uint64_t carried = bytes + 0x0606060606060606;
  return ((bytes & 0xf0f0f0f0f0f0f0f0) | (carried & 0xf0f0f0f0f0f0f0f0) >> 4) == 0x3333333333333333;
}

inline const char* SkipDigits(const char* p, const char* end) noexcept {
  while (end - p >= 8 && AreEightDigits(p)) p += 8;
  while (p != end && IsDigit(*p)) ++p;
  return p;
}

// The number 0.d1d2d3... * 10^magnitude, where d1 is the first digit that is not zero.
class Decimal {
 public:
  static constexpr int64_t kExponentMax = 1'000'000'000'000'000'000;

  explicit Decimal(std::string_view token) noexcept {
    const char* p = token.data();
    const char* const end = p + token.size();
    negative_ = *p == '-';
    if (negative_) ++p;
    const char* stop = SkipDigits(p, end);
    whole_ = {p, static_cast<size_t>(stop - p)};
    if (stop != end && *stop == '.') {
      p = stop + 1;
      stop = SkipDigits(p, end);
      fraction_ = {p, static_cast<size_t>(stop - p)};
    }
    const int64_t exponent = stop == end ? 0 : Exponent(stop + 1, end);
    while (lead_ < digits() && digit(lead_) == 0) ++lead_;
    magnitude_ = static_cast<int64_t>(whole_.size()) - static_cast<int64_t>(lead_) + exponent;
  }

  bool zero() const noexcept { return lead_ == digits(); }
  bool negative() const noexcept { return negative_; }
  int64_t magnitude() const noexcept { return magnitude_; }
  size_t significant() const noexcept { return digits() - lead_; }

  // Whether its exponent is beyond kExponentMax, and taken for that.
  bool is_beyond() const noexcept { return beyond_; }

  // The i-th significant digit; zero past the last.
  int significant(size_t i) const noexcept { return digit(lead_ + i); }

 private:
  int64_t Exponent(const char* p, const char* end) noexcept {
    const bool negative = *p == '-';
    if (!IsDigit(*p)) ++p;
    int64_t value = 0;
    for (; p != end; ++p) {
      const int64_t digit = *p - '0';
      if (value > (kExponentMax - digit) / 10) {
        beyond_ = true;
        value = kExponentMax;
        break;
      }
      value = value * 10 + digit;
    }
    return negative ? -value : value;
  }

  size_t digits() const noexcept { return whole_.size() + fraction_.size(); }

  int digit(size_t i) const noexcept {
    if (i < whole_.size()) return whole_[i] - '0';
    i -= whole_.size();
    return i < fraction_.size() ? fraction_[i] - '0' : 0;
  }

  bool negative_ = false;
  bool beyond_ = false;
  std::string_view whole_;
  std::string_view fraction_;
  size_t lead_ = 0;
  int64_t magnitude_ = 0;
};

}  // namespace pleat::inline v0_1
