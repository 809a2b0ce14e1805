#include <utility>

#include <pleat/asio_watcher.h>

#include "engine/asio/watcher_core.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {

ChangeReader::~ChangeReader() = default;

boost::system::error_code ChangeReader::ErrorOf(ReadChanges read) noexcept {
  switch (read) {
    case ReadChanges::kAll:
    case ReadChanges::kMore: return {};
    case ReadChanges::kResync: return AsioError::kResync;
    case ReadChanges::kClosed: break;
  }
  return AsioError::kClosed;
}

WatcherCore::WatcherCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
                         std::shared_ptr<ChangeReader> reader, const WatcherOptions& options)
    : WaiterQueue(std::move(executor), std::move(driver), options.max_waiters),
      reader_(std::move(reader)),
      interval_(options.interval) {
  PLEAT_CHECK(options.interval > Duration::zero());
}

Took WatcherCore::TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept {
  const Took took = waiter.Take(now, see);
  AskToBeCalled(now);
  return took;
}

// On event time the stamps move the engine's time, and may stop doing so: then counts are told one
// interval of the driver's time later.
void WatcherCore::AskToBeCalled(EngineTime now) {
  const EngineTime due = reader_->counts_due();
  if (due == kNever || will_be_called_) return;
  will_be_called_ = true;
  driver().CallAt(driver().tells_arrival() ? due : SaturatingAdd(now, interval_),
                  shared_from_this());
}

void WatcherCore::TimeHasCome(EngineTime now) noexcept {
  Exclude([&] {
    will_be_called_ = false;
    reader_->TellCounts(driver().tells_arrival() ? now : kNever);
    AskToBeCalled(now);
  });
  MayHaveMore();
}

AnyWatcher::AnyWatcher(boost::asio::any_io_executor executor, Driver& driver,
                       std::shared_ptr<ChangeReader> reader, const WatcherOptions& options)
    : WaiterHandle(std::make_shared<WatcherCore>(std::move(executor), CoreOf(driver),
                                                 std::move(reader), options)) {}

void AnyWatcher::Exclude(absl::FunctionRef<void()> call) const { queue()->Exclude(call); }

}  // namespace pleat::inline v0_1
