// Threads that wait for emissions. Most wait without a time limit, so that an emission they are not
// told of is a test that does not end.
#include <pleat/wait_pop.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/numbers.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Numbers = Folder<Number, Values>;
using SteadyTime = EmissionWaiter::SteadyTime;

constexpr SteadyTime kPast{};  // long over: nobody sleeps
constexpr SteadyTime kNoLimit = SteadyTime::max();

class WaitPop : public testing::Test {
 protected:
  WaitPop() { engine_->Advance(kT0); }

  void Emit(const std::string& key, int value = 1) {
    numbers_.Fold(key, {value}, kT0);
    numbers_.Flush(key);
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  Numbers numbers_{*engine_, "numbers", {.quiet_period = 1h, .max_wait = 24h}};
  // Each event is an emission, and each delivery the last.
  Numbers failing_{
      *engine_,
      "failing",
      {.quiet_period = 1h, .max_wait = 24h, .max_events = 1, .leases = {.max_deliveries = 1}}};
};

TEST_F(WaitPop, TakesWhatThereIsWithoutWaiting) {
  PopWaiter waiter(numbers_);
  Emit("a");
  Emit("b");
  EXPECT_THAT(waiter.WaitPop(1, kNoLimit), SizeIs(1));
  EXPECT_THAT(waiter.WaitPop(9, kNoLimit), SizeIs(1));
  EXPECT_THAT(waiter.WaitPop(9, kPast), IsEmpty());
}

TEST_F(WaitPop, NewsBetweenTheMarkAndTheWaitEndsTheWait) {
  PopWaiter waiter(numbers_);
  uint64_t mark = waiter.Mark();
  EXPECT_FALSE(waiter.WaitSince(mark, kPast));
  Emit("a");
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
  mark = waiter.Mark();
  EXPECT_FALSE(waiter.WaitSince(mark, kPast));  // that was before
  waiter.Wake();
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
}

TEST_F(WaitPop, AsAnAlarmItIsToldOfEarlierDeadlines) {
  PopWaiter waiter(numbers_);
  engine_->SetAlarm(waiter.alarm());
  uint64_t mark = waiter.Mark();
  numbers_.Fold("a", {1}, kT0);
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
  numbers_.Flush("a");
  mark = waiter.Mark();
  ASSERT_THAT(numbers_.Lease(1, 30s, kLease0), SizeIs(1));
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
  engine_->RemoveAlarm(waiter.alarm());
}

// By a Nack() and by time, and from the mark on, however long nobody looks.
TEST_F(WaitPop, ADeadLetterIsNews) {
  PopWaiter waiter(failing_);
  failing_.Fold("a", {1}, kT0);
  failing_.Fold("b", {1}, kT0);
  auto leases = failing_.Lease(2, 30s, kLease0);
  ASSERT_THAT(leases, SizeIs(2));
  uint64_t mark = waiter.Mark();
  EXPECT_FALSE(waiter.WaitSince(mark, kPast));
  leases[0].Nack();
  EXPECT_EQ(failing_.deaths(), 1u);
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
  mark = waiter.Mark();
  EXPECT_TRUE(engine_->AdvanceLeases(SaturatingAdd(kLease0, 30s)));
  EXPECT_EQ(failing_.deaths(), 2u);
  EXPECT_TRUE(waiter.WaitSince(mark, kNoLimit));
}

TEST_F(WaitPop, IsNotToldOfOtherPartitions) {
  const int home = PartitionOf("a", 4);
  PopWaiter waiter(numbers_, PartitionRange::One((home + 1) % 4));
  const uint64_t mark = waiter.Mark();
  Emit("a");
  EXPECT_FALSE(waiter.WaitSince(mark, kPast));
  EXPECT_THAT(waiter.WaitPop(9, kPast), IsEmpty());
}

TEST_F(WaitPop, LeasesAtTheTimeOfEachLook) {
  PopWaiter waiter(numbers_);
  Emit("a");
  const auto leases = waiter.WaitLease(9, 30s, [] { return LeaseTime(kT0 + 1h); }, kNoLimit);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].delivery.until, LeaseTime(kT0 + 1h + 30s));
}

TEST_F(WaitPop, NobodyWaitsBehindTheEnd) {
  PopWaiter stopped(numbers_);
  stopped.Stop();
  EXPECT_TRUE(stopped.done());
  EXPECT_THAT(stopped.WaitPop(9, kNoLimit), IsEmpty());
  Emit("a");
  EXPECT_THAT(stopped.WaitPop(9, kNoLimit), SizeIs(1));  // but what there is it takes
  PopWaiter closed(numbers_);
  EXPECT_FALSE(closed.done());
  engine_.reset();
  EXPECT_TRUE(closed.done());
  EXPECT_THAT(closed.WaitPop(9, kNoLimit), IsEmpty());
  PopWaiter late(numbers_);
  EXPECT_THAT(late.WaitPop(9, kNoLimit), IsEmpty());
}

TEST_F(WaitPop, FromInsideAFoldFunctionItDoesNotWait) {
  static std::optional<PopWaiter<Values>> waiter;
  static int popped = -1;
  struct Careless {
    void Fold(const Number&) noexcept {
      popped = static_cast<int>(waiter->WaitPop(9, kNoLimit).size());
    }
  };
  waiter.emplace(numbers_);
  Emit("a");
  Folder<Number, Careless> careless(*engine_, "careless", {.quiet_period = 1h, .max_wait = 24h});
  careless.Fold("a", {1}, kT0);
  EXPECT_EQ(popped, 0);
  EXPECT_THAT(waiter->WaitPop(9, kNoLimit), SizeIs(1));
  waiter.reset();
}

// Whether a thread waits already when the end comes, or comes to wait behind it, is up to the machine.
TEST_F(WaitPop, WhoWaitsIsWokenByTheEnd) {
  for (int round = 0; round < 300; ++round) {
    auto engine = *Engine::Open({.partitions = 2});
    Numbers numbers(*engine, "numbers", {.quiet_period = 1h, .max_wait = 24h});
    PopWaiter waiter(numbers);
    std::array<std::jthread, 3> threads;
    std::atomic<int> ready = 0;
    for (auto& thread : threads) {
      thread = std::jthread([&] {
        ++ready;
        EXPECT_THAT(waiter.WaitPop(9, kNoLimit), IsEmpty());
      });
    }
    while (ready < 3) std::this_thread::yield();
    switch (round % 3) {
      case 0: waiter.Stop(); break;
      case 1: numbers.Close(); break;
      default: engine.reset();
    }
    for (auto& thread : threads) thread.join();
  }
}

// Emissions are told while waiters are made and destroyed: ThreadSanitizer sees whether one is told
// before it is whole, or behind its end.
TEST_F(WaitPop, WaitersComeAndGoWhileEmissionsAreTold) {
  std::atomic<bool> emitting = true;
  std::jthread producer([&] {
    for (int n = 0; n < 20'000; ++n) Emit(std::to_string(n % 100));
    emitting = false;
  });
  size_t popped = 0;
  while (emitting) {
    PopWaiter waiter(numbers_);
    popped += waiter.WaitPop(100, kPast).size();
  }
  producer.join();
  popped += numbers_.Pop(20'000).size();
  EXPECT_EQ(popped, 20'000u);
}

// A waiter for all consumers, and one of its own for each; producers stop for nobody.
TEST_F(WaitPop, EachEmissionReachesOneOfThoseWhoWait) {
  constexpr int kProducers = 2, kConsumers = 3, kEach = 20'000;
  PopWaiter shared(numbers_);
  std::atomic<int> popped = 0;
  std::atomic<int64_t> sum = 0;
  std::vector<std::unique_ptr<PopWaiter<Values>>> own;
  for (int i = 0; i < kConsumers; ++i) {
    own.push_back(std::make_unique<PopWaiter<Values>>(numbers_));
  }
  const auto stop_all = [&] {
    shared.Stop();
    for (auto& waiter : own) waiter->Stop();
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2 * kConsumers; ++i) {
    PopWaiter<Values>& waiter = i < kConsumers ? shared : *own[static_cast<size_t>(i - kConsumers)];
    threads.emplace_back([&] {
      while (!waiter.done()) {
        for (const auto& emission : waiter.WaitPop(7, kNoLimit)) {
          for (const int value : emission.state.all) sum += value;
          if (++popped == kProducers * kEach) stop_all();
        }
      }
    });
  }
  for (int i = 0; i < kProducers; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kEach; ++n) Emit("key " + std::to_string(i * kEach + n), n);
    });
  }
  threads.clear();
  EXPECT_EQ(popped, kProducers * kEach);
  EXPECT_EQ(sum, int64_t{kProducers} * kEach * (kEach - 1) / 2);
  EXPECT_EQ(numbers_.sizes().ready_emissions, 0u);
}

// One emission at a time: the producer goes on only when the consumer has it, so that the consumer
// has to wait, again and again.
TEST_F(WaitPop, NoEmissionIsMissedByAThreadThatComesToWait) {
  PopWaiter waiter(numbers_);
  std::atomic<int> taken = 0;
  std::jthread consumer([&] {
    while (!waiter.done()) taken += static_cast<int>(waiter.WaitPop(9, kNoLimit).size());
  });
  for (int n = 0; n < 4'000; ++n) {
    Emit(std::to_string(n % 10));
    while (taken <= n) std::this_thread::yield();
  }
  waiter.Stop();
}

}  // namespace
}  // namespace pleat
