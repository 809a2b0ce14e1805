// For a thread that waits for another one and does not sleep yet.
#pragma once

#include <atomic>

namespace pleat::inline v0_1 {

// Some 50 nanoseconds for each time, in which the other thread on the same core has the core for itself.
inline void Pause(int times) noexcept {
  for (int i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

}  // namespace pleat::inline v0_1
