// The operation of StoreDriver::async_durable(). An implementation detail of asio_store.h.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/intrusive/options.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <pleat/detail/asio_operation.h>
#include <pleat/detail/asio_waiter.h>
#include <pleat/detail/export.h>
#include <pleat/event_store.h>

namespace pleat::inline v0_1 {

class StoreDriverCore;

// What a driver calls of its store. It is filled in a header, so that the library of the driver
// links nothing of the store's: a program without a store need not have that library.
struct StoreCalls {
  static StoreCalls Of(EventStore& store) noexcept {
    return {.store = &store,
            .durability = store.durability(),
            .commit = [](EventStore& s) { return s.Commit(); },
            .durable = [](const EventStore& s, int p) noexcept { return s.Durable(p); },
            .next = [](const EventStore& s, int p) noexcept { return s.Next(p); }};
  }

  EventStore* store;
  StoreDurability durability;
  absl::Status (*commit)(EventStore& store);
  uint64_t (*durable)(const EventStore& store, int partition) noexcept;
  uint64_t (*next)(const EventStore& store, int partition) noexcept;
};

// Waits until the record of a place is durable.
class PLEAT_EXPORT DurableWaiter
    : public WaitingOperation,
      public boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
 public:
  using Queue = StoreDriverCore;
  using Pointer = std::unique_ptr<DurableWaiter, DestroyWaiter>;

  // The function in a cancellation slot: cancels the waiter if it still waits.
  class PLEAT_EXPORT Cancel {
   public:
    Cancel(const std::shared_ptr<StoreDriverCore>& core, DurableWaiter& waiter) noexcept
        : core_(core), waiter_(&waiter) {}
    void operator()(boost::asio::cancellation_type_t type) noexcept;

   private:
    std::weak_ptr<StoreDriverCore> core_;
    DurableWaiter* waiter_;
  };

  const AppendPlace& place() const noexcept { return place_; }

  static void Start(StoreDriverCore& core, Pointer waiter);

 protected:
  explicit DurableWaiter(AppendPlace place) noexcept : place_(place) {}
  ~DurableWaiter() override;

  std::tuple<> TakeResult() const noexcept { return {}; }

 private:
  const AppendPlace place_;
};

struct DurableInitiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return executor; }

  template <class Handler>
  void operator()(Handler&& handler, AppendPlace place) const {
    using Operation = HandlerOperation<DurableWaiter, std::decay_t<Handler>, executor_type>;
    DurableWaiter::Start(*core,
                         Operation::Make(core, executor, std::forward<Handler>(handler), place));
  }

  std::shared_ptr<StoreDriverCore> core;
  executor_type executor;
};

}  // namespace pleat::inline v0_1
