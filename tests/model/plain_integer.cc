#include "tests/model/plain_integer.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

bool IsBelow(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string WithoutZeros(std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return digits;
}

// a + sign * b, digit by digit from the last on. REQUIRES: the result is not below zero.
std::string Combined(const std::string& a, const std::string& b, int sign) {
  std::string out;
  int carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) + 1; ++i) {
    const int x = i < a.size() ? a[a.size() - 1 - i] - '0' : 0;
    const int y = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    const int digit = x + sign * y + carry + 10;
    out.insert(out.begin(), static_cast<char>('0' + digit % 10));
    carry = digit / 10 - 1;
  }
  return WithoutZeros(out);
}

}  // namespace

PlainInteger ReadPlainWhole(const std::string& text) {
  const bool minus = text.starts_with('-');
  const std::string digits = WithoutZeros(text.substr(minus ? 1 : 0));
  return {minus && digits != "0", digits};
}

PlainInteger AddPlain(const PlainInteger& a, const PlainInteger& b) {
  if (a.negative == b.negative) return {a.negative, Combined(a.digits, b.digits, 1)};
  if (IsBelow(a.digits, b.digits)) return AddPlain(b, a);
  const std::string digits = Combined(a.digits, b.digits, -1);
  return {a.negative && digits != "0", digits};
}

PlainInteger Negated(PlainInteger a) {
  a.negative = !a.negative && a.digits != "0";
  return a;
}

bool FitsIn128Bits(const PlainInteger& a) {
  const std::string beyond = a.negative ? "170141183460469231731687303715884105729"
                                        : "170141183460469231731687303715884105728";
  return IsBelow(a.digits, beyond);
}

PlainQuotient DividePlain(const PlainInteger& a, uint64_t n, int decimals) {
  std::string quotient;
  uint64_t left = 0;
  const size_t digits = a.digits.size() + static_cast<size_t>(decimals);
  for (size_t i = 0; i < digits; ++i) {
    left = left * 10 + static_cast<uint64_t>(i < a.digits.size() ? a.digits[i] - '0' : 0);
    quotient += static_cast<char>('0' + left / n);
    left %= n;
  }
  const std::string whole = WithoutZeros(quotient.substr(0, a.digits.size()));
  return {{a.negative, whole}, quotient.substr(a.digits.size()), left != 0};
}

}  // namespace pleat::inline v0_1
