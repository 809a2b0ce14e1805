// How event times that are text are read, as --time-zone and --time-format say it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

struct TimeRules {
  // A format with %Z, where the letters of a zone stand in its place.
  struct LetteredFormat {
    std::string letters;
    std::string format;
  };

  absl::TimeZone zone;      // of times that state none
  bool assumes_utc = true;  // `zone` is UTC because nothing was said
  std::string format;       // for absl::ParseTime(); empty: the forms of time_forms.h
  bool format_has_zone = false;
  std::vector<LetteredFormat> lettered;  // in place of `format`, for all letters that the zone uses
  // The format says no year. It has that of kLeapYear in front, so that 29 February is a date.
  bool lacks_year = false;
  int year = 0;              // of the first time; 0: the one that is nearest to when that came
  bool may_be_open = false;  // some time may mean several instants
};

// What stands before a text that says no year, for a format that lacks it.
inline constexpr std::string_view kLeapYear = "2000|";

// The zone that `text` names: UTC, Z, an offset such as +01:00, or a name of the IANA's database,
// which is read from $TZDIR or else /usr/share/zoneinfo, once for the process. Errors:
// kInvalidArgument.
absl::StatusOr<absl::TimeZone> ParseTimeZone(std::string_view text);

// The offset from UTC that letters such as CET stand for in `zone`, of a time at which its clock shows
// `shown`; nothing if the zone does not use them there, nor before or after the nearest change.
std::optional<std::chrono::seconds> OffsetOfLetters(const absl::TimeZone& zone,
                                                    std::string_view letters,
                                                    absl::CivilSecond shown);

// Whether `format` is well formed and says the date, but maybe for its year. Errors: kInvalidArgument.
absl::Status CheckTimeFormat(std::string_view format);
bool LacksYear(std::string_view format);

// The power of ten that takes a number of the unit to microseconds.
int MicrosecondShift(TimeUnit unit) noexcept;

// The rules of a spec, of which both texts may be empty. REQUIRES: neither is wrong.
TimeRules TimeRulesFor(std::string_view zone, std::string_view format, int year = 0);

}  // namespace pleat::inline v0_1
