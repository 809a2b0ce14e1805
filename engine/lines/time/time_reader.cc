#include "engine/lines/time/time_reader.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

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

// The instant of an absl::Time, and of the fraction of a second behind it.
EngineTime InstantOf(absl::Time time, Duration micros) noexcept {
  return EngineTime(Duration(absl::ToUnixMicros(time)) + micros);
}

bool ParseFormat(const std::string& format, std::string_view text, absl::Time& time) {
  std::string error;
  const bool good =
      absl::ParseTime(format, {text.data(), text.size()}, absl::UTCTimeZone(), &time, &error);
  // "infinite-future" is of every format, for absl.
  return good && time != absl::InfiniteFuture() && time != absl::InfinitePast();
}

}  // namespace

TimeRead TimeReader::ReadOther(std::string_view text, EngineTime& out) {
  text = WithoutBlanks(text);
  const TimeRead read = has_format_ ? ReadFormat(text, out) : ReadForm(text, out);
  if (read == TimeRead::kTime && out != Clamp(out)) return TimeRead::kOutOfRange;
  return read;
}

TimeRead TimeReader::ReadEarliest(std::string_view text, EngineTime& out) {
  const TimeRead read = ReadOther(text, out);
  if (read != TimeRead::kOpen) return read;
  const std::optional<EngineTime> earliest = Nearest(std::nullopt);
  if (!earliest) return TimeRead::kOutOfRange;
  out = *earliest;
  return TimeRead::kTime;
}

TimeRead TimeReader::ReadForm(std::string_view text, EngineTime& out) {
  const std::optional<CivilTime> civil = ReadCivilTime(text);
  if (!civil) return IsNumber(text) ? TimeRead::kNumber : TimeRead::kUnknownForm;
  const TimeRead checked = Check(*civil);
  if (checked != TimeRead::kTime) return checked;
  if (civil->offset) {
    out = AtUtc(*civil) - *civil->offset;
    return TimeRead::kTime;
  }
  if (rules_.assumes_utc && civil->letters.empty()) {
    assumed_utc_ = true;
    out = AtUtc(*civil);
    return TimeRead::kTime;
  }
  const absl::CivilSecond shown(civil->year, civil->month, civil->day, civil->hour, civil->minute,
                                civil->second);
  micros_ = Duration(civil->micros);
  if (!civil->letters.empty()) return AtLetters(shown, civil->letters, out);
  return AtZone(shown, rules_.zone, out);
}

TimeRead TimeReader::AtLetters(absl::CivilSecond shown, std::string_view letters,
                               EngineTime& out) const {
  const std::optional<std::chrono::seconds> offset = OffsetOfLetters(rules_.zone, letters, shown);
  if (!offset) return TimeRead::kOtherZone;
  out = InstantOf(absl::FromCivil(shown, absl::UTCTimeZone()), micros_ - *offset);
  return TimeRead::kTime;
}

TimeRead TimeReader::AtZone(absl::CivilSecond shown, const absl::TimeZone& zone, EngineTime& out) {
  // `pre` is what the clock's offset before a change makes of it: past a gap.
  const absl::TimeZone::TimeInfo info = zone.At(shown);
  if (info.kind == absl::TimeZone::TimeInfo::REPEATED || rules_.lacks_year) {
    shown_ = shown;
    shown_in_ = zone;
    return TimeRead::kOpen;
  }
  out = InstantOf(info.pre, micros_);
  return TimeRead::kTime;
}

std::optional<EngineTime> TimeReader::Nearest(std::optional<EngineTime> to) const {
  std::optional<EngineTime> nearest;
  const auto consider = [&](absl::Time time) {
    const EngineTime at = InstantOf(time, micros_);
    if (at != Clamp(at)) return;
    const auto distance = [&](EngineTime from) {
      return std::pair(to ? std::chrono::abs(from - *to) : Duration{0}, from);
    };
    if (!nearest || distance(at) < distance(*nearest)) nearest = at;
  };
  const auto consider_in = [&](absl::CivilSecond shown) {
    const absl::TimeZone::TimeInfo info = shown_in_.At(shown);
    consider(info.pre);
    if (info.kind == absl::TimeZone::TimeInfo::REPEATED) consider(info.post);
  };
  if (!rules_.lacks_year) {
    consider_in(shown_);
    return nearest;
  }
  int64_t first = rules_.year == 0 ? 1970 : rules_.year;
  int64_t last = first;
  if (to) {
    // Leap years are eight years apart at most.
    const bool is_leap_day = shown_.month() == 2 && shown_.day() == 29;
    const int64_t year =
        shown_in_.At(absl::FromUnixMicros(to->time_since_epoch().count())).cs.year();
    first = year - (is_leap_day ? 8 : 1);
    last = year + (is_leap_day ? 8 : 1);
  }
  for (int64_t year = first; year <= last; ++year) {
    const absl::CivilSecond shown(year, shown_.month(), shown_.day(), shown_.hour(),
                                  shown_.minute(), shown_.second());
    if (shown.month() == shown_.month()) consider_in(shown);
  }
  return nearest;
}

// Since absl takes a text to end at a NUL, one with a NUL would be read in part.
TimeRead TimeReader::ReadFormat(std::string_view text, EngineTime& out) {
  if (text.find('\0') != std::string_view::npos) return TimeRead::kNotOfFormat;
  std::string with_year;
  if (rules_.lacks_year) {
    with_year.append(kLeapYear).append(text);
    text = with_year;
  }
  if (!rules_.lettered.empty()) return ReadLettered(text, out);
  absl::Time time;
  if (!ParseFormat(rules_.format, text, time)) return TimeRead::kNotOfFormat;
  assumed_utc_ |= rules_.assumes_utc && !rules_.format_has_zone;
  const bool is_utc = rules_.format_has_zone || rules_.assumes_utc;
  out = InstantOf(time, Duration{0});
  if (is_utc && !rules_.lacks_year) return TimeRead::kTime;
  const absl::TimeZone utc = absl::UTCTimeZone();
  const absl::CivilSecond shown = absl::ToCivilSecond(time, utc);
  micros_ = out - InstantOf(absl::FromCivil(shown, utc), Duration{0});
  return AtZone(shown, is_utc ? utc : rules_.zone, out);
}

// Which letters the text has is tried out, first those of the text before.
TimeRead TimeReader::ReadLettered(std::string_view text, EngineTime& out) {
  const size_t count = rules_.lettered.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t tried = (last_lettered_ + i) % count;
    absl::Time time;
    if (!ParseFormat(rules_.lettered[tried].format, text, time)) continue;
    last_lettered_ = tried;
    const absl::TimeZone utc = absl::UTCTimeZone();
    const absl::CivilSecond shown = absl::ToCivilSecond(time, utc);
    micros_ = InstantOf(time, Duration{0}) - InstantOf(absl::FromCivil(shown, utc), Duration{0});
    if (!rules_.lacks_year) return AtLetters(shown, rules_.lettered[tried].letters, out);
    return AtZone(shown, rules_.zone, out);
  }
  return TimeRead::kNotOfFormat;
}

}  // namespace pleat::inline v0_1
