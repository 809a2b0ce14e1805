#include "engine/asio/store_driver_core.h"

#include <cstdint>
#include <utility>

#include <boost/asio/error.hpp>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

StoreDriverCore::StoreDriverCore(boost::asio::any_io_executor executor, const StoreCalls& store,
                                 const StoreDriverOptions& options)
    : RepeatedCall(std::move(executor), options.disk, options.commit_every, options.clock),
      store_(store),
      max_waiters_(options.max_waiters) {
  PLEAT_CHECK(static_cast<bool>(options.disk));
  PLEAT_CHECK(max_waiters_ > 0);
}

bool StoreDriverCore::IsDurable(const AppendPlace& place) const noexcept {
  return place.offset < store_.durable(*store_.store, place.partition);
}

bool StoreDriverCore::IsAppended(const AppendPlace& place) const noexcept {
  return place.offset < store_.next(*store_.store, place.partition);
}

// Whether somebody who waits has a commit started. After a failure the disk is left in peace until
// the next try.
bool StoreDriverCore::CommitsAtOnce() const noexcept {
  return store_.durability == StoreDurability::kGroup && stats_.last_commit.ok();
}

void StoreDriverCore::Start(DurableWaiter::Pointer waiter) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  // From here on it belongs to whoever answers it.
  DurableWaiter& admitted = *waiter.release();
  if (!Admit(admitted)) return;
  admitted.ConnectCancellation();
  const AppendPlace place = admitted.place();
  waiters_.insert(admitted);
  if (CommitsAtOnce() && IsAppended(place)) CallSoon();
}

// Whether the operation has to wait; if not, it was completed. After the end the store may be gone.
bool StoreDriverCore::Admit(DurableWaiter& waiter) noexcept {
  if (stopped_) {
    waiter.Complete(boost::asio::error::operation_aborted);
  } else if (IsDurable(waiter.place())) {
    waiter.Complete({});
  } else if (waiters_.size() >= max_waiters_) {
    ++stats_.overloaded;
    waiter.Complete(AsioError::kOverloaded);
  } else {
    return true;
  }
  return false;
}

void StoreDriverCore::Cancel(DurableWaiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_down_ || !waiter.is_linked()) return;
  waiters_.erase(waiters_.iterator_to(waiter));
  ++stats_.cancelled;
  waiter.Complete(boost::asio::error::operation_aborted);
}

absl::Status StoreDriverCore::Call() noexcept { return store_.commit(*store_.store); }

void StoreDriverCore::Note(absl::Status status) noexcept {
  ++stats_.commits;
  if (!status.ok()) ++stats_.failed_commits;
  stats_.last_commit = std::move(status);
}

// Completes those whose record is durable, which are the first of each partition. Another commit is to
// follow if one is left whose record was appended.
bool StoreDriverCore::Serve() noexcept {
  bool others_wait = false;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    DurableWaiter& waiter = *it;
    const AppendPlace place = waiter.place();
    if (IsDurable(place)) {
      it = waiters_.erase(it);
      waiter.Complete({});
    } else {
      others_wait |= IsAppended(place);
      it = waiters_.upper_bound({.partition = place.partition, .offset = UINT64_MAX});
    }
  }
  return others_wait && CommitsAtOnce();
}

void StoreDriverCore::CompleteAll() noexcept {
  Serve();
  while (!waiters_.empty()) {
    DurableWaiter& first = *waiters_.begin();
    waiters_.erase(waiters_.begin());
    first.Complete(boost::asio::error::operation_aborted);
  }
}

void StoreDriverCore::DestroyAll() noexcept {
  while (!waiters_.empty()) {
    DurableWaiter& first = *waiters_.begin();
    waiters_.erase(waiters_.begin());
    first.Destroy();
  }
}

StoreDriverStats StoreDriverCore::stats() {
  const std::lock_guard lock(mutex_);
  StoreDriverStats stats = stats_;
  stats.waiting = shut_down_ ? 0 : waiters_.size();
  return stats;
}

}  // namespace pleat::inline v0_1
