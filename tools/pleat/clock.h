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
  MonotoneClock() : anchor_(FromUnix(Read(CLOCK_REALTIME))), started_(Read(CLOCK_BOOTTIME)) {}

  EngineTime Now() const { return SaturatingAdd(anchor_, Elapsed()); }

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
