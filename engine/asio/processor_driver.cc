#include <memory>
#include <optional>
#include <utility>

#include <pleat/asio_processor.h>

#include "engine/asio/processor_driver_core.h"

namespace pleat::inline v0_1 {

ProcessorWaiter::~ProcessorWaiter() = default;

void ProcessorWaiter::Start(ProcessorDriverCore& core, Pointer waiter) {
  core.Start(std::move(waiter));
}

void ProcessorWaiter::Cancel::operator()(boost::asio::cancellation_type_t type) noexcept {
  if (type == boost::asio::cancellation_type::none) return;
  if (const auto core = core_.lock()) core->Cancel(*waiter_);
}

ProcessorDriver::ProcessorDriver(executor_type executor, const ProcessorCalls& processor,
                                 const ProcessorDriverOptions& options)
    : core_(std::make_shared<ProcessorDriverCore>(std::move(executor), processor, options)) {
  core_->Begin();
}

ProcessorDriver::~ProcessorDriver() { Stop(); }

void ProcessorDriver::Ack(const MessageId& id) { core_->Answer(id, std::nullopt); }
void ProcessorDriver::Nack(const MessageId& id, Duration delay) { core_->Answer(id, delay); }
EngineTime ProcessorDriver::now() const noexcept { return core_->now(); }
void ProcessorDriver::Wake() { core_->StartRound(); }
void ProcessorDriver::Stop() noexcept { core_->Stop(); }
ProcessorDriverStats ProcessorDriver::stats() const { return core_->stats(); }
ProcessorDriver::executor_type ProcessorDriver::get_executor() const noexcept {
  return core_->executor();
}

}  // namespace pleat::inline v0_1
