// ConsumerCore stands behind a Consumer: the queue of operations that wait for emissions.
#pragma once

#include <memory>
#include <utility>

#include <pleat/untyped/any_collection.h>

#include "engine/asio/waiter_queue.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {

class ConsumerCore final : public WaiterQueue, public EmissionListener {
 public:
  ConsumerCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
               const AnyCollection& collection, PartitionRange range,
               const ConsumerOptions& options)
      : WaiterQueue(std::move(executor), std::move(driver), options.max_waiters),
        range_(range),
        collection_(collection) {
    PLEAT_CHECK(options.visibility_timeout > Duration::zero());
  }

  void MayHaveEmissions() noexcept override { MayHaveMore(); }

 private:
  void Listen() override { collection_.AddListener(*this, range_); }
  void StopListening() override { collection_.RemoveListener(*this); }

  // LeaseTime stands still while the driver sleeps. It is moved here, so that an operation that
  // pops finds the emissions that have come back by now.
  Took TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept override {
    collection_.MoveLeaseTime(LeaseTime(now));
    Took took = waiter.Take(now, see);
    if (took.items == 0 && collection_.closed()) took.error = AsioError::kClosed;
    return took;
  }

  const PartitionRange range_;
  AnyCollection collection_;
};

}  // namespace pleat::inline v0_1
