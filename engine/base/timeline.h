// The Timeline is what all partitions of an engine share: the engine's time and lease time,
// two values that only grow, and the counter that numbers the input.
//
// On arrival time only Raise() moves the engine's time. On event time every usable event does: it
// carries the watermark to its stamp less the watermark delay, before it is folded. On both axes only
// RaiseLeases() moves lease time. Partitions read both under their own lock; since neither
// goes back, an older reading is merely an earlier view.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <pleat/time.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

// A time that only rises. A count, because an atomic of a class type would have to keep the value that
// it expects in memory.
template <class Time>
class Rising {
 public:
  Time load() const noexcept { return At(count_.load(std::memory_order_acquire)); }
  // Moves it to `t` if that is later. Returns the time after that.
  Time Raise(Time t) noexcept {
    int64_t seen = count_.load(std::memory_order_acquire);
    while (seen < CountOf(t)) {
      if (count_.compare_exchange_weak(seen, CountOf(t), std::memory_order_acq_rel)) return t;
    }
    return At(seen);
  }
  void store(Time t) noexcept { count_.store(CountOf(t), std::memory_order_release); }

 private:
  static Time At(int64_t count) noexcept { return Time(EngineTime(Duration(count))); }
  static int64_t CountOf(Time t) noexcept { return EngineTime(t).time_since_epoch().count(); }

  std::atomic<int64_t> count_{kBeginningOfTime.time_since_epoch().count()};
  static_assert(std::atomic<int64_t>::is_always_lock_free);
};

class Timeline {
 public:
  // `watermark delay`: how far the watermark trails the largest stamp. `future_limit`: how far ahead of
  // time a stamp may lie; kForever: as far as it likes.
  Timeline(Axis axis, Duration watermark_delay, Duration future_limit)
      : axis_(axis),
        watermark_delay_(std::min(watermark_delay, kEndOfTime - kBeginningOfTime)),
        future_limit_(std::min(future_limit, kEndOfTime - kBeginningOfTime)) {
    PLEAT_DCHECK(watermark_delay >= Duration::zero() && future_limit >= Duration::zero());
  }

  EngineTime now() const noexcept { return now_.load(); }

  // Moves time to `t` if that is later; gives the time after that.
  EngineTime Raise(EngineTime t) noexcept { return now_.Raise(t); }

  // Takes note of an event stamped `at`, moving time on event time. False if it lies beyond the
  // future limit; then nothing has moved.
  bool Observe(EngineTime at, EngineTime& now) noexcept {
    PLEAT_DCHECK(Clamp(at) == at);
    now = this->now();
    if (IsFuture(at, now)) return false;
    if (axis_ == Axis::kEvent) now = Raise(std::max(now, at - watermark_delay_));
    return true;
  }

  // Time as a batch carries it through its events in input order, before the batch moves the engine's.
  class Carried {
   public:
    using Source = Timeline;
    static constexpr bool kMovesEngine = true;

    explicit Carried(const Timeline& timeline) noexcept
        : Carried(timeline, /*stamps_move_time=*/timeline.axis_ == Axis::kEvent) {}
    Carried(const Timeline& timeline, bool stamps_move_time) noexcept
        : stamps_move_time_(stamps_move_time),
          watermark_delay_(timeline.watermark_delay_),
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
      if (stamps_move_time_) {
        now_ = std::max(now_, at - watermark_delay_);
        SetRoom();
      }
      return true;
    }

    // An event that goes no further, and moves no time.
    void PassOver(EngineTime& at) const noexcept { at = Clamp(at); }

   private:
    // Of a stamp before the beginning: larger than any other.
    static uint64_t FromBeginning(EngineTime t) noexcept {
      return static_cast<uint64_t>(t.time_since_epoch().count()) -
             static_cast<uint64_t>(kBeginningOfTime.time_since_epoch().count());
    }
    void SetRoom() noexcept {
      const bool no_event_yet = now_ == kBeginningOfTime;  // nothing is ahead of no time
      room_ = FromBeginning(no_event_yet ? kEndOfTime : std::min(now_ + future_limit_, kEndOfTime));
    }

    const bool stamps_move_time_;
    const Duration watermark_delay_;
    const Duration future_limit_;
    EngineTime now_;
    uint64_t room_;  // from the beginning to the latest stamp that is not beyond the future limit
  };

  // Whether an event stamped `at` would lie beyond the future limit at `now`.
  bool IsFuture(EngineTime at, EngineTime now) const noexcept {
    return IsBeyondFuture(at, now, future_limit_);
  }

  // The first of `count` consecutive positions of the input.
  uint64_t TakePositions(uint64_t count) noexcept {
    return position_.fetch_add(count, std::memory_order_relaxed);
  }

  LeaseTime lease_now() const noexcept { return lease_now_.load(); }
  LeaseTime RaiseLeases(LeaseTime t) noexcept { return lease_now_.Raise(t); }

  // As it was at the cut of a snapshot. REQUIRES: nothing has moved yet.
  void Restore(EngineTime now, LeaseTime lease_now, uint64_t position) noexcept {
    now_.store(now);
    lease_now_.store(lease_now);
    position_.store(position, std::memory_order_relaxed);
  }
  uint64_t position() const noexcept { return position_.load(std::memory_order_relaxed); }

  Axis axis() const noexcept { return axis_; }
  Duration watermark_delay() const noexcept { return watermark_delay_; }
  Duration future_limit() const noexcept { return future_limit_; }

 private:
  const Axis axis_;
  const Duration watermark_delay_;
  const Duration future_limit_;  // both at most the length of time: two stamps lie no further apart
  alignas(64) Rising<EngineTime> now_;
  alignas(64) std::atomic<uint64_t> position_{0};
  Rising<LeaseTime> lease_now_;
};

}  // namespace pleat::inline v0_1
