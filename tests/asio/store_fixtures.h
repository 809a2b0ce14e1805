// A program that keeps orders in an event store, for tests of its driver: the store is in memory, the
// clock is moved by hand, and the event loop and the disk's thread are two io_contexts that run only
// when they are polled.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pleat/asio_store.h>
#include <pleat/event_store.h>

#include "tests/asio/fixtures.h"
#include "tests/store/watched_storage.h"
#include "tests/support/faulty_storage.h"

namespace pleat {

using Trouble = WatchedStorage::Trouble;

struct Keeper {
  explicit Keeper(StoreDurability durability = StoreDurability::kGroup,
                  StoreDriverOptions options = {}, bool clock_runs = false)
      : clock(clock_runs) {
    store = std::move(*EventStore::Open(
        "/d", {.storage = &storage, .partitions = 4, .durability = durability, .identity = 7}));
    options.disk = disk->get_executor();
    options.clock = &clock;
    driver = std::make_unique<StoreDriver>(*io, *store, options);
    // The first sync of a life is of a file that begins.
    Append(3);
    EXPECT_TRUE(store->Commit().ok());
  }

  // Runs what is ready, and what that makes ready, unless there is no end of it.
  static size_t Poll(boost::asio::io_context& context) {
    context.restart();
    size_t ran = 0;
    while (ran < 1000 && context.poll_one() > 0) ++ran;
    return ran;
  }
  // The event loop runs what is ready.
  size_t Poll() { return Poll(*io); }
  // The disk's thread does all its work, and the event loop hears of it.
  size_t PollDisk() {
    const size_t ran = Poll(*disk);
    Poll();
    return ran;
  }
  // Time passes, and a commit that falls due is posted.
  void Pass(Duration d) {
    clock.Pass(d);
    driver->Wake();
  }

  // To a partition of its own.
  AppendPlace Append(int partition = 0) {
    const AppendAnswer answer =
        store->Append({.key = "order", .payload = "1200"}, kNoon, {.partition = partition});
    EXPECT_EQ(answer.outcome, AppendOutcome::kAppended);
    return {.partition = answer.partition, .offset = answer.offset};
  }

  template <class Token>
  auto Wait(const AppendPlace& place, Token&& token) {
    return driver->async_durable(place.partition, place.offset, std::forward<Token>(token));
  }

  ManualClock clock;
  FaultyStorage memory;
  WatchedStorage storage{memory};
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<boost::asio::io_context> disk = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<EventStore> store;
  std::unique_ptr<StoreDriver> driver;
};

// What handlers were called with.
struct Heard {
  int calls = 0;
  error_code error;

  auto One() {
    return [this](error_code e) {
      ++calls;
      error = e;
    };
  }
};

}  // namespace pleat
