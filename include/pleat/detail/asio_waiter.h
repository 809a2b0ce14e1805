// Waiter and AnyConsumer: the parts of a Consumer that do not depend on types. An implementation
// detail of asio_consumer.h.
#pragma once

#include <cstddef>
#include <memory>

#include <absl/functional/function_ref.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/any_collection.h>
#include <pleat/asio_driver.h>
#include <pleat/export.h>
#include <pleat/outcome.h>
#include <pleat/partition.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class ConsumerCore;
struct ConsumerOptions;
struct ConsumerStats;

// An operation that was started, as the consumer sees it: it takes emissions when there are any,
// and is then completed. Ownership: owns itself; Complete() or Destroy() is its end.
class PLEAT_EXPORT Waiter : public boost::intrusive::list_base_hook<> {
 public:
  using See = absl::FunctionRef<void(EngineTime closed, Reason reason)>;

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Takes the emissions that there are `now`, shows those that were not delivered before, and
  // returns how many it has taken.
  virtual size_t Take(LeaseTime now, See see) noexcept = 0;

  // Connects the handler's cancellation slot, if it has one, to the consumer.
  virtual void ConnectCancellation() = 0;

  // Posts the handler with the emissions that were taken.
  virtual void Complete(boost::system::error_code error) noexcept = 0;

  // Frees the operation and its handler, which is not called.
  virtual void Destroy() noexcept = 0;

 protected:
  Waiter() = default;
  virtual ~Waiter();
};

struct DestroyWaiter {
  void operator()(Waiter* waiter) const noexcept { waiter->Destroy(); }
};
using WaiterPtr = std::unique_ptr<Waiter, DestroyWaiter>;

// The queue of waiters of one consumer. Of its collection it calls AddListener(), RemoveListener(),
// MoveLeaseTime() and closed(); the waiters call Pop() and Lease().
class PLEAT_EXPORT AnyConsumer {
 public:
  AnyConsumer(boost::asio::any_io_executor executor, Driver& driver,
              const AnyCollection& collection, PartitionRange range,
              const ConsumerOptions& options);
  AnyConsumer(AnyConsumer&&) noexcept;
  AnyConsumer& operator=(AnyConsumer&&) noexcept;
  ~AnyConsumer();

  void cancel() noexcept;
  ConsumerStats stats() const;

  const std::shared_ptr<ConsumerCore>& core() const noexcept { return core_; }

  // Serves `waiter` if no other one waits, or queues it.
  static void Start(ConsumerCore& core, WaiterPtr waiter);

  // The function in a cancellation slot: cancels the waiter if it still waits.
  class PLEAT_EXPORT CancelWaiter {
   public:
    CancelWaiter(const std::shared_ptr<ConsumerCore>& core, Waiter& waiter) noexcept
        : core_(core), waiter_(&waiter) {}
    void operator()(boost::asio::cancellation_type_t type) noexcept;

   private:
    std::weak_ptr<ConsumerCore> core_;
    Waiter* waiter_;
  };

 private:
  std::shared_ptr<ConsumerCore> core_;
};

}  // namespace pleat::inline v0_1
