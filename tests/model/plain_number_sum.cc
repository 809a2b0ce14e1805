#include "tests/model/plain_number_sum.h"

#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace pleat::inline v0_1 {

bool IsPlainInteger(const std::string& number) {
  return number.find_first_of(".eE") == std::string::npos;
}

std::optional<int64_t> ReadPlainInteger(const std::string& number) {
  int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto [stopped, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

double ReadPlainDouble(const std::string& number) { return std::strtod(number.c_str(), nullptr); }

std::string WritePlainDouble(double value) {
  char out[64];
  return {out, std::to_chars(out, out + sizeof out, value).ptr};
}

void PlainNumberSum::Add(const std::string& number) {
  if (!IsPlainInteger(number)) {
    any_double = true;
    AddDouble(ReadPlainDouble(number));
    return;
  }
  any_integer = true;
  if (!saturated) {
    const std::optional<int64_t> value = ReadPlainInteger(number);
    saturated = !value || __builtin_add_overflow(integers, *value, &integers);
    if (saturated) integers = number.starts_with('-') ? INT64_MIN : INT64_MAX;
  }
}

void PlainNumberSum::Add(const PlainNumberSum& other) {
  any_integer |= other.any_integer;
  if (!saturated) {
    saturated = other.saturated || __builtin_add_overflow(integers, other.integers, &integers);
    if (saturated) integers = other.integers < 0 ? INT64_MIN : INT64_MAX;
  }
  if (!other.any_double) return;
  any_double = true;
  if (other.full) return Fill(other.doubles < 0);
  AddDouble(other.doubles);
  AddDouble(other.lost);
}

PlainNumberSum PlainNumberSum::Total() const {
  PlainNumberSum all = *this;
  all.AddDouble(static_cast<double>(integers));
  if (!std::isfinite(all.doubles + all.lost)) all.Fill(all.doubles < 0);
  all.doubles += all.lost;
  all.saturated |= all.full;
  return all;
}

std::string PlainNumberSum::Text() const {
  if (!any_integer && !any_double) return "null";
  return any_double ? WritePlainDouble(Total().doubles) : std::to_string(integers);
}

void PlainNumberSum::AddDouble(double x) {
  const double sum = doubles + x;
  if (full || !std::isfinite(sum)) return Fill(sum < 0);
  lost += std::abs(doubles) >= std::abs(x) ? (doubles - sum) + x : (x - sum) + doubles;
  doubles = sum;
}

void PlainNumberSum::Fill(bool negative) {
  if (!full) doubles = negative ? -DBL_MAX : DBL_MAX;
  full = true;
  lost = 0;
}

}  // namespace pleat::inline v0_1
