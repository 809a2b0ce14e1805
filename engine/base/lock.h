// The lock of a partition: four bytes, one compare-and-swap when free, a short spin when somebody
// holds it for the few hundred nanoseconds of a fold, and a sleep in the kernel after that.
//
// It is our own because the alternatives measured worse for sections this short (absl::Mutex halved
// single folds on two threads), and because Clang's thread-safety analysis should see it.
//
// Not fair, not recursive.
#pragma once

#include <atomic>
#include <cstdint>

#include <absl/base/thread_annotations.h>

namespace pleat::inline v0 {

class ABSL_LOCKABLE Lock {
 public:
  void lock() noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      LockSlow();
    }
  }

  bool try_lock() noexcept ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() noexcept ABSL_UNLOCK_FUNCTION() {
    // Sequentially consistent, so that the check for sleepers inside notify_one() comes after it on
    // every machine.
    if (state_.exchange(kFree) == kAwaited) state_.notify_one();
  }

 private:
  // kAwaited: held, and somebody may sleep. Who wakes up takes the lock as kAwaited, because there
  // may be more sleepers; the price is one needless wake-up call, never a lost one.
  enum : uint32_t { kFree, kHeld, kAwaited };

  // About as long as a fold that misses the cache twice.
  static constexpr int kSpins = 100;

  void LockSlow() noexcept {
    for (int i = 0; i < kSpins; ++i) {
      if (state_.load(std::memory_order_relaxed) == kFree) {
        uint32_t expected = kFree;
        if (state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
          return;
        }
      }
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    while (state_.exchange(kAwaited) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<uint32_t> state_{kFree};
};

class ABSL_SCOPED_LOCKABLE LockGuard {
 public:
  explicit LockGuard(Lock& lock) noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) {
    lock_.lock();
  }
  ~LockGuard() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace pleat::inline v0
