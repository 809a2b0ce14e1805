#include "engine/asio/waiter_queue.h"

#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// Items that one dispatch takes, give or take one operation, before other handlers run.
constexpr size_t kTakenPerDispatch = 256;

}  // namespace

WaiterQueue::WaiterQueue(boost::asio::any_io_executor executor, std::shared_ptr<DriverCore> driver,
                         size_t max_waiters)
    : driver_(std::move(driver)), max_waiters_(max_waiters), executor_(std::move(executor)) {
  PLEAT_CHECK(max_waiters > 0);
}

void WaiterQueue::Begin() {
  AddGuest(executor_, shared_from_this());
  listening_ = true;
  Listen();
  driver_->Add(shared_from_this());
}

void WaiterQueue::Start(WaiterPtr waiter) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  if (ended_) {
    waiter.release()->Complete(ended_);
    return;
  }
  if (queue_.size() >= max_waiters_) {
    ++stats_.overloaded;
    waiter.release()->Complete(AsioError::kOverloaded);
    return;
  }
  if (queue_.empty()) {
    armed_ = true;
    const Took took = Take(*waiter);
    if (took.items > 0 || took.error) {
      armed_ = false;
      waiter.release()->Complete(took.error);
      return;
    }
    if (took.more) MayHaveMore();
  }
  waiter->ConnectCancellation();
  queue_.push_back(*waiter.release());
}

Took WaiterQueue::Take(Waiter& waiter) noexcept {
  const EngineTime now = driver_->Now();
  const Took took = TakeFor(waiter, now, [&](EngineTime due) {
    if (!driver_->tells_arrival() || due > now) return;
    stats_.lateness_us.Add(static_cast<uint64_t>((now - due).count()));
  });
  stats_.delivered += took.items;
  return took;
}

void WaiterQueue::MayHaveMore() noexcept {
  if (armed_.load() && armed_.exchange(false)) PostDispatch();
}

void WaiterQueue::PostDispatch() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->Dispatch(); });
}

void WaiterQueue::Dispatch() noexcept {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  for (size_t taken = 0; !queue_.empty();) {
    if (taken >= kTakenPerDispatch) {
      MayHaveMore();
      return;
    }
    Waiter& first = queue_.front();
    const Took took = Take(first);
    if (took.error) return CompleteAll(took.error);
    if (took.items == 0) {
      if (took.more) MayHaveMore();
      return;
    }
    taken += took.items;
    queue_.pop_front();
    first.Complete({});
  }
  armed_ = false;
}

void WaiterQueue::Cancel(Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_down_ || !waiter.is_linked()) return;
  queue_.erase(queue_.iterator_to(waiter));
  ++stats_.cancelled;
  waiter.Complete(boost::asio::error::operation_aborted);
  if (queue_.empty()) armed_ = false;
}

void WaiterQueue::CancelAll() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.cancelled += queue_.size();
  CompleteAll(boost::asio::error::operation_aborted);
}

void WaiterQueue::CompleteAll(boost::system::error_code error) noexcept {
  armed_ = false;
  while (!queue_.empty()) {
    Waiter& first = queue_.front();
    queue_.pop_front();
    first.Complete(error);
  }
}

void WaiterQueue::End(boost::system::error_code error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = error;
    CompleteAll(error);
  }
  ListenNoMore();
}

// Handlers are destroyed with no lock held: they may own anything, this queue too.
void WaiterQueue::Shutdown() noexcept {
  Queue queue;
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
    ended_ = AsioError::kClosed;
    armed_ = false;
    queue.swap(queue_);
  }
  ListenNoMore();
  executor_ = {};
  while (!queue.empty()) {
    Waiter& first = queue.front();
    queue.pop_front();
    first.Destroy();
  }
}

void WaiterQueue::ListenNoMore() noexcept {
  std::unique_lock lock(mutex_);
  const bool listening = std::exchange(listening_, false);
  lock.unlock();
  if (listening) StopListening();
}

ConsumerStats WaiterQueue::stats() {
  const std::lock_guard lock(mutex_);
  ConsumerStats stats = stats_;
  stats.waiting = queue_.size();
  return stats;
}

void WaiterQueue::Exclude(absl::FunctionRef<void()> call) {
  const std::lock_guard lock(mutex_);
  call();
}

}  // namespace pleat::inline v0_1
