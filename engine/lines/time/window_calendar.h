// A WindowCalendar says where the windows of `rollup` begin and end by the clock of a zone:
//
//   shorter than a day   counted from the beginning of the day; the last one of a day may be shorter
//   whole days           by the calendar, so that a day may have 23 or 25 hours; whole weeks begin
//                        on Monday, other numbers of days are counted from 1970-01-01
//   kMonth               by the calendar
//
// A day begins at midnight, plus the offset; weeks and months that much later, too. A day whose
// midnight the clock jumps over begins where it jumps. If the clock shows midnight twice, the day
// begins the first time.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <pleat/json_rollup.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class WindowCalendar {
 public:
  // REQUIRES: the offset is zero or more, and below 28 days.
  WindowCalendar(const absl::TimeZone& zone, Duration offset);

  // The start of the window around `at`, and its end. REQUIRES: CheckLength() accepts `length`.
  std::pair<EngineTime, EngineTime> Around(EngineTime at, Duration length) const;

  // Names the rules, but not the data about the zone.
  std::string name() const;

 private:
  EngineTime BeginningOf(absl::CivilDay day) const;
  absl::CivilDay DayOf(EngineTime at) const;

  const absl::TimeZone zone_;
  const Duration offset_;
  const int64_t offset_days_;
  const Duration time_of_day_;  // the rest of the offset
};

// Whether windows of this length have the same ends by a calendar in UTC as they have if they begin
// at multiples of their length since 1970.
bool IsPlainInUtc(Duration length) noexcept;

// Whether a calendar has windows of this length: shorter than a day, of whole days, or a month.
bool HasCalendarLength(Duration length) noexcept;
// Whether windows of the length `longer` are made of such windows.
bool IsMadeOf(Duration longer, Duration length) noexcept;

}  // namespace pleat::inline v0_1
