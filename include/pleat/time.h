// Time in pleat: microseconds on one axis per engine, always an argument, never read from a clock.
//
// An engine runs on one axis: on arrival time a stamp is the instant at which an
// event arrived, on event time it is the instant the event speaks of. EngineTime is a point on that
// axis. A type of its own keeps readings of other clocks from slipping in unconverted: use
// FromUnix().
//
// Leases run on a clock of their own (emission.h); LeaseTime is a point on that one.
//
// Range: the years 0001 to 9999. Arithmetic saturates at both ends and never wraps; a stamp beyond
// an end counts as that end.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

using Duration = std::chrono::microseconds;

// The clock whose time points EngineTime are. There is no now(): nothing in pleat reads a clock.
struct EngineClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<EngineClock, duration>;
  static constexpr bool is_steady = true;
};
using EngineTime = EngineClock::time_point;

// The meaning of stamps to an engine, and the mover of its time.
enum class Axis : uint8_t {
  kArrival,  // Engine::Advance() moves time; a stamp says when the event arrived
  kEvent,    // the watermark moves time: the largest stamp so far, less the watermark_delay
};

// As a quiet period or a max wait: never. As a limit: none.
inline constexpr Duration kForever = Duration::max();

inline constexpr EngineTime kBeginningOfTime{Duration{-62'135'596'800'000'000}};  // 0001-01-01
inline constexpr EngineTime kEndOfTime{Duration{253'402'300'799'999'999}};        // 9999-12-31

// After every stamp and every deadline: what "no deadline" is.
inline constexpr EngineTime kNever = kEndOfTime + Duration{1};

constexpr EngineTime Clamp(EngineTime t) noexcept {
  return t < kBeginningOfTime ? kBeginningOfTime : t > kEndOfTime ? kEndOfTime : t;
}

// A point on the clock of leases. Neither an EngineTime nor `{}` converts to it silently; a caller
// that uses one clock for both writes LeaseTime(now).
class LeaseTime {
 public:
  explicit constexpr LeaseTime() noexcept = default;  // 1970-01-01
  explicit constexpr LeaseTime(EngineTime same_reading) noexcept : reading_(same_reading) {}
  explicit constexpr operator EngineTime() const noexcept { return reading_; }

  // Of the count, because time points of libc++ 16 have no <=>.
  friend constexpr bool operator==(const LeaseTime&, const LeaseTime&) noexcept = default;
  friend constexpr auto operator<=>(const LeaseTime& a, const LeaseTime& b) noexcept {
    return a.reading_.time_since_epoch().count() <=> b.reading_.time_since_epoch().count();
  }

 private:
  EngineTime reading_{};
};

// The instant that lies `since_epoch` after 1970-01-01T00:00:00Z, in a duration of any unit. It is
// rounded down to microseconds, and kept between kBeginningOfTime and kEndOfTime.
//
//   FromUnix(1'700'000'000s)
//   FromUnix(std::chrono::system_clock::now().time_since_epoch())
template <class Rep, class Period>
constexpr EngineTime FromUnix(std::chrono::duration<Rep, Period> since_epoch) noexcept {
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    using Micros = std::chrono::duration<long double, std::micro>;
    const Micros micros(since_epoch);
    if (micros >= Micros(kEndOfTime.time_since_epoch())) return kEndOfTime;
    if (!(micros > Micros(kBeginningOfTime.time_since_epoch()))) return kBeginningOfTime;
    return Clamp(EngineTime{std::chrono::floor<Duration>(since_epoch)});
  } else {
    __extension__ using Wide = __int128;  // holds any count of 64 bits in any unit
    using Unit = std::ratio_divide<Period, std::micro>;
    const Wide scaled = static_cast<Wide>(since_epoch.count()) * Unit::num;
    const Wide micros = scaled / Unit::den - (scaled % Unit::den < 0 ? 1 : 0);
    if (micros >= kEndOfTime.time_since_epoch().count()) return kEndOfTime;
    if (micros <= kBeginningOfTime.time_since_epoch().count()) return kBeginningOfTime;
    return EngineTime{Duration{static_cast<Duration::rep>(micros)}};
  }
}

// `t + d`, kept between kBeginningOfTime and kEndOfTime.
constexpr EngineTime SaturatingAdd(EngineTime t, Duration d) noexcept {
  using Limits = std::numeric_limits<Duration::rep>;
  const Duration::rep a = t.time_since_epoch().count();
  const Duration::rep b = d.count();
  if (b > 0 && a > Limits::max() - b) return kEndOfTime;
  if (b < 0 && a < Limits::min() - b) return kBeginningOfTime;
  return Clamp(EngineTime{Duration{a + b}});
}

// `t - d`, kept between kBeginningOfTime and kEndOfTime.
constexpr EngineTime SaturatingSub(EngineTime t, Duration d) noexcept {
  if (d == Duration::min()) return kEndOfTime;
  return SaturatingAdd(t, -d);
}

constexpr LeaseTime Clamp(LeaseTime t) noexcept { return LeaseTime(Clamp(EngineTime(t))); }
constexpr LeaseTime SaturatingAdd(LeaseTime t, Duration d) noexcept {
  return LeaseTime(SaturatingAdd(EngineTime(t), d));
}

// Whether an event stamped `at` lies further ahead of the engine's time than `limit`. As long as
// there was no event there is no time to be ahead of, and the answer is no.
constexpr bool IsBeyondFuture(EngineTime at, EngineTime now, Duration limit) noexcept {
  return at - now > limit && now != kBeginningOfTime;
}

}  // namespace pleat::inline v0_1
