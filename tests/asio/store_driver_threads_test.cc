// Threads that append and wait, threads that run the handlers, and one for the disk, which fails now and
// then. For ThreadSanitizer, and for what an answer means: the record is durable.
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/asio/store_fixtures.h"

namespace pleat {
namespace {

constexpr int kAppenders = 3;
constexpr int kRecordsEach = 1500;

// A store whose driver has real threads. Time passes when a test says so.
struct BusyKeeper {
  explicit BusyKeeper(StoreDurability durability = StoreDurability::kGroup)
      : store(std::move(*EventStore::Open(
            "/d",
            {.storage = &storage, .partitions = 4, .durability = durability, .identity = 7}))),
        driver(std::make_unique<StoreDriver>(
            *io, *store, StoreDriverOptions{.disk = disk.get_executor(), .clock = &clock})) {
    for (int i = 0; i < 2; ++i) threads.emplace_back([this] { io->run(); });
  }
  ~BusyKeeper() { End(); }

  // From its return on no handler runs.
  void End() {
    work.reset();
    driver->Stop();
    disk.join();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }

  // On the disk's thread, so that no commit is under way.
  void PassBetweenCommits(Duration d) {
    boost::asio::post(disk, [this, d] {
      clock.Pass(d);
      driver->Wake();
    });
  }

  ManualClock clock;
  FaultyStorage memory;
  WatchedStorage storage{memory};
  std::unique_ptr<EventStore> store;
  boost::asio::thread_pool disk{1};
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io->get_executor()};
  std::unique_ptr<StoreDriver> driver;
  std::vector<std::thread> threads;
};

// Counts operations that have ended, and checks what they say.
class Answers {
 public:
  explicit Answers(const EventStore& store) : store_(store) {}

  auto To(const AppendPlace& place) {
    return [this, place](error_code error) {
      if (!error) {
        EXPECT_GT(store_.Durable(place.partition), place.offset);
        ++durable;
      } else {
        EXPECT_EQ(error, operation_aborted);
      }
      ++ended;
      ended.notify_all();
    };
  }
  void WaitFor(int count) {
    for (int seen = ended; seen < count; seen = ended) ended.wait(seen);
  }

  std::atomic<int> durable = 0;
  std::atomic<int> ended = 0;

 private:
  const EventStore& store_;
};

TEST(StoreDriverThreads, EachAnswerIsOfADurableRecordAlsoWhileTheDiskFails) {
  BusyKeeper keeper;
  Answers answers(*keeper.store);
  std::atomic<int> started = 0;
  std::vector<std::thread> appenders;
  for (int i = 0; i < kAppenders; ++i) {
    appenders.emplace_back([&, i] {
      for (int n = 0; n < kRecordsEach; ++n) {
        if (i == 0 && n % 200 == 100) keeper.storage.Have(Trouble::kSync);
        if (i == 0 && n % 200 == 150) keeper.storage.Have(Trouble::kNone);
        if (n % 50 == 0) keeper.PassBetweenCommits(1s);
        if (n % 500 == 0) static_cast<void>(keeper.driver->stats());
        const AppendAnswer answer =
            keeper.store->Append({.key = "order"}, kNoon, {.partition = (i + n) % 4});
        if (answer.outcome != AppendOutcome::kAppended) continue;
        ++started;
        const AppendPlace place{.partition = answer.partition, .offset = answer.offset};
        keeper.driver->async_durable(place.partition, place.offset, answers.To(place));
      }
    });
  }
  for (std::thread& appender : appenders) appender.join();
  keeper.storage.Have(Trouble::kNone);
  keeper.PassBetweenCommits(1s);
  answers.WaitFor(started);
  keeper.End();
  EXPECT_EQ(answers.durable, started);
  EXPECT_GT(started, 0);
}

// Each chain starts the next operation when the one before has ended, and cancels every other one at
// about the instant at which it would be served.
class CancellingChain {
 public:
  CancellingChain(BusyKeeper& keeper, Answers& answers, int partition)
      : keeper_(keeper),
        answers_(answers),
        partition_(partition),
        strand_(boost::asio::make_strand(*keeper.io)) {}

  void Begin() {
    boost::asio::post(strand_, [this] { Next(); });
  }

 private:
  void Next() {
    if (left_-- == 0) return;
    const AppendAnswer answer =
        keeper_.store->Append({.key = "order"}, kNoon, {.partition = partition_});
    const AppendPlace place{.partition = partition_, .offset = answer.offset};
    keeper_.driver->async_durable(
        place.partition, place.offset,
        boost::asio::bind_cancellation_slot(
            signal_.slot(), boost::asio::bind_executor(strand_, [this, place](error_code error) {
              answers_.To(place)(error);
              Next();
            })));
    if (left_ % 2 == 0) {
      boost::asio::post(strand_, [this] { signal_.emit(cancellation_type::total); });
    }
  }

  BusyKeeper& keeper_;
  Answers& answers_;
  const int partition_;
  int left_ = kRecordsEach;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  cancellation_signal signal_;
};

TEST(StoreDriverThreads, CancellationThatRacesWithACommitEndsEachOperationOnce) {
  BusyKeeper keeper;
  Answers answers(*keeper.store);
  std::vector<std::unique_ptr<CancellingChain>> chains;
  for (int i = 0; i < 4; ++i) {
    chains.push_back(std::make_unique<CancellingChain>(keeper, answers, i));
    chains.back()->Begin();
  }
  answers.WaitFor(4 * kRecordsEach);
  keeper.End();
  EXPECT_GT(answers.durable, 0);
  EXPECT_EQ(answers.ended - answers.durable, static_cast<int>(keeper.driver->stats().cancelled));
}

// The store goes as soon as the driver has stopped, whatever commits were under way.
TEST(StoreDriverThreads, TheStoreMayGoAsSoonAsTheDriverIsStopped) {
  for (int round = 0; round < 100; ++round) {
    BusyKeeper keeper;
    std::atomic<int> ended = 0;
    for (int n = 0; n < 20; ++n) {
      const AppendAnswer answer =
          keeper.store->Append({.key = "order"}, kNoon, {.partition = n % 4});
      keeper.driver->async_durable(answer.partition, answer.offset, [&](error_code) { ++ended; });
      if (n == round % 20) keeper.driver->Stop();
    }
    keeper.driver->Stop();
    keeper.store.reset();
    keeper.End();
    EXPECT_EQ(ended, 20);
  }
}

}  // namespace
}  // namespace pleat
