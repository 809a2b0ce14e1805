// Durations as text: numbers and units, worked out in whole microseconds. There are two notations,
// pleat's own (1h30m, 1 min 30 s) and that of ISO 8601 (PT1H30M). Both go from larger units to
// smaller ones, and only the last number may have a fraction.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <pleat/json_lines.h>

#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {
namespace {

struct Unit {
  std::string_view name;
  int64_t micros;
};
constexpr Unit kUnits[] = {
    {"us", 1},
    {"ms", 1'000},
    {"s", 1'000'000},
    {"m", 60'000'000},
    {"h", 3'600'000'000},
    {"d", 86'400'000'000},
    // Those that are read only:
    {"min", 60'000'000},
    {"w", 604'800'000'000},
};
constexpr std::span kWrittenUnits = std::span(kUnits).first<6>();
constexpr Unit kIsoDateUnits[] = {{"D", 86'400'000'000}, {"W", 604'800'000'000}};
constexpr Unit kIsoTimeUnits[] = {{"S", 1'000'000}, {"M", 60'000'000}, {"H", 3'600'000'000}};

// What is wrong with a text.
enum class DurationFault : uint8_t {
  kNone,
  kForm,
  kNoUnit,
  kOrder,
  kFraction,
  kCalendar,
  kTooLong
};

constexpr std::string_view kDigits = "0123456789";

std::string MessageOf(DurationFault fault, std::string_view text) {
  const std::string quoted = invalid_line::Quoted(text);
  switch (fault) {
    case DurationFault::kNoUnit:
      if (text.find_first_not_of("0123456789.") != std::string_view::npos) {
        return quoted + " ends in a number without a unit";
      }
      return quoted + " has no unit: " + invalid_line::Shown(text) + "s?";
    case DurationFault::kOrder:
      return quoted + " is out of order: larger units come first, and each once, as in 1h30m";
    case DurationFault::kFraction: return quoted + ": only the last number may have a fraction";
    case DurationFault::kCalendar:
      return quoted +
             " has years or months, which have no fixed length; give days, such as P30D (PT1M is a "
             "minute)";
    case DurationFault::kTooLong: return quoted + " is too long a duration (inf is without end)";
    case DurationFault::kForm:
    case DurationFault::kNone: break;
  }
  return quoted +
         " is not a duration (numbers with us, ms, s, m, min, h, d or w, such as 90s or 1h30m; or "
         "inf)";
}

// The length of the number that `text` starts with, or 0.
size_t NumberLength(std::string_view text, std::string_view points) noexcept {
  size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  if (end == 0 || end == text.size() || points.find(text[end]) == std::string_view::npos) {
    return end;
  }
  const size_t fraction = end + 1;
  end = std::min(text.find_first_not_of(kDigits, fraction), text.size());
  return end == fraction ? 0 : end;
}

// number * unit, cut; false on overflow. Of the fraction the last digit comes first, so that each
// step cuts no more than the whole would: nothing is lost however many digits there are.
bool Multiply(std::string_view number, int64_t unit, int64_t& out) noexcept {
  const size_t point = std::min(number.find_first_of(".,"), number.size());
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

// The sum of numbers of units.
class DurationSum {
 public:
  DurationFault Add(std::string_view number, int64_t unit) noexcept {
    if (unit >= last_unit_) return DurationFault::kOrder;
    if (has_fraction_) return DurationFault::kFraction;
    last_unit_ = unit;
    has_fraction_ = number.find_first_of(".,") != std::string_view::npos;
    int64_t part = 0;
    if (!Multiply(number, unit, part)) return DurationFault::kTooLong;
    if (__builtin_add_overflow(micros_, part, &micros_)) return DurationFault::kTooLong;
    return micros_ == INT64_MAX ? DurationFault::kTooLong : DurationFault::kNone;
  }

  int64_t micros() const noexcept { return micros_; }

 private:
  int64_t micros_ = 0;
  int64_t last_unit_ = std::numeric_limits<int64_t>::max();
  bool has_fraction_ = false;
};

void SkipSpaces(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// "1h30m", "1 min 30 s": there may be spaces before a unit and before a further number.
DurationFault ReadUnits(std::string_view rest, DurationSum& sum) noexcept {
  do {
    const std::string_view number = rest.substr(0, NumberLength(rest, "."));
    if (number.empty()) return DurationFault::kForm;
    rest.remove_prefix(number.size());
    if (rest.empty()) return DurationFault::kNoUnit;
    SkipSpaces(rest);
    const std::string_view name = rest.substr(0, rest.find_first_of(" 0123456789"));
    const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == std::end(kUnits)) return DurationFault::kForm;
    if (DurationFault fault = sum.Add(number, unit->micros); fault != DurationFault::kNone)
      return fault;
    rest.remove_prefix(name.size());
    if (rest.empty()) return DurationFault::kNone;
    SkipSpaces(rest);
  } while (true);
}

// "P1DT2H30M": `rest` is what follows the P.
DurationFault ReadIsoUnits(std::string_view rest, DurationSum& sum) noexcept {
  bool in_time = false;
  do {
    if (!in_time && rest.starts_with('T')) {
      in_time = true;
      rest.remove_prefix(1);
    }
    const std::string_view number = rest.substr(0, NumberLength(rest, ".,"));
    rest.remove_prefix(number.size());
    if (number.empty() || rest.empty()) return DurationFault::kForm;
    const std::string_view name = rest.substr(0, 1);
    rest.remove_prefix(1);
    if (!in_time && (name == "Y" || name == "M")) return DurationFault::kCalendar;
    const std::span<const Unit> units =
        in_time ? std::span<const Unit>(kIsoTimeUnits) : std::span<const Unit>(kIsoDateUnits);
    const auto unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) return DurationFault::kForm;
    if (DurationFault fault = sum.Add(number, unit->micros); fault != DurationFault::kNone)
      return fault;
  } while (!rest.empty());
  return DurationFault::kNone;
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(std::string_view text) {
  if (text == "inf") return kForever;
  if (text == "0") return Duration(0);
  DurationSum sum;
  const DurationFault fault =
      text.starts_with('P') ? ReadIsoUnits(text.substr(1), sum) : ReadUnits(text, sum);
  if (fault != DurationFault::kNone) return absl::InvalidArgumentError(MessageOf(fault, text));
  return Duration(sum.micros());
}

std::string FormatDuration(Duration d) {
  if (d == kForever) return "inf";
  if (d.count() == 0) return "0";
  std::string best;
  for (const Unit& unit : kWrittenUnits) {
    std::string text = InUnit(d.count(), unit.micros);
    if (text.empty()) continue;
    text += unit.name;
    if (best.empty() || text.size() < best.size()) best = text;
  }
  return best;
}

}  // namespace pleat::inline v0_1
