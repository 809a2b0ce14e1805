#include "engine/lines/feed/closing_calendar.h"

#include <chrono>

#include <absl/time/civil_time.h>

namespace pleat::inline v0_1 {
namespace {

using std::chrono::seconds;

constexpr absl::CivilSecond kBeginning(1970, 1, 1, 0, 0, 0);

Duration ReadingOf(const absl::CivilSecond& shown) { return seconds(shown - kBeginning); }

absl::Time TimeOf(EngineTime t) { return absl::FromUnixMicros(t.time_since_epoch().count()); }

}  // namespace

// How long before `reading` the grid's latest reading was; below `every_`. Both remainders are, so
// that nothing overflows.
Duration ClosingCalendar::BehindGrid(Duration reading) const noexcept {
  const Duration rest = reading % every_;
  const Duration behind = (rest < Duration{0} ? rest + every_ : rest) - phase_;
  return behind < Duration{0} ? behind + every_ : behind;
}

// Whether the clock showed `reading` before, if it shows it at `at`.
bool ClosingCalendar::ComesAgain(Duration reading, EngineTime at) const {
  const seconds whole = std::chrono::floor<seconds>(reading);
  const absl::TimeZone::TimeInfo info = zone_.At(kBeginning + whole.count());
  return info.kind == absl::TimeZone::TimeInfo::REPEATED && TimeOf(at) >= info.post;
}

// From one change of the clock to the next its reading less the time is one number.
EngineTime ClosingCalendar::After(EngineTime t) const {
  Duration offset = seconds(zone_.At(TimeOf(t)).offset);
  Duration reading = t.time_since_epoch() + offset;
  Duration ahead = every_ - BehindGrid(reading);
  for (;;) {
    absl::TimeZone::CivilTransition change;
    const bool changes = zone_.NextTransition(TimeOf(t), &change);
    const EngineTime change_at = changes ? EngineTime(ReadingOf(change.from) - offset) : kNever;
    while (ahead <= kNever - t && t + ahead < change_at) {
      const bool counts =
          every_ < std::chrono::hours(24) || !ComesAgain(reading + ahead, t + ahead);
      if (counts) return t + ahead;
      if (every_ > kNever - t) return kNever;
      ahead += every_;
    }
    if (change_at >= kNever) return kNever;
    const Duration to = ReadingOf(change.to);
    const bool jumps_over = ahead <= to - reading;
    if (to > ReadingOf(change.from) && jumps_over) return change_at;
    // On to the stretch behind the change, where the first reading counts as well.
    t = change_at;
    reading = to;
    offset = to - t.time_since_epoch();
    const Duration behind = BehindGrid(reading);
    ahead = behind == Duration{0} ? behind : every_ - behind;
  }
}

}  // namespace pleat::inline v0_1
