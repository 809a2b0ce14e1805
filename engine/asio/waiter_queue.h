// A WaiterQueue holds the operations that wait for one source, first come, first served, and a flag
// that asks to be told of something to take. ConsumerCore is the queue of a collection's emissions.
//
// mutex_ guards the queue and is held while a waiter takes, hence before partitions' locks;
// MayHaveMore(), which is called under those, does not ask for the mutex. Waiters are completed
// under the mutex, so that their handlers are posted in that order: posting runs none of them.
//
// While somebody waits, either `armed_` is set and was set before the last look that found nothing;
// or a dispatch is posted, which will look. So nothing goes unnoticed: what came before that look
// was found, as both happen under the partition's lock; what comes after that look finds the flag
// set, takes the flag down and posts the dispatch.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include <absl/functional/function_ref.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/detail/asio_waiter.h>

#include "engine/asio/context_guest.h"
#include "engine/asio/driven.h"
#include "engine/asio/driver_core.h"

namespace pleat::inline v0_1 {

class WaiterQueue : public ContextGuest,
                    public Driven,
                    public std::enable_shared_from_this<WaiterQueue> {
 public:
  // REQUIRES: max_waiters > 0.
  WaiterQueue(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
              size_t max_waiters);
  virtual ~WaiterQueue() = default;

  // Registers with source, context and driver. Once, after construction.
  void Begin();

  void Start(WaiterPtr waiter);
  void Cancel(Waiter& waiter) noexcept;
  void CancelAll() noexcept;

  void End(boost::system::error_code error) noexcept override;
  void Shutdown() noexcept override;

  ConsumerStats stats();

  // Calls `call` while no operation takes.
  void Exclude(absl::FunctionRef<void()> call);

 protected:
  // The source: from Listen() to StopListening() it calls MayHaveMore() when there is more to take.
  virtual void Listen() = 0;
  virtual void StopListening() = 0;
  // Lets `waiter` take all that the source has.
  virtual Took TakeFor(Waiter& waiter, EngineTime now, Waiter::See see) noexcept = 0;

  void MayHaveMore() noexcept;
  DriverCore& driver() noexcept { return *driver_; }

 private:
  using Queue = boost::intrusive::list<Waiter>;

  void PostDispatch();
  void Dispatch() noexcept;
  Took Take(Waiter& waiter) noexcept;
  void CompleteAll(boost::system::error_code error) noexcept;
  void ListenNoMore() noexcept;

  const std::shared_ptr<DriverCore> driver_;
  const size_t max_waiters_;
  boost::asio::any_io_executor executor_;  // changes only in Shutdown(), when nobody uses it
  std::atomic<bool> armed_ = false;

  std::mutex mutex_;
  Queue queue_;
  boost::system::error_code ended_;  // none before the end
  bool shut_down_ = false;
  bool listening_ = false;
  ConsumerStats stats_;  // but for `waiting`
};

}  // namespace pleat::inline v0_1
