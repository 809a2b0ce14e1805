// Durations as text: a decimal number and a unit, worked out in whole microseconds.
#include <algorithm>
#include <cstdint>
#include <string>

#include <pleat/json_text.h>

#include "engine/json/reasons.h"

namespace pleat::inline v0_1 {
namespace {

struct Unit {
  std::string_view name;
  int64_t micros;
};
constexpr Unit kUnits[] = {
    {"us", 1},         {"ms", 1'000},        {"s", 1'000'000},
    {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000},
};

constexpr std::string_view kDigits = "0123456789";

absl::Status NotADuration(std::string_view text) {
  return absl::InvalidArgumentError(
      bad_line::Quoted(text) +
      " is not a duration (a number and one of us, ms, s, m, h, d; or inf)");
}

// The length of the number that `text` starts with, or 0.
size_t NumberLength(std::string_view text) noexcept {
  size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  if (end == 0 || end == text.size() || text[end] != '.') return end;
  const size_t fraction = end + 1;
  end = std::min(text.find_first_not_of(kDigits, fraction), text.size());
  return end == fraction ? 0 : end;
}

// number * unit, cut; false on overflow. Of the fraction the last digit comes first, so that each
// step cuts no more than the whole would: nothing is lost however many digits there are.
bool Multiply(std::string_view number, int64_t unit, int64_t& out) noexcept {
  const size_t point = std::min(number.find('.'), number.size());
  int64_t fraction = 0;
  for (size_t i = number.size(); i > point + 1; --i) {
    fraction = ((number[i - 1] - '0') * unit + fraction) / 10;
  }
  int64_t whole = 0;
  for (char c : number.substr(0, point)) {
    if (__builtin_mul_overflow(whole, 10, &whole)) return false;
    if (__builtin_add_overflow(whole, (c - '0') * unit, &whole)) return false;
  }
  if (__builtin_add_overflow(whole, fraction, &out)) return false;
  return out != INT64_MAX;  // which is kForever
}

// `micros` in the unit, or nothing if it takes more than 12 fractional digits.
std::string InUnit(int64_t micros, int64_t unit) {
  std::string out = std::to_string(micros / unit);
  int64_t rest = micros % unit;
  if (rest != 0) out += '.';
  for (int digits = 0; rest != 0; ++digits) {
    if (digits == 12) return {};
    out += static_cast<char>('0' + rest * 10 / unit);
    rest = rest * 10 % unit;
  }
  return out;
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(std::string_view text) {
  if (text == "inf") return kForever;
  if (text == "0") return Duration(0);
  const size_t length = NumberLength(text);
  if (length == 0) return NotADuration(text);
  for (const Unit& unit : kUnits) {
    if (text.substr(length) != unit.name) continue;
    int64_t micros = 0;
    if (Multiply(text.substr(0, length), unit.micros, micros)) return Duration(micros);
    return absl::InvalidArgumentError(bad_line::Quoted(text) +
                                      " is too long a duration (inf is without end)");
  }
  return NotADuration(text);
}

std::string FormatDuration(Duration d) {
  if (d == kForever) return "inf";
  if (d.count() == 0) return "0";
  std::string best;
  for (const Unit& unit : kUnits) {
    std::string text = InUnit(d.count(), unit.micros);
    if (text.empty()) continue;
    text += unit.name;
    if (best.empty() || text.size() < best.size()) best = text;
  }
  return best;
}

}  // namespace pleat::inline v0_1
