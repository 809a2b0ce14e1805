#include "engine/lines/scan/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace pleat::inline v0_1 {
namespace {

constexpr int64_t kExponentMax = 1'000'000'000'000'000;

bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

// Whether eight bytes are all digits: each has high half 3, also after adding 6 to its low half.
bool AreDigits(const char* p) noexcept {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  const uint64_t carried = bytes + 0x0606060606060606;
  return ((bytes & 0xf0f0f0f0f0f0f0f0) | (carried & 0xf0f0f0f0f0f0f0f0) >> 4) == 0x3333333333333333;
}

const char* SkipDigits(const char* p, const char* end) noexcept {
  while (end - p >= 8 && AreDigits(p)) p += 8;
  while (p != end && IsDigit(*p)) ++p;
  return p;
}

// The number 0.d1d2d3... * 10^magnitude, where d1 is the first digit that is not zero.
class Decimal {
 public:
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

  // The i-th significant digit; zero past the last.
  int significant(size_t i) const noexcept { return digit(lead_ + i); }

 private:
  static int64_t Exponent(const char* p, const char* end) noexcept {
    const bool negative = *p == '-';
    if (!IsDigit(*p)) ++p;
    int64_t value = 0;
    for (; p != end && value < kExponentMax; ++p) value = value * 10 + (*p - '0');
    value = std::min(value, kExponentMax);
    return negative ? -value : value;
  }

  size_t digits() const noexcept { return whole_.size() + fraction_.size(); }

  int digit(size_t i) const noexcept {
    if (i < whole_.size()) return whole_[i] - '0';
    i -= whole_.size();
    return i < fraction_.size() ? fraction_[i] - '0' : 0;
  }

  bool negative_ = false;
  std::string_view whole_;
  std::string_view fraction_;
  size_t lead_ = 0;
  int64_t magnitude_ = 0;
};

int CompareMagnitudes(const Decimal& a, const Decimal& b) noexcept {
  if (a.magnitude() != b.magnitude()) return a.magnitude() < b.magnitude() ? -1 : 1;
  const size_t digits = std::max(a.significant(), b.significant());
  for (size_t i = 0; i < digits; ++i) {
    if (a.significant(i) != b.significant(i)) return a.significant(i) - b.significant(i);
  }
  return 0;
}

// The nearest double. from_chars reports both ends of the range as one error, so that the decimal
// magnitude has to tell a number too large from one too small.
double NearestDouble(std::string_view token) noexcept {
  double value = 0;
  const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc()) return value;
  const Decimal decimal(token);
  const double size = !decimal.zero() && decimal.magnitude() > 0 ? HUGE_VAL : 0.0;
  return decimal.negative() ? -size : size;
}

}  // namespace

bool IsNumber(std::string_view token) noexcept {
  const char* p = token.data();
  const char* const end = p + token.size();
  if (p != end && *p == '-') ++p;
  if (p == end || !IsDigit(*p)) return false;
  p = *p == '0' ? p + 1 : SkipDigits(p, end);
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    p = SkipDigits(p, end);
    if (p == fraction) return false;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    const char* const exponent = p;
    p = SkipDigits(p, end);
    if (p == exponent) return false;
  }
  return p == end;
}

Number ReadNumber(std::string_view token) noexcept {
  Number out;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, out.whole);
  out.integer = stop == end;
  out.fits = out.integer && error == std::errc();
  out.real = out.fits ? static_cast<double>(out.whole) : NearestDouble(token);
  if (!out.fits) out.whole = 0;
  return out;
}

int CompareNumbers(std::string_view a, std::string_view b) noexcept {
  const Decimal left(a);
  const Decimal right(b);
  const int left_sign = left.zero() ? 0 : left.negative() ? -1 : 1;
  const int right_sign = right.zero() ? 0 : right.negative() ? -1 : 1;
  if (left_sign != right_sign) return left_sign - right_sign;
  return left_sign * CompareMagnitudes(left, right);
}

bool ScaledToInteger(std::string_view token, int shift, int64_t& out) noexcept {
  const Decimal decimal(token);
  const int64_t digits = decimal.magnitude() + shift;
  out = 0;
  if (decimal.zero() || digits <= 0) return true;
  if (digits > 18) return false;
  for (int64_t i = 0; i < digits; ++i) {
    out = out * 10 + decimal.significant(static_cast<size_t>(i));
  }
  if (decimal.negative()) out = -out;
  return true;
}

}  // namespace pleat::inline v0_1
