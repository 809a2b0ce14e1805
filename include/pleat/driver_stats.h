// What a driver, its consumers and its watchers have done so far: the answers of their stats().
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/histogram.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct DriverStats {
  // Calls of Engine::Advance(); on event time, turns that looked at the watermark instead.
  uint64_t turns = 0;

  // Turns that left work for the next one, and turns that the timer started.
  uint64_t unfinished = 0;
  uint64_t timer_wakes = 0;

  // How often the wall clock was set back or forward by 100 ms or more. That changes nothing else.
  uint64_t wall_steps_back = 0;
  uint64_t wall_steps_forward = 0;

  // The next turn, unless an alarm or Wake() comes first; kNever when stopped.
  EngineTime asleep_until;

  // Of turns that had work: by how much the earliest deadline lay behind.
  Histogram lateness_us;
};

struct ConsumerStats {
  // Operations that wait now; emissions handed out; operations that were cancelled, and those past
  // max_waiters.
  size_t waiting = 0;
  uint64_t delivered = 0;
  uint64_t cancelled = 0;
  uint64_t overloaded = 0;

  // On arrival time: how long after its instant an emission was taken for the first time. Of
  // emissions that time brought about: reasons quiet, max_wait and partial.
  Histogram lateness_us;
};

// As for a consumer; of changes instead of emissions. `lateness_us` is of members that time ended.
struct WatcherStats : ConsumerStats {
  uint64_t resyncs = 0;  // how often changes were gone
};

}  // namespace pleat::inline v0_1
