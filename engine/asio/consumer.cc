#include <memory>
#include <utility>

#include <boost/asio/error.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>

#include "engine/asio/consumer_core.h"

namespace pleat::inline v0_1 {

WaitingOperation::~WaitingOperation() = default;
Waiter::~Waiter() = default;

WaiterHandle::WaiterHandle(std::shared_ptr<WaiterQueue> queue) : queue_(std::move(queue)) {
  queue_->Begin();
}

WaiterHandle::WaiterHandle(WaiterHandle&&) noexcept = default;

WaiterHandle& WaiterHandle::operator=(WaiterHandle&& other) noexcept {
  WaiterHandle gone(std::move(*this));
  queue_ = std::move(other.queue_);
  return *this;
}

WaiterHandle::~WaiterHandle() {
  if (queue_ != nullptr) queue_->End(boost::asio::error::operation_aborted);
}

void WaiterHandle::cancel() noexcept { queue_->CancelAll(); }
ConsumerStats WaiterHandle::stats() const { return queue_->stats(); }

void WaiterHandle::Start(WaiterQueue& queue, WaiterPtr waiter) { queue.Start(std::move(waiter)); }

void WaiterHandle::CancelWaiter::operator()(boost::asio::cancellation_type_t type) noexcept {
  if (type == boost::asio::cancellation_type::none) return;
  if (const auto queue = queue_.lock()) queue->Cancel(*waiter_);
}

AnyConsumer::AnyConsumer(boost::asio::any_io_executor executor, Driver& driver,
                         const AnyCollection& collection, PartitionRange range,
                         const ConsumerOptions& options)
    : WaiterHandle(std::make_shared<ConsumerCore>(std::move(executor), CoreOf(driver), collection,
                                                  range, options)) {}

}  // namespace pleat::inline v0_1
