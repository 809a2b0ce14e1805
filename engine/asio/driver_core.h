// DriverCore stands behind a Driver: turns, one at a time, and a sleep between them.
//
//   asleep ---- the timer, an alarm, Wake() ----> a turn is posted ----> turning
//      ^                                                ^                   |
//      |                                                +--- unfinished ----+
//      +----------------- nothing is due any more --------------------------+
//
// mutex_ guards the state, but is not held while the engine works: a turn that comes while another
// one is under way leaves a note (again_) and goes, and Stop() waits for its end.
//
// The engine's alarm comes under the engine's locks, from any thread, so the alarm may only look at
// atomics and post. The alarm compares its deadline with asleep_until_. Nothing is lost: whoever
// falls asleep first says until when, and then looks at the deadline once more. Both sides use
// read-modify-write operations on asleep_until_, which have one order: an alarm that comes later
// sees the new value; the deadline of an earlier alarm was published before, and the second look
// sees it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>

#include "engine/asio/context_guest.h"
#include "engine/asio/driven.h"

namespace pleat::inline v0_1 {

class DriverCore final : public EngineAlarm,
                         public ContextGuest,
                         public std::enable_shared_from_this<DriverCore> {
 public:
  DriverCore(boost::asio::any_io_executor executor, Engine& engine, const DriverOptions& options);

  // Why the driver must not begin: the wall clock is too far ahead of the engine.
  static absl::Status CheckJump(Engine& engine, const DriverOptions& options);

  // Sets the alarm and takes the first turn. Once, after construction.
  void Begin();

  EngineTime Now() noexcept;
  void Wake();
  absl::Status Reanchor(EngineTime confirmed);
  void Stop() noexcept;
  DriverStats stats();
  boost::asio::any_io_executor executor();

  Engine& engine() const noexcept { return *engine_; }

  // Whether the engine runs on arrival time, so that Now() is on its axis.
  bool tells_arrival() const noexcept { return arrival_; }

  // Ends the consumer when the driver stops, or now if it has.
  void Add(const std::shared_ptr<Driven>& consumer);

  // Calls TimeHasCome() once, when the driver's clock has reached `at`.
  void CallAt(EngineTime at, const std::shared_ptr<Driven>& consumer);

  void DeadlineIsEarlier(EngineTime deadline) noexcept override;
  void LeaseDeadlineIsEarlier(LeaseTime deadline) noexcept override;
  void Shutdown() noexcept override;

 private:
  EngineTime Reading() const noexcept;
  EngineTime RoundUp(EngineTime t) const noexcept;
  std::optional<EngineTime> EarliestDeadline() const noexcept;
  EngineTime NextTurn(EngineTime reading) const noexcept;
  bool CloseDue(EngineTime now) noexcept;
  void CallDue(EngineTime now) noexcept;
  void WakeBy(EngineTime turn) noexcept;
  void PostTurn();
  void Turn(bool by_timer) noexcept;
  void FallAsleep();
  void CompareWithWall() noexcept;

  const std::unique_ptr<Engine> engine_;  // a handle; the engine may go first
  const bool arrival_;
  const DriverOptions options_;
  const DriverClock& clock_;
  boost::asio::any_io_executor executor_;  // changes only in Shutdown(), when nobody uses it

  std::atomic<Duration> anchor_;  // the shift of the clock's Elapsed()
  std::atomic<Duration> last_;    // the largest Now() so far, since 1970
  std::atomic<Duration::rep>
      asleep_until_;  // since 1970; in a turn the beginning of time: no alarm matters
  std::atomic<bool> turn_posted_ = false;

  std::mutex mutex_;
  std::condition_variable turn_over_;
  bool stopped_ = false;
  bool turning_ = false;
  bool again_ = false;
  std::optional<boost::asio::steady_timer> timer_;
  Duration wall_ahead_;  // the wall clock less Elapsed(), when last looked at
  DriverStats stats_;
  WeakList<Driven> consumers_;
  std::multimap<EngineTime, std::weak_ptr<Driven>> calls_;  // that CallAt() asked for
};

}  // namespace pleat::inline v0_1
