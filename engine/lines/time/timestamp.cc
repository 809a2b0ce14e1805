// RFC 3339 text to and from EngineTime. Calendar arithmetic is the standard library's, which uses
// the proleptic Gregorian calendar, as the RFC does.
#include "engine/lines/time/timestamp.h"

#include <array>
#include <chrono>
#include <cstring>
#include <string>

#include <pleat/json_lines.h>

#include "engine/lines/time/time_fields.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int64_t kMicrosAMinute = 60'000'000;

// The offset from UTC behind the time of day.
std::chrono::minutes TakeOffset(TimeFields& fields) noexcept {
  const char sign = fields.OneOf("Zz+-");
  if (sign != '+' && sign != '-') return std::chrono::minutes(0);
  const std::chrono::hours hours(fields.Number(2, 23));
  fields.OneOf(":");
  const std::chrono::minutes offset = hours + std::chrono::minutes(fields.Number(2, 59));
  return sign == '-' ? -offset : offset;
}

// "00" to "99".
constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (unsigned i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

void PutTwoDigits(uint32_t value, char* to) noexcept { std::memcpy(to, &kPairs[2 * value], 2); }

}  // namespace

bool ParseTimestamp(std::string_view text, EngineTime& out) noexcept {
  return TimestampReader().Read(text, out);
}

// Remembers the date `text`, if it is one.
bool TimestampReader::ReadDate(std::string_view text) noexcept {
  TimeFields fields(text);
  const std::chrono::year year(fields.Number(4, 9999));
  fields.OneOf("-");
  const std::chrono::month month(static_cast<unsigned>(fields.Number(2, 12)));
  fields.OneOf("-");
  const std::chrono::day day(static_cast<unsigned>(fields.Number(2, 31)));
  const std::chrono::year_month_day date = year / month / day;
  if (!fields.AllTaken() || !date.ok()) return false;
  std::memcpy(date_, text.data(), kDateBytes);
  days_ = std::chrono::sys_days(date).time_since_epoch();
  return true;
}

// `out` may lie in the year 0000, or by its offset a day past either end.
bool TimestampReader::ReadUnixTime(std::string_view text, Duration& out) noexcept {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  if (text.size() < kDateBytes) return false;
  const std::string_view date = text.substr(0, kDateBytes);
  if (date != std::string_view(date_, kDateBytes) && !ReadDate(date)) return false;
  TimeFields fields(text.substr(kDateBytes));
  fields.OneOf("Tt ");
  Duration time_of_day = hours(fields.Number(2, 23));
  fields.OneOf(":");
  time_of_day += minutes(fields.Number(2, 59));
  fields.OneOf(":");
  time_of_day += seconds(fields.Number(2, 59));
  if (fields.StartsWith('.')) {
    fields.OneOf(".");
    time_of_day += Duration(fields.Fraction());
  }
  time_of_day -= TakeOffset(fields);
  out = days_ + time_of_day;
  return fields.AllTaken();
}

bool TimestampReader::Read(std::string_view text, EngineTime& out) noexcept {
  Duration unix_time{0};
  if (!ReadUnixTime(text, unix_time)) return false;
  const EngineTime at{unix_time};
  if (at != Clamp(at)) return false;
  out = at;
  return true;
}

void TimestampWriter::SetDay(int64_t day) noexcept {
  const std::chrono::sys_days first(
      std::chrono::floor<std::chrono::days>(kBeginningOfTime.time_since_epoch()));
  const std::chrono::year_month_day date(first + std::chrono::days(day));
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  std::memcpy(text_, "0000-00-00T00:00:00.000000Z", kTimestampBytes);
  PutTwoDigits(year / 100, text_);
  PutTwoDigits(year % 100, text_ + 2);
  PutTwoDigits(static_cast<unsigned>(date.month()), text_ + 5);
  PutTwoDigits(static_cast<unsigned>(date.day()), text_ + 8);
  day_ = day;
}

void TimestampWriter::SetMinute(int64_t micros) noexcept {
  constexpr int64_t kMinutesADay = 1440;
  const int64_t minutes = micros / kMicrosAMinute;
  if (minutes / kMinutesADay != day_) SetDay(minutes / kMinutesADay);
  const auto in_day = static_cast<unsigned>(minutes % kMinutesADay);
  PutTwoDigits(in_day / 60, text_ + 11);
  PutTwoDigits(in_day % 60, text_ + 14);
  minute_ = minutes * kMicrosAMinute;
}

void TimestampWriter::Write(EngineTime t, char* to) noexcept {
  const int64_t micros = (Clamp(t) - kBeginningOfTime).count();
  const bool same_minute =
      static_cast<uint64_t>(micros - minute_) < static_cast<uint64_t>(kMicrosAMinute);
  if (!same_minute) SetMinute(micros);
  const auto in_minute = static_cast<uint32_t>(micros - minute_);
  const uint32_t second = in_minute / 1'000'000;
  const uint32_t fraction = in_minute - second * 1'000'000;
  std::memcpy(to, text_, kTimestampBytes);
  PutTwoDigits(second, to + 17);
  if (fraction == 0) return;
  PutTwoDigits(fraction / 10'000, to + 20);
  PutTwoDigits(fraction / 100 % 100, to + 22);
  PutTwoDigits(fraction % 100, to + 24);
}

std::string FormatTimestamp(EngineTime t) {
  std::string out(kTimestampBytes, '\0');
  TimestampWriter().Write(t, out.data());
  return out;
}

}  // namespace pleat::inline v0_1
