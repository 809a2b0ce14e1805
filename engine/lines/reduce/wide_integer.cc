#include "engine/lines/reduce/wide_integer.h"

#include <charconv>
#include <cmath>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kTenTo19 = 10'000'000'000'000'000'000U;
constexpr WideMagnitude kLargest = ~WideMagnitude{0} >> 1;  // 2^127 - 1
constexpr uint64_t kTwoTo53 = uint64_t{1} << 53;

WideMagnitude Magnitude(WideInteger value) noexcept {
  const auto bits = static_cast<WideMagnitude>(value);
  return value < 0 ? 0 - bits : bits;
}

// `divisor` parts make one.
double Rounded(WideMagnitude sum, uint64_t divisor) noexcept {
  // Division rounds correctly what doubles hold exactly.
  if (sum <= kTwoTo53 && divisor <= kTwoTo53) {
    return static_cast<double>(static_cast<uint64_t>(sum)) / static_cast<double>(divisor);
  }
  // 64 bits of a fraction, and in the last of them whether anything follows: so the conversion, which
  // rounds once, rounds the quotient. REQUIRES: the quotient is below 2^64.
  const WideMagnitude whole = sum / divisor;
  const WideMagnitude left = (sum % divisor) << 64;
  const WideMagnitude fraction = left / divisor | (left % divisor != 0 ? 1 : 0);
  return std::ldexp(static_cast<double>(whole << 64 | fraction), -64);
}

}  // namespace

bool ReadWide(std::string_view token, WideInteger& out) noexcept {
  const bool negative = token.front() == '-';
  if (negative) token.remove_prefix(1);
  const WideMagnitude most = kLargest + (negative ? 1 : 0);
  WideMagnitude value = 0;
  for (const char c : token) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (value > (most - digit) / 10) return false;
    value = value * 10 + digit;
  }
  out = static_cast<WideInteger>(negative ? 0 - value : value);
  return true;
}

void AppendWide(WideInteger value, LineWriter& out) {
  constexpr size_t kDigitsMax = 40;
  char* to = out.Reserve(kDigitsMax);
  char* const end = to + kDigitsMax;
  if (const auto narrow = static_cast<int64_t>(value); narrow == value) {
    return out.TakeUpTo(std::to_chars(to, end, narrow).ptr);
  }
  if (value < 0) *to++ = '-';
  const WideMagnitude magnitude = Magnitude(value);
  const auto high = static_cast<uint64_t>(magnitude / kTenTo19);
  auto low = static_cast<uint64_t>(magnitude % kTenTo19);
  if (high == 0) return out.TakeUpTo(std::to_chars(to, end, low).ptr);
  to = std::to_chars(to, end, high).ptr;
  for (int i = 18; i >= 0; --i, low /= 10) to[i] = static_cast<char>('0' + low % 10);
  out.TakeUpTo(to + 19);
}

void AppendMeanOf(WideInteger sum, uint64_t count, LineWriter& out) {
  PLEAT_DCHECK(count > 0);
  const WideMagnitude magnitude = Magnitude(sum);
  WideMagnitude whole = magnitude / count;
  const auto left = static_cast<uint64_t>(magnitude % count);
  if (left != 0 && whole < kTwoTo53) {
    const double mean = Rounded(magnitude, count);
    return AppendNumber(sum < 0 ? -mean : mean, out);
  }
  const uint64_t to_next = count - left;
  if (left > to_next || (left == to_next && (whole & 1) != 0)) ++whole;
  AppendWide(static_cast<WideInteger>(sum < 0 ? 0 - whole : whole), out);
}

}  // namespace pleat::inline v0_1
