// An Engine owns partitions and one time axis. Collections, such as Folder, live in it. Start here.
//
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> folder(*engine, "accounts", {.quiet_period = 5min, .max_hold = 1h});
//   folder.Fold(key, event, at);            // any thread
//   engine->Advance(now);                   // closes the groups that are due
//   for (auto& e : folder.Pop(100)) Publish(e.key, e.state);
//
// It starts no thread, reads no clock, touches no file and keeps no global: time moves only by
// Advance() or, on event time, by the stamps of the events.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/alarm.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class EngineCore;

// Whether memory beyond the first few MiB may come in pages of 2 MiB, if the kernel has them.
enum class HugePages : uint8_t {
  kOffered,  // folds are 10 to 20 % faster, but an event that opens a group may wait while the kernel
  // clears a page: a quarter of a millisecond, or several where a hypervisor has to find it first
  kOff,  // pages of 4 KiB: no single wait of more than some ten microseconds
};

// A stamp in the wrong unit, such as milliseconds taken for seconds, lies further ahead than this.
inline constexpr Duration kFutureLimitOnArrival = std::chrono::days(366);

struct EngineOptions {
  // The number of partitions, 1 to 4,096: each has one lock. Two to four times the number of
  // threads that fold is plenty; more makes batches shorter and ordered popping dearer.
  int partitions = 16;

  Axis axis = Axis::kArrival;

  // Event time only: how far the watermark trails the largest stamp. Zero or more.
  Duration lateness{0};

  // An event stamped further than this ahead of the engine's time is answered kFuture and changes
  // nothing, time included. It does not apply before time has first moved. kForever: no limit. Absent:
  // kFutureLimitOnArrival on arrival time, none on event time.
  //
  // If stamps can be wrong, set it: on event time one stamp too far ahead closes every group; on arrival
  // time it keeps its key's group open until that time comes, or an event is more than max_hold behind it.
  // (Between two calls of Advance() the engine's time stands still.)
  std::optional<Duration> future_limit = std::nullopt;

  // Matters from some ten thousand groups on.
  HugePages huge_pages = HugePages::kOffered;

  // The key of the tables' hash; absent, 16 bytes are drawn from the operating system, so that no
  // stranger can choose keys that collide. It never shows in any output. Set it in tests only.
  std::optional<std::array<uint64_t, 2>> hash_key = std::nullopt;

  // What tells the leases of this engine from those of others; absent, it is drawn from the operating system.
  // Set it in tests only.
  std::optional<uint64_t> epoch = std::nullopt;
};

// Thread safety: any thread may call any method at any time. Destroying the engine waits for calls on its
// collections that are under way; later ones answer that it is gone. (Calls on the engine itself must be over.)
// Ownership: holds everything that its collections remember; what was not popped goes with it.
//
// A driver loop sleeps until NextDeadline(), or until its alarm tells of an earlier one; nothing in here wakes it
// up otherwise, or blocks. `Driver` in asio.h is one. An orderly end is Stop(), then CloseAll() on each folder,
// then Pop() until it gives nothing.
//
// Functions of the caller's that run inside a call (folding, copying and destroying a state, rules) must not call
// an engine, this one or another. A Fold() from there is answered kWouldDeadlock, and so is an Ack(); all else
// does nothing, and a call with a budget says that it is done. Nor may they destroy the engine.
class PLEAT_EXPORT Engine {
 public:
  // Errors: kInvalidArgument for an option out of range, naming it.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options);

  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Moves the engine's time to `now` and closes every group that is due by it (deadline <= now).
  // An earlier `now` than before moves nothing: time never goes back.
  // Complexity: O(1) when nothing is due; else O(groups due). A partition's lock is held for at most
  // 1,024 of them at a time.
  void Advance(EngineTime now) noexcept;

  // The same, looking at no more than `budget` groups. Returns whether everything due was closed;
  // if not, call again with the same or a later `now`. (A budget of 0 moves time only, and answers true.) What is due but not closed yet is already out of
  // reach of Fold, Peek, Flush and Cancel, and Pop finds it; so they do not depend on the budget.
  [[nodiscard]] bool Advance(EngineTime now, size_t budget) noexcept;

  // Moves LeaseTime to `now` and takes back the leases that ran out by then, looking at no more than
  // `budget`. Returns whether those were all. (A budget of 0 moves LeaseTime only, and answers true.)
  // An earlier `now` than before moves nothing. The engine's time stays as it is.
  [[nodiscard]] bool AdvanceLeases(LeaseTime now, size_t budget = SIZE_MAX) noexcept;

  // The engine's time; kBeginningOfTime before it has first moved. On event time: the watermark.
  EngineTime now() const noexcept;

  // Nothing falls due before this instant; absent when nothing will. A driver sleeps until then and
  // calls Advance(). It can be early, never late: the group whose deadline was noted may have been
  // folded into, flushed or closed since. The answer holds until the next fold from any thread.
  std::optional<EngineTime> NextDeadline() const noexcept;

  // The same for leases and AdvanceLeases().
  std::optional<LeaseTime> NextLeaseDeadline() const noexcept;

  // From its return on, `alarm` is told when NextDeadline() or NextLeaseDeadline() becomes earlier;
  // null: nobody is, and the one before is not called any more. An engine has one alarm: to set a
  // second one, without null in between, is a bug and ends the program. So is a call from a fold
  // function or an alarm.
  void SetAlarm(EngineAlarm* alarm) noexcept;

  // From its return on, every fold is answered kStopped; all else goes on, so that what is open can be
  // closed and what has closed can be popped. Idempotent.
  void Stop() noexcept;

  int partitions() const noexcept;
  Axis axis() const noexcept;

  // Another handle of this engine, for adapters such as a driver: it may be there longer than the
  // engine, and destroying it destroys nothing. When the engine is gone, nothing is due and nobody
  // is told of anything.
  std::unique_ptr<Engine> Handle() const;

  // For the collections.
  const std::shared_ptr<EngineCore>& core() noexcept { return core_; }

 private:
  Engine(std::shared_ptr<EngineCore> core, bool closes);

  std::shared_ptr<EngineCore> core_;
  const bool closes_;  // it is the engine, and no other handle of it
};

}  // namespace pleat::inline v0_1
