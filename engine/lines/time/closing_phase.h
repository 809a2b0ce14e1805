// Where closing times lie, as --close-every says it.
#pragma once

#include <chrono>

#include <pleat/options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// How far behind a multiple of `every` since 1970 a closing time lies. Whole weeks are counted from
// Monday, and 1970 began on a Thursday. For options out of range, which are refused elsewhere, it is
// the phase itself.
inline Duration PhaseSince1970(const ClosingOptions& closing) noexcept {
  constexpr Duration kDay = std::chrono::hours(24);
  constexpr Duration kFirstMonday = 4 * kDay;
  const bool whole_weeks = closing.every > Duration{0} && closing.every != kForever &&
                           closing.every % (7 * kDay) == Duration{0};
  if (!whole_weeks) return closing.phase;
  const Duration later = kFirstMonday % closing.every;
  return closing.phase < closing.every - later ? closing.phase + later
                                               : closing.phase - (closing.every - later);
}

}  // namespace pleat::inline v0_1
