#include "engine/asio/processor_driver_core.h"

#include <utility>

#include <boost/asio/error.hpp>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

ProcessorDriverCore::ProcessorDriverCore(boost::asio::any_io_executor executor,
                                         const ProcessorCalls& processor,
                                         const ProcessorDriverOptions& options)
    : RepeatedCall(std::move(executor), options.worker, options.round_every, options.clock),
      processor_(processor),
      max_waiters_(options.max_waiters) {
  PLEAT_CHECK(static_cast<bool>(options.worker));
  PLEAT_CHECK(max_waiters_ > 0);
}

void ProcessorDriverCore::Start(ProcessorWaiter::Pointer waiter) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  // From here on it belongs to whoever answers it.
  ProcessorWaiter& admitted = *waiter.release();
  if (stopped_) {
    admitted.Complete(boost::asio::error::operation_aborted);
  } else if (leases_.size() + stops_.size() >= max_waiters_) {
    ++stats_.overloaded;
    admitted.Complete(AsioError::kOverloaded);
  } else {
    admitted.ConnectCancellation();
    (admitted.is_lease() ? leases_ : stops_).push_back(admitted);
    CallSoon();
  }
}

void ProcessorDriverCore::Cancel(ProcessorWaiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_down_ || !waiter.is_linked()) return;
  Waiters& waiters = waiter.is_lease() ? leases_ : stops_;
  waiters.erase(waiters.iterator_to(waiter));
  ++stats_.cancelled;
  waiter.Complete(boost::asio::error::operation_aborted);
}

// The next message of the key may be what somebody waits for.
void ProcessorDriverCore::Answer(const MessageId& id, std::optional<Duration> delay) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  answered_.push_back({.id = id, .delay = delay});
  if (HasWaiters()) CallSoon();
}

void ProcessorDriverCore::StartRound() {
  const std::lock_guard lock(mutex_);
  CallAnew();
}

void ProcessorDriverCore::HandOver(const std::vector<Answered>& answered) {
  for (const Answered& each : answered) {
    if (each.delay) {
      processor_.nack(*processor_.processor, each.id, *each.delay, clock_.Wall());
    } else {
      processor_.ack(*processor_.processor, each.id);
    }
  }
}

absl::Status ProcessorDriverCore::Call() noexcept {
  std::vector<Answered> answered;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(answered_);
  }
  HandOver(answered);
  const absl::StatusOr<bool> more = processor_.run(*processor_.processor, clock_.Wall());
  more_ = more.value_or(false);
  return more.status();
}

void ProcessorDriverCore::Note(absl::Status status) noexcept {
  ++stats_.rounds;
  if (!status.ok()) ++stats_.failed_rounds;
  stats_.last_round = std::move(status);
}

// First what was acked during the round, which else might be lent again. Those behind one for whom there is
// nothing would get nothing either.
bool ProcessorDriverCore::Serve() noexcept {
  HandOver(std::exchange(answered_, {}));
  const EngineTime now = clock_.Wall();
  for (Waiters* waiters : {&leases_, &stops_}) {
    while (!waiters->empty() && waiters->front().IsServed(processor_, now)) {
      ProcessorWaiter& served = waiters->front();
      waiters->pop_front();
      served.Complete({});
    }
  }
  return more_;
}

void ProcessorDriverCore::CompleteAll() noexcept {
  HandOver(std::exchange(answered_, {}));
  for (Waiters* waiters : {&leases_, &stops_}) {
    waiters->clear_and_dispose(
        [](ProcessorWaiter* waiter) { waiter->Complete(boost::asio::error::operation_aborted); });
  }
}

void ProcessorDriverCore::DestroyAll() noexcept {
  for (Waiters* waiters : {&leases_, &stops_}) {
    waiters->clear_and_dispose([](ProcessorWaiter* waiter) { waiter->Destroy(); });
  }
}

ProcessorDriverStats ProcessorDriverCore::stats() {
  const std::lock_guard lock(mutex_);
  ProcessorDriverStats stats = stats_;
  stats.waiting = shut_down_ ? 0 : leases_.size() + stops_.size();
  return stats;
}

}  // namespace pleat::inline v0_1
