// Reads event times that are text: first as RFC 3339, since nearly all are, then in the other forms
// that people use; or in one stated format alone.
//
// A time that states no zone is one of a zone's clock. Of a time that the clock shows twice, the
// first is meant. A time that the clock skips is one before the change: 02:30 where 02:00 to 03:00
// are skipped is what the clock shows as 03:30.
#pragma once

#include <cstdint>
#include <string_view>

#include <pleat/time.h>

#include "engine/lines/time/time_forms.h"
#include "engine/lines/time/time_rules.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

// What came of a text.
enum class TimeRead : uint8_t {
  kTime,
  kNumber,        // it is a JSON number, and there is no format
  kNoSuchTime,    // month 13, 30 February, hour 24
  kOtherWeekday,  // the date is of another day of the week than is stated
  kLeapSecond,    // second 60
  kOutOfRange,    // in UTC, not within the years 0001 to 9999
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

  // `out` is set if the text is a time.
  TimeRead ReadOther(std::string_view text, EngineTime& out);

  // Whether a time stated no zone, and UTC was assumed.
  bool assumed_utc() const noexcept { return assumed_utc_; }

 private:
  TimeRead ReadForm(std::string_view text, EngineTime& out);
  TimeRead ReadFormat(std::string_view text, EngineTime& out);
  EngineTime AtZone(const CivilTime& civil);

  const TimeRules& rules_;
  const bool has_format_;
  TimestampReader timestamps_;
  bool assumed_utc_ = false;
};

}  // namespace pleat::inline v0_1
