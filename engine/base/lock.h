// The lock of a partition: one compare-and-swap when free, a short spin when somebody holds it for the few
// hundred nanoseconds of a fold, and a sleep in the kernel after that.
//
// It is our own because the alternatives measured worse for sections this short (absl::Mutex halved
// single folds on two threads), and because Clang's thread-safety analysis should see it.
//
// When several threads fold into one key, each handing over costs as much as ten folds: the cache lines of lock,
// book and group have to move. So a lock that is taken again and again while somebody waits is *hot*, and for the
// next turns whoever finds it held waits long enough for the holder to get hundreds of folds done. (Two threads on one
// key then fold nine tenths as fast as one alone; spinning as usual, a fifth.)
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
    if (!Take(kHeld)) LockSlow();
  }

  bool try_lock() noexcept ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return Take(kHeld); }

  void unlock() noexcept ABSL_UNLOCK_FUNCTION() {
    const uint32_t next_turn = (state_.load(std::memory_order_relaxed) | kAwaited) + 1;
    // Sequentially consistent, so that the check for sleepers inside notify_one() comes after it on
    // every machine.
    if ((state_.exchange(next_turn) & kAwaited) == kAwaited) state_.notify_one();
  }

 private:
  // The low two bits; the others count the turns, that is, how often it was unlocked. kAwaited: held, and
  // somebody may sleep. Who wakes up takes the lock as kAwaited, because there may be more sleepers; the price is
  // one needless wake-up call, never a lost one.
  enum : uint32_t { kFree = 0, kHeld = 1, kAwaited = 3 };

  // So many looks before going to sleep. The first comes after one pause, which is a fold that is about to end, and
  // each wait is twice as long as the one before; when hot, all of them are some ten microseconds.
  static constexpr int kLooks = 9;
  static constexpr int kHotLooks = 20;
  static constexpr int kHotPauses = 1024;

  // Hot: kHotStreak times in a row somebody who waited saw others take kHotPassed turns meanwhile, which only who
  // comes back at once can do; for kHotTurns.
  static constexpr uint32_t kHotStreak = 4;
  static constexpr uint32_t kHotPassed = 2;
  static constexpr uint32_t kHotTurns = 10'000;

  static uint32_t TurnsOf(uint32_t state) noexcept { return state >> 2; }

  bool Take(uint32_t as) noexcept {
    uint32_t free = state_.load(std::memory_order_relaxed) & ~uint32_t{kAwaited};
    return state_.compare_exchange_strong(free, free | as, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void LockSlow() noexcept {
    const uint32_t came = TurnsOf(state_.load(std::memory_order_relaxed));
    const bool hot = came - hot_from_.load(std::memory_order_relaxed) < kHotTurns;
    for (uint32_t as = kHeld;; as = kAwaited) {
      for (int look = 0; look < (hot ? kHotLooks : kLooks); ++look) {
        Pause(hot ? kHotPauses : 1 << look);
        const bool free = (state_.load(std::memory_order_relaxed) & kAwaited) == kFree;
        if (free && Take(as)) return NoteWait(came);
      }
      const uint32_t before = state_.fetch_or(kAwaited, std::memory_order_acquire);
      if ((before & kAwaited) == kFree) return NoteWait(came);
      state_.wait(before | kAwaited, std::memory_order_relaxed);
    }
  }

  // REQUIRES: it is held by us.
  void NoteWait(uint32_t came) noexcept {
    const uint32_t now = TurnsOf(state_.load(std::memory_order_relaxed));
    streak_ = now - came >= kHotPassed ? streak_ + 1 : 0;
    if (streak_ >= kHotStreak) hot_from_.store(now, std::memory_order_relaxed);
  }

  static void Pause(int times) noexcept {
    for (int i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#else
      std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
    }
  }

  std::atomic<uint32_t> state_{kFree};
  std::atomic<uint32_t> hot_from_{UINT32_C(1) << 31};  // the turn; at first one that never comes
  uint32_t streak_ = 0;                                // the holder's
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
