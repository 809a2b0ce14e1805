// async_drain: the orderly end of a service, or of one collection, as one operation. drain.h says
// what a drain is, and what its options and its answer mean.
//
//   auto drained = co_await pleat::async_drain(driver, {.timeout = 30s}, use_awaitable);
//   for (const auto& left : drained->collections) Warn(left.collection, left.sizes);
//   driver.Stop();
//
// The driver and the consumers go on until the operation completes, and it is told when the last
// emission was popped or acked: it does not poll.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio_driver.h>
#include <pleat/asio_error.h>
#include <pleat/detail/asio_operation.h>
#include <pleat/drain.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

using DrainHandler = void(boost::system::error_code, std::optional<Drained>);

class DrainCore;

// The queue of the one operation that waits for a drain. An implementation detail.
class PLEAT_EXPORT AnyDrain : public WaiterHandle {
 public:
  // Begins the drain: of `collection`, or without one of the driver's engine.
  AnyDrain(Driver& driver, const std::optional<AnyCollection>& collection,
           const DrainOptions& options);

  // Looks, and says what is left if the drain is over.
  Took Look(EngineTime now, std::vector<Drained>& out) noexcept;

 private:
  explicit AnyDrain(std::shared_ptr<DrainCore> core);

  std::shared_ptr<DrainCore> core_;
};

// Ends with its operation.
struct DrainCall {
  using Item = Drained;

  Took operator()(size_t, EngineTime now, Waiter::See, std::vector<Drained>& out) noexcept {
    return drain->Look(now, out);
  }

  std::shared_ptr<AnyDrain> drain;
};

struct DrainInitiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return driver->get_executor(); }

  template <class Handler>
  void operator()(Handler&& handler, const std::optional<AnyCollection>& collection,
                  const DrainOptions& options) const {
    const auto drain = std::make_shared<AnyDrain>(*driver, collection, options);
    TakeInitiation<DrainCall, true, executor_type>{drain->queue(), get_executor()}(
        std::forward<Handler>(handler), DrainCall{drain}, 1);
  }

  Driver* driver;
};

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

}  // namespace pleat::inline v0_1
