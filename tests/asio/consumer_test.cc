#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <pleat/rollup.h>

#include "tests/asio/fixtures.h"
#include "tests/core/key_counter.h"

namespace pleat {
namespace {

// Most tests need no more than one consumer of all partitions.
struct OneConsumer : testing::Test {
  Service service;
  Consumer<Sum> consumer{*service.driver, service.sums};
  Got got;
};

TEST_F(OneConsumer, HandsOverWhatIsReadyButNotFromWithinTheCall) {
  service.Emit("ann");
  consumer.async_pop(got.One());
  EXPECT_EQ(got.calls, 0);
  EXPECT_EQ(service.sums.ledger().popped, 1u);
  service.Poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_FALSE(got.error);
  EXPECT_THAT(got.keys, ElementsAre("ann"));
}

TEST_F(OneConsumer, WaitsUntilTimeClosesAGroup) {
  consumer.async_pop(got.One());
  service.Fold("ann");
  service.Pass(5min - 1us);
  EXPECT_EQ(got.calls, 0);
  service.Pass(1us);
  EXPECT_EQ(got.calls, 1);
}

// See tests/core/key_counter.h.
TEST(Consumer, TakesFromACollectionOfAnotherKind) {
  Service service;
  KeyCounter visits(*service.engine, "visits", 1h);
  Consumer consumer(*service.driver, visits);
  Got got;
  consumer.async_lease(got.One());
  const EngineTime now = service.driver->now();
  visits.Count("home", now);
  service.Poll();
  EXPECT_EQ(got.calls, 0);
  service.Pass(1h);
  EXPECT_THAT(got.keys, ElementsAre("home"));
}

TEST(Consumer, TakesTheWindowsOfARollupCounter) {
  Service service;
  RollupCounter plays(*service.engine, "plays", {.windows = {100s}, .allowed_lateness = 10s});
  Consumer consumer = Subscribe(*service.driver, plays, {});
  std::optional<Leased<CountedWindow>> lease;
  consumer.async_lease(
      [&](error_code, std::optional<Leased<CountedWindow>> got) { lease = std::move(got); });
  plays.Add("title", 3, kNoon + 1s);
  plays.Add("title", 4, kNoon + 59s);
  service.Pass(110s - 1us);
  EXPECT_FALSE(lease);
  service.Pass(1us);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->reason, Reason::kFinal);
  EXPECT_EQ(lease->state.start, kNoon);
  EXPECT_EQ(lease->state.amount.sum, 7);
  EXPECT_EQ(lease->Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(plays.sizes().ready, 0u);
}

TEST_F(OneConsumer, ServesOperationsInTheOrderInWhichTheyCame) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    consumer.async_pop([&order, i](error_code, const auto&) { order.push_back(i); });
  }
  for (const char* key : {"a", "b"}) service.Emit(key);
  service.Poll();
  EXPECT_THAT(order, ElementsAre(0, 1));
  EXPECT_EQ(consumer.stats().waiting, 1u);
  service.Emit("c");
  service.Poll();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(OneConsumer, PopsManyButOneAtLeast) {
  consumer.async_pop_many(2, got.Many());
  service.Poll();
  EXPECT_EQ(got.calls, 0);
  for (const char* key : {"a", "b", "c"}) service.Emit(key);
  service.Poll();
  EXPECT_THAT(got.keys, ElementsAre("a", "b"));
  consumer.async_pop_many(2, got.Many());
  service.Poll();
  EXPECT_THAT(got.keys, ElementsAre("a", "b", "c"));
}

TEST(Consumer, LeasesAreTheCallersToAck) {
  Service service;
  Consumer consumer(*service.driver, service.sums, {}, {.visibility_timeout = 10s});
  std::optional<Leased<Sum>> lease;
  const auto keep = [&](error_code, std::optional<Leased<Sum>> got) { lease = std::move(got); };
  consumer.async_lease(keep);
  service.Emit("ann", 7);
  service.Poll();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->state.total, 7);
  EXPECT_EQ(lease->delivery.until, LeaseTime(kNoon + 10s));
  EXPECT_EQ(lease->Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(service.sums.ledger().acked, 1u);
}

TEST(Consumer, ALeaseRunsFromTheInstantItIsGivenHoweverLongTheDriverHasSlept) {
  Service service;
  Consumer consumer(*service.driver, service.sums, {}, {.visibility_timeout = 10s});
  service.clock.Pass(97s);  // unnoticed: nothing is due
  service.Emit("ann");
  std::optional<Leased<Sum>> lease;
  consumer.async_lease([&](error_code, std::optional<Leased<Sum>> got) { lease = std::move(got); });
  service.Poll();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->delivery.until, LeaseTime(kNoon + 97s + 10s));
  service.Pass(10s - 1us);
  EXPECT_EQ(lease->Ack(), LeaseOutcome::kDone);
}

TEST(Consumer, ALeaseThatRanOutGoesToWhoeverWaits) {
  Service service;
  Consumer consumer(*service.driver, service.sums, {}, {.visibility_timeout = 10s});
  std::vector<Leased<Sum>> leases;
  const auto keep = [&](error_code, std::vector<Leased<Sum>> got) {
    leases.insert(leases.end(), got.begin(), got.end());
  };
  service.Emit("ann");
  consumer.async_lease_many(10, keep);
  consumer.async_lease_many(10, keep);
  service.Poll();
  EXPECT_EQ(leases.size(), 1u);
  service.Pass(10s);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(leases[1].id, leases[0].id);
  EXPECT_EQ(leases[1].delivery.deliveries, 2u);
  EXPECT_EQ(leases[0].Ack(), LeaseOutcome::kStale);
  EXPECT_EQ(leases[1].Ack(), LeaseOutcome::kDone);
}

TEST_F(OneConsumer, TakesAFutureOrADeferredOperation) {
  auto future = consumer.async_pop(boost::asio::use_future);
  auto deferred = consumer.async_pop_many(5, boost::asio::deferred);
  EXPECT_EQ(consumer.stats().waiting, 1u);
  std::move(deferred)(got.Many());
  EXPECT_EQ(consumer.stats().waiting, 2u);
  service.Emit("a");
  service.Emit("b");
  service.Poll();
  ASSERT_EQ(future.wait_for(0s), std::future_status::ready);  // by this thread, and no other
  EXPECT_EQ(future.get()->key, "a");
  EXPECT_THAT(got.keys, ElementsAre("b"));
}

TEST_F(OneConsumer, CancelEndsAllThatWait) {
  for (int i = 0; i < 3; ++i) consumer.async_pop(got.One());
  consumer.cancel();
  EXPECT_EQ(got.calls, 0);
  service.Poll();
  EXPECT_EQ(got.calls, 3);
  EXPECT_EQ(got.error, operation_aborted);
  EXPECT_EQ(consumer.stats().cancelled, 3u);
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(service.sums.ledger().ready, 1u);
}

TEST(Consumer, EachTypeOfCancellationEndsOneOperationOnly) {
  for (const auto type :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    Service service;
    Consumer consumer(*service.driver, service.sums);
    cancellation_signal signal;
    Got first, second;
    consumer.async_pop(boost::asio::bind_cancellation_slot(signal.slot(), first.One()));
    consumer.async_pop(second.One());
    signal.emit(type);
    EXPECT_EQ(first.calls, 0);
    service.Emit("ann");
    service.Poll();
    EXPECT_EQ(first.error, operation_aborted);
    EXPECT_TRUE(first.keys.empty());
    EXPECT_THAT(second.keys, ElementsAre("ann"));
  }
}

TEST_F(OneConsumer, WhatWasTakenAtOnceIsDeliveredDespiteACancellation) {
  cancellation_signal signal;
  service.Emit("ann");
  consumer.async_pop(boost::asio::bind_cancellation_slot(signal.slot(), got.One()));
  signal.emit(cancellation_type::total);
  service.Poll();
  EXPECT_FALSE(got.error);
  EXPECT_THAT(got.keys, ElementsAre("ann"));
}

// The dispatch has given the emission to the operation, whose handler has not run yet.
TEST_F(OneConsumer, WhatWasTakenLaterIsDeliveredDespiteACancellation) {
  cancellation_signal signal;
  consumer.async_pop(boost::asio::bind_cancellation_slot(signal.slot(), got.One()));
  service.Emit("ann");
  service.io->restart();
  while (service.sums.ledger().popped == 0) ASSERT_EQ(service.io->poll_one(), 1u);
  ASSERT_EQ(got.calls, 0);
  signal.emit(cancellation_type::total);
  service.Poll();
  EXPECT_FALSE(got.error);
  EXPECT_THAT(got.keys, ElementsAre("ann"));
  EXPECT_EQ(consumer.stats().cancelled, 0u);
}

TEST_F(OneConsumer, TheSlotIsFreeWhenTheHandlerRuns) {
  cancellation_signal signal;
  bool connected = true;
  consumer.async_pop(boost::asio::bind_cancellation_slot(
      signal.slot(), [&](error_code, const auto&) { connected = signal.slot().has_handler(); }));
  EXPECT_TRUE(signal.slot().has_handler());
  service.Emit("ann");
  service.Poll();
  EXPECT_FALSE(connected);
}

TEST_F(OneConsumer, AllocatesAnOperationByItsHandlersAllocatorAndFreesItBeforeTheHandlerRuns) {
  CountingResource memory;
  int held_in_handler = -1;
  consumer.async_pop(
      boost::asio::bind_allocator(std::pmr::polymorphic_allocator<std::byte>(&memory),
                                  [&](error_code, const auto&) { held_in_handler = memory.held; }));
  EXPECT_EQ(memory.held, 1);
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(held_in_handler, 0);
  EXPECT_EQ(memory.allocations, 1);
}

TEST_F(OneConsumer, CallsTheHandlerOnItsExecutorWhichHasWorkUntilThen) {
  boost::asio::io_context other;
  consumer.async_pop(boost::asio::bind_executor(other.get_executor(), got.One()));
  EXPECT_EQ(other.poll(), 0u);
  EXPECT_FALSE(other.stopped());
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(got.calls, 0);
  EXPECT_EQ(other.poll(), 1u);
  EXPECT_EQ(got.calls, 1);
  EXPECT_TRUE(other.stopped());
}

TEST_F(OneConsumer, AnOperationThatWaitsIsWorkForItsContext) {
  service.Poll();
  EXPECT_TRUE(service.io->stopped());
  consumer.async_pop(got.One());
  service.Poll();
  EXPECT_FALSE(service.io->stopped());
  consumer.cancel();
  service.Poll();
  EXPECT_TRUE(service.io->stopped());
}

TEST(Consumer, TooManyThatWaitAreAnsweredOverloadedAtOnce) {
  Service service;
  Consumer consumer(*service.driver, service.sums, {}, {.max_waiters = 2});
  Got waiting, refused;
  consumer.async_pop(waiting.One());
  consumer.async_pop(waiting.One());
  consumer.async_pop(refused.One());
  EXPECT_EQ(refused.calls, 0);
  service.Poll();
  EXPECT_EQ(waiting.calls, 0);
  EXPECT_EQ(refused.calls, 1);
  EXPECT_EQ(refused.error, AsioError::kOverloaded);
  EXPECT_EQ(refused.error.message(), "too many operations wait");
  EXPECT_EQ(consumer.stats().overloaded, 1u);
}

TEST_F(OneConsumer, ALongQueueIsServedInTurns) {
  constexpr int kCount = 1000;
  int calls = 0;
  for (int i = 0; i < kCount; ++i) consumer.async_pop([&](error_code, const auto&) { ++calls; });
  for (int i = 0; i < kCount; ++i) service.Emit(std::to_string(i));
  uint64_t popped_when_others_ran = kCount;
  boost::asio::post(*service.io, [&] { popped_when_others_ran = service.sums.ledger().popped; });
  service.Poll();
  EXPECT_EQ(popped_when_others_ran, 256u);
  EXPECT_EQ(calls, kCount);
}

TEST(Consumer, DisjointRangesKeepTheOrderOfEachKey) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h}, {.partitions = 5});
  std::vector<Consumer<Sum>> workers;
  std::map<std::string, std::vector<int64_t>> seen;
  std::vector<std::set<std::string>> keys(3);
  for (int i = 0; i < 3; ++i) {
    workers.push_back(Subscribe(*service.driver, service.sums, PartitionRange::ForWorker(i, 3, 5)));
  }
  const auto serve = [&](auto self, size_t i) -> void {
    workers[i].async_pop([&, self, i](error_code error, const auto& emission) {
      if (error) return;
      seen[emission->key].push_back(emission->state.total);
      keys[i].insert(emission->key);
      self(self, i);
    });
  };
  for (size_t i = 0; i < 3; ++i) serve(serve, i);
  for (int n = 0; n < 300; ++n) {
    service.Emit("key " + std::to_string(n % 30), n);
    if (n % 7 == 0) service.Poll();
  }
  service.Poll();
  EXPECT_EQ(seen.size(), 30u);
  for (const auto& [key, totals] : seen) {
    EXPECT_EQ(totals.size(), 10u);
    EXPECT_TRUE(std::is_sorted(totals.begin(), totals.end())) << key;
  }
  EXPECT_EQ(keys[0].size() + keys[1].size() + keys[2].size(), 30u);
}

TEST(Consumer, IsNotWokenForPartitionsOfOthers) {
  Service service;
  const int home = PartitionOf("ann", 4);
  auto other = Subscribe(*service.driver, service.sums, PartitionRange::One((home + 1) % 4));
  auto none = Subscribe(*service.driver, service.sums, PartitionRange::ForWorker(0, 9, 4));
  Got got;
  other.async_pop(got.One());
  none.async_pop(got.One());
  service.Emit("ann");
  EXPECT_EQ(service.Poll(), 0u);
  EXPECT_EQ(service.sums.ledger().ready, 1u);
}

TEST(Consumer, OverlappingRangesShareTheWork) {
  Service service;
  Consumer first(*service.driver, service.sums);
  Consumer second(*service.driver, service.sums);
  Got a, b;
  first.async_pop(a.One());
  second.async_pop(b.One());
  service.Emit("ann");
  service.Emit("bob");
  service.Poll();
  EXPECT_EQ(a.calls, 1);
  EXPECT_EQ(b.calls, 1);
  EXPECT_NE(a.keys, b.keys);
}

TEST(Consumer, OneThatNobodyReadsFromDoesNotSlowTheOthers) {
  Service service;
  Sums other(*service.engine, "other",
             {.quiet_period = 5min, .max_wait = 1h, .limits = {.max_backlog = 4}});
  Consumer slow(*service.driver, other);
  Consumer consumer(*service.driver, service.sums);
  for (int i = 0; i < 10; ++i) {
    other.Fold(std::to_string(i), 1, kNoon);
    other.Flush(std::to_string(i));
  }
  Got got;
  consumer.async_pop(got.One());
  service.Emit("ann");
  service.Poll();
  EXPECT_EQ(got.calls, 1);
  EXPECT_GT(other.ledger().overloaded, 0u);
  EXPECT_EQ(slow.stats().delivered, 0u);
}

TEST_F(OneConsumer, NobodyIsWokenForAConsumerThatDoesNotWait) {
  consumer.async_pop(got.One());
  service.Emit("ann");
  service.Poll();
  for (int i = 0; i < 10; ++i) service.Emit(std::to_string(i));
  EXPECT_EQ(service.Poll(), 0u);
}

TEST_F(OneConsumer, KeepsHowLateEmissionsWere) {
  service.Fold("ann");
  service.Pass(5min + 3ms);
  service.Emit("flushed: not by time");
  consumer.async_pop_many(10, got.Many());
  service.Poll();
  const ConsumerStats stats = consumer.stats();
  EXPECT_EQ(stats.delivered, 2u);
  EXPECT_EQ(stats.lateness_us.count(), 1u);
  EXPECT_EQ(stats.lateness_us.max(), 3000u);
}

TEST(Consumer, ASecondDeliveryIsNotLate) {
  Service service;
  Consumer consumer(*service.driver, service.sums, {}, {.visibility_timeout = 10s});
  Got got;
  service.Fold("ann");
  service.Pass(5min);
  for (int i = 0; i < 2; ++i) {
    consumer.async_lease(got.One());
    service.Pass(10s);
  }
  EXPECT_EQ(got.calls, 2);
  EXPECT_EQ(consumer.stats().lateness_us.count(), 1u);
}

TEST(Consumer, OnEventTimeItIsToldOfWhatTheWatermarkCloses) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h},
                  {.partitions = 4, .axis = Axis::kEvent});
  Consumer consumer(*service.driver, service.sums);
  Got got;
  consumer.async_lease(got.One());
  service.sums.Fold("ann", 1, FromUnix(0s));
  service.Pass(1h);
  EXPECT_EQ(got.calls, 0);
  service.sums.Fold("bob", 1, FromUnix(5min));
  service.Pass(1ms);
  EXPECT_THAT(got.keys, ElementsAre("ann"));
  EXPECT_EQ(consumer.stats().lateness_us.count(), 0u);
}

TEST(Consumer, StateNeedNotBeCopyableToBePopped) {
  struct Once {
    std::unique_ptr<int> n;
    void Fold(const int& by) noexcept { n = std::make_unique<int>(by); }
  };
  Service service;
  Folder<int, Once> once(*service.engine, "once", {.quiet_period = 5min, .max_wait = 1h});
  Consumer consumer(*service.driver, once);
  once.Fold("ann", 8, kNoon);
  once.Flush("ann");
  auto future = consumer.async_pop(boost::asio::use_future);
  service.Poll();
  EXPECT_EQ(*future.get()->state.n, 8);
}

}  // namespace
}  // namespace pleat
