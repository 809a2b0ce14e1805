// A RepeatedCall makes a call that may block, again and again, on an executor of its own: never two at
// once, and the next one `every` after the end of the last, or at once where it is asked for.
//
//   asleep ---- `every` is over, or CallSoon() ----> posted
//      ^                                               |
//      |                                   the worker's thread takes it
//      |                                               v
//      +--------------- Serve(): no ---------------- Call()
//                               |                      ^
//                               +--------- yes --------+ (by way of posted)
//
// mutex_ guards the state and is not held during Call().
//
// The timer always runs, also while a call is under way: so the execution context has work, and only the
// turns of the timer touch it. The worker's thread posts handlers, and no more.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pleat/asio_driver.h>

#include "engine/asio/context_guest.h"

namespace pleat::inline v0_1 {

class RepeatedCall : public ContextGuest, public std::enable_shared_from_this<RepeatedCall> {
 public:
  virtual ~RepeatedCall() = default;

  // Registers with the contexts and sets the timer. Once, after construction.
  void Begin();

  void Wake();  // calls, if that is due by the clock
  // From its return on, nothing is called: it waits for the call under way.
  void Stop() noexcept;
  void Shutdown() noexcept override;  // of the executor's context; that of the worker stops this
  boost::asio::any_io_executor executor();

 protected:
  // REQUIRES: `worker` is not empty.
  RepeatedCall(boost::asio::any_io_executor executor, boost::asio::any_io_executor worker,
               Duration every, const DriverClock* clock);

  virtual absl::Status Call() noexcept = 0;  // on the worker's thread
  // Under the mutex: counts a call that has ended.
  virtual void Note(absl::Status status) noexcept = 0;
  // Under the mutex, behind Note(): completes operations. Returns whether another call is to follow at
  // once.
  virtual bool Serve() noexcept = 0;
  // Under the mutex, when nothing is called any more.
  virtual void CompleteAll() noexcept = 0;
  // When shut_down_ is set, and without the mutex: handlers may own anything, this too.
  virtual void DestroyAll() noexcept = 0;

  // A call that is posted or under way will do. REQUIRES, here and below: the mutex is held.
  void CallSoon();
  // One that is under way will not do: another one follows it.
  void CallAnew();

  const DriverClock& clock_;
  std::mutex mutex_;
  bool stopped_ = false;
  bool shut_down_ = false;  // operations belong to DestroyAll()

 private:
  void SetTimer();
  void TimerHasRung() noexcept;
  void CallIfDue();
  void MakeCall() noexcept;
  void EndCalls(std::unique_lock<std::mutex>& lock) noexcept;

  const Duration every_;
  boost::asio::any_io_executor executor_;  // changes only in Shutdown(), when nobody uses it
  const boost::asio::any_io_executor worker_;
  std::shared_ptr<ContextGuest> worker_guest_;

  std::condition_variable call_over_;
  bool posted_ = false;  // a call, and it has not ended
  bool calling_ = false;
  bool calls_anew_ = false;
  Duration next_call_;  // by the clock's Elapsed()
  std::optional<boost::asio::steady_timer> timer_;
};

}  // namespace pleat::inline v0_1
