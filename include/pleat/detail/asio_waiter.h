// WaitingOperation: what every operation has that waits. Waiter and WaiterHandle: the parts of a
// Consumer and of a Watcher that do not depend on types. An implementation detail of asio.h,
// asio_watcher.h and asio_store.h.
#pragma once

#include <cstddef>
#include <memory>

#include <absl/functional/function_ref.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/asio_driver.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>
#include <pleat/untyped/any_collection.h>

namespace pleat::inline v0_1 {

class WaiterQueue;
struct ConsumerOptions;
struct ConsumerStats;

// What an operation found when it looked for something to take.
struct Took {
  size_t items = 0;
  boost::system::error_code error = {};  // the end of all operations that wait; then items is 0
  bool more = false;                     // nothing was taken, and a second look is worth while
};

// An operation that was started, as its queue sees it. Ownership: owns itself; Complete() or
// Destroy() is its end.
class PLEAT_EXPORT WaitingOperation {
 public:
  WaitingOperation(const WaitingOperation&) = delete;
  WaitingOperation& operator=(const WaitingOperation&) = delete;

  // Connects the handler's cancellation slot, if it has one, to the queue.
  virtual void ConnectCancellation() = 0;

  // Posts the handler, with what the operation has come to.
  virtual void Complete(boost::system::error_code error) noexcept = 0;

  // Frees the operation and its handler, which is not called.
  virtual void Destroy() noexcept = 0;

 protected:
  WaitingOperation() = default;
  virtual ~WaitingOperation();
};

struct DestroyWaiter {
  void operator()(WaitingOperation* waiter) const noexcept { waiter->Destroy(); }
};

// An operation that takes items when there are any, and is then completed.
class PLEAT_EXPORT Waiter : public WaitingOperation, public boost::intrusive::list_base_hook<> {
 public:
  // Told of each item that time brought about and that was taken for the first time: the instant.
  using See = absl::FunctionRef<void(EngineTime due)>;

  // Takes the items that there are `now`.
  virtual Took Take(EngineTime now, See see) noexcept = 0;

 protected:
  Waiter() = default;
  ~Waiter() override;
};

using WaiterPtr = std::unique_ptr<Waiter, DestroyWaiter>;

// Owns the queue of the operations of one consumer or watcher, and ends it.
class PLEAT_EXPORT WaiterHandle {
 public:
  WaiterHandle(WaiterHandle&&) noexcept;
  WaiterHandle& operator=(WaiterHandle&&) noexcept;
  ~WaiterHandle();

  void cancel() noexcept;
  ConsumerStats stats() const;

  const std::shared_ptr<WaiterQueue>& queue() const noexcept { return queue_; }

  // Serves `waiter` if no other one waits, or queues it.
  static void Start(WaiterQueue& queue, WaiterPtr waiter);

  // The function in a cancellation slot: cancels the waiter if it still waits.
  class PLEAT_EXPORT CancelWaiter {
   public:
    CancelWaiter(const std::shared_ptr<WaiterQueue>& queue, Waiter& waiter) noexcept
        : queue_(queue), waiter_(&waiter) {}
    void operator()(boost::asio::cancellation_type_t type) noexcept;

   private:
    std::weak_ptr<WaiterQueue> queue_;
    Waiter* waiter_;
  };

 protected:
  explicit WaiterHandle(std::shared_ptr<WaiterQueue> queue);

  static const std::shared_ptr<DriverCore>& CoreOf(const Driver& driver) noexcept {
    return driver.core_;
  }

 private:
  std::shared_ptr<WaiterQueue> queue_;
};

// The queue of a collection's emissions. Of the collection it calls AddListener(),
// RemoveListener(), MoveLeaseTime() and closed(); the waiters call Pop() and Lease().
class PLEAT_EXPORT AnyConsumer : public WaiterHandle {
 public:
  AnyConsumer(boost::asio::any_io_executor executor, Driver& driver,
              const AnyCollection& collection, PartitionRange range,
              const ConsumerOptions& options);
};

}  // namespace pleat::inline v0_1
