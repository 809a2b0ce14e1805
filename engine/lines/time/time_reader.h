// Reads event times that are text: first as RFC 3339, since nearly all are, then in the other forms
// that people use; or in one stated format alone.
//
// A time that states no zone is one of a zone's clock. One that the clock shows twice, or that states no
// year, is open: it may mean several instants, and whoever reads it says which by Nearest(). A time that
// the clock skips is one before the change: 02:30 where 02:00 to 03:00 are skipped is what the clock shows
// as 03:30.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <pleat/time.h>

#include "engine/lines/time/time_forms.h"
#include "engine/lines/time/time_rules.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

// What came of a text.
enum class TimeRead : uint8_t {
  kTime,
  kOpen,          // it means several instants: see Nearest()
  kNumber,        // it is a JSON number, and there is no format
  kNoSuchTime,    // month 13, 30 February, hour 24
  kOtherWeekday,  // the date is of another day of the week than is stated
  kLeapSecond,    // second 60
  kOutOfRange,    // in UTC, not within the years 0001 to 9999
  kOtherZone,     // it states one by letters that the zone does not use
  kUnknownForm,
  kNotOfFormat,
};

class TimeReader {
 public:
  // Borrows `rules`.
  explicit TimeReader(const TimeRules& rules) : rules_(rules), has_format_(!rules.format.empty()) {}

  // Whether the text is a time as nearly all are, which is then `out`. If not, ReadOther() tells.
  bool ReadUsual(std::string_view text, EngineTime& out) noexcept {
    return !has_format_ && timestamps_.Read(text, out);
  }

  // `out` is set if the text is a time. Blanks around it are no part of it.
  TimeRead ReadOther(std::string_view text, EngineTime& out);

  // The same, and of one that is open the earliest instant.
  TimeRead ReadEarliest(std::string_view text, EngineTime& out);

  // After kOpen: of the instants that the last text can mean, the one nearest to `to`, and of two as near
  // the earlier one; without `to` the earliest in the year of the rules. Nothing if there is none in range.
  std::optional<EngineTime> Nearest(std::optional<EngineTime> to) const;

  // Whether a time stated no zone, and UTC was assumed.
  bool assumed_utc() const noexcept { return assumed_utc_; }

 private:
  TimeRead ReadForm(std::string_view text, EngineTime& out);
  TimeRead ReadFormat(std::string_view text, EngineTime& out);
  TimeRead ReadLettered(std::string_view text, EngineTime& out);
  TimeRead AtLetters(absl::CivilSecond shown, std::string_view letters, EngineTime& out) const;
  TimeRead AtZone(absl::CivilSecond shown, const absl::TimeZone& zone, EngineTime& out);

  const TimeRules& rules_;
  const bool has_format_;
  TimestampReader timestamps_;
  bool assumed_utc_ = false;
  size_t last_lettered_ = 0;  // of the rules, that which fits the last text

  // The last text that was open: what the clock of the zone shows.
  absl::CivilSecond shown_;
  Duration micros_{0};
  absl::TimeZone shown_in_;
};

}  // namespace pleat::inline v0_1
