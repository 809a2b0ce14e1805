// The Timeline is what all partitions of an engine share: the engine's time and lease time,
// two values that only grow, and the counter that numbers the input.
//
// On arrival time only Raise() moves the engine's time. On event time every usable event does: it
// carries the watermark to its stamp less the lateness, before it is folded. On both axes only
// RaiseLeases() moves lease time. Partitions read both under their own lock; since neither
// goes back, an older reading is merely an earlier view.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <pleat/time.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

class Timeline {
 public:
  // `lateness`: how far the watermark trails the largest stamp. `future_limit`: how far ahead of
  // time a stamp may lie; kForever: as far as it likes.
  Timeline(Axis axis, Duration lateness, Duration future_limit)
      : axis_(axis),
        lateness_(std::min(lateness, kEndOfTime - kBeginningOfTime)),
        future_limit_(std::min(future_limit, kEndOfTime - kBeginningOfTime)) {
    PLEAT_DCHECK(lateness >= Duration::zero() && future_limit >= Duration::zero());
  }

  EngineTime now() const noexcept { return now_.load(std::memory_order_acquire); }

  // Moves time to `t` if that is later; gives the time after that.
  EngineTime Raise(EngineTime t) noexcept { return RaiseTo(now_, t); }

  // Takes note of an event stamped `at`, moving time on event time. False if it lies beyond the
  // future limit; then nothing has moved.
  bool Observe(EngineTime at, EngineTime& now) noexcept {
    PLEAT_DCHECK(Clamp(at) == at);
    now = this->now();
    if (!ObserveAfter(at, now)) return false;
    if (axis_ == Axis::kEvent) now = Raise(now);
    return true;
  }

  // Time as a batch carries it through its events in input order, before the batch moves the engine's.
  class Carried {
   public:
    explicit Carried(const Timeline& timeline) noexcept
        : on_event_time_(timeline.axis_ == Axis::kEvent),
          lateness_(timeline.lateness_),
          future_limit_(timeline.future_limit_),
          now_(timeline.now()) {
      SetRoom();
    }

    EngineTime now() const noexcept { return now_; }

    // Observe() of the next event, whose stamp it clamps. One comparison says that a stamp is as
    // stamps are: neither to be clamped nor beyond the future limit.
    [[gnu::always_inline]] bool Observe(EngineTime& at) noexcept {
      if (FromBeginning(at) > room_) [[unlikely]] {
        at = Clamp(at);
        if (FromBeginning(at) > room_) return false;
      }
      if (on_event_time_) {
        now_ = std::max(now_, at - lateness_);
        SetRoom();
      }
      return true;
    }

   private:
    // Of a stamp before the beginning: larger than any other.
    static uint64_t FromBeginning(EngineTime t) noexcept {
      return static_cast<uint64_t>(t.time_since_epoch().count()) -
             static_cast<uint64_t>(kBeginningOfTime.time_since_epoch().count());
    }
    void SetRoom() noexcept {
      const bool any = now_ == kBeginningOfTime;
      room_ = FromBeginning(any ? kEndOfTime : std::min(now_ + future_limit_, kEndOfTime));
    }

    const bool on_event_time_;
    const Duration lateness_;
    const Duration future_limit_;
    EngineTime now_;
    uint64_t room_;  // from the beginning to the latest stamp that is not beyond the future limit
  };

  // What Observe() would answer next in a batch that has carried time to `now` so far.
  bool ObserveAfter(EngineTime at, EngineTime& now) const noexcept {
    if (IsBeyondFuture(at, now, future_limit_)) [[unlikely]]
      return false;
    if (axis_ == Axis::kEvent) now = std::max(now, SaturatingSub(at, lateness_));
    return true;
  }

  // The first of `count` consecutive positions of the input.
  uint64_t TakePositions(uint64_t count) noexcept {
    return position_.fetch_add(count, std::memory_order_relaxed);
  }

  LeaseTime lease_now() const noexcept { return lease_now_.load(std::memory_order_acquire); }
  LeaseTime RaiseLeases(LeaseTime t) noexcept { return RaiseTo(lease_now_, t); }

  // As it was at the cut of a snapshot. REQUIRES: nothing has moved yet.
  void Restore(EngineTime now, LeaseTime lease_now, uint64_t position) noexcept {
    now_.store(now, std::memory_order_release);
    lease_now_.store(lease_now, std::memory_order_release);
    position_.store(position, std::memory_order_relaxed);
  }
  uint64_t position() const noexcept { return position_.load(std::memory_order_relaxed); }

  Axis axis() const noexcept { return axis_; }
  Duration lateness() const noexcept { return lateness_; }

 private:
  template <class Time>
  static Time RaiseTo(std::atomic<Time>& time, Time t) noexcept {
    Time seen = time.load(std::memory_order_acquire);
    while (seen < t) {
      if (time.compare_exchange_weak(seen, t, std::memory_order_acq_rel)) return t;
    }
    return seen;
  }

  const Axis axis_;
  const Duration lateness_;
  const Duration future_limit_;  // at most the length of time: two stamps lie no further apart
  alignas(64) std::atomic<EngineTime> now_{kBeginningOfTime};
  alignas(64) std::atomic<uint64_t> position_{0};
  std::atomic<LeaseTime> lease_now_{LeaseTime(kBeginningOfTime)};
};
static_assert(std::atomic<EngineTime>::is_always_lock_free);
static_assert(std::atomic<LeaseTime>::is_always_lock_free);

}  // namespace pleat::inline v0_1
