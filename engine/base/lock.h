// The lock of a partition. A free lock costs one compare-and-swap. A waiter spins for as long as
// being woken would take, some 25 microseconds, and then sleeps in the kernel.
//
// The lock is our own because the alternatives measured worse for sections this short (absl::Mutex
// halved single folds on two threads), and because Clang's thread-safety analysis should see it.
//
// When several threads fold into one key, each handing over costs as much as ten folds, because the
// cache lines of lock, book and group have to move. So a lock that is taken again and again while
// another thread waits counts as *contended* for the next turns. A thread that finds a contended
// lock held waits long enough for the other thread to get hundreds of folds done. (Two threads on
// one key then fold nine tenths as fast as one alone; with usual spinning, a fifth.)
//
// The lock is not recursive and not fair: a newcomer may get it before those who wait. That is
// right among folds. But a call that holds the lock for ten microseconds and more, again and again,
// would let the others starve. Such a call locks with LockForLong() and unlocks with HandOver():
// all others who wait by then are *owed* a turn, and have it before anybody who comes later. Long
// calls owe each other nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <absl/base/thread_annotations.h>

#include "engine/base/check.h"
#include "engine/base/pause.h"

namespace pleat::inline v0_1 {

class ABSL_LOCKABLE Lock {
 public:
  void lock() noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (!TakeFree()) LockSlow(JoinLine());
  }
  void LockForLong() noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (!TakeFree()) LockSlow(kNoRound);
  }

  // Whether some thread holds the lock: for assertions.
  bool held() const noexcept { return (state_.load(std::memory_order_relaxed) & kHeld) != 0; }
  // Fails while another thread holds the lock or is owed a turn.
  bool try_lock() noexcept ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return TakeFree(); }

  void unlock() noexcept ABSL_UNLOCK_FUNCTION() {
    PLEAT_DCHECK(held());
    const uint32_t next_turn = (state_.load(std::memory_order_relaxed) & ~kTaken) + kTurn;
    // Sequentially consistent, so that the check for sleepers inside notify_one() comes after it on
    // every machine.
    if ((state_.exchange(next_turn) & kAsleep) != 0) Wake(next_turn);
  }

  // Unlocks what LockForLong() has locked.
  void HandOver() noexcept ABSL_UNLOCK_FUNCTION() {
    PLEAT_DCHECK(held());
    if (owed_ == 0 && waiting() > 0) {
      const uint32_t next_round = ~line_.load(std::memory_order_relaxed) & kRound;
      owed_ = line_.exchange(next_round, std::memory_order_relaxed) / kPlace;
      // All sleepers are to wake up: who was woken last might not be owed a turn, and sleep again.
      state_.fetch_or(kOwed | kAsleep, std::memory_order_relaxed);
    }
    unlock();
  }

  // How many wait in line, whom HandOver() would owe a turn.
  uint32_t waiting() const noexcept { return line_.load(std::memory_order_relaxed) / kPlace; }

 private:
  // The low three bits of `state_`. The other bits count the turns: how often the lock was
  // unlocked. kAsleep: somebody may sleep. A thread that wakes up leaves the bit set, because there
  // may be more sleepers; the price is one needless wake-up call, never a lost one. kOwed: only
  // threads that are owed a turn may take the lock. All three are 0 while the lock is free for all.
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kAsleep = 2;
  static constexpr uint32_t kTaken = kHeld | kAsleep;
  static constexpr uint32_t kOwed = 4;
  static constexpr uint32_t kTurn = 8;

  // `line_`, the line of waiting threads: a bit that changes with each round of turns owed, and the
  // number of threads that came since that round began. A thread that came in the round before is
  // owed a turn. Long calls belong to no round.
  static constexpr uint32_t kRound = 1;
  static constexpr uint32_t kPlace = 2;
  static constexpr uint32_t kNoRound = 2;

  // How many times a thread looks at the lock before it sleeps: some 25 microseconds long, which is
  // what it takes to be woken. The first look comes after one pause, when a fold may be about to
  // end. Each wait is twice as long as the one before, up to sixteen pauses, some hundred
  // nanoseconds: who is owed a turn should not come late. At a contended lock all waits are some ten
  // microseconds.
  static constexpr int kLooks = 128;
  static constexpr int kDoublings = 4;
  static constexpr int kContendedLooks = 20;
  static constexpr int kContendedPauses = 1024;

  // A lock becomes contended, for kContendedTurns, when kContendedStreak waits in a row saw others
  // take kContendedPassed turns meanwhile: somebody comes back at once, again and again.
  static constexpr uint32_t kContendedStreak = 4;
  static constexpr uint32_t kContendedPassed = 2;
  static constexpr uint32_t kContendedTurns = 10'000;
  static constexpr uint32_t kNeverContended = UINT32_MAX / kTurn / 2;  // a turn that is far away

  bool TakeFree() noexcept {
    uint32_t free = state_.load(std::memory_order_relaxed) & ~(kTurn - 1);
    return state_.compare_exchange_strong(free, free | kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  uint32_t JoinLine() noexcept {
    return line_.fetch_add(kPlace, std::memory_order_relaxed) & kRound;
  }

  void LockSlow(uint32_t round) noexcept {
    const uint32_t came = TurnsOf(state_.load(std::memory_order_relaxed));
    const bool contended =
        TurnsBetween(contended_from_.load(std::memory_order_relaxed), came) < kContendedTurns;
    for (uint32_t as = kHeld;; as = kHeld | kAsleep) {
      for (int look = 0; look < (contended ? kContendedLooks : kLooks); ++look) {
        Pause(contended ? kContendedPauses : 1 << std::min(look, kDoublings));
        if (TakeAs(as, round)) {
          LeaveLine(round);
          return NoteWait(came);
        }
      }
      Sleep(round);
    }
  }

  // Whether who came in `round` may take it. If it is still in `state` then, the answer was right.
  bool IsFreeFor(uint32_t round, uint32_t state) const noexcept {
    if ((state & kHeld) != 0) return false;
    if ((state & kOwed) == 0) return true;
    return (line_.load(std::memory_order_relaxed) & kRound) == (round ^ 1);
  }

  bool TakeAs(uint32_t as, uint32_t round) noexcept {
    uint32_t state = state_.load(std::memory_order_acquire);
    return IsFreeFor(round, state) &&
           state_.compare_exchange_strong(state, state | as, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void Sleep(uint32_t round) noexcept {
    uint32_t state = state_.load(std::memory_order_acquire);
    while (!IsFreeFor(round, state)) {
      if (!state_.compare_exchange_weak(state, state | kAsleep, std::memory_order_acquire))
        continue;
      return state_.wait(state | kAsleep, std::memory_order_relaxed);
    }
  }

  // Of several sleepers the one that is woken might not be owed a turn.
  void Wake(uint32_t state) noexcept {
    (state & kOwed) == 0 ? state_.notify_one() : state_.notify_all();
  }

  // The next two REQUIRE that we hold it.
  void LeaveLine(uint32_t round) noexcept {
    PLEAT_DCHECK(held());
    if (round == kNoRound) return;
    if (owed_ == 0) {
      line_.fetch_sub(kPlace, std::memory_order_relaxed);
    } else if (--owed_ == 0) {
      state_.fetch_and(~kOwed, std::memory_order_relaxed);
    }
  }

  void NoteWait(uint32_t came) noexcept {
    PLEAT_DCHECK(held());
    const uint32_t now = TurnsOf(state_.load(std::memory_order_relaxed));
    streak_ = TurnsBetween(came, now) >= kContendedPassed ? streak_ + 1 : 0;
    if (streak_ >= kContendedStreak) contended_from_.store(now, std::memory_order_relaxed);
  }

  static uint32_t TurnsOf(uint32_t state) noexcept { return state / kTurn; }
  static uint32_t TurnsBetween(uint32_t from, uint32_t to) noexcept {
    return (to - from) % (UINT32_MAX / kTurn + 1);
  }

  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> line_{0};
  // The turn; at first one that never comes.
  std::atomic<uint32_t> contended_from_{kNeverContended};
  uint32_t streak_ = 0;  // written by the thread that holds the lock, as the next one
  uint32_t owed_ = 0;    // turns
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

// For a call that may hold the lock for long.
class ABSL_SCOPED_LOCKABLE LongLockGuard {
 public:
  explicit LongLockGuard(Lock& lock) noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) {
    lock_.LockForLong();
  }
  ~LongLockGuard() ABSL_UNLOCK_FUNCTION() { lock_.HandOver(); }
  LongLockGuard(const LongLockGuard&) = delete;
  LongLockGuard& operator=(const LongLockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace pleat::inline v0_1
