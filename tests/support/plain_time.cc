// See the header.
#include "tests/support/plain_time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

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

void DropSpaces(std::string& text) { text.erase(0, text.find_first_not_of(' ')); }

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

namespace {

constexpr const char* kPlainDigits = "0123456789";

std::string PlainLower(std::string text) {
  for (char& c : text) {
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// "02" of "Feb"; empty if there is no such month.
std::string PlainMonth(const std::string& name) {
  const std::string months = "jan feb mar apr may jun jul aug sep oct nov dec ";
  const size_t at = name.size() == 3 ? months.find(PlainLower(name) + " ") : std::string::npos;
  if (at == std::string::npos || at % 4 != 0) return "";
  return std::to_string(100 + at / 4 + 1).substr(1);
}

// "+01:00" of " +0100", " +01" or "GMT", with or without blanks before it; what is no zone is none afterwards.
std::string PlainZone(std::string zone) {
  DropSpaces(zone);
  const std::string low = PlainLower(zone);
  if (low == "z" || low == "utc" || low == "gmt" || low == "ut") return "Z";
  if (!zone.starts_with('+') && !zone.starts_with('-')) return "no zone";
  if (zone.size() == 3) return zone + ":00";
  if (zone.size() == 5 && zone[3] != ':') return zone.substr(0, 3) + ":" + zone.substr(3);
  return zone;
}

// Text from the time of day on as RFC 3339 has it: "09:58:42 +0100" as "09:58:42+01:00".
std::string PlainTimeOfDay(std::string text, const std::string& zone) {
  size_t end = std::min<size_t>(8, text.size());
  if (end < text.size() && (text[end] == ',' || text[end] == '.')) {
    text[end] = '.';
    end = std::min(text.find_first_not_of(kPlainDigits, end + 1), text.size());
  }
  const std::string after = text.substr(end);
  return text.substr(0, end) + (after.empty() ? zone : PlainZone(after));
}

// "24/Feb/2015:09:58:42 +0100", also in brackets.
std::string PlainLogForm(std::string text, const std::string& zone) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return "";
    text = text.substr(1, text.size() - 2);
  }
  if (text.size() == 11) text += ":00:00:00";
  if (text.size() < 12 || text[2] != '/' || text[6] != '/' || text[11] != ':') return "";
  return text.substr(7, 4) + "-" + PlainMonth(text.substr(3, 3)) + "-" + text.substr(0, 2) + "T" +
         PlainTimeOfDay(text.substr(12), zone);
}

// Takes what comes before the next blank, and the blanks.
std::string TakePlainWord(std::string& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string word = text.substr(0, end);
  text.erase(0, end);
  DropSpaces(text);
  return word;
}

// "Tue, 24 Feb 2015 09:58:42 +0100 (CET)". What stands in for the day is wrong if the weekday is.
std::string PlainMailForm(std::string text, const std::string& zone) {
  std::string weekday;
  if (!text.empty() && std::string(kPlainDigits).find(text[0]) == std::string::npos) {
    weekday = PlainLower(TakePlainWord(text));
    if (weekday.size() != 4 || weekday[3] != ',') return "";
  }
  std::string day = TakePlainWord(text);
  if (day.size() == 1) day.insert(0, "0");
  const std::string month = PlainMonth(TakePlainWord(text));
  const std::string date = TakePlainWord(text) + "-" + month + "-" + day;
  if (text.empty()) text = "00:00";
  if (text.ends_with(')')) {
    const size_t open = text.find('(');
    if (open == std::string::npos || text.find(')') + 1 != text.size()) return "";
    if (text.find('(', open + 1) != std::string::npos) return "";
    text.erase(open);
    text.erase(text.find_last_not_of(' ') + 1);
    // Without a zone there is no comment.
    if (text.find_first_not_of("0123456789:.,") == std::string::npos) return "";
  }
  if (text.size() > 5 && (text[5] == '.' || text[5] == ',')) return "";
  if (text.size() < 6 || text[5] != ':') text.insert(std::min<size_t>(5, text.size()), ":00");
  std::string out = date + "T" + PlainTimeOfDay(text, zone);
  if (weekday.empty()) return out;
  const std::optional<EngineTime> midnight = ReadPlainTimestamp(date + "T00:00:00Z");
  if (!midnight) return "";
  const std::chrono::weekday is{
      std::chrono::floor<std::chrono::days>(sys_days{} + midnight->time_since_epoch())};
  const std::string names = "sun,mon,tue,wed,thu,fri,sat,";
  return names.find(weekday) == is.c_encoding() * 4 ? out : "";
}

}  // namespace

std::optional<EngineTime> ReadPlainTimeText(const std::string& given, const std::string& zone) {
  const std::string blanks = " \t\r\n";
  const size_t begin = std::min(given.find_first_not_of(blanks), given.size());
  const std::string text = given.substr(begin, given.find_last_not_of(blanks) + 1 - begin);
  if (text.size() == 10 && text[4] == '-') return ReadPlainTimestamp(text + "T00:00:00" + zone);
  if (text.size() >= 11 && text[4] == '-') {
    return ReadPlainTimestamp(text.substr(0, 11) + PlainTimeOfDay(text.substr(11), zone));
  }
  const std::string log = PlainLogForm(text, zone);
  return ReadPlainTimestamp(log.empty() ? PlainMailForm(text, zone) : log);
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

namespace {

// The microseconds of a number of a unit, cut; nothing if they are not below kForever.
std::optional<int64_t> PlainProduct(std::string digits, const std::string& unit) {
  const size_t point = std::min(digits.find('.'), digits.size());
  const size_t fraction = point == digits.size() ? 0 : digits.size() - point - 1;
  if (fraction > 0) digits.erase(point, 1);
  std::string product = MultiplyDigits(digits, unit);
  product.resize(product.size() - fraction);
  product.erase(0, product.find_first_not_of('0'));
  const std::string forever = std::to_string(kForever.count());
  if (product.size() > forever.size()) return std::nullopt;
  product.insert(0, forever.size() - product.size(), '0');
  if (product >= forever) return std::nullopt;
  return std::stoll(product);
}

// The number at the beginning of `text`, which is taken away, with a point before its fraction. Empty if
// there is none.
std::string TakePlainNumber(std::string& text, const std::string& points) {
  const std::string all = "0123456789" + points;
  std::string number = text.substr(0, text.find_first_not_of(all));
  text.erase(0, number.size());
  const size_t point = number.find_first_of(points);
  if (point == std::string::npos) return number;
  if (point == 0 || point + 1 == number.size()) return "";
  if (number.find_first_of(points, point + 1) != std::string::npos) return "";
  number[point] = '.';
  return number;
}

}  // namespace

// Each unit in turn, from the largest, takes what is its own; what is left over is wrong.
std::optional<Duration> ReadPlainDuration(const std::string& text) {
  if (text == "inf") return kForever;
  if (text == "0") return Duration{0};
  struct PlainUnit {
    std::vector<std::string> names;
    std::string micros;
    std::string iso;
  };
  const std::vector<PlainUnit> units = {{{"w"}, "604800000000", "W"},
                                        {{"d"}, "86400000000", "D"},
                                        {{"h"}, "3600000000", "TH"},
                                        {{"min", "m"}, "60000000", "TM"},
                                        {{"s"}, "1000000", "TS"},
                                        {{"ms"}, "1000", ""},
                                        {{"us"}, "1", ""}};
  const bool iso = text.starts_with('P');
  std::string rest = iso ? text.substr(1) : text;
  bool in_time = false;
  int64_t sum = 0;
  int parts = 0;
  bool fraction = false;
  for (const PlainUnit& unit : units) {
    std::string after = rest;
    const bool time = iso && unit.iso.starts_with('T');
    if (time && !in_time && after.starts_with('T'))
      after.erase(0, 1);
    else if (time && !in_time)
      continue;
    const std::string number = TakePlainNumber(after, iso ? ".," : ".");
    if (number.empty()) continue;
    std::vector<std::string> names = unit.names;
    if (iso) names = {unit.iso.substr(time ? 1 : 0)};
    if (!iso && !after.empty()) DropSpaces(after);
    const auto letters = after.substr(0, iso ? 1 : after.find_first_of(" 0123456789"));
    if (letters.empty() || std::ranges::find(names, letters) == names.end()) continue;
    after.erase(0, letters.size());
    const std::optional<int64_t> part = PlainProduct(number, unit.micros);
    if (fraction || !part || kForever.count() - *part <= sum) return std::nullopt;
    fraction = number.find('.') != std::string::npos;
    sum += *part;
    ++parts;
    in_time = time;
    if (!iso && !after.empty()) {
      DropSpaces(after);
      if (after.empty()) return std::nullopt;
    }
    rest = after;
  }
  if (parts == 0 || !rest.empty()) return std::nullopt;
  return Duration{sum};
}

}  // namespace pleat::inline v0_1
