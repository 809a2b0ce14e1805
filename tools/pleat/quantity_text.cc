#include "tools/pleat/quantity_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace pleat::cli {
namespace {

struct Unit {
  int64_t us;
  std::string_view name;
};
constexpr Unit kUnits[] = {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "min"},
                           {1'000'000, "s"},      {1'000, "ms"},        {1, "us"}};

const Unit& UnitFor(Duration d) {
  for (const Unit& unit : kUnits) {
    if (d.count() >= unit.us) return unit;
  }
  return kUnits[std::size(kUnits) - 1];
}

}  // namespace

std::string FixedText(double value, int decimals) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return {text.data(), static_cast<size_t>(std::clamp<int>(size, 0, text.size() - 1))};
}

std::string ShortestText(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string Grouped(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3;) {
    at -= 3;
    out.insert(at, ",");
  }
  return out;
}

std::string Counted(uint64_t number, std::string_view what) {
  return Grouped(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

std::string ByteText(double bytes) {
  static constexpr const char* kByteUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kByteUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return FixedText(bytes, unit == 0 ? 0 : 1) + " " + kByteUnits[unit];
}

std::string DurationText(Duration d) {
  if (d == kForever) return "inf";
  const Unit& unit = UnitFor(d);
  std::string text = std::to_string(d.count() / unit.us);
  const int64_t rest = d.count() % unit.us;
  if (rest != 0 && unit.us <= 1'000'000) {
    const std::string digits = std::to_string(unit.us + rest).substr(1);
    text += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  text += " " + std::string(unit.name);
  if (rest != 0 && unit.us > 1'000'000) text += " " + DurationText(Duration{rest});
  return text;
}

std::string RoundedDuration(Duration d) {
  const Unit& unit = UnitFor(d);
  const double value = static_cast<double>(d.count()) / static_cast<double>(unit.us);
  std::string text = FixedText(value, value >= 99.95 || unit.us == 1 ? 0 : value >= 9.995 ? 1 : 2);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + " " + std::string(unit.name);
}

std::string PercentText(double ratio) {
  if (ratio <= 0) return "0 %";
  if (ratio >= 1) return "100 %";
  for (int decimals = 1; decimals < 8; ++decimals) {
    const std::string text = FixedText(100 * ratio, decimals);
    if (std::stod(text) < 100 && std::stod(text) > 0) return text + " %";
  }
  return FixedText(100 * ratio, 8) + " %";
}

std::string RateText(double per_second) {
  if (per_second >= 100) return Grouped(static_cast<uint64_t>(std::llround(per_second)));
  if (per_second >= 0.1 || per_second <= 0)
    return FixedText(per_second, per_second >= 10 ? 1 : per_second >= 1 ? 2 : 3);
  // Two digits, however far they are behind the point.
  return FixedText(per_second,
                   std::min(1 - static_cast<int>(std::floor(std::log10(per_second))), 12));
}

}  // namespace pleat::cli
