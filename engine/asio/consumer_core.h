// ConsumerCore stands behind a Consumer: a queue of waiters, and a flag that asks to be told of
// emissions.
//
// mutex_ guards the queue and is held while a waiter takes emissions, hence before partitions'
// locks; MayHaveEmissions(), which is called under those, does not ask for the mutex. Waiters are
// served first come, first served, and completed under the mutex, so that their handlers are posted
// in that order: posting runs none of them.
//
// While somebody waits, either `armed_` is set and was set before the last look that found nothing;
// or a dispatch is posted, which will look. So no emission goes unnoticed: one that came before
// that look was found, as both happen under the partition's lock; one that comes after that look
// finds the flag set, takes the flag down and posts the dispatch.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio.h>

#include "engine/asio/context_guest.h"
#include "engine/asio/driven.h"
#include "engine/asio/driver_core.h"

namespace pleat::inline v0_1 {

class ConsumerCore final : public EmissionListener,
                           public ContextGuest,
                           public Driven,
                           public std::enable_shared_from_this<ConsumerCore> {
 public:
  ConsumerCore(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
               const AnyCollection& collection, PartitionRange range,
               const ConsumerOptions& options);

  // Registers with collection, context and driver. Once, after construction.
  void Begin();

  void Start(WaiterPtr waiter);
  void Cancel(Waiter& waiter) noexcept;
  void CancelAll() noexcept;

  void End(boost::system::error_code error) noexcept override;

  ConsumerStats stats();

  void MayHaveEmissions() noexcept override;
  void Shutdown() noexcept override;

 private:
  using Queue = boost::intrusive::list<Waiter>;

  void PostDispatch();
  void Dispatch() noexcept;
  size_t Take(Waiter& waiter) noexcept;
  void CompleteAll(boost::system::error_code error) noexcept;
  void StopListening() noexcept;

  const std::shared_ptr<DriverCore> driver_;
  const size_t max_waiters_;
  const PartitionRange range_;
  AnyCollection collection_;
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
