#include "engine/asio/consumer_core.h"

#include <optional>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// Emissions that one dispatch takes, give or take one operation, before other handlers run.
constexpr size_t kTakenPerDispatch = 256;

bool ClosedByTime(Reason reason) {
  return reason == Reason::kQuiet || reason == Reason::kMaxHold || reason == Reason::kPartial;
}

}  // namespace

ConsumerCore::ConsumerCore(boost::asio::any_io_executor executor,
                           std::shared_ptr<DriverCore> driver, const AnyCollection& collection,
                           PartitionRange range, const ConsumerOptions& options)
    : driver_(std::move(driver)),
      max_waiters_(options.max_waiters),
      range_(range),
      collection_(collection),
      executor_(std::move(executor)) {
  PLEAT_CHECK(options.max_waiters > 0);
  PLEAT_CHECK(options.ttl > Duration::zero());
}

void ConsumerCore::Begin() {
  AddGuest(executor_, shared_from_this());
  listening_ = true;
  collection_.AddListener(*this, range_);
  driver_->Add(shared_from_this());
}

void ConsumerCore::Start(WaiterPtr waiter) {
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
    if (Take(*waiter) > 0) {
      armed_ = false;
      waiter.release()->Complete({});
      return;
    }
    if (collection_.closed()) {
      armed_ = false;
      waiter.release()->Complete(AsioError::kClosed);
      return;
    }
  }
  waiter->ConnectCancellation();
  queue_.push_back(*waiter.release());
}

// LeaseTime stands still while the driver sleeps. It is moved here, so that an operation that pops
// finds the emissions that have come back by now.
size_t ConsumerCore::Take(Waiter& waiter) noexcept {
  const EngineTime now = driver_->Now();
  collection_.MoveLeaseTime(LeaseTime(now));
  const size_t taken = waiter.Take(LeaseTime(now), [&](EngineTime closed, Reason reason) {
    if (!driver_->tells_arrival() || !ClosedByTime(reason)) return;
    const Duration late = now - closed;
    if (late >= Duration::zero()) stats_.lateness_us.Add(static_cast<uint64_t>(late.count()));
  });
  stats_.delivered += taken;
  return taken;
}

void ConsumerCore::MayHaveEmissions() noexcept {
  if (armed_.load() && armed_.exchange(false)) PostDispatch();
}

void ConsumerCore::PostDispatch() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->Dispatch(); });
}

void ConsumerCore::Dispatch() noexcept {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  for (size_t taken = 0; !queue_.empty();) {
    if (taken >= kTakenPerDispatch) {
      if (armed_.exchange(false)) PostDispatch();  // else somebody has just done so
      return;
    }
    Waiter& first = queue_.front();
    const size_t n = Take(first);
    if (n == 0) {
      if (collection_.closed()) CompleteAll(AsioError::kClosed);
      return;
    }
    taken += n;
    queue_.pop_front();
    first.Complete({});
  }
  armed_ = false;
}

void ConsumerCore::Cancel(Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_down_ || !waiter.is_linked()) return;
  queue_.erase(queue_.iterator_to(waiter));
  ++stats_.cancelled;
  waiter.Complete(boost::asio::error::operation_aborted);
  if (queue_.empty()) armed_ = false;
}

void ConsumerCore::CancelAll() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.cancelled += queue_.size();
  CompleteAll(boost::asio::error::operation_aborted);
}

void ConsumerCore::CompleteAll(boost::system::error_code error) noexcept {
  armed_ = false;
  while (!queue_.empty()) {
    Waiter& first = queue_.front();
    queue_.pop_front();
    first.Complete(error);
  }
}

void ConsumerCore::End(boost::system::error_code error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = error;
    CompleteAll(error);
  }
  StopListening();
}

// Handlers are destroyed with no lock held: they may own anything, this consumer too.
void ConsumerCore::Shutdown() noexcept {
  Queue queue;
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
    ended_ = AsioError::kClosed;
    armed_ = false;
    queue.swap(queue_);
  }
  StopListening();
  executor_ = {};
  while (!queue.empty()) {
    Waiter& first = queue.front();
    queue.pop_front();
    first.Destroy();
  }
}

void ConsumerCore::StopListening() noexcept {
  std::unique_lock lock(mutex_);
  const bool listening = std::exchange(listening_, false);
  lock.unlock();
  if (listening) collection_.RemoveListener(*this);
}

ConsumerStats ConsumerCore::stats() {
  const std::lock_guard lock(mutex_);
  ConsumerStats stats = stats_;
  stats.waiting = queue_.size();
  return stats;
}

}  // namespace pleat::inline v0_1
