#include "engine/lines/time/window_calendar.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
constexpr Duration kWeek = 7 * kDay;
constexpr absl::CivilDay kFirstDay(1970, 1, 1);
constexpr int64_t kFirstMonday = 4;  // days since then

int64_t DaysIn(Duration length) noexcept { return length / kDay; }

// From which day on since 1970 windows of whole days are counted.
int64_t OriginOf(Duration length) noexcept {
  return length % kWeek == Duration{0} ? kFirstMonday : 0;
}

int64_t FloorTo(int64_t number, int64_t step) noexcept {
  const int64_t rest = number % step;
  return number - (rest < 0 ? rest + step : rest);
}

}  // namespace

WindowCalendar::WindowCalendar(const absl::TimeZone& zone, Duration offset)
    : zone_(zone), offset_(offset), offset_days_(DaysIn(offset)), time_of_day_(offset % kDay) {}

std::string WindowCalendar::name() const {
  return offset_ == Duration{0} ? zone_.name() : zone_.name() + " + " + FormatDuration(offset_);
}

EngineTime WindowCalendar::BeginningOf(absl::CivilDay day) const {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time_of_day_);
  const absl::TimeZone::TimeInfo info = zone_.At(absl::CivilSecond(day) + whole.count());
  const bool skips = info.kind == absl::TimeZone::TimeInfo::SKIPPED;
  const absl::Time begins = skips ? info.trans : info.pre;
  return EngineTime(Duration{absl::ToUnixMicros(begins)} +
                    (skips ? Duration{0} : time_of_day_ - whole));
}

// The last day that has begun by then.
absl::CivilDay WindowCalendar::DayOf(EngineTime at) const {
  const Duration read = at.time_since_epoch() - time_of_day_;
  absl::CivilDay day(absl::ToCivilDay(absl::FromUnixMicros(read.count()), zone_));
  while (BeginningOf(day) > at) --day;
  while (BeginningOf(day + 1) <= at) ++day;
  return day;
}

std::pair<EngineTime, EngineTime> WindowCalendar::Around(EngineTime at, Duration length) const {
  const absl::CivilDay day = DayOf(at);
  if (length == kMonth) {
    const absl::CivilMonth month(day - offset_days_);
    return {BeginningOf(absl::CivilDay(month) + offset_days_),
            BeginningOf(absl::CivilDay(month + 1) + offset_days_)};
  }
  if (length >= kDay) {
    const int64_t before = OriginOf(length) + offset_days_;
    const absl::CivilDay first =
        kFirstDay + (FloorTo(day - kFirstDay - before, DaysIn(length)) + before);
    return {BeginningOf(first), BeginningOf(first + DaysIn(length))};
  }
  const EngineTime begins = BeginningOf(day);
  const EngineTime start = at - (at - begins) % length;
  return {start, std::min(start + length, BeginningOf(day + 1))};
}

bool IsPlainInUtc(Duration length) noexcept {
  if (length <= Duration{0}) return true;  // which is refused elsewhere
  if (length >= kDay) return length != kMonth && length % kWeek != Duration{0};
  return kDay % length == Duration{0};
}

bool HasCalendarLength(Duration length) noexcept {
  return length < kDay || length % kDay == Duration{0} || length == kMonth;
}

bool IsMadeOf(Duration longer, Duration length) noexcept {
  if (length == kMonth) return false;
  if (length >= kDay) {
    if (longer == kMonth) return length == kDay;
    return longer % length == Duration{0} &&
           (OriginOf(longer) - OriginOf(length)) % DaysIn(length) == 0;
  }
  return longer >= kDay || longer % length == Duration{0};
}

}  // namespace pleat::inline v0_1
