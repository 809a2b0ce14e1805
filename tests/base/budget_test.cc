#include "engine/base/budget.h"

#include <thread>

#include <gtest/gtest.h>

namespace pleat {
namespace {

// How many entries a visit looks at.
size_t Visit(Budget& budget) {
  size_t entries = 0;
  for (; !budget.spent(); ++entries) budget.Take();
  return entries;
}
size_t Visit(size_t entries, const Lock& lock) {
  Budget budget(entries, lock);
  return Visit(budget);
}

TEST(Budget, IsSpentOnceAsManyEntriesWereLookedAt) {
  Budget budget(1000);
  EXPECT_EQ(Visit(budget), 1000u);
  EXPECT_EQ(budget.left(), 0u);
  EXPECT_FALSE(Budget().spent());
  EXPECT_TRUE(Budget(0).spent());
}

TEST(Budget, LastsWhileNobodyWaits) {
  Lock lock;
  const LockGuard guard(lock);
  EXPECT_EQ(Visit(1000, lock), 1000u);
}

// However much of it is left.
TEST(Budget, IsSpentWithTheEntryDuringWhichSomebodyCame) {
  Lock lock;
  std::thread waits;
  {
    const LockGuard guard(lock);
    Budget budget(1000, lock);
    for (int i = 0; i < 500; ++i) budget.Take();
    EXPECT_FALSE(budget.spent());
    waits = std::thread([&] { const LockGuard other(lock); });
    while (lock.waiting() == 0) std::this_thread::yield();
    EXPECT_TRUE(budget.spent());
    EXPECT_EQ(budget.left(), 500u);
  }
  waits.join();
}

TEST(Budget, LetsAFewEntriesBeLookedAtWhoeverWaits) {
  Lock lock;
  std::thread waits;
  {
    const LockGuard guard(lock);
    waits = std::thread([&] { const LockGuard other(lock); });
    while (lock.waiting() == 0) std::this_thread::yield();
    EXPECT_EQ(Visit(1000, lock), Budget::kAnyway);
    EXPECT_EQ(Visit(2, lock), 2u);
    EXPECT_EQ(Visit(0, lock), 0u);
  }
  waits.join();
}

}  // namespace
}  // namespace pleat
