// Coroutines that await emissions. The one translation unit of the tests with coroutines: it takes its time to
// compile.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <variant>

// A false alarm of g++ 12 about the frames of coroutines.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/asio_watcher.h>
#include <pleat/live_set.h>

#include "tests/asio/fixtures.h"
#include "tests/asio/store_fixtures.h"

namespace pleat {
namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

TEST(Coroutine, LeasesAndAcksUntilTheConsumerIsCancelled) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  std::vector<std::string> keys;
  error_code end;
  const auto work = [&]() -> asio::awaitable<void> {
    try {
      for (;;) {
        auto lease = co_await consumer.async_lease(asio::use_awaitable);
        keys.push_back(lease->key);
        EXPECT_EQ(lease->Ack(), LeaseOutcome::kDone);
      }
    } catch (const boost::system::system_error& error) {
      end = error.code();
    }
  };
  asio::co_spawn(*service.io, work(), asio::detached);
  service.Poll();
  service.Fold("ann");
  service.Pass(5min);
  service.Emit("bob");
  service.Poll();
  consumer.cancel();
  service.Poll();
  EXPECT_THAT(keys, ElementsAre("ann", "bob"));
  EXPECT_EQ(end, operation_aborted);
  EXPECT_EQ(service.sums.ledger().acked, 2u);
}

TEST(Coroutine, TokensMayBeTheDefaultOfTheConsumer) {
  Service service;
  using Token = asio::as_tuple_t<asio::use_awaitable_t<>>;
  Token::as_default_on_t<Consumer<Sum>> consumer(Consumer(*service.driver, service.sums));
  std::vector<std::string> keys;
  const auto work = [&]() -> asio::awaitable<void> {
    for (;;) {
      auto [error, emissions] = co_await consumer.async_pop_many(10);
      if (error) co_return;
      for (const auto& emission : emissions) keys.push_back(emission.key);
    }
  };
  asio::co_spawn(*service.io, work(), asio::detached);
  for (const char* key : {"a", "b", "c"}) service.Emit(key);
  service.Poll();
  EXPECT_THAT(keys, ElementsAre("a", "b", "c"));
  service.driver->Stop();
  service.Poll();
}

TEST(Coroutine, ALeaseOrATimerWhicheverIsFirst) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  std::vector<std::string> said;
  const auto work = [&](bool timer_is_first) -> asio::awaitable<void> {
    asio::steady_timer timer(*service.io, asio::steady_timer::time_point::max());
    if (timer_is_first) asio::post(*service.io, [&] { timer.cancel(); });
    const auto wait = asio::as_tuple(asio::use_awaitable);
    auto first = co_await (consumer.async_lease(asio::use_awaitable) || timer.async_wait(wait));
    said.push_back(first.index() == 0 ? std::get<0>(first)->key : "timer");
  };
  asio::co_spawn(*service.io, work(true), asio::detached);
  service.Poll();
  EXPECT_THAT(said, ElementsAre("timer"));
  EXPECT_EQ(consumer.stats().waiting, 0u);
  EXPECT_EQ(consumer.stats().cancelled, 1u);
  asio::co_spawn(*service.io, work(false), asio::detached);
  service.Poll();
  service.Emit("ann");
  service.Poll();
  EXPECT_THAT(said, ElementsAre("timer", "ann"));
}

TEST(Coroutine, OneThatWaitsIsDestroyedWithItsContextAndItsConsumerToo) {
  Service service;
  const auto alive = std::make_shared<int>();
  const auto work = [](Service* s, std::shared_ptr<int>) -> asio::awaitable<void> {
    Consumer consumer(*s->driver, s->sums);
    co_await consumer.async_pop(asio::use_awaitable);
    ADD_FAILURE() << "went on";
  };
  asio::co_spawn(*service.io, work(&service, alive), asio::detached);
  service.Poll();
  EXPECT_EQ(alive.use_count(), 2);
  service.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

// What a consumer loop does if its downstream fails now and then: nothing is lost, and order per key stays.
TEST(Coroutine, WhatIsNackedComesAgain) {
  Service service;
  Consumer consumer(*service.driver, service.sums);
  std::map<std::string, std::vector<int64_t>> published;
  const auto work = [&]() -> asio::awaitable<void> {
    for (int attempt = 0; attempt < 60; ++attempt) {
      auto lease = co_await consumer.async_lease(asio::use_awaitable);
      if (attempt % 3 == 0) {
        lease->Nack(1s, service.driver->lease_now());
      } else {
        published[lease->key].push_back(lease->state.total);
        lease->Ack();
      }
    }
  };
  asio::co_spawn(*service.io, work(), asio::detached);
  for (int n = 0; n < 40; ++n) service.Emit("key " + std::to_string(n % 4), n);
  for (int passed = 0; passed < 60; ++passed) service.Pass(1s);
  EXPECT_EQ(service.sums.ledger().acked, 40u);
  EXPECT_EQ(published.size(), 4u);
  for (const auto& [key, totals] : published) {
    EXPECT_TRUE(std::is_sorted(totals.begin(), totals.end())) << key;
  }
}

// As asio_watcher.h shows, with one that has fallen behind.
TEST(Coroutine, WatchesAgainWhenChangesWereLost) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h}, {.partitions = 1});
  LiveSet<> readers(*service.engine, "readers", {.ttl = 30min, .max_changes = 4});
  Watcher watcher(*service.driver, readers, {.name = "page 1"});
  std::vector<LiveMember<>> live;
  std::vector<std::string> said;
  const auto follow = [&]() -> asio::awaitable<void> {
    watcher.Watch(live);
    for (;;) {
      auto [error, change] = co_await watcher.async_next(asio::as_tuple(asio::use_awaitable));
      if (error == AsioError::kResync) {
        live.clear();
        watcher.Watch(live);
        said.push_back("again, " + std::to_string(live.size()));
        continue;
      }
      if (error) co_return;
      said.push_back(change->id + " " + std::string(CauseName(change->cause)));
    }
  };
  asio::co_spawn(*service.io, follow(), asio::detached);
  service.Poll();
  const auto add = [&](std::string_view id) {
    readers.Add("page 1", {.id = id}, service.driver->now());
  };
  add("ann");
  service.Poll();
  for (const char* id : {"1", "2", "3", "4", "5", "6"}) add(id);
  service.Poll();
  add("ben");
  service.Pass(30min);
  EXPECT_THAT(said, ElementsAre("ann added", "again, 7", "ben added", "again, 0"));
  service.driver->Stop();
  service.Poll();
}

// The same with errors that are thrown.
TEST(Coroutine, AwaitsChangesUntilTheWatcherIsCancelled) {
  Service service;
  LiveSet<> readers(*service.engine, "readers", {.ttl = 30min});
  Watcher watcher(*service.driver, readers, {.name = "page 1"});
  std::vector<LiveMember<>> live;
  std::vector<std::string> said;
  error_code end;
  const auto follow = [&]() -> asio::awaitable<void> {
    watcher.Watch(live);
    try {
      for (;;) {
        auto change = co_await watcher.async_next(asio::use_awaitable);
        said.push_back(change->id + " " + std::string(CauseName(change->cause)));
      }
    } catch (const boost::system::system_error& error) {
      end = error.code();
    }
  };
  asio::co_spawn(*service.io, follow(), asio::detached);
  service.Poll();
  readers.Add("page 1", {.id = "ann"}, service.driver->now());
  service.Pass(30min);
  watcher.cancel();
  service.Poll();
  EXPECT_THAT(said, ElementsAre("ann added", "ann expired"));
  EXPECT_EQ(end, operation_aborted);
}

// The steps that asio.h numbers, with a delivery that is forgotten and an emission that dies.
TEST(Coroutine, AnOrderlyEndHandsOutAllThatWasOpen) {
  Service service({}, {.quiet_period = 5min, .max_wait = 1h, .leases = {.max_deliveries = 2}});
  Consumer consumer(*service.driver, service.sums);
  error_code end;
  const auto work = [&]() -> asio::awaitable<void> {
    try {
      for (;;) {
        auto lease = co_await consumer.async_lease(asio::use_awaitable);
        if (lease->key == "dies") {
          lease->Nack(1s, service.driver->lease_now());
        } else if (lease->key != "forgotten" || lease->delivery.deliveries > 1) {
          lease->Ack();
        }
      }
    } catch (const boost::system::system_error& error) {
      end = error.code();
    }
  };
  asio::co_spawn(*service.io, work(), asio::detached);
  for (const char* key : {"acked", "forgotten", "dies"}) service.Fold(key);
  service.engine->Stop();
  EXPECT_EQ(service.Fold("late"), FoldOutcome::kStopped);
  service.sums.CloseAll();
  service.Poll();
  int seconds = 0;
  for (Sizes left = service.sums.sizes(); left.ready_emissions + left.unacked_emissions > 0;
       left = service.sums.sizes()) {
    ASSERT_LE(++seconds, 30);  // the visibility timeout of the lease that is forgotten
    service.Pass(1s);
  }
  EXPECT_EQ(service.sums.ledger().acked, 2u);
  EXPECT_EQ(service.sums.sizes().dead_letters, 1u);
  EXPECT_FALSE(end);
  service.driver->Stop();
  service.Poll();
  EXPECT_EQ(end, AsioError::kClosed);
}

// As asio_store.h shows. All that append in one turn of the event loop share a commit.
TEST(Coroutine, AnswersWhenARecordIsDurable) {
  Keeper keeper;
  int answered = 0;
  const auto serve = [&](int partition) -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      const AppendPlace place = keeper.Append(partition);
      co_await keeper.Wait(place, asio::use_awaitable);
      EXPECT_GT(keeper.store->Durable(place.partition), place.offset);
      ++answered;
    }
  };
  for (int i = 0; i < 40; ++i) asio::co_spawn(*keeper.io, serve(i % 4), asio::detached);
  keeper.Poll();
  for (int commit = 1; commit <= 3; ++commit) {
    EXPECT_EQ(keeper.PollDisk(), 1u);
    EXPECT_EQ(answered, 40 * commit);
  }
  EXPECT_EQ(keeper.PollDisk(), 0u);
}

// A caller that cannot wait until the disk works again.
TEST(Coroutine, WaitsForADurableRecordOrATimerWhicheverIsFirst) {
  Keeper keeper;
  std::vector<std::string> said;
  const auto serve = [&](bool timer_is_first) -> asio::awaitable<void> {
    asio::steady_timer timer(*keeper.io, asio::steady_timer::time_point::max());
    if (timer_is_first) asio::post(*keeper.io, [&] { timer.cancel(); });
    const auto wait = asio::as_tuple(asio::use_awaitable);
    const AppendPlace place = keeper.Append();
    auto first = co_await (keeper.Wait(place, asio::use_awaitable) || timer.async_wait(wait));
    said.push_back(first.index() == 0 ? "durable" : "timer");
  };
  asio::co_spawn(*keeper.io, serve(true), asio::detached);
  keeper.Poll();
  EXPECT_THAT(said, ElementsAre("timer"));
  EXPECT_EQ(keeper.driver->stats().cancelled, 1u);
  asio::co_spawn(*keeper.io, serve(false), asio::detached);
  keeper.Poll();
  keeper.PollDisk();
  EXPECT_THAT(said, ElementsAre("timer", "durable"));
}

TEST(Coroutine, OneThatWaitsForTheDiskIsDestroyedWithItsContext) {
  Keeper keeper;
  const auto alive = std::make_shared<int>();
  const auto serve = [](Keeper* k, std::shared_ptr<int>) -> asio::awaitable<void> {
    co_await k->Wait(k->Append(), asio::use_awaitable);
    ADD_FAILURE() << "went on";
  };
  asio::co_spawn(*keeper.io, serve(&keeper, alive), asio::detached);
  keeper.Poll();
  EXPECT_EQ(alive.use_count(), 2);
  keeper.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace pleat
