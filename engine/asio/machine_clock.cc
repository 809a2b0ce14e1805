#include "engine/asio/machine_clock.h"

#include <time.h>

#include <chrono>

namespace pleat::inline v0_1 {
namespace {

std::chrono::nanoseconds Read(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

class BootClock final : public DriverClock {
 public:
  // CLOCK_MONOTONIC, which std::chrono::steady_clock is, leaves out the time of a suspend.
  Duration Elapsed() const noexcept override {
    return std::chrono::floor<Duration>(Read(CLOCK_BOOTTIME));
  }
  EngineTime Wall() const noexcept override { return FromUnix(Read(CLOCK_REALTIME)); }
};

}  // namespace

const DriverClock& MachineClock() noexcept {
  static const BootClock clock;
  return clock;
}

}  // namespace pleat::inline v0_1
