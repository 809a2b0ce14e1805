#include "engine/timer/wheel.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

TimerWheel::Place TimerWheel::PlaceOf(uint64_t tick) const noexcept {
  const uint64_t differs = tick ^ tick_;
  const int width = static_cast<int>(std::bit_width(differs));
  const int level = width == 0 ? 0 : (width - 1) / kLevelBits;
  return {level, static_cast<int>((tick >> (level * kLevelBits)) % kSpokes)};
}

void TimerWheel::Link(Timer& timer) {
  const Place place = PlaceOf(std::max(TickOf(timer.deadline_), tick_));
  spokes_[place.level][place.spoke].push_back(timer);
  occupied_[place.level] |= uint64_t{1} << place.spoke;
}

void TimerWheel::Schedule(Timer& timer, EngineTime deadline) {
  if (timer.is_linked()) timer.unlink();
  timer.deadline_ = deadline;
  Link(timer);
}

// The spoke with the earliest timers, or null; drops the bits of spokes found empty.
const TimerWheel::Spoke* TimerWheel::FirstSpoke(Place& place) const noexcept {
  for (place.level = 0; place.level < kLevels; ++place.level) {
    while (occupied_[place.level] != 0) {
      place.spoke = std::countr_zero(occupied_[place.level]);
      const Spoke& spoke = spokes_[place.level][place.spoke];
      if (!spoke.empty()) return &spoke;
      occupied_[place.level] &= occupied_[place.level] - 1;
    }
  }
  return nullptr;
}

Timer* TimerWheel::FirstDue(EngineTime now) {
  const uint64_t limit = TickOf(now);
  Place place;
  while (FirstSpoke(place) != nullptr) {
    Spoke& spoke = spokes_[place.level][place.spoke];
    if (place.level == 0) {
      const auto due = std::find_if(spoke.begin(), spoke.end(),
                                    [&](const Timer& timer) { return timer.deadline_ <= now; });
      if (due == spoke.end()) return nullptr;  // later in this tick, or in a later one
      // The wheel may follow: everything else on it is at this tick or after.
      const uint64_t tick = (tick_ & ~uint64_t{kSpokes - 1}) | static_cast<uint64_t>(place.spoke);
      tick_ = std::max(tick_, tick);
      return &*due;
    }
    // Go to where the spoke begins and hand its timers down, unless that is beyond `now`.
    const int shift = place.level * kLevelBits;
    const uint64_t above = tick_ >> (shift + kLevelBits) << (shift + kLevelBits);
    const uint64_t start = above | static_cast<uint64_t>(place.spoke) << shift;
    if (start > limit) return nullptr;
    PLEAT_DCHECK(start >= tick_);
    tick_ = start;
    occupied_[place.level] &= ~(uint64_t{1} << place.spoke);
    Spoke moving;
    moving.swap(spoke);
    while (!moving.empty()) {
      Timer& timer = moving.front();
      timer.unlink();
      Link(timer);
    }
  }
  return nullptr;
}

void TimerWheel::CheckWhole() const {
  for (int level = 0; level < kLevels; ++level) {
    for (int spoke = 0; spoke < kSpokes; ++spoke) {
      for (const Timer& timer : spokes_[level][spoke]) {
        const Place place = PlaceOf(std::max(TickOf(timer.deadline_), tick_));
        PLEAT_CHECK(place.level == level && place.spoke == spoke);
        PLEAT_CHECK((occupied_[level] >> spoke & 1) != 0);
      }
    }
  }
}

EngineTime TimerWheel::NextDeadline() const noexcept {
  Place place;
  const Spoke* spoke = FirstSpoke(place);
  EngineTime next = kNever;
  if (spoke == nullptr) return next;
  for (const Timer& timer : *spoke) next = std::min(next, timer.deadline_);
  return next;
}

}  // namespace pleat::inline v0_1
