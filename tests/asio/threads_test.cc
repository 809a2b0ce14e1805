// Many threads: producers that fold, threads that run the io_context, operations that come, go and are cancelled. For
// ThreadSanitizer, and for the ledger: what was popped was handed over, once.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "tests/asio/fixtures.h"

namespace pleat {
namespace {

constexpr int kKeys = 50;
constexpr int kProducers = 2;
constexpr int kEventsEach = 5000;
constexpr uint64_t kEmissions = uint64_t{kProducers} * kEventsEach;

// Threads that run an io_context until they are stopped.
class Runners {
 public:
  Runners(boost::asio::io_context& io, int threads) : io_(io), work_(io.get_executor()) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  ~Runners() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  boost::asio::io_context& io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
};

// Every event is a group, hence an emission: max_events is 1.
struct BusyService : Service {
  BusyService()
      : Service({}, {.quiet_period = 5min, .max_wait = 1h, .max_events = 1}, {.partitions = 6}) {
    io->restart();
  }

  // Folds 0, 1, 2, ... into each of its keys, `producer` by its own keys.
  void Produce(int producer) {
    for (int n = 0; n < kEventsEach; ++n) {
      Fold(std::to_string(producer) + "/" + std::to_string(n % kKeys), n);
    }
  }
};

// What was handed over, by whomever.
class Record {
 public:
  void Add(const Emission<Sum>& emission) {
    const std::lock_guard lock(mutex_);
    const bool is_new = ids_.insert({emission.id.partition, emission.id.generation}).second;
    EXPECT_TRUE(is_new) << "handed over twice: " << emission.key;
    if (ids_.size() == kEmissions) done_.set_value();
  }
  void WaitForAll() { done_.get_future().wait(); }

 private:
  std::mutex mutex_;
  std::set<std::pair<uint32_t, uint64_t>> ids_;
  std::promise<void> done_;
};

// Producers fold, and other threads run the handlers, until `record` has everything and `end` has returned.
void ServeAll(BusyService& service, Record& record, const std::function<void()>& end = [] {}) {
  const Runners runners(*service.io, 3);
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) producers.emplace_back([&, i] { service.Produce(i); });
  for (std::thread& producer : producers) producer.join();
  record.WaitForAll();
  end();
}

// A chain of operations, the next started by the handler of the one before.
struct Chain {
  Chain(Service& service, PartitionRange range, Record& to)
      : consumer(*service.driver, service.sums, range), record(to) {}

  void Next() {
    consumer.async_pop_many(7, [this](error_code error, const auto& emissions) {
      if (error) return;
      for (const auto& emission : emissions) {
        // One operation at a time and a range of its own: the order of each key.
        if (ordered) {
          auto [last, first] = last_of_key.try_emplace(emission.key, emission.state.total);
          EXPECT_TRUE(first || last->second < emission.state.total) << emission.key;
          last->second = emission.state.total;
        }
        record.Add(emission);
      }
      Next();
    });
  }

  Consumer<Sum> consumer;
  Record& record;
  bool ordered = true;
  std::map<std::string, int64_t> last_of_key;
};

TEST(Threads, WorkersOfDisjointRangesSeeEveryEmissionOnceAndEachKeyInOrder) {
  BusyService service;
  Record record;
  std::vector<std::unique_ptr<Chain>> chains;
  for (int i = 0; i < 4; ++i) {
    chains.push_back(std::make_unique<Chain>(service, PartitionRange::ForWorker(i, 4, 6), record));
    chains.back()->Next();
  }
  ServeAll(service, record);
  EXPECT_EQ(service.sums.ledger().popped, kEmissions);
  EXPECT_TRUE(service.sums.ledger().Balances());
}

TEST(Threads, ConsumersOfTheSamePartitionsShareThemWithNothingTwice) {
  BusyService service;
  Record record;
  std::vector<std::unique_ptr<Chain>> chains;
  for (int i = 0; i < 3; ++i) {
    chains.push_back(std::make_unique<Chain>(service, PartitionRange{}, record));
    chains.back()->ordered = false;
    chains.back()->Next();
  }
  ServeAll(service, record);
  EXPECT_EQ(service.sums.ledger().popped, kEmissions);
}

// Each operation is cancelled at about the time at which it would be served.
class CancelledChain {
 public:
  CancelledChain(Service& service, Record& record, std::latch& done, uint64_t seed)
      : strand_(boost::asio::make_strand(*service.io)),
        consumer_(*service.driver, service.sums),
        record_(record),
        done_(done),
        random_(seed) {}

  void Begin() {
    boost::asio::post(strand_, [this] { Next(); });
  }
  void Finish() {
    boost::asio::post(strand_, [this] {
      finishing_ = true;
      signal_.emit(cancellation_type::all);
    });
  }

 private:
  void Next() {
    consumer_.async_pop(boost::asio::bind_cancellation_slot(
        signal_.slot(),
        boost::asio::bind_executor(strand_, [this](error_code error, auto emission) {
          EXPECT_EQ(emission.has_value(), !error);
          if (emission) record_.Add(*emission);
          if (finishing_ && error) {
            done_.count_down();
          } else {
            Next();
          }
        })));
    if (random_() % 2 == 0) {
      boost::asio::post(strand_, [this] { signal_.emit(cancellation_type::total); });
    }
  }

  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  Consumer<Sum> consumer_;
  Record& record_;
  std::latch& done_;
  std::mt19937_64 random_;
  cancellation_signal signal_;
  bool finishing_ = false;
};

TEST(Threads, CancellationThatRacesWithDeliveryLosesNothing) {
  BusyService service;
  Record record;
  std::latch done(2);
  CancelledChain first(service, record, done, 1);
  CancelledChain second(service, record, done, 2);
  first.Begin();
  second.Begin();
  ServeAll(service, record, [&] {
    first.Finish();
    second.Finish();
    done.wait();
  });
  EXPECT_EQ(service.sums.ledger().popped, kEmissions);
}

TEST(Threads, AnyThreadMayUseOneConsumerAndOneDriver) {
  BusyService service;
  Consumer consumer(*service.driver, service.sums);
  std::atomic<uint64_t> delivered = 0;
  std::atomic<uint64_t> ended = 0;
  constexpr uint64_t kOperationsEach = 2000;
  {
    const Runners runners(*service.io, 2);
    std::vector<std::thread> users;
    for (int i = 0; i < kProducers; ++i) {
      users.emplace_back([&, i] {
        for (uint64_t n = 0; n < kOperationsEach; ++n) {
          consumer.async_pop([&](error_code, const auto& emission) {
            if (emission) ++delivered;
            ++ended;
            ended.notify_all();
          });
          if (n % 3 == 0) service.Fold(std::to_string(i));
          if (n % 50 == 0) consumer.cancel();
          if (n % 50 == 25) service.driver->Wake();
          if (n % 50 == 30) service.clock.Pass(1s);
          if (n % 500 == 0) service.driver->Reanchor().IgnoreError();  // no jump is too far here
          if (n % 100 == 0)
            static_cast<void>(consumer.stats().waiting + service.driver->stats().turns);
        }
      });
    }
    for (std::thread& user : users) user.join();
    consumer.cancel();
    for (uint64_t seen = ended; seen < kProducers * kOperationsEach; seen = ended) ended.wait(seen);
  }
  EXPECT_EQ(consumer.stats().delivered, delivered);
  EXPECT_EQ(service.sums.ledger().popped, delivered);
}

// The engine goes as soon as the driver has stopped, whatever turns and alarms were under way.
TEST(Threads, StoppingWaitsForTheTurnUnderWay) {
  for (int round = 0; round < 50; ++round) {
    Service service({.budget = 1});
    const Runners runners(*service.io, 2);
    std::latch folding(1);
    std::thread producer([&] {
      for (int n = 0; n < 500; ++n) {
        service.sums.Fold(std::to_string(n), 1, kNoon - n * 1s);
        if (n == 100) folding.count_down();
        if (n % 50 == 0) service.driver->Wake();
      }
    });
    folding.wait();
    service.driver->Stop();
    producer.join();
    service.engine.reset();
  }
}

}  // namespace
}  // namespace pleat
