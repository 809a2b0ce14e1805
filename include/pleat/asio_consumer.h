// Consumer: awaits the emissions of a collection, such as a Folder.
//
//   pleat::Consumer consumer(driver, folder);
//   consumer.async_pop([](boost::system::error_code error, auto emission) {
//     if (!error) Publish(emission->key, emission->state);
//   });
//
// Each of n workers can consume the partitions that it owns: Subscribe(driver, folder, range) with
// range = PartitionRange::ForWorker(i, n, engine->partitions()).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio_driver.h>
#include <pleat/asio_error.h>
#include <pleat/detail/asio_operation.h>
#include <pleat/driver_stats.h>
#include <pleat/emission_source.h>
#include <pleat/export.h>
#include <pleat/histogram.h>
#include <pleat/partition.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

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

}  // namespace pleat::inline v0_1
