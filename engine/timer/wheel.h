// The TimerWheel holds timers, one per partition, by deadline, and answers "which is due?" and "how
// long may I sleep?". The wheel does not tick: it jumps from one occupied spoke to the next.
//
// Ten levels of 64 spokes. A timer lies on the level of the highest 6-bit digit in which its tick
// differs from the wheel's own, on the spoke of its digit there; so every timer on a lower level is
// due before every timer on a higher one, and the first occupied spoke of the lowest occupied level
// holds the earliest. When the wheel reaches a spoke of a higher level its timers move down.
// (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987.)
//
// A tick is 1,024 microseconds. A tick decides only which spoke a timer lies on: which timers are
// due, and when, is exact to the microsecond.
//
// Not thread safe: the owner brings a lock. Spokes are Boost.Intrusive lists; nothing allocates.
#pragma once

#include <array>
#include <cstdint>

#include <boost/intrusive/list.hpp>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Something to be scheduled. A timer leaves its wheel when destroyed.
class Timer : public boost::intrusive::list_base_hook<
                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  EngineTime deadline() const noexcept { return deadline_; }

 private:
  friend class TimerWheel;
  EngineTime deadline_ = kNever;
};

class TimerWheel {
 public:
  TimerWheel() = default;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Schedules the timer, or moves a scheduled one. A deadline in the past is due at once.
  void Schedule(Timer& timer, EngineTime deadline);

  void Cancel(Timer& timer) noexcept {
    if (timer.is_linked()) timer.unlink();
  }

  // A timer that is due by `now`, or null. Of several, one with the earliest tick. It stays
  // scheduled. An earlier `now` than before finds less, and harms nothing.
  Timer* FirstDue(EngineTime now);

  // The earliest deadline; kNever if none is scheduled.
  EngineTime NextDeadline() const noexcept;

  // Ends the process unless each timer lies on its spoke and none before the wheel's tick; for
  // tests.
  void CheckWhole() const;

 private:
  using Spoke = boost::intrusive::list<Timer, boost::intrusive::constant_time_size<false>>;

  static constexpr int kTickBits = 10;
  static constexpr int kLevelBits = 6;
  static constexpr int kSpokes = 1 << kLevelBits;
  static constexpr int kLevels = 10;

  // Ticks since kBeginningOfTime; all of time needs 49 bits.
  static uint64_t TickOf(EngineTime t) noexcept {
    return static_cast<uint64_t>((Clamp(t) - kBeginningOfTime).count()) >> kTickBits;
  }

  struct Place {
    int level;
    int spoke;
  };
  Place PlaceOf(uint64_t tick) const noexcept;
  void Link(Timer& timer);
  const Spoke* FirstSpoke(Place& place) const noexcept;

  uint64_t tick_ = 0;  // the wheel's own; no timer lies before it
  // A set bit means that the spoke may hold timers: one that was cancelled leaves its bit behind.
  mutable std::array<uint64_t, kLevels> occupied_{};
  std::array<std::array<Spoke, kSpokes>, kLevels> spokes_;
};

}  // namespace pleat::inline v0_1
