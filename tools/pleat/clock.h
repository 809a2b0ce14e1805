// The one place in pleat that reads a clock. Everything else gets its times as arguments.
//
// The wall clock is read once, at the start. From then on the time is that anchor plus the count
// of a steady clock, which includes sleep of the machine. A step of the wall clock (NTP, an
// operator) neither closes groups early nor holds them back, and time never runs backwards.
#pragma once

#include <ctime>

#include <pleat/time.h>

namespace pleat::cli {

class MonotoneClock {
 public:
  MonotoneClock() : MonotoneClock(FromUnix(Read(CLOCK_REALTIME))) {}
  // Began at `wall`, so long ago, whatever the wall clock says.
  explicit MonotoneClock(EngineTime wall, Duration ago = Duration{0})
      : anchor_(wall), started_(Read(CLOCK_BOOTTIME) - ago) {}

  EngineTime Now() const { return SaturatingAdd(anchor_, Elapsed()); }

  // The time goes on from `at` if that is later than Now(). Returns by how much; 0: it is not.
  Duration GoOnFrom(EngineTime at) {
    const Duration behind = at - Now();
    if (behind <= Duration{0}) return Duration{0};
    anchor_ = SaturatingAdd(anchor_, behind);
    return behind;
  }

  // Since this object was made.
  Duration Elapsed() const { return Read(CLOCK_BOOTTIME) - started_; }

 private:
  static Duration Read(clockid_t id) {
    timespec t{};
    clock_gettime(id, &t);
    return Duration{int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000};
  }

  EngineTime anchor_;
  Duration started_;
};

}  // namespace pleat::cli
