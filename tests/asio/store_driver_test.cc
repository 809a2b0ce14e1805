#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/asio/store_fixtures.h"

namespace pleat {
namespace {

TEST(StoreDriver, CompletesWhenTheRecordIsDurableAndNotBefore) {
  Keeper keeper;
  Heard heard;
  const AppendPlace place = keeper.Append();
  keeper.Wait(place, heard.One());
  keeper.Poll();
  EXPECT_EQ(heard.calls, 0);
  EXPECT_EQ(keeper.driver->stats().waiting, 1u);
  EXPECT_EQ(Keeper::Poll(*keeper.disk), 1u);
  EXPECT_GT(keeper.store->Durable(place.partition), place.offset);
  EXPECT_EQ(heard.calls, 0) << "on the disk's thread";
  keeper.Poll();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
  EXPECT_EQ(keeper.driver->stats().waiting, 0u);
}

TEST(StoreDriver, WhatIsDurableNeedsNoCommitAndCompletesLaterThanTheCall) {
  Keeper keeper;
  Heard heard;
  const AppendPlace place = keeper.Append();
  ASSERT_TRUE(keeper.store->Commit().ok());
  keeper.Wait(place, heard.One());
  EXPECT_EQ(heard.calls, 0);
  keeper.Poll();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
  EXPECT_EQ(keeper.PollDisk(), 0u);
}

TEST(StoreDriver, ThoseThatWaitShareASync) {
  Keeper keeper;
  Heard heard;
  const int syncs = keeper.storage.syncs();
  for (int i = 0; i < 50; ++i) keeper.Wait(keeper.Append(i % 4), heard.One());
  EXPECT_EQ(keeper.PollDisk(), 1u);
  EXPECT_EQ(heard.calls, 50);
  EXPECT_EQ(keeper.storage.syncs() - syncs, 1);
  EXPECT_EQ(keeper.driver->stats().commits, 1u);
  EXPECT_EQ(keeper.PollDisk(), 0u);
}

// They come while the disk works on the first commit, which does not have them.
TEST(StoreDriver, ThoseThatComeDuringACommitShareTheNextOne) {
  Keeper keeper;
  Heard first, later;
  int under_way = 0, under_way_most = 0;
  keeper.storage.AtSync([&] {
    under_way_most = std::max(under_way_most, ++under_way);
    if (keeper.driver->stats().commits == 0) {
      for (int i = 0; i < 20; ++i) keeper.Wait(keeper.Append(i % 4), later.One());
    }
    --under_way;
  });
  const int syncs = keeper.storage.syncs();
  keeper.Wait(keeper.Append(), first.One());
  ASSERT_EQ(keeper.disk->poll_one(), 1u);
  keeper.Poll();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(later.calls, 0);
  EXPECT_EQ(keeper.PollDisk(), 1u);
  EXPECT_EQ(later.calls, 20);
  EXPECT_EQ(keeper.storage.syncs() - syncs, 2);
  EXPECT_EQ(under_way_most, 1);
}

TEST(StoreDriver, OfAPartitionTheFirstRecordsAreToldFirst) {
  Keeper keeper;
  std::vector<std::string> order;
  std::vector<AppendPlace> places;
  for (int i = 0; i < 6; ++i) places.push_back(keeper.Append(i % 2));
  for (const int i : {3, 1, 5, 0, 4, 2}) {
    const AppendPlace place = places[static_cast<size_t>(i)];
    keeper.Wait(place, [&order, place](error_code) {
      order.push_back(std::to_string(place.partition) + "/" + std::to_string(place.offset));
    });
  }
  keeper.PollDisk();
  EXPECT_THAT(order, ElementsAre("0/0", "0/1", "0/2", "1/0", "1/1", "1/2"));
}

// Nothing would come of commits meanwhile, so there are none.
TEST(StoreDriver, ARecordMayBeAppendedLater) {
  Keeper keeper;
  Heard waits_for_time, waits_for_another;
  keeper.Wait({.partition = 1, .offset = 0}, waits_for_time.One());
  keeper.Wait({.partition = 2, .offset = 1}, waits_for_another.One());
  EXPECT_EQ(keeper.PollDisk(), 0u);
  keeper.Append(1);
  EXPECT_EQ(keeper.PollDisk(), 0u) << "nobody has told the driver";
  keeper.Pass(1s);
  EXPECT_EQ(keeper.PollDisk(), 1u);
  EXPECT_EQ(waits_for_time.calls, 1);
  keeper.Append(2);
  keeper.Append(2);
  Heard another;
  keeper.Wait(keeper.Append(0), another.One());
  EXPECT_EQ(keeper.PollDisk(), 1u);
  EXPECT_EQ(another.calls, 1);
  EXPECT_EQ(waits_for_another.calls, 1);
}

TEST(StoreDriver, OthersMayWaitLongerInTheSamePartition) {
  Keeper keeper;
  Heard now, later;
  const AppendPlace place = keeper.Append(1);
  keeper.Wait({.partition = 1, .offset = place.offset + 1}, later.One());
  keeper.Wait({.partition = 0, .offset = 7}, later.One());
  keeper.Wait(place, now.One());
  keeper.PollDisk();
  EXPECT_EQ(now.calls, 1);
  EXPECT_EQ(later.calls, 0);
  EXPECT_EQ(keeper.driver->stats().waiting, 2u);
}

TEST(StoreDriver, CommitsNowAndThenAlsoWhenNobodyWaits) {
  for (const auto mode :
       {StoreDurability::kProcess, StoreDurability::kInterval, StoreDurability::kGroup}) {
    Keeper keeper(mode, {.commit_every = 5s});
    const AppendPlace place = keeper.Append();
    keeper.Pass(5s - 1us);
    EXPECT_EQ(keeper.PollDisk(), 0u);
    keeper.Pass(1us);
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_GT(keeper.store->Durable(place.partition), place.offset);
    const size_t calls = keeper.memory.calls();
    keeper.Pass(5s);
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_EQ(keeper.memory.calls(), calls) << "there is nothing to do";
    EXPECT_EQ(keeper.driver->stats().commits, 2u);
  }
}

// From its end, so that a slow disk has a pause.
TEST(StoreDriver, TheNextCommitIsCountedFromTheEndOfTheLast) {
  Keeper keeper(StoreDurability::kInterval, {.commit_every = 5s});
  keeper.storage.AtSync([&] { keeper.clock.Pass(20s); });
  keeper.Append();
  keeper.Pass(5s);
  EXPECT_EQ(keeper.PollDisk(), 1u);
  keeper.Append();
  keeper.Pass(5s - 1us);
  EXPECT_EQ(keeper.PollDisk(), 0u);
  keeper.Pass(1us);
  EXPECT_EQ(keeper.PollDisk(), 1u);
}

TEST(StoreDriver, OutsideOfGroupAnOperationWaitsForTheNextCommit) {
  for (const auto mode : {StoreDurability::kProcess, StoreDurability::kInterval}) {
    Keeper keeper(mode);
    Heard heard;
    const int syncs = keeper.storage.syncs();
    for (int i = 0; i < 9; ++i) keeper.Wait(keeper.Append(i % 4), heard.One());
    EXPECT_EQ(keeper.PollDisk(), 0u);
    keeper.Pass(1s);
    keeper.PollDisk();
    EXPECT_EQ(heard.calls, 9);
    EXPECT_EQ(keeper.storage.syncs() - syncs, mode == StoreDurability::kInterval ? 1 : 0);
  }
}

TEST(StoreDriver, WhatOthersHaveCommittedIsTold) {
  Keeper keeper(StoreDurability::kInterval);
  Heard heard;
  keeper.Wait(keeper.Append(), heard.One());
  ASSERT_TRUE(keeper.store->Sync().ok());
  keeper.Pass(1s);
  keeper.PollDisk();
  EXPECT_EQ(heard.calls, 1);
}

// As when the store was closed before the driver was stopped.
TEST(StoreDriver, WhatIsDurableIsToldThoughTheCommitHasFailed) {
  Keeper keeper(StoreDurability::kInterval);
  Heard heard;
  keeper.Wait(keeper.Append(), heard.One());
  ASSERT_TRUE(keeper.store->Close().ok());
  keeper.Pass(1s);
  keeper.PollDisk();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
  EXPECT_EQ(keeper.driver->stats().last_commit.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StoreDriver, AFailedCommitKeepsThoseThatWaitAndIsTriedAgain) {
  for (const Trouble trouble : {Trouble::kSync, Trouble::kFull}) {
    Keeper keeper;
    Heard heard, later;
    keeper.Wait(keeper.Append(), heard.One());
    const AppendPlace second = keeper.Append(2);
    keeper.storage.Have(trouble);
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_EQ(heard.calls, 0);
    EXPECT_FALSE(keeper.driver->stats().last_commit.ok());
    EXPECT_EQ(keeper.driver->stats().failed_commits, 1u);
    EXPECT_NE(keeper.store->state().answers, AppendOutcome::kAppended);
    keeper.Wait(second, later.One());
    EXPECT_EQ(keeper.PollDisk(), 0u) << "the disk is left in peace";
    keeper.Pass(1s);
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_EQ(keeper.driver->stats().failed_commits, 2u);
    EXPECT_EQ(heard.calls + later.calls, 0);

    keeper.storage.Have(Trouble::kNone);
    keeper.Pass(1s);
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_EQ(heard.calls, 1);
    EXPECT_FALSE(heard.error);
    EXPECT_EQ(later.calls, 1);
    EXPECT_TRUE(keeper.driver->stats().last_commit.ok());
    keeper.Wait(keeper.Append(), heard.One());
    EXPECT_EQ(keeper.PollDisk(), 1u) << "at once, as before";
    EXPECT_EQ(heard.calls, 2);
  }
}

TEST(StoreDriver, EachTypeOfCancellationEndsOneOperationOnly) {
  for (const auto type :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    Keeper keeper;
    cancellation_signal signal;
    Heard first, second;
    const AppendPlace place = keeper.Append();
    keeper.Wait(place, boost::asio::bind_cancellation_slot(signal.slot(), first.One()));
    keeper.Wait(place, second.One());
    signal.emit(type);
    EXPECT_EQ(first.calls, 0);
    keeper.Poll();
    EXPECT_EQ(first.error, operation_aborted);
    EXPECT_EQ(keeper.driver->stats().cancelled, 1u);
    keeper.PollDisk();
    EXPECT_FALSE(second.error);
    EXPECT_EQ(first.calls, 1);
    EXPECT_EQ(second.calls, 1);
    signal.emit(type);
  }
}

// The record was durable before, and the handler is on its way.
TEST(StoreDriver, ACancellationThatComesTooLateChangesNothing) {
  Keeper keeper;
  cancellation_signal signal;
  Heard heard;
  bool connected = true;
  keeper.Wait(keeper.Append(),
              boost::asio::bind_cancellation_slot(signal.slot(), [&](error_code error) {
                heard.One()(error);
                connected = signal.slot().has_handler();
              }));
  Keeper::Poll(*keeper.disk);
  signal.emit(cancellation_type::total);
  keeper.Poll();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
  EXPECT_FALSE(connected);
  EXPECT_EQ(keeper.driver->stats().cancelled, 0u);
}

TEST(StoreDriver, TooManyThatWaitAreAnsweredOverloadedAtOnce) {
  Keeper keeper(StoreDurability::kGroup, {.max_waiters = 2});
  Heard waiting, refused;
  const AppendPlace place = keeper.Append();
  keeper.Wait(place, waiting.One());
  keeper.Wait(place, waiting.One());
  keeper.Wait(place, refused.One());
  keeper.Poll();
  EXPECT_EQ(refused.error, AsioError::kOverloaded);
  EXPECT_EQ(keeper.driver->stats().overloaded, 1u);
  keeper.PollDisk();
  EXPECT_EQ(waiting.calls, 2);
  keeper.Wait(place, refused.One());
  keeper.Poll();
  EXPECT_FALSE(refused.error);
}

TEST(StoreDriver, TakesAFutureOrADeferredOperation) {
  Keeper keeper;
  const AppendPlace place = keeper.Append();
  auto future = keeper.Wait(place, boost::asio::use_future);
  auto deferred = keeper.Wait(place, boost::asio::deferred);
  EXPECT_EQ(keeper.driver->stats().waiting, 1u);
  Heard heard;
  std::move(deferred)(heard.One());
  EXPECT_EQ(keeper.driver->stats().waiting, 2u);
  keeper.PollDisk();
  ASSERT_EQ(future.wait_for(0s), std::future_status::ready);
  future.get();
  EXPECT_EQ(heard.calls, 1);
}

TEST(StoreDriver, AllocatesAnOperationByItsHandlersAllocatorAndFreesItBeforeTheHandlerRuns) {
  Keeper keeper;
  CountingResource memory;
  int held_in_handler = -1;
  keeper.Wait(keeper.Append(),
              boost::asio::bind_allocator(std::pmr::polymorphic_allocator<std::byte>(&memory),
                                          [&](error_code) { held_in_handler = memory.held; }));
  EXPECT_EQ(memory.held, 1);
  keeper.PollDisk();
  EXPECT_EQ(held_in_handler, 0);
  EXPECT_EQ(memory.allocations, 1);
}

TEST(StoreDriver, CallsTheHandlerOnItsExecutorWhichHasWorkUntilThen) {
  Keeper keeper;
  Heard heard;
  boost::asio::io_context other;
  keeper.Wait(keeper.Append(), boost::asio::bind_executor(other.get_executor(), heard.One()));
  other.poll();
  EXPECT_FALSE(other.stopped());
  keeper.PollDisk();
  EXPECT_EQ(heard.calls, 0);
  EXPECT_EQ(other.poll(), 1u);
  EXPECT_EQ(heard.calls, 1);
  EXPECT_TRUE(other.stopped());
}

// The timer runs in real time, which has only to go on.
TEST(StoreDriver, ATimerCommitsAndIsWorkForTheContextUntilTheDriverIsStopped) {
  Keeper keeper(StoreDurability::kInterval, {.commit_every = 10ms}, /*clock_runs=*/true);
  const AppendPlace place = keeper.Append();
  keeper.clock.Pass(10ms);
  while (keeper.disk->poll() == 0) {
    keeper.disk->restart();
    keeper.io->run_one();
  }
  EXPECT_GT(keeper.store->Durable(place.partition), place.offset);
  keeper.Poll();
  EXPECT_FALSE(keeper.io->stopped());
  keeper.driver->Stop();
  keeper.Poll();
  EXPECT_TRUE(keeper.io->stopped());
}

TEST(StoreDriverLife, StoppedItTellsWhatIsDurableAndAbortsTheRest) {
  Keeper keeper(StoreDurability::kInterval);
  Heard durable, not_durable, later;
  const AppendPlace place = keeper.Append(0);
  keeper.Wait(place, durable.One());
  ASSERT_TRUE(keeper.store->Commit().ok());
  keeper.Wait(keeper.Append(0), not_durable.One());
  keeper.driver->Stop();
  EXPECT_EQ(durable.calls + not_durable.calls, 0);
  keeper.store.reset();
  keeper.Wait(place, later.One());
  keeper.Poll();
  EXPECT_EQ(durable.calls, 1);
  EXPECT_FALSE(durable.error);
  EXPECT_EQ(not_durable.error, operation_aborted);
  EXPECT_EQ(later.error, operation_aborted);
  keeper.driver->Stop();
  keeper.Pass(1h);
  EXPECT_EQ(keeper.PollDisk(), 0u);
}

// As the header says how a service ends.
TEST(StoreDriverLife, AnOrderlyEndAnswersEverythingThatWasAppended) {
  for (const auto mode :
       {StoreDurability::kProcess, StoreDurability::kInterval, StoreDurability::kGroup}) {
    Keeper keeper(mode);
    Heard heard;
    for (int i = 0; i < 9; ++i) keeper.Wait(keeper.Append(i % 4), heard.One());
    ASSERT_TRUE(keeper.store->Close().ok());
    keeper.driver->Stop();
    keeper.Poll();
    EXPECT_EQ(heard.calls, 9);
    EXPECT_FALSE(heard.error);
  }
}

TEST(StoreDriverLife, DestroyedItAbortsAndACommitThatWasPostedDoesNothing) {
  Keeper keeper;
  Heard heard;
  const AppendPlace place = keeper.Append();
  keeper.Wait(place, heard.One());
  keeper.driver.reset();
  EXPECT_EQ(heard.calls, 0);
  keeper.Poll();
  EXPECT_EQ(heard.error, operation_aborted);
  EXPECT_EQ(Keeper::Poll(*keeper.disk), 1u);
  EXPECT_LE(keeper.store->Durable(place.partition), place.offset);
}

TEST(StoreDriverLife, TheStoreMayGoWhenTheDriverIsStopped) {
  Keeper keeper;
  keeper.Wait(keeper.Append(), [](error_code) {});
  keeper.driver->Stop();
  keeper.store.reset();
  EXPECT_EQ(keeper.PollDisk(), 1u);
  keeper.driver.reset();
}

// A commit is within the store when the driver is to stop, and goes on when Stop() has begun: from then
// on, who comes is refused. What the commit makes durable is told.
TEST(StoreDriverLife, StoppingWaitsForTheCommitUnderWay) {
  bool refused = false;  // of `other`, and behind its end
  Keeper keeper;
  Heard heard;
  std::promise<void> begun, may_end;
  keeper.storage.AtSync([&] {
    begun.set_value();
    may_end.get_future().wait();
  });
  keeper.Wait(keeper.Append(), heard.One());
  std::thread disk([&] { keeper.disk->poll(); });
  begun.get_future().wait();
  std::thread other([&] {
    for (; !refused; keeper.Poll()) {
      keeper.Wait({.partition = 3, .offset = 7},
                  [&](error_code error) { refused = error == operation_aborted; });
    }
    may_end.set_value();
  });
  keeper.driver->Stop();
  keeper.store.reset();
  other.join();
  disk.join();
  keeper.Poll();
  EXPECT_EQ(heard.calls, 1);
  EXPECT_FALSE(heard.error);
}

TEST(StoreDriverLife, HandlersThatWaitAreDestroyedWithTheContextNotCalled) {
  Keeper keeper;
  const auto alive = std::make_shared<int>();
  int calls = 0;
  keeper.Wait(keeper.Append(), [&calls, alive](error_code) { ++calls; });
  Keeper::Poll(*keeper.disk);
  cancellation_signal signal;
  keeper.Wait(keeper.Append(), boost::asio::bind_cancellation_slot(
                                   signal.slot(), [&calls, alive](error_code) { ++calls; }));
  EXPECT_EQ(alive.use_count(), 3);
  keeper.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(calls, 0);
  signal.emit(cancellation_type::total);
  EXPECT_EQ(Keeper::Poll(*keeper.disk), 1u);
}

TEST(StoreDriverLife, IsStoppedWhenTheContextOfTheDiskGoes) {
  Keeper keeper;
  Heard heard;
  keeper.Wait(keeper.Append(), heard.One());
  keeper.disk.reset();
  keeper.Poll();
  EXPECT_EQ(heard.error, operation_aborted);
  keeper.Wait(keeper.Append(), heard.One());
  keeper.Pass(1s);
  keeper.Poll();
  EXPECT_EQ(heard.calls, 2);
}

TEST(StoreDriverLife, MayBeOwnedByItsOwnHandlerWhenTheContextGoes) {
  Keeper keeper;
  StoreDriver& driver = *keeper.driver;
  const AppendPlace place = keeper.Append();
  const auto alive = std::make_shared<int>();
  driver.async_durable(place.partition, place.offset,
                       [own = std::move(keeper.driver), alive](error_code) {});
  keeper.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(StoreDriverDeathTest, NeedsAThreadForTheDiskAndAPartitionThatThereIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Keeper keeper;
  EXPECT_DEATH(StoreDriver(*keeper.io, *keeper.store, {}), "disk");
  EXPECT_DEATH(keeper.Wait({.partition = 4, .offset = 0}, [](error_code) {}), "partition");
}

}  // namespace
}  // namespace pleat
