// A driver of a processor whose log is a script, whose clock is moved by hand, and whose event loop and
// worker are two io_contexts that run only when they are polled; and one with real threads.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <pleat/asio_processor.h>
#include <pleat/scripted_log.h>

#include "tests/asio/fixtures.h"
#include "tests/lanes/lane_world.h"

namespace pleat {
namespace {

// What handlers were called with.
struct Mail {
  int calls = 0;
  error_code error;
  std::vector<Message> messages;

  auto Taken() {
    return [this](error_code e, std::vector<Message> all) {
      ++calls;
      error = e;
      messages = std::move(all);
    };
  }
  auto Ended() {
    return [this](error_code e) {
      ++calls;
      error = e;
    };
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const Message& each : messages) keys.push_back(each.key);
    return keys;
  }
};

struct Service {
  explicit Service(ProcessorDriverOptions options = {}) {
    log.Assign(0, *member);
    options.worker = worker->get_executor();
    options.clock = &clock;
    driver = std::make_unique<ProcessorDriver>(*io, *processor, options);
    Rounds(2);
  }

  // The event loop runs what is ready, and what that makes ready.
  size_t Poll() { return Poll(*io); }
  // The worker does all its work, and the event loop hears of it.
  size_t PollWorker() {
    const size_t ran = Poll(*worker);
    Poll();
    return ran;
  }
  static size_t Poll(boost::asio::io_context& context) {
    context.restart();
    size_t ran = 0;
    while (ran < 1000 && context.poll_one() > 0) ++ran;
    return ran;
  }
  // Time passes, and a round is started.
  void Rounds(int count) {
    for (int i = 0; i < count; ++i) {
      clock.Pass(100ms);
      driver->Wake();
      PollWorker();
    }
  }
  // A record that makes a message at once: two rounds later, when a commit has it.
  void Append(const std::string& key) { log.Append(0, {.key = key, .payload = "!"}, clock.Wall()); }

  void Lease(Mail& mail, size_t max = 100) { driver->async_lease(max, 30s, mail.Taken()); }

  ManualClock clock;
  ScriptedLog log{1};
  std::unique_ptr<PartitionedLog> member = log.Join();
  std::unique_ptr<Processor> processor = std::make_unique<Processor>(*member, MakeGroupingHandler);
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<boost::asio::io_context> worker = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<ProcessorDriver> driver;
};

TEST(ProcessorDriver, LeasesWhatWasCommittedAndNothingBefore) {
  Service service;
  Mail mail;
  service.Append("ann");
  service.Lease(mail);
  service.PollWorker();
  EXPECT_EQ(mail.calls, 0) << "no commit was answered yet";
  EXPECT_EQ(service.driver->stats().waiting, 1u);
  service.Rounds(2);
  EXPECT_EQ(mail.calls, 1);
  EXPECT_FALSE(mail.error);
  EXPECT_THAT(mail.Keys(), ElementsAre("ann"));
  EXPECT_EQ(service.driver->stats().waiting, 0u);
}

TEST(ProcessorDriver, CompletesOnTheEventLoopAndNotOnTheWorker) {
  Service service;
  Mail mail;
  service.Append("ann");
  service.Rounds(2);
  service.Lease(mail);
  EXPECT_EQ(Service::Poll(*service.worker), 1u) << "whoever waits has a round started";
  EXPECT_EQ(mail.calls, 0);
  service.Poll();
  EXPECT_EQ(mail.calls, 1);
}

TEST(ProcessorDriver, ThoseWhoWaitAreServedInTheirOrder) {
  Service service;
  Mail first, second, third;
  service.Lease(first, 2);
  service.Lease(second, 2);
  service.Lease(third, 2);
  for (const char* key : {"a", "b", "c"}) service.Append(key);
  service.Rounds(3);
  EXPECT_THAT(first.Keys(), ElementsAre("a", "b"));
  EXPECT_THAT(second.Keys(), ElementsAre("c"));
  EXPECT_EQ(third.calls, 0);
}

TEST(ProcessorDriver, AnAckBringsTheNextMessageOfTheKeyWithoutDelay) {
  Service service;
  Mail first, second;
  service.Append("ann");
  service.Append("ann");
  service.Lease(first);
  service.Rounds(3);
  ASSERT_THAT(first.Keys(), ElementsAre("ann"));
  service.Lease(second);
  service.PollWorker();
  EXPECT_EQ(second.calls, 0) << "the first one of the key is out";
  service.driver->Ack(first.messages.front().id);
  EXPECT_EQ(service.PollWorker(), 1u);
  EXPECT_THAT(second.Keys(), ElementsAre("ann"));
  EXPECT_EQ(second.messages.front().id.number, first.messages.front().id.number + 1);
}

TEST(ProcessorDriver, ANackBringsTheMessageAgainAfterItsDelay) {
  Service service;
  Mail first, second;
  service.Append("ann");
  service.Lease(first);
  service.Rounds(3);
  ASSERT_EQ(first.calls, 1);
  service.driver->Nack(first.messages.front().id, 1s);
  service.Lease(second);
  service.Rounds(9);
  EXPECT_EQ(second.calls, 0);
  service.Rounds(2);
  ASSERT_EQ(second.calls, 1);
  EXPECT_EQ(second.messages.front().id, first.messages.front().id);
}

TEST(ProcessorDriver, RoundsComeByTimeAlsoWhenNobodyWaits) {
  Service service({.round_every = 20ms});
  const uint64_t rounds = service.driver->stats().rounds;
  for (int i = 0; i < 5; ++i) {
    service.clock.Pass(20ms);
    service.driver->Wake();
    EXPECT_EQ(service.PollWorker(), 1u);
    EXPECT_EQ(service.PollWorker(), 0u);
  }
  EXPECT_EQ(service.driver->stats().rounds, rounds + 5);
}

TEST(ProcessorDriver, ItsTimeIsTheClocks) {
  Service service;
  const EngineTime before = service.driver->now();
  EXPECT_EQ(before, service.clock.Wall());
  service.clock.Pass(3s);
  EXPECT_EQ(service.driver->now(), before + 3s);
}

TEST(ProcessorDriver, ARoundThatLeavesMoreIsFollowedAtOnce) {
  Service service;
  service.log.SetPollRecords(10);
  for (int i = 0; i < 95; ++i) service.Append("k" + std::to_string(i));
  service.driver->Wake();
  EXPECT_GE(service.PollWorker(), 9u);
  EXPECT_EQ(service.processor->lanes().front().next, 95u);
}

TEST(ProcessorDriver, AFailedRoundIsTriedAgainAndLosesNothing) {
  struct Broken final : PartitionedLog {
    explicit Broken(PartitionedLog& whole) : log(whole) {}
    absl::StatusOr<bool> Poll(LogListener& listener) override {
      if (!error.ok()) return error;
      return log.Poll(listener);
    }
    void Read(int partition, uint64_t offset) override { log.Read(partition, offset); }
    void Pause(int partition, bool paused) override { log.Pause(partition, paused); }
    void AskEnd(int partition) override { log.AskEnd(partition); }
    void Commit(const LogCommit& commit) override { log.Commit(commit); }
    LaneSnapshots& snapshots() override { return log.snapshots(); }
    PartitionedLog& log;
    absl::Status error;
  };
  Service service;
  service.driver->Stop();
  Broken broken(*service.member);
  Processor processor(broken, MakeGroupingHandler);
  ProcessorDriver driver(*service.io, processor,
                         {.worker = service.worker->get_executor(), .clock = &service.clock});
  service.log.Assign(0, *service.member);
  broken.error = absl::UnavailableError("nobody answers");
  Mail mail;
  service.Append("ann");
  driver.async_lease(1, 30s, mail.Taken());
  service.PollWorker();
  EXPECT_EQ(driver.stats().failed_rounds, 1u);
  EXPECT_EQ(driver.stats().last_round, broken.error);
  EXPECT_EQ(mail.calls, 0);
  EXPECT_EQ(service.PollWorker(), 0u) << "not again before round_every is over";
  broken.error = absl::OkStatus();
  for (int i = 0; i < 4; ++i) {
    service.clock.Pass(100ms);
    driver.Wake();
    service.PollWorker();
  }
  EXPECT_TRUE(driver.stats().last_round.ok());
  EXPECT_THAT(mail.Keys(), ElementsAre("ann"));
}

TEST(ProcessorDriver, ACancelledLeaseTakesNoMessage) {
  Service service;
  Mail cancelled, mail;
  cancellation_signal signal;
  service.driver->async_lease(
      100, 30s, boost::asio::bind_cancellation_slot(signal.slot(), cancelled.Taken()));
  service.Lease(mail);
  service.PollWorker();
  signal.emit(cancellation_type::total);
  service.Append("ann");
  service.Rounds(3);
  EXPECT_EQ(cancelled.calls, 1);
  EXPECT_EQ(cancelled.error, operation_aborted);
  EXPECT_TRUE(cancelled.messages.empty());
  EXPECT_THAT(mail.Keys(), ElementsAre("ann"));
  EXPECT_EQ(service.driver->stats().cancelled, 1u);
}

TEST(ProcessorDriver, MoreThanMaxWaitersAreOverloaded) {
  Service service({.max_waiters = 1});
  Mail first, second, third;
  service.Lease(first);
  service.Lease(second);
  service.driver->async_stopped(third.Ended());
  service.Poll();
  EXPECT_EQ(first.calls, 0);
  EXPECT_EQ(second.error, AsioError::kOverloaded);
  EXPECT_EQ(third.error, AsioError::kOverloaded);
  EXPECT_EQ(service.driver->stats().overloaded, 2u);
}

TEST(ProcessorDriver, EndsInOrderWhenAllIsAcked) {
  Service service;
  Mail mail, stopped;
  service.Append("ann");
  service.Lease(mail);
  service.Rounds(3);
  ASSERT_EQ(mail.calls, 1);
  service.processor->Stop();
  service.driver->async_stopped(stopped.Ended());
  service.Rounds(3);
  EXPECT_EQ(stopped.calls, 0) << "a message is out";
  service.driver->Ack(mail.messages.front().id);
  service.Rounds(3);
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_FALSE(stopped.error);
  EXPECT_EQ(service.log.Committed(0)->offset, 1u);
}

TEST(ProcessorDriver, OperationsEndWhenItIsStopped) {
  Service service;
  Mail lease, stopped, later;
  service.Lease(lease);
  service.driver->async_stopped(stopped.Ended());
  service.driver->Stop();
  service.Lease(later);
  service.Poll();
  for (const Mail* each : {&lease, &stopped, &later}) {
    EXPECT_EQ(each->calls, 1);
    EXPECT_EQ(each->error, operation_aborted);
  }
  const uint64_t rounds = service.driver->stats().rounds;
  service.processor.reset();
  service.Rounds(2);
  service.driver->Ack({});
  EXPECT_EQ(service.driver->stats().rounds, rounds);
}

// What was acked is not delivered again by a next owner.
TEST(ProcessorDriver, AcksBeforeTheStopReachTheProcessor) {
  Service service;
  Mail mail;
  service.Append("ann");
  service.Lease(mail);
  service.Rounds(3);
  ASSERT_EQ(mail.calls, 1);
  service.driver->Ack(mail.messages.front().id);
  service.driver->Stop();
  EXPECT_EQ(service.processor->lanes().front().waiting, 0u);
}

TEST(ProcessorDriverLife, HandlersThatWaitAreDestroyedWithTheContextNotCalled) {
  Service service;
  const auto alive = std::make_shared<int>();
  service.driver->async_lease(1, 30s, [alive](error_code, const std::vector<Message>&) { FAIL(); });
  service.driver->async_stopped([alive](error_code) { FAIL(); });
  EXPECT_EQ(alive.use_count(), 3);
  service.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
  service.driver->Ack({});
  service.driver->Wake();
  Service::Poll(*service.worker);
}

TEST(ProcessorDriverLife, IsStoppedWhenTheContextOfTheWorkerGoes) {
  Service service;
  Mail mail, later;
  service.Lease(mail);
  service.worker.reset();
  service.Lease(later);
  service.driver->Ack({});
  service.Poll();
  EXPECT_EQ(mail.error, operation_aborted);
  EXPECT_EQ(later.error, operation_aborted);
}

TEST(ProcessorDriverLife, MayBeOwnedByItsOwnHandlerWhenTheContextGoes) {
  Service service;
  ProcessorDriver& driver = *service.driver;
  const auto alive = std::make_shared<int>();
  driver.async_stopped([own = std::move(service.driver), alive](error_code) {});
  service.io.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(ProcessorDriverDeathTest, NeedsAThreadForItsRounds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Service service;
  EXPECT_DEATH(ProcessorDriver(*service.io, *service.processor, {}), "worker");
}

// Both happen inside of a round, as the handler is called in it.
TEST(ProcessorDriver, WhatIsAckedDuringARoundIsNotLentBehindIt) {
  Service service;
  service.driver->Stop();
  Mail first, second;
  ProcessorDriver* driver = nullptr;
  Processor processor(*service.member, [&](Lane& lane) {
    return std::make_unique<GroupingHandler>(lane, [&](int, const LogRecord& record) {
      if (record.key == "bob") driver->Ack(first.messages.front().id);
      return Handled::Done();
    });
  });
  ProcessorDriver owned(*service.io, processor,
                        {.worker = service.worker->get_executor(), .clock = &service.clock});
  driver = &owned;
  service.log.Assign(0, *service.member);
  const auto rounds = [&] {
    for (int i = 0; i < 4; ++i) {
      service.clock.Pass(100ms);
      owned.Wake();
      service.PollWorker();
    }
  };
  service.Append("ann");
  owned.async_lease(1, 1s, first.Taken());
  rounds();
  ASSERT_THAT(first.Keys(), ElementsAre("ann"));
  owned.async_lease(1, 1s, second.Taken());
  service.PollWorker();
  service.clock.Pass(2s);  // the lease is over
  service.Append("bob");
  rounds();
  EXPECT_THAT(second.Keys(), ElementsAre("bob"));
}

TEST(ProcessorDriver, WakeDuringARoundIsFollowedByAnotherOne) {
  ProcessorDriver* driver = nullptr;
  bool wakes = true;
  ManualClock clock;
  ScriptedLog log(1);
  const std::unique_ptr<PartitionedLog> member = log.Join();
  log.Assign(0, *member);
  boost::asio::io_context io, worker;
  Processor processor(*member, [&](Lane& lane) {
    return std::make_unique<GroupingHandler>(lane, [&](int, const LogRecord&) {
      if (std::exchange(wakes, false)) driver->Wake();
      return Handled::Done();
    });
  });
  ProcessorDriver owned(io, processor, {.worker = worker.get_executor(), .clock = &clock});
  driver = &owned;
  log.Append(0, {.key = "ann"}, clock.Wall());
  owned.Wake();
  Service::Poll(worker);
  EXPECT_FALSE(wakes);
  EXPECT_GE(owned.stats().rounds, 2u);
}

// Deliveries on threads of the event loop, rounds on the worker's, and records that come meanwhile: each
// message is taken once, those of a key in their order.
TEST(ProcessorDriverThreads, EachMessageIsDeliveredOnce) {
  constexpr int kRecords = 2'000;
  constexpr int kKeys = 40;
  ManualClock clock;
  ScriptedLog log(2);
  const std::unique_ptr<PartitionedLog> member = log.Join();
  for (const int partition : {0, 1}) log.Assign(partition, *member);
  Processor processor(*member, MakeGroupingHandler, {.commit_every = 1ms});
  boost::asio::thread_pool worker(1);
  boost::asio::io_context io;
  ProcessorDriver driver(io, processor, {.worker = worker.get_executor(), .clock = &clock});

  std::mutex mutex;
  std::map<std::string, std::vector<uint64_t>> by_key;  // the numbers of its messages
  int count = 0;
  std::promise<void> all;
  struct Loop {
    ProcessorDriver& driver;
    std::function<void(const Message&)> take;
    void Next() {
      driver.async_lease(7, 30s, [this](error_code error, const std::vector<Message>& messages) {
        if (error) return;
        for (const Message& each : messages) {
          take(each);
          driver.Ack(each.id);
        }
        Next();
      });
    }
  };
  const auto take = [&](const Message& message) {
    if (message.stream != "emitted") return;  // groups close as time passes
    const std::lock_guard lock(mutex);
    by_key[message.key].push_back(message.id.number);
    if (++count == kRecords) all.set_value();
  };
  std::vector<Loop> loops(4, Loop{driver, take});
  for (Loop& loop : loops) loop.Next();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { io.run(); });
  // On the worker, as a scripted log takes one call at a time.
  for (int i = 0; i < kRecords; ++i) {
    boost::asio::post(worker, [&, i] {
      log.Append(i % 2, {.key = "k" + std::to_string(i % kKeys), .payload = "!"}, clock.Wall());
    });
  }
  std::future<void> done = all.get_future();
  while (done.wait_for(0s) == std::future_status::timeout) {
    std::this_thread::yield();
    clock.Pass(1ms);
    driver.Wake();
  }
  driver.Stop();
  for (std::thread& thread : threads) thread.join();
  worker.join();
  EXPECT_EQ(count, kRecords);
  ASSERT_EQ(by_key.size(), static_cast<size_t>(kKeys));
  for (const auto& [key, numbers] : by_key) {
    EXPECT_EQ(numbers.size(), static_cast<size_t>(kRecords / kKeys));
    EXPECT_TRUE(std::ranges::is_sorted(numbers, std::less_equal<>())) << key;
  }
}

}  // namespace
}  // namespace pleat
