// See the header.
#include "tests/support/plain_time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

namespace pleat::inline v0_1 {
namespace {

using std::chrono::sys_days;

// Text under a moving finger. What does not fit sets `ok` to false, for good.
struct Reader {
  std::string_view rest;
  bool ok = true;

  bool Next(std::string_view any_of) const {
    return !rest.empty() && any_of.find(rest.front()) != std::string_view::npos;
  }
  char One(std::string_view any_of) {
    ok = ok && Next(any_of);
    if (!ok) return '0';
    const char c = rest.front();
    rest.remove_prefix(1);
    return c;
  }
  unsigned Number(int digits, unsigned max) {
    unsigned value = 0;
    for (int i = 0; i < digits; ++i) {
      value = value * 10 + static_cast<unsigned>(One("0123456789") - '0');
    }
    ok = ok && value <= max;
    return value;
  }
};

std::optional<EngineTime> InRange(Duration since_epoch) {
  const EngineTime t{since_epoch};
  if (t != Clamp(t)) return std::nullopt;
  return t;
}

// The product of two numbers, digit by digit, with leading zeros.
std::string MultiplyDigits(const std::string& a, const std::string& b) {
  std::string product(a.size() + b.size(), '0');
  for (size_t i = a.size(); i-- > 0;) {
    int carry = 0;
    for (size_t j = b.size(); j-- > 0;) {
      const int sum = (a[i] - '0') * (b[j] - '0') + (product[i + j + 1] - '0') + carry;
      product[i + j + 1] = static_cast<char>('0' + sum % 10);
      carry = sum / 10;
    }
    product[i] = static_cast<char>('0' + carry);
  }
  return product;
}

}  // namespace

std::optional<EngineTime> ReadPlainTimestamp(const std::string& text) {
  Reader in{text};
  const std::chrono::year year(static_cast<int>(in.Number(4, 9999)));
  in.One("-");
  const std::chrono::month month(in.Number(2, 12));
  in.One("-");
  const std::chrono::year_month_day date(year, month, std::chrono::day(in.Number(2, 31)));
  in.One("Tt ");
  Duration time = std::chrono::hours(in.Number(2, 23));
  in.One(":");
  time += std::chrono::minutes(in.Number(2, 59));
  in.One(":");
  time += std::chrono::seconds(in.Number(2, 59));
  if (in.Next(".")) {
    in.One(".");
    int64_t unit = 100'000;
    do {
      time += Duration{in.Number(1, 9) * unit};
      unit /= 10;
    } while (in.Next("0123456789"));
  }
  const char zone = in.One("Zz+-");
  if (zone == '+' || zone == '-') {
    Duration offset = std::chrono::hours(in.Number(2, 23));
    in.One(":");
    offset += std::chrono::minutes(in.Number(2, 59));
    time += zone == '+' ? -offset : offset;
  }
  if (!in.ok || !in.rest.empty() || !date.ok()) return std::nullopt;
  return InRange(sys_days(date).time_since_epoch() + time);
}

std::optional<EngineTime> ReadPlainNumber(const std::string& text, long exponent) {
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) exponent += std::clamp(std::atol(text.c_str() + e + 1), -999999L, 999999L);
  const size_t point = text.find('.');
  if (point < e) exponent -= static_cast<long>(e - point - 1);
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if ('0' <= c && c <= '9') digits += c;
  }
  digits.erase(0, digits.find_first_not_of('0'));
  const long places = digits.empty() ? 0 : static_cast<long>(digits.size()) + exponent;
  if (places > 18) return std::nullopt;
  digits.resize(static_cast<size_t>(std::max(places, 0L)), '0');
  const int64_t value = std::strtoll(digits.c_str(), nullptr, 10);
  return InRange(Duration{text.starts_with('-') ? -value : value});
}

std::string WritePlainTimestamp(EngineTime t) {
  const auto day = std::chrono::floor<std::chrono::days>(t.time_since_epoch());
  const std::chrono::year_month_day date{sys_days(day)};
  const long micros = (t.time_since_epoch() - day).count();
  const long seconds = micros / 1'000'000;
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02ld:%02ld:%02ld.%06ldZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()}, seconds / 3600, seconds / 60 % 60,
                seconds % 60, micros % 1'000'000);
  return out;
}

std::optional<Duration> ReadPlainDuration(const std::string& text) {
  if (text == "inf") return kForever;
  if (text == "0") return Duration{0};
  const std::map<std::string, std::string> units = {{"us", "1"},         {"ms", "1000"},
                                                    {"s", "1000000"},    {"m", "60000000"},
                                                    {"h", "3600000000"}, {"d", "86400000000"}};
  const size_t end = std::min(text.find_first_not_of(".0123456789"), text.size());
  const auto unit = units.find(text.substr(end));
  std::string digits = text.substr(0, end);
  const size_t point = std::min(digits.find('.'), digits.size());
  if (unit == units.end() || point == 0 || point + 1 == digits.size()) return std::nullopt;
  const size_t fraction = point == digits.size() ? 0 : digits.size() - point - 1;
  if (fraction > 0) digits.erase(point, 1);
  if (digits.find('.') != std::string::npos) return std::nullopt;
  std::string product = MultiplyDigits(digits, unit->second);
  product.resize(product.size() - fraction);
  product.erase(0, product.find_first_not_of('0'));
  const std::string forever = std::to_string(kForever.count());
  if (product.size() > forever.size()) return std::nullopt;
  product.insert(0, forever.size() - product.size(), '0');
  if (product >= forever) return std::nullopt;
  return Duration{std::stoll(product)};
}

}  // namespace pleat::inline v0_1
