// Mistakes for the tests to find. The library has none of them: only with PLEAT_PLANTED, which
// tests/threads defines for a build of its own, can one be planted.
#pragma once

#include <cstdint>

#ifdef PLEAT_PLANTED
#include <atomic>
#include <thread>
#endif

#include <absl/base/thread_annotations.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

enum class Mistake : uint8_t {
  kNone,
  kLetsGoBetweenEmissions,  // a call that hands out two emissions lets go of the lock between them
  kAnyLeaseOfThePlace,  // a token is good for whatever is lent by now from where its own emission was
};

#ifdef PLEAT_PLANTED

inline std::atomic<Mistake> planted_mistake = Mistake::kNone;
inline bool Planted(Mistake mistake) noexcept {
  return planted_mistake.load(std::memory_order_relaxed) == mistake;
}
inline void LetGo(Lock& lock) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  lock.unlock();
  std::this_thread::yield();
  lock.lock();
}

#else

constexpr bool Planted(Mistake) noexcept { return false; }
inline void LetGo(Lock&) noexcept {}

#endif

}  // namespace pleat::inline v0_1
