#include "engine/asio/repeated_call.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "engine/asio/machine_clock.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// The context of the worker is shutting down: no call runs any more.
class WorkerGuest final : public ContextGuest {
 public:
  explicit WorkerGuest(std::weak_ptr<RepeatedCall> call) : call_(std::move(call)) {}

  void Shutdown() noexcept override {
    if (const auto call = call_.lock()) call->Stop();
  }

 private:
  const std::weak_ptr<RepeatedCall> call_;
};

}  // namespace

RepeatedCall::RepeatedCall(boost::asio::any_io_executor executor,
                           boost::asio::any_io_executor worker, Duration every,
                           const DriverClock* clock)
    : clock_(clock != nullptr ? *clock : MachineClock()),
      every_(every),
      executor_(std::move(executor)),
      worker_(std::move(worker)),
      next_call_(clock_.Elapsed() + every_),
      timer_(executor_) {
  PLEAT_CHECK(every_ > Duration::zero() && every_ <= std::chrono::hours(24));
}

void RepeatedCall::Begin() {
  worker_guest_ = std::make_shared<WorkerGuest>(weak_from_this());
  AddGuest(worker_, worker_guest_);
  AddGuest(executor_, shared_from_this());
  const std::lock_guard lock(mutex_);
  SetTimer();
}

void RepeatedCall::SetTimer() {
  if (stopped_ || !clock_.runs()) return;
  timer_->expires_after(next_call_ - clock_.Elapsed());
  timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->TimerHasRung();
  });
}

// Most often it is early, because a call has ended since it was set.
void RepeatedCall::TimerHasRung() noexcept {
  const std::lock_guard lock(mutex_);
  CallIfDue();
  SetTimer();
}

void RepeatedCall::Wake() {
  const std::lock_guard lock(mutex_);
  CallIfDue();
}

void RepeatedCall::CallIfDue() {
  const Duration now = clock_.Elapsed();
  if (stopped_ || now < next_call_) return;
  next_call_ = now + every_;
  CallSoon();
}

void RepeatedCall::CallSoon() {
  if (stopped_ || posted_) return;
  posted_ = true;
  boost::asio::post(worker_, [self = shared_from_this()] { self->MakeCall(); });
}

void RepeatedCall::CallAnew() {
  calls_anew_ = calling_;
  CallSoon();
}

void RepeatedCall::MakeCall() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    calling_ = true;
  }
  absl::Status status = Call();

  const std::lock_guard lock(mutex_);
  posted_ = calling_ = false;
  next_call_ = clock_.Elapsed() + every_;
  const bool anew = std::exchange(calls_anew_, false);
  Note(std::move(status));
  if (stopped_) {
    call_over_.notify_all();
  } else if (Serve() || anew) {
    CallSoon();
  }
}

// The timer goes now, and not with this: its context may be going when the last one lets go of this.
void RepeatedCall::EndCalls(std::unique_lock<std::mutex>& lock) noexcept {
  stopped_ = true;
  call_over_.wait(lock, [this] { return !calling_; });
  timer_.reset();
}

void RepeatedCall::Stop() noexcept {
  std::unique_lock lock(mutex_);
  EndCalls(lock);
  if (!shut_down_) CompleteAll();
}

void RepeatedCall::Shutdown() noexcept {
  {
    std::unique_lock lock(mutex_);
    EndCalls(lock);
    shut_down_ = true;
  }
  executor_ = {};
  DestroyAll();
}

boost::asio::any_io_executor RepeatedCall::executor() {
  const std::lock_guard lock(mutex_);
  return executor_;
}

}  // namespace pleat::inline v0_1
