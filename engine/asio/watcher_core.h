// WatcherCore stands behind a Watcher: the queue of operations that wait for changes. If its reader
// holds counts back, it asks the driver to be called when they have to be told.
#pragma once

#include <memory>

#include <pleat/asio_watcher.h>

#include "engine/asio/waiter_queue.h"

namespace pleat::inline v0_1 {

class WatcherCore final : public WaiterQueue, public ChangeListener {
 public:
  WatcherCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
              std::shared_ptr<ChangeReader> reader, const WatcherOptions& options);

  void MayHaveChanges() noexcept override { MayHaveMore(); }
  void TimeHasCome(EngineTime now) noexcept override;

 private:
  void Listen() override { reader_->AddListener(*this); }
  void StopListening() override { reader_->RemoveListener(*this); }
  Took TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept override;
  void AskToBeCalled(EngineTime now);

  const std::shared_ptr<ChangeReader> reader_;
  const Duration interval_;
  bool will_be_called_ = false;  // guarded by the queue's mutex
};

}  // namespace pleat::inline v0_1
