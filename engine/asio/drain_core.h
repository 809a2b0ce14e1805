// DrainCore stands behind async_drain(): the queue of its one operation, which looks when a
// partition has nothing more to deliver, and when the time is over.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <pleat/drain.h>

#include "engine/asio/waiter_queue.h"

namespace pleat::inline v0_1 {

class DrainCore final : public WaiterQueue, public EmissionListener {
 public:
  DrainCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver, Drain drain)
      : WaiterQueue(std::move(executor), std::move(driver), /*max_waiters=*/1),
        drain_(std::move(drain)) {}

  // What an operation calls; see Waiter::Take().
  Took Look(EngineTime now, std::vector<Drained>& out) noexcept {
    switch (drain_.Look(LeaseTime(now))) {
      case DrainState::kWaiting: return {};
      case DrainState::kClosed: return {.error = AsioError::kClosed};
      case DrainState::kDrained:
      case DrainState::kTimedOut: break;
    }
    out.push_back(drain_.left());
    return {.items = 1};
  }

  void MayHaveEmissions() noexcept override {}
  void MayBeDrained() noexcept override { MayHaveMore(); }
  void TimeHasCome(EngineTime) noexcept override { MayHaveMore(); }

 private:
  void Listen() override {
    drain_.AddListener(*this);
    const EngineTime deadline{drain_.deadline()};
    if (deadline < kEndOfTime) driver().CallAt(deadline, shared_from_this());
  }
  void StopListening() override { drain_.RemoveListener(*this); }
  Took TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept override {
    return waiter.Take(now, see);
  }

  Drain drain_;  // guarded by the queue's mutex
};

}  // namespace pleat::inline v0_1
