// LetterCore stands behind async_dead_letters(): the queue of its one operation, which looks when the
// collection has had a death.
#pragma once

#include <memory>
#include <utility>

#include <pleat/untyped/any_collection.h>

#include "engine/asio/waiter_queue.h"

namespace pleat::inline v0_1 {

class LetterCore final : public WaiterQueue, public EmissionListener {
 public:
  LetterCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
             const AnyCollection& collection)
      : WaiterQueue(std::move(executor), std::move(driver), /*max_waiters=*/1),
        collection_(collection) {}

  void MayHaveEmissions() noexcept override {}
  void MayHaveDeadLetters() noexcept override { MayHaveMore(); }

 private:
  void Listen() override { collection_.AddListener(*this, {}); }
  void StopListening() override { collection_.RemoveListener(*this); }
  Took TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept override {
    Took took = waiter.Take(now, see);
    if (took.items == 0 && collection_.closed()) took.error = AsioError::kClosed;
    return took;
  }

  AnyCollection collection_;
};

}  // namespace pleat::inline v0_1
