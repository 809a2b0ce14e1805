// ClosingCalendar: closing times by the clock of a zone, as --close-every and --time-zone say them.
//
// The clock's *reading* is what it shows, as a time since 1970-01-01T00:00 there. A closing time is
// an instant at which the reading comes to phase + k * every, for any whole k; whole weeks are
// counted from a Monday. What a change of the clock does to that:
//
//   - A reading that the clock jumps over counts where it jumps.
//   - A reading that comes twice counts once, the first time, if `every` is a day or more: a day has
//     one nine o'clock. Else it counts both times: an hour that comes twice ends twice.
#pragma once

#include <absl/time/time.h>
#include <pleat/options.h>
#include <pleat/time.h>

#include "engine/lines/time/closing_phase.h"

namespace pleat::inline v0_1 {

class ClosingCalendar {
 public:
  // REQUIRES: `closing.every` is not kForever, and `closing` is in range.
  ClosingCalendar(const absl::TimeZone& zone, const ClosingOptions& closing)
      : zone_(zone), every_(closing.every), phase_(PhaseSince1970(closing)) {}

  // The first closing time behind `t`; kNever: none.
  EngineTime After(EngineTime t) const;

 private:
  Duration BehindGrid(Duration reading) const noexcept;
  bool ComesAgain(Duration reading, EngineTime at) const;

  absl::TimeZone zone_;
  Duration every_;
  Duration phase_;
};

}  // namespace pleat::inline v0_1
