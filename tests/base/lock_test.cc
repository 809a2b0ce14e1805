#include "engine/base/lock.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Lock, TryLockFailsWhileItIsHeld) {
  Lock lock;
  // Plain branches: Clang's analysis does not see through ASSERT_TRUE.
  if (!lock.try_lock()) FAIL();
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  if (!lock.try_lock()) FAIL();
  lock.unlock();
}

TEST(Lock, HandedOverToNobodyItIsFree) {
  Lock lock;
  for (int i = 0; i < 3; ++i) {
    lock.LockForLong();
    lock.HandOver();
    if (!lock.try_lock()) FAIL();
    lock.unlock();
  }
}

// How a thread uses the lock.
enum class Kind : uint8_t { kShort, kLong, kTries };

bool Take(Lock& lock, Kind kind) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (kind == Kind::kTries) return lock.try_lock();
  kind == Kind::kLong ? lock.LockForLong() : lock.lock();
  return true;
}
void GiveBack(Lock& lock, Kind kind) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  kind == Kind::kLong ? lock.HandOver() : lock.unlock();
}

// Others have a turn each in every round. We wait until all who use it for short stand in line, hand over, and come back at
// once: by then each of them has had its turn.
void ExpectTurns(const std::vector<Kind>& kinds) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  constexpr int kRounds = 200;
  Lock lock;
  std::atomic<int> rounds = 0;
  std::vector<int> turns(kinds.size());  // guarded by the lock
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kinds.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int had = 0; had < kRounds;) {
        if (had == rounds || !Take(lock, kinds[i])) {
          std::this_thread::yield();
        } else {
          had = ++turns[i];
          GiveBack(lock, kinds[i]);
        }
      }
    });
  }
  const auto in_line = std::count(kinds.begin(), kinds.end(), Kind::kShort);
  lock.LockForLong();
  while (rounds < kRounds) {
    ++rounds;
    while (lock.waiting() < in_line) std::this_thread::yield();
    lock.HandOver();
    lock.LockForLong();
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != Kind::kShort) continue;
      EXPECT_EQ(turns[i], rounds) << "thread " << i;
    }
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
}

TEST(Lock, WhoWaitsHasATurnBeforeWhoHandedOverComesBack) {
  ExpectTurns({Kind::kShort});
  ExpectTurns({Kind::kShort, Kind::kShort, Kind::kShort});
  ExpectTurns({Kind::kShort, Kind::kTries});
}

TEST(Lock, WhoWaitsHasATurnBeforeAnyLongCall) {
  ExpectTurns({Kind::kShort, Kind::kLong});
  ExpectTurns({Kind::kShort, Kind::kShort, Kind::kLong, Kind::kLong, Kind::kTries});
}

TEST(Lock, LetsOneInAtATimeAlsoWhereItIsHandedOverAndTried) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 1'000;
  Lock lock;
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        Kind kind{static_cast<uint8_t>((round + i) % 3)};
        if (!Take(lock, kind)) Take(lock, kind = Kind::kShort);
        ++counter;
        if (round % 8 == i) std::this_thread::yield();  // so that others go to sleep
        GiveBack(lock, kind);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, int64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace pleat
