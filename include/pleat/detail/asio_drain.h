// The operations of async_drain() and of async_dead_letters(). An implementation detail of asio.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <pleat/asio_driver.h>
#include <pleat/detail/asio_operation.h>
#include <pleat/detail/asio_waiter.h>
#include <pleat/detail/export.h>
#include <pleat/drain.h>
#include <pleat/time.h>
#include <pleat/untyped/any_collection.h>

namespace pleat::inline v0_1 {

class DrainCore;

// The queue of the one operation that waits for a drain.
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

// The queue of the one operation that waits for dead letters.
class PLEAT_EXPORT AnyLetterWait : public WaiterHandle {
 public:
  AnyLetterWait(Driver& driver, const AnyCollection& collection);
};

// Ends when the collection has had more deaths than `seen`.
struct DeathsCall {
  using Item = uint64_t;

  Took operator()(size_t, EngineTime, Waiter::See, std::vector<uint64_t>& out) const noexcept {
    const uint64_t deaths = collection.deaths();
    if (deaths <= seen) return {};
    out.push_back(deaths);
    return {.items = 1};
  }

  AnyCollection collection;
  uint64_t seen;
  std::shared_ptr<AnyLetterWait> wait;
};

struct DeathsInitiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return driver->get_executor(); }

  template <class Handler>
  void operator()(Handler&& handler, const AnyCollection& collection, uint64_t seen) const {
    const auto wait = std::make_shared<AnyLetterWait>(*driver, collection);
    TakeInitiation<DeathsCall, true, executor_type>{wait->queue(), get_executor()}(
        std::forward<Handler>(handler), DeathsCall{collection, seen, wait}, 1);
  }

  Driver* driver;
};

}  // namespace pleat::inline v0_1
