#include "engine/lines/scan/normal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "engine/lines/scan/decimal.h"
#include "engine/lines/scan/number.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kZerosBehind = kNormalGrowth;  // of an integer without an exponent
constexpr int64_t kZerosBefore = 5;             // behind the point of a decimal number without one

bool BeginsNumber(char c) noexcept { return c == '-' || IsDigit(c); }

// The end of the number that begins at `at`. Nothing else in canonical text begins as it does.
size_t EndOfNumber(std::string_view text, size_t at) noexcept {
  constexpr std::string_view kMarks = "+-.eE";
  while (at < text.size() && (IsDigit(text[at]) || kMarks.find(text[at]) != kMarks.npos)) ++at;
  return at;
}

// The end of the string whose opening quote is at `at`.
size_t EndOfString(std::string_view text, size_t at) noexcept {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
  return at + 1;
}

// Calls `visit(number)` for the numbers in `text`, and `pass(piece)` for what is between them, until
// `visit` returns false. Returns whether it never did.
template <class Visit, class Pass>
bool ForEachNumber(std::string_view text, const Visit& visit, const Pass& pass) {
  size_t passed = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = EndOfString(text, at);
    } else if (!BeginsNumber(text[at])) {
      ++at;
    } else {
      pass(text.substr(passed, at - passed));
      const size_t end = EndOfNumber(text, at);
      if (!visit(text.substr(at, end - at))) return false;
      at = passed = end;
    }
  }
  pass(text.substr(std::min(passed, text.size())));
  return true;
}

}  // namespace

bool IsNormalNumber(std::string_view number) noexcept {
  // Bytes that come from a snapshot may be anything.
  if (!IsNumber(number)) return true;
  const bool negative = number[0] == '-';
  const std::string_view digits = number.substr(negative ? 1 : 0);
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  if (whole == digits.size()) {
    if (digits == "0") return !negative;
    return digits.size() <= kZerosBehind ||
           digits.size() - 1 - digits.find_last_not_of('0') <= kZerosBehind;
  }
  if (digits[whole] == '.' && digits.find_first_of("eE", whole) == digits.npos) {
    if (digits.back() == '0') return false;
    const auto before = static_cast<int64_t>(digits.find_first_not_of("0.")) - 2;
    return digits[0] != '0' || before <= kZerosBefore;
  }
  const Decimal decimal(number);
  if (decimal.zero()) return false;
  if (decimal.is_beyond()) return true;
  // One with an exponent may be one that has to have it, written in just this way.
  std::string normal(number.size() + kNormalGrowth, '\0');
  return number == std::string_view(normal.data(),
                                    static_cast<size_t>(WriteNormalNumber(number, normal.data()) -
                                                        normal.data()));
}

char* WriteNormalNumber(std::string_view number, char* to) noexcept {
  const Decimal decimal(number);
  if (decimal.zero()) return *to++ = '0', to;
  if (decimal.is_beyond()) return std::copy(number.begin(), number.end(), to);
  size_t size = decimal.significant();
  while (decimal.significant(size - 1) == 0) --size;
  const auto digits = static_cast<int64_t>(size);
  const auto put = [&](int64_t from, int64_t end) {
    for (int64_t i = from; i < end; ++i) {
      *to++ = static_cast<char>('0' + decimal.significant(static_cast<size_t>(i)));
    }
  };
  const int64_t point = decimal.magnitude();  // how many digits are before it
  if (decimal.negative()) *to++ = '-';
  if (point >= digits && point - digits <= static_cast<int64_t>(kZerosBehind)) {
    put(0, point);
  } else if (point > 0 && point < digits) {
    put(0, point);
    *to++ = '.';
    put(point, digits);
  } else if (point <= 0 && point >= -kZerosBefore) {
    to = std::copy_n("0.", 2, to);
    to = std::fill_n(to, -point, '0');
    put(0, digits);
  } else {
    put(0, 1);
    if (digits > 1) *to++ = '.';
    put(1, digits);
    *to++ = 'e';
    if (point > 0) *to++ = '+';
    to = std::to_chars(to, to + 20, point - 1).ptr;
  }
  return to;
}

bool IsNormal(std::string_view text) noexcept {
  return ForEachNumber(text, IsNormalNumber, [](std::string_view) {});
}

void AppendNormal(std::string_view text, std::string& out) {
  const auto append = [&](std::string_view number) {
    if (!IsNumber(number)) return out += number, true;
    const size_t before = out.size();
    out.resize(before + number.size() + kNormalGrowth);
    out.resize(static_cast<size_t>(WriteNormalNumber(number, out.data() + before) - out.data()));
    return true;
  };
  ForEachNumber(text, append, [&](std::string_view piece) { out += piece; });
}

std::string Normal(std::string_view text) {
  std::string normal;
  AppendNormal(text, normal);
  return normal;
}

bool AreSameValue(std::string_view a, std::string_view b) {
  return a == b || ((!IsNormal(a) || !IsNormal(b)) && Normal(a) == Normal(b));
}

}  // namespace pleat::inline v0_1
