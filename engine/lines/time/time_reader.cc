#include "engine/lines/time/time_reader.h"

#include <chrono>
#include <optional>
#include <string>

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include "engine/lines/scan/number.h"

namespace pleat::inline v0_1 {
namespace {

std::chrono::year_month_day DateOf(const CivilTime& civil) noexcept {
  return {std::chrono::year(civil.year), std::chrono::month(static_cast<unsigned>(civil.month)),
          std::chrono::day(static_cast<unsigned>(civil.day))};
}

// Whether there is such a time.
TimeRead Check(const CivilTime& civil) noexcept {
  const std::chrono::year_month_day date = DateOf(civil);
  if (!date.ok() || civil.hour > 23 || civil.minute > 59 || civil.second > 60) {
    return TimeRead::kNoSuchTime;
  }
  if (civil.weekday && *civil.weekday != std::chrono::weekday(std::chrono::sys_days(date))) {
    return TimeRead::kOtherWeekday;
  }
  return civil.second == 60 ? TimeRead::kLeapSecond : TimeRead::kTime;
}

// What a clock of no offset from UTC shows.
EngineTime AtUtc(const CivilTime& civil) noexcept {
  const std::chrono::sys_days day(DateOf(civil));
  return EngineTime(day.time_since_epoch() + std::chrono::hours(civil.hour) +
                    std::chrono::minutes(civil.minute) + std::chrono::seconds(civil.second) +
                    Duration(civil.micros));
}

}  // namespace

TimeRead TimeReader::ReadOther(std::string_view text, EngineTime& out) {
  const TimeRead read = has_format_ ? ReadFormat(text, out) : ReadForm(text, out);
  if (read == TimeRead::kTime && out != Clamp(out)) return TimeRead::kOutOfRange;
  return read;
}

TimeRead TimeReader::ReadForm(std::string_view text, EngineTime& out) {
  const std::optional<CivilTime> civil = ReadCivilTime(text);
  if (!civil) return IsNumber(text) ? TimeRead::kNumber : TimeRead::kUnknownForm;
  const TimeRead checked = Check(*civil);
  if (checked == TimeRead::kTime) out = AtZone(*civil);
  return checked;
}

EngineTime TimeReader::AtZone(const CivilTime& civil) {
  if (civil.offset) return AtUtc(civil) - *civil.offset;
  if (rules_.assumes_utc) {
    assumed_utc_ = true;
    return AtUtc(civil);
  }
  const absl::CivilSecond shown(civil.year, civil.month, civil.day, civil.hour, civil.minute,
                                civil.second);
  // `pre` is what the clock's offset before a change makes of it: the first of two, or past a gap.
  const int64_t micros = absl::ToUnixMicros(rules_.zone.At(shown).pre);
  return EngineTime(Duration(micros + civil.micros));
}

// Since absl takes a text to end at a NUL, one with a NUL would be read in part.
TimeRead TimeReader::ReadFormat(std::string_view text, EngineTime& out) {
  if (text.find('\0') != std::string_view::npos) return TimeRead::kNotOfFormat;
  absl::Time time;
  std::string error;
  const bool good =
      absl::ParseTime(rules_.format, {text.data(), text.size()}, rules_.zone, &time, &error);
  // "infinite-future" is of every format, for absl.
  if (!good || time == absl::InfiniteFuture() || time == absl::InfinitePast()) {
    return TimeRead::kNotOfFormat;
  }
  assumed_utc_ |= rules_.assumes_utc && !rules_.format_has_zone;
  out = EngineTime(Duration(absl::ToUnixMicros(time)));
  return TimeRead::kTime;
}

}  // namespace pleat::inline v0_1
