// StoreDriverCore stands behind a StoreDriver: its calls are commits, and the operations that wait for
// these are in the order of partitions and offsets.
//
// Nobody is forgotten: an operation looks whether its record is durable before it waits, and every commit
// looks after its end at all that wait, both under the mutex.
#pragma once

#include <cstddef>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/set.hpp>
#include <pleat/asio_store.h>

#include "engine/asio/repeated_call.h"

namespace pleat::inline v0_1 {

class StoreDriverCore final : public RepeatedCall {
 public:
  StoreDriverCore(boost::asio::any_io_executor executor, const StoreCalls& store,
                  const StoreDriverOptions& options);

  void Start(DurableWaiter::Pointer waiter);
  void Cancel(DurableWaiter& waiter) noexcept;
  StoreDriverStats stats();

 private:
  struct PlaceOf {
    using type = AppendPlace;
    const AppendPlace& operator()(const DurableWaiter& waiter) const noexcept {
      return waiter.place();
    }
  };
  struct IsBefore {
    bool operator()(const AppendPlace& a, const AppendPlace& b) const noexcept {
      return a.partition != b.partition ? a.partition < b.partition : a.offset < b.offset;
    }
  };
  using Waiters = boost::intrusive::multiset<DurableWaiter, boost::intrusive::key_of_value<PlaceOf>,
                                             boost::intrusive::compare<IsBefore>>;

  bool IsDurable(const AppendPlace& place) const noexcept;
  bool IsAppended(const AppendPlace& place) const noexcept;
  bool CommitsAtOnce() const noexcept;
  bool Admit(DurableWaiter& waiter) noexcept;

  absl::Status Call() noexcept override;
  void Note(absl::Status status) noexcept override;
  bool Serve() noexcept override;
  void CompleteAll() noexcept override;
  void DestroyAll() noexcept override;

  const StoreCalls store_;
  const size_t max_waiters_;
  Waiters waiters_;
  StoreDriverStats stats_;  // but for `waiting`
};

}  // namespace pleat::inline v0_1
