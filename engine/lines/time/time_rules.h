// How event times that are text are read, as --time-zone and --time-format say it.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

struct TimeRules {
  absl::TimeZone zone;      // of times that state none
  bool assumes_utc = true;  // `zone` is UTC because nothing was said
  std::string format;       // for absl::ParseTime(); empty: the forms of time_forms.h
  bool format_has_zone = false;
};

// The zone that `text` names: UTC, Z, an offset such as +01:00, or a name of the IANA's database,
// which is read from $TZDIR or else /usr/share/zoneinfo, once for the process. Errors:
// kInvalidArgument.
absl::StatusOr<absl::TimeZone> ParseTimeZone(std::string_view text);

// Whether `format` is well formed and says the whole date. Errors: kInvalidArgument.
absl::Status CheckTimeFormat(std::string_view format);

// The power of ten that takes a number of the unit to microseconds.
int MicrosecondShift(TimeUnit unit) noexcept;

// The rules of a spec, of which both texts may be empty. REQUIRES: neither is wrong.
TimeRules TimeRulesFor(std::string_view zone, std::string_view format);

}  // namespace pleat::inline v0_1
