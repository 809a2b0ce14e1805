#include <memory>
#include <utility>

#include <pleat/asio_store.h>

#include "engine/asio/store_driver_core.h"

namespace pleat::inline v0_1 {

DurableWaiter::~DurableWaiter() = default;

void DurableWaiter::Start(StoreDriverCore& core, Pointer waiter) { core.Start(std::move(waiter)); }

void DurableWaiter::Cancel::operator()(boost::asio::cancellation_type_t type) noexcept {
  if (type == boost::asio::cancellation_type::none) return;
  if (const auto core = core_.lock()) core->Cancel(*waiter_);
}

StoreDriver::StoreDriver(executor_type executor, const StoreCalls& store,
                         const StoreDriverOptions& options)
    : core_(std::make_shared<StoreDriverCore>(std::move(executor), store, options)) {
  core_->Begin();
}

StoreDriver::~StoreDriver() { Stop(); }

void StoreDriver::Wake() { core_->Wake(); }
void StoreDriver::Stop() noexcept { core_->Stop(); }
StoreDriverStats StoreDriver::stats() const { return core_->stats(); }
StoreDriver::executor_type StoreDriver::get_executor() const noexcept { return core_->executor(); }

}  // namespace pleat::inline v0_1
