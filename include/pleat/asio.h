// pleat on Boost.Asio: a Driver moves an engine's time, and Consumers await its emissions.
// In CMake: find_package(pleat 0.1 REQUIRED COMPONENTS asio), and link pleat::asio.
//
//   boost::asio::io_context io;
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> accounts(*engine, "accounts",
//                                        {.quiet_period = 5min, .max_wait = 1h});
//   pleat::Driver driver(io, *engine);         // the only object that reads a clock
//   accounts.Fold(key, event, driver.now());   // any thread
//
//   pleat::Consumer consumer(driver, accounts);  // keeps a handle of the folder
//   for (;;) {                                   // in a coroutine
//     auto lease = co_await consumer.async_lease(boost::asio::use_awaitable);
//     try {
//       co_await Publish(lease->key, lease->state);
//       lease->Ack();
//     } catch (const std::exception&) {
//       lease->Nack(10s, driver.lease_now());    // handed out again in ten seconds
//     }
//   }
//
// A lease is for ConsumerOptions::visibility_timeout, 30 seconds by default. Without an Ack() or a
// Nack(), the emission is handed out again when the lease ends. As a parameter the consumer's type
// is Consumer<State>. Consumers wake up for every emission, whether time, an event, Flush() or
// CloseAll() closed its group.
//
// Errors: async_lease() completes with a std::optional<Leased<State>>, which is empty if and only
// if there is an error. With use_awaitable an error is thrown, as a boost::system::system_error;
// above it ends the loop.
// - AsioError::kClosed: the driver was stopped, the folder was closed, or the engine is gone.
// - AsioError::kOverloaded: ConsumerOptions::max_waiters operations wait already.
// - boost::asio::error::operation_aborted: the operation was cancelled, or its consumer destroyed.
//
// Watcher in asio_watcher.h awaits the changes of live sets and of presence in the same manner,
// and says how a service of these ends. Driver is in asio_driver.h.
//
// An orderly end, at which no event that was folded is lost; examples/02_asio_coroutine.cc takes it
// at SIGINT, and async_drain() below says more:
//
//   auto drained = co_await pleat::async_drain(driver, {.timeout = 30s}, use_awaitable);
//   driver.Stop();
//
// From the beginning on Fold() answers kStopped, and the consumers get the groups that were open.
// The operation completes when all is acked or the time is over, and says what is left; dead
// letters end with the engine. Behind driver.Stop() operations that wait complete with kClosed, and
// io.run() can return; it does not return before, because a driver always waits for its timer.
//
// There are three Stop(): Engine's ends folding; Driver's ends the driver and its consumers;
// DriverThread's ends the thread that RunThread() started, and handlers left on it do not run.
//
// Threads: only Driver::RunThread() starts one. All work is done by the threads that run the
// execution context, and by callers.
// Lifetimes: engine, driver, consumers and execution context may be destroyed in any order. The
// end of the execution context destroys the operations that wait: their handlers are not called.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio_driver.h>
#include <pleat/batch.h>
#include <pleat/detail/asio_drain.h>
#include <pleat/detail/asio_operation.h>
#include <pleat/detail/export.h>
#include <pleat/drain.h>
#include <pleat/emission_source.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Consumer awaits the emissions of a collection, such as a Folder.
//
//   pleat::Consumer consumer(driver, folder);
//   consumer.async_pop([](boost::system::error_code error, auto emission) {
//     if (!error) Publish(emission->key, emission->state);
//   });
//
// Each of n workers can consume the partitions that it owns: Consumer(driver, folder, range) with
// range = PartitionRange::ForWorker(i, n, engine->partitions()).

struct ConsumerOptions {
  // How long async_lease() lends for. Range: above zero. Default: 30 s.
  Duration visibility_timeout = std::chrono::seconds(30);

  // How many operations may wait. Range: at least 1. Default: 65,536.
  size_t max_waiters = 65'536;
};

// An I/O object in Asio's manner, whose operations take any completion token.
//
// Completion: without error and with the emissions; or with an error and none: operation_aborted
//   (cancelled, or the consumer is gone) or an AsioError. Never inside the initiating function:
//   posted to the consumer's executor, and from there to the handler's associated executor, if that
//   is another one.
// Order: operations are served in the order in which they were started, and take emissions in the
//   order of EmissionSource. One operation at a time, or handlers on a strand, keep it.
// Cancellation: total, hence also partial and terminal. A cancelled operation has taken nothing; if
//   it has taken emissions, they are delivered. As ever in Asio, emit the signal where the handler
//   runs.
// Allocation: the operation, by the handler's associated allocator, freed before the handler is
//   called; the emissions; and what Asio needs to post.
//
// Consumers may overlap: each emission goes to one of them. A consumer without operations costs the
// others nothing; limits.max_backlog bounds the emissions that wait.
//
// Thread safety: any thread may start operations, and call cancel() and stats(). Moving and
// destroying need exclusion. Any number of threads may run the execution context.
template <class State, class Executor = boost::asio::any_io_executor>
class Consumer {
 public:
  using executor_type = Executor;
  template <class Other>
  struct rebind_executor {
    using other = Consumer<State, Other>;
  };

  using PopHandler = void(boost::system::error_code, std::optional<Emission<State>>);
  using PopManyHandler = void(boost::system::error_code, std::vector<Emission<State>>);
  using LeaseHandler = void(boost::system::error_code, std::optional<Leased<State>>);
  using LeaseManyHandler = void(boost::system::error_code, std::vector<Leased<State>>);

  // On the driver's executor.
  explicit Consumer(Driver& driver, const EmissionSource<State>& source, PartitionRange range = {},
                    const ConsumerOptions& options = {})
      : Consumer(Executor(driver.get_executor()), driver, source, range, options) {}

  Consumer(const Executor& executor, Driver& driver, const EmissionSource<State>& source,
           PartitionRange range = {}, const ConsumerOptions& options = {})
      : executor_(executor),
        source_(source),
        range_(range),
        visibility_timeout_(options.visibility_timeout),
        any_(executor, driver, source.any(), range, options) {}

  template <class Other>
    requires std::is_constructible_v<Executor, const Other&>
  explicit Consumer(Consumer<State, Other>&& other)
      : executor_(other.executor_),
        source_(other.source_),
        range_(other.range_),
        visibility_timeout_(other.visibility_timeout_),
        any_(std::move(other.any_)) {}

  Consumer(Consumer&&) noexcept = default;
  Consumer& operator=(Consumer&&) noexcept = default;
  ~Consumer() = default;  // as cancel()

  executor_type get_executor() const noexcept { return executor_; }

  // Cancels all operations that wait.
  void cancel() noexcept { any_.cancel(); }

  ConsumerStats stats() const { return any_.stats(); }

  // Takes an emission for good.
  template <boost::asio::completion_token_for<PopHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_pop(Token&& token = Token()) {
    return Initiate<PopHandler, true>(PopCall(), 1, token);
  }

  // Takes from 1 to `max` emissions for good. EmissionSource::Pop() says what a large `max` costs.
  template <boost::asio::completion_token_for<PopManyHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_pop_many(size_t max, Token&& token = Token()) {
    return Initiate<PopManyHandler, false>(PopCall(), max, token);
  }

  // Borrows an emission for ConsumerOptions::visibility_timeout.
  template <boost::asio::completion_token_for<LeaseHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_lease(Token&& token = Token()) {
    return Initiate<LeaseHandler, true>(LeaseCall(), 1, token);
  }

  // Borrows from 1 to `max` emissions.
  template <boost::asio::completion_token_for<LeaseManyHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_lease_many(size_t max, Token&& token = Token()) {
    return Initiate<LeaseManyHandler, false>(LeaseCall(), max, token);
  }

 private:
  template <class, class>
  friend class Consumer;

  auto PopCall() const {
    return [source = source_, range = range_](size_t max, LeaseTime) mutable noexcept {
      return source.Pop(max, range);
    };
  }
  auto LeaseCall() const {
    return [source = source_, range = range_, visibility_timeout = visibility_timeout_](
               size_t max, LeaseTime now) mutable noexcept {
      return source.Lease(max, visibility_timeout, now, range);
    };
  }

  template <class Signature, bool kOne, class Take, class Token>
  auto Initiate(Take take, size_t max, Token& token) {
    using Call = TakeEmissions<Take>;
    return boost::asio::async_initiate<Token, Signature>(
        TakeInitiation<Call, kOne, Executor>{any_.queue(), executor_}, token, Call{std::move(take)},
        max);
  }

  Executor executor_;
  EmissionSource<State> source_;
  PartitionRange range_;
  Duration visibility_timeout_;
  AnyConsumer any_;
};

template <class State>
[[nodiscard]] Consumer<State> Subscribe(Driver& driver, const EmissionSource<State>& source,
                                        PartitionRange range, const ConsumerOptions& options = {}) {
  return Consumer<State>(driver, source, range, options);
}

// async_drain: the orderly end of a service, or of one collection, as one operation. drain.h says
// what a drain is, and what its options and its answer mean.
//
//   auto drained = co_await pleat::async_drain(driver, {.timeout = 30s}, use_awaitable);
//   for (const auto& left : drained->collections) Warn(left.collection, left.sizes);
//   driver.Stop();
//
// The driver and the consumers go on until the operation completes, and it is told when the last
// emission was popped or acked: it does not poll.

using DrainHandler = void(boost::system::error_code, std::optional<Drained>);

// Drains the driver's engine. Completes without error and with what is left, which is nothing to be
// popped or acked unless the time was over (DrainState::kTimedOut); or with an error and nothing:
// - AsioError::kClosed: the driver was stopped, or a collection was closed, or the engine gone,
//   before all was drained.
// - boost::asio::error::operation_aborted: the operation was cancelled, of any type. The engine
//   stays stopped, and what was closed stays closed; another drain may follow.
// Order, executors and allocation are as Consumer says. LeaseTime is the driver's. A lazy token,
// such as deferred or use_awaitable, begins when it is awaited.
// REQUIRES: the driver lives until the operation has begun.
// Thread safety: any thread may call it, as often as it likes.
template <boost::asio::completion_token_for<DrainHandler> Token>
auto async_drain(Driver& driver, const DrainOptions& options, Token&& token) {
  return boost::asio::async_initiate<Token, DrainHandler>(DrainInitiation{&driver}, token,
                                                          std::optional<AnyCollection>(), options);
}

// Drains one collection, such as `folder.any()`, and does not stop the engine: nobody may feed the
// collection meanwhile.
template <boost::asio::completion_token_for<DrainHandler> Token>
auto async_drain(Driver& driver, const AnyCollection& collection, const DrainOptions& options,
                 Token&& token) {
  return boost::asio::async_initiate<Token, DrainHandler>(
      DrainInitiation{&driver}, token, std::optional<AnyCollection>(collection), options);
}

// async_dead_letters: waits until a collection has dead letters that the caller has not seen.
//
//   for (uint64_t seen = 0;;) {
//     seen = *co_await pleat::async_dead_letters(driver, folder.any(), seen, use_awaitable);
//     ...                                      // ScanDeadLetters(), then retry or drop them
//   }
//
// The operation completes as soon as LeaseSource::deaths() is more than `seen`, without error and
// with that count: at once if the letter came before the operation began. So no letter goes
// unnoticed, and one operation tells of all that have come. Waiting takes no emission.
// - AsioError::kClosed: the driver was stopped, the collection was closed, or the engine is gone.
// - boost::asio::error::operation_aborted: the operation was cancelled, of any type.
// The rest is as async_drain() says.

using DeathsHandler = void(boost::system::error_code, std::optional<uint64_t>);

template <boost::asio::completion_token_for<DeathsHandler> Token>
auto async_dead_letters(Driver& driver, const AnyCollection& collection, uint64_t seen,
                        Token&& token) {
  return boost::asio::async_initiate<Token, DeathsHandler>(DeathsInitiation{&driver}, token,
                                                           collection, seen);
}

}  // namespace pleat::inline v0_1
