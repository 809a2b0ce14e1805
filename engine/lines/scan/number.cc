#include "engine/lines/scan/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/lines/scan/decimal.h"

namespace pleat::inline v0_1 {
namespace {

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
