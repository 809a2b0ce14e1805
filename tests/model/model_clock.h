// The time of an engine, as the models of live sets and of presence know it, and what both say of
// deadlines and of names. See "Time" in semantics.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include <pleat/engine.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class ModelClock {
 public:
  explicit ModelClock(const EngineOptions& engine) : engine_(engine) {}

  EngineTime now() const { return now_; }
  void Advance(EngineTime to) { now_ = std::max(now_, Clamp(to)); }

  // Unless it is told, the limit is a leap year on arrival time, and none on event time.
  bool IsFuture(EngineTime at) const {
    const bool arrival = engine_.axis == Axis::kArrival;
    const Duration unless_told = arrival ? 366 * std::chrono::hours(24) : kForever;
    const Duration limit = engine_.future_limit.value_or(unless_told);
    return now_ != kBeginningOfTime && at > SaturatingAdd(now_, limit);
  }

  // What an event stamped `at` makes of the time.
  EngineTime After(EngineTime at) const {
    return engine_.axis == Axis::kEvent ? std::max(now_, SaturatingSub(at, engine_.watermark_delay))
                                        : now_;
  }

 private:
  EngineOptions engine_;
  EngineTime now_ = kBeginningOfTime;
};

// A deadline later than the end of time is none.
inline EngineTime DeadlineAfter(EngineTime stamp, Duration ttl) {
  return ttl > kEndOfTime - stamp ? kNever : SaturatingAdd(stamp, ttl);
}

inline bool IsTooLong(std::string_view name) { return name.size() > size_t{64} * 1024; }

}  // namespace pleat::inline v0_1
