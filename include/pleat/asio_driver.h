// Driver: moves an engine's time by a clock. AsioError: how the operations of a Consumer (asio.h),
// a Watcher (asio_watcher.h) or a StoreDriver (asio_store.h) fail.
//
//   pleat::Driver driver(io, *engine);        // runs wherever `io` is run
//   folder.Fold(key, event, driver.now());    // stamps come from the same clock
//
//   pleat::Driver driver(*engine);            // or on a thread of its own
//   const pleat::DriverThread thread = driver.RunThread();
//
//   auto driver = pleat::Driver::Open(io, *engine);  // after a restart: says if the clock is wrong
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Beside boost::asio::error::operation_aborted, which tells that an operation was cancelled:
//
//   if (error == pleat::AsioError::kClosed) return;
enum class AsioError {
  // max_waiters operations wait already. Start it again when one has completed.
  kOverloaded = 1,
  // The driver was stopped, the collection was closed, or the engine is gone. Start no other
  // operation.
  kClosed = 2,
  // Of a Watcher: changes that it had not taken are gone. Call Watch() again.
  kResync = 3,
};
PLEAT_EXPORT const boost::system::error_category& AsioErrorCategory() noexcept;
PLEAT_EXPORT boost::system::error_code make_error_code(AsioError error) noexcept;

class DriverCore;

// Objects of Boost's go in and out of the library, so a program must have the Boost version that
// the library was built with. The version is a part of the driver's name in the library: a program
// with another version does not link.
class [[gnu::abi_tag("boost_" BOOST_LIB_VERSION)]] Driver;

// The clock that a driver reads. Tests pass one that they move by hand.
// Thread safety: any thread may call any function at any time.
class DriverClock {
 public:
  // The time since some fixed instant, including time during which the machine was suspended.
  virtual Duration Elapsed() const noexcept = 0;

  // The date, by the machine's wall clock.
  virtual EngineTime Wall() const noexcept = 0;

  // Whether the clock goes on by itself. For one that is moved by hand the driver sets no timer:
  // call Driver::Wake() after each move, and all that happens is a function of the moves.
  virtual bool runs() const noexcept { return true; }

 protected:
  ~DriverClock() = default;
};

struct DriverOptions {
  // Deadlines are rounded up to a multiple of this, so that one wake-up serves many. A larger tick
  // saves wake-ups, and makes emissions later by up to as much.
  // Range: above zero. Default: 1 ms.
  Duration tick = std::chrono::milliseconds(1);

  // How many groups a turn closes before it lets other handlers run.
  // Range: at least 1. Default: 4,096.
  size_t budget = 4096;

  // The longest sleep. A timer does not notice that the machine was suspended, so a group that fell
  // due meanwhile can be late by this much, unless somebody calls Wake() on resume.
  // Range: above zero, at most a day. Default: 10 s.
  Duration max_sleep = std::chrono::seconds(10);

  // By how much the wall clock may be ahead of an engine that has a time already: one that was
  // restored, and was down for so long. More is an error, because it is rather a wrong clock, by
  // which all that the engine holds would end at once. kForever: whatever it says is right.
  // Range: zero or more.
  Duration max_forward_jump = std::chrono::hours(7 * 24);

  // Somebody has made sure that it is this date or a later one: any jump up to here is right.
  EngineTime confirmed = kBeginningOfTime;

  // The clock; null is the machine's. REQUIRES: outlives the driver and its consumers.
  const DriverClock* clock = nullptr;
};

// A thread that runs the io_context of a driver.
// REQUIRES: not destroyed on that thread itself.
class PLEAT_EXPORT DriverThread {
 public:
  DriverThread(DriverThread&&) noexcept;
  DriverThread& operator=(DriverThread&&) noexcept;
  ~DriverThread();  // as Stop()

  // Stops the io_context and joins the thread. Idempotent.
  void Stop() noexcept;

 private:
  friend class Driver;
  struct Impl;
  explicit DriverThread(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Moves an engine's time and LeaseTime by one clock. It sleeps on one timer until the next deadline
// of a group or a lease, then calls Advance() and AdvanceLeases() in bounded turns. A deadline that
// becomes earlier wakes it.
//
// - Never early: no group closes before now() has reached its deadline. Late by at most a tick, and
//   by the turns for earlier deadlines.
// - now() is the wall clock at construction, or at the last Reanchor(), plus the time elapsed
//   since, suspension included. It never goes back. Steps of the wall clock in between are counted
//   only. If the engine is ahead of the wall clock at construction, time goes on from the engine's.
// - On event time the stamps move the engine's time, and the driver moves LeaseTime. At each tick,
//   while there is a deadline, the driver looks whether the watermark has passed it.
//
// Thread safety: any thread may call any method at any time, but for the destructor. Any number of
// threads may run the execution context; turns do not overlap.
// Ownership: borrows the engine, which may go first; then nothing is due any more. An engine has
// one driver at a time: a second one ends the program. Until it is stopped, io_context::run() does
// not return by itself.
class PLEAT_EXPORT Driver {
 public:
  using executor_type = boost::asio::any_io_executor;

  // Errors: kFailedPrecondition if the wall clock is ahead of the engine by more than
  // max_forward_jump; the message says both times. The engine is as it was. An option out of range
  // ends the program.
  static absl::StatusOr<std::unique_ptr<Driver>> Open(executor_type executor, Engine& engine,
                                                      const DriverOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Driver>> Open(boost::asio::io_context& context,
                                                      Engine& engine,
                                                      const DriverOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Driver>> Open(Engine& engine,
                                                      const DriverOptions& options = {});

  // The same, but an error ends the program, and prints why. Takes its turns on `executor`.
  Driver(executor_type executor, Engine& engine, const DriverOptions& options = {});
  Driver(boost::asio::io_context& context, Engine& engine, const DriverOptions& options = {});

  // With an io_context of its own, for RunThread().
  explicit Driver(Engine& engine, const DriverOptions& options = {});

  ~Driver();  // as Stop()
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // The time by this driver's clock: the stamp of an event that arrives now. Never goes back.
  // Cost: a clock reading.
  EngineTime now() const noexcept;

  // The same reading for leases: the `now` of Lease(), Nack() and Extend().
  LeaseTime lease_now() const noexcept { return LeaseTime(now()); }

  // Has a turn taken soon: call it when the machine has resumed, or a test has moved the clock.
  void Wake();

  // Sets the time to the wall clock's, then as Wake(). If the wall clock is behind, now() stands
  // still until it has caught up. Errors: as Open(), by how much it is ahead of now(); `confirmed`
  // is as the option. Nothing has changed then.
  absl::Status Reanchor(EngineTime confirmed = kBeginningOfTime);

  // From its return on, the driver calls the engine no more, and every operation of a consumer
  // completes with AsioError::kClosed. Waits for the turn under way. Idempotent.
  void Stop() noexcept;

  // Starts a thread that runs the driver's own io_context until its handle is stopped or destroyed.
  // REQUIRES: the driver was made without an executor or an io_context; otherwise ends the program.
  [[nodiscard]] DriverThread RunThread();

  DriverStats stats() const;
  executor_type get_executor() const noexcept;

 private:
  friend class WaiterHandle;
  Driver(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<DriverCore> core);

  std::shared_ptr<boost::asio::io_context> context_;  // null unless it is the driver's own
  std::shared_ptr<DriverCore> core_;
};

}  // namespace pleat::inline v0_1

template <>
struct boost::system::is_error_code_enum<pleat::AsioError> : std::true_type {};
