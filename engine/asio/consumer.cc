#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/error_category.hpp>
#include <pleat/asio.h>

#include "engine/asio/consumer_core.h"

namespace pleat::inline v0_1 {
namespace {

// error_category has no virtual destructor, on purpose: nobody deletes one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "pleat"; }
  std::string message(int value) const override {
    switch (static_cast<AsioError>(value)) {
      case AsioError::kOverloaded: return "too many operations wait for emissions";
      case AsioError::kClosed:
        return "the driver was stopped, the collection was closed, or the engine is gone";
    }
    return "unknown error of pleat";
  }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& AsioErrorCategory() noexcept {
  static const Category category;
  return category;
}

boost::system::error_code make_error_code(AsioError error) noexcept {
  return {static_cast<int>(error), AsioErrorCategory()};
}

Waiter::~Waiter() = default;

AnyConsumer::AnyConsumer(boost::asio::any_io_executor executor, Driver& driver,
                         const AnyCollection& collection, PartitionRange range,
                         const ConsumerOptions& options)
    : core_(std::make_shared<ConsumerCore>(std::move(executor), driver.core_, collection, range,
                                           options)) {
  core_->Begin();
}

AnyConsumer::AnyConsumer(AnyConsumer&&) noexcept = default;

AnyConsumer& AnyConsumer::operator=(AnyConsumer&& other) noexcept {
  AnyConsumer gone(std::move(*this));
  core_ = std::move(other.core_);
  return *this;
}

AnyConsumer::~AnyConsumer() {
  if (core_ != nullptr) core_->End(boost::asio::error::operation_aborted);
}

void AnyConsumer::cancel() noexcept { core_->CancelAll(); }
ConsumerStats AnyConsumer::stats() const { return core_->stats(); }

void AnyConsumer::Start(ConsumerCore& core, WaiterPtr waiter) { core.Start(std::move(waiter)); }

void AnyConsumer::CancelWaiter::operator()(boost::asio::cancellation_type_t type) noexcept {
  if (type == boost::asio::cancellation_type::none) return;
  if (const auto core = core_.lock()) core->Cancel(*waiter_);
}

}  // namespace pleat::inline v0_1
