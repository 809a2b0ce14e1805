#include "engine/lines/time/instant_text.h"

#include <cstddef>
#include <cstdint>

#include "engine/lines/scan/number.h"
#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/time/time_reader.h"
#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

constexpr std::string_view kIsoMidnight = "T00:00:00";

// What people leave out: where it belongs, a text that may stand there, and its name.
struct Part {
  size_t place;
  std::string_view text;
  std::string_view name;
};
constexpr Part kParts[] = {{4, "-01-01", "the month and the day"},       // 2015
                           {7, "-01", "the day"},                        // 2015-09
                           {11, "00:00:00", "the time of day"},          // 2015-09-12T
                           {13, ":00:00", "the minute and the second"},  // 2015-09-12T08
                           {16, ":00", "the second"},                    // 2015-09-12T08:30
                           {14, ":00:00", "the minute and the second"},  // 12/Sep/2015:08
                           {17, ":00", "the second"}};                   // 12/Sep/2015:08:30

std::string Together(std::string_view a, std::string_view b, std::string_view c = {}) {
  std::string text(a);
  text += b;
  text += c;
  return text;
}

// Why no form fits `text`.
std::string WhyUnread(std::string_view text, TimeReader& forms, const EventSpec& spec) {
  EngineTime any;
  for (const Part& part : kParts) {
    if (text.size() < part.place) continue;
    const std::string whole =
        Together(text.substr(0, part.place), part.text, text.substr(part.place));
    if (forms.ReadEarliest(whole, any) == TimeRead::kTime) {
      return Quoted(text) + " lacks " + std::string(part.name) + ", as in " + whole;
    }
  }
  if (IsNumber(text)) {
    return Quoted(text) + " is a number: state its unit with --time-unit, such as --time-unit s";
  }
  std::string why = Quoted(text) +
                    " is not a time such as 2015-09-12T08:30:00Z or 2015-09-12 08:30:00, nor a " +
                    "date such as 2015-09-12";
  if (!spec.time_format.empty()) why += ", nor written as --time-format states";
  return why;
}

// A number in the unit of the spec.
absl::StatusOr<EngineTime> ReadInUnit(std::string_view number, TimeUnit unit) {
  int64_t micros = 0;
  if (ScaledToInteger(number, MicrosecondShift(unit), micros)) {
    const EngineTime at{Duration(micros)};
    if (at == Clamp(at)) return at;
  }
  return Wrong(Quoted(number) + std::string(invalid_line::kTimeRange) + ", by --time-unit");
}

}  // namespace

absl::StatusOr<EngineTime> ReadInstant(std::string_view text, const EventSpec& spec) {
  EngineTime at;
  if (ParseTimestamp(text, at)) return at;
  if (spec.time_unit != TimeUnit::kNotStated && IsNumber(text)) {
    return ReadInUnit(text, spec.time_unit);
  }
  absl::Status rules =
      spec.time_zone.empty() ? absl::OkStatus() : ParseTimeZone(spec.time_zone).status();
  if (!spec.time_format.empty()) rules.Update(CheckTimeFormat(spec.time_format));
  if (!rules.ok()) return rules;

  const bool is_date = ParseTimestamp(Together(text, kIsoMidnight, "Z"), at);
  if (!spec.time_format.empty() && !is_date && !LacksYear(spec.time_format)) {
    const TimeRules by_format = TimeRulesFor(spec.time_zone, spec.time_format);
    if (TimeReader(by_format).ReadEarliest(text, at) == TimeRead::kTime) return at;
  }
  const TimeRules by_form = TimeRulesFor(spec.time_zone, {});
  TimeReader forms(by_form);
  switch (forms.ReadEarliest(text, at)) {
    case TimeRead::kTime: return at;
    case TimeRead::kNoSuchTime: return Wrong(Quoted(text) + std::string(invalid_line::kNoSuchTime));
    case TimeRead::kOtherWeekday:
      return Wrong(Quoted(text) + std::string(invalid_line::kOtherWeekday));
    case TimeRead::kLeapSecond: return Wrong(Quoted(text) + std::string(invalid_line::kTimeLeap));
    case TimeRead::kOutOfRange: return Wrong(Quoted(text) + std::string(invalid_line::kTimeRange));
    case TimeRead::kOtherZone: return Wrong(Quoted(text) + std::string(invalid_line::kOtherZone));
    case TimeRead::kOpen:
    case TimeRead::kNumber:
    case TimeRead::kUnknownForm:
    case TimeRead::kNotOfFormat: break;
  }
  return Wrong(WhyUnread(text, forms, spec));
}

}  // namespace pleat::inline v0_1
