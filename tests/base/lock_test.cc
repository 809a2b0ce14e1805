#include "engine/base/lock.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Lock, LetsOneThreadInAtATime) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20'000;
  Lock lock;
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        LockGuard guard(lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, int64_t{kThreads} * kRounds);
}

TEST(Lock, TryLockFailsWhileItIsHeld) {
  Lock lock;
  // Plain branches: Clang's analysis does not see through ASSERT_TRUE.
  if (!lock.try_lock()) FAIL();
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  if (!lock.try_lock()) FAIL();
  lock.unlock();
}

}  // namespace
}  // namespace pleat
