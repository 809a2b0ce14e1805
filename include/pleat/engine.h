// An Engine owns time and partitions. Collections live in an engine: Folder, LiveSet, Presence,
// RollupCounter. Start here.
//
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> folder(*engine, "accounts",
//                                      {.quiet_period = 5min, .max_wait = 1h});
//   const auto at = pleat::FromUnix(std::chrono::system_clock::now().time_since_epoch());
//   folder.Fold(key, event, at);            // any thread
//   engine->Advance(at + 6min);             // closes the group: it was quiet for five minutes
//   for (auto& e : folder.Pop(100)) Publish(e.key, e.state);
//
// An event has a key and a stamp, which is an instant. To fold is to take the event into the group
// of its key. A group is due, and closes, at an instant that is its deadline. A closed group waits
// as an emission until somebody pops it for good, or leases it until the result is safe
// (emission.h). A partition is a part of the keys, with one lock.
//
// Two times move in an engine. The engine's time closes groups: Advance() moves it, and on event
// time so do the stamps of events; there it is called the watermark. LeaseTime ends leases:
// AdvanceLeases() and the calls on leases move it. An engine starts no thread, reads no clock,
// touches no file and keeps no global. `Driver` in asio.h reads a clock; it moves LeaseTime and, on
// arrival time, the engine's time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>
#include <pleat/untyped/alarm.h>

namespace pleat::inline v0_1 {

class EngineCore;

// Whether memory beyond the first few MiB may come in pages of 2 MiB, if the kernel has them.
enum class HugePages : uint8_t {
  // Folds are 10 to 20 % faster. But an event that opens a group may wait while the kernel clears a
  // page: a quarter of a millisecond, or several where a hypervisor has to find the page first.
  // Memory that is taken ahead, by prefault_bytes or Folder::Reserve(), has been cleared.
  kOffered,
  // Pages of 4 KiB: no single wait is longer than some ten microseconds.
  kOff,
};

// The default of EngineOptions::future_limit on arrival time. A stamp in the wrong unit, such as
// milliseconds taken for seconds, lies further ahead than this.
inline constexpr Duration kFutureLimitOnArrival = std::chrono::days(366);

// The random numbers of an engine, for callers that must have them repeat.
//
//   auto engine = *pleat::Engine::Open({.internals = {.hash_key = {{1, 2}}, .epoch = 3}});
//
// Programs leave both out: the engine then draws them from the operating system. Tests set them, so
// that two runs are alike to the last instruction and to the last lease token. A store that brings
// an engine back from a snapshot has to supply both: the hash key its tables were built with, and
// the epoch of the tokens that its consumers still hold.
struct EngineInternals {
  // The key of the hash of the tables. Secret, so that no stranger can choose keys that collide; it
  // never shows in any output.
  std::optional<std::array<uint64_t, 2>> hash_key = std::nullopt;

  // Tells the lease tokens of this engine from those of others (LeaseToken::epoch).
  // REQUIRES: unique among the engines whose tokens can meet.
  std::optional<uint64_t> epoch = std::nullopt;
};

struct EngineOptions {
  // How many partitions there are; each has one lock. Two to four times the number of threads that
  // fold is plenty: more partitions make batches shorter and ordered popping dearer.
  // Range: 1 to 4,096. Default: 16.
  int partitions = 16;

  // The meaning of stamps: when an event arrived (arrival time), or when it happened (event time).
  Axis axis = Axis::kArrival;

  // How far the watermark trails the largest stamp.
  // Range: zero or more; zero on arrival time.
  // Default: zero.
  Duration watermark_delay{0};

  // An event whose stamp is more than this ahead of now() is answered kFuture. It changes nothing.
  // There is no check before time has moved for the first time. Why: a stamp in the wrong unit
  // would close every group (event time), or keep its group open for years (arrival time). Between
  // two calls of Advance(), now() stands still: choose a limit well above the time between them.
  // Range: zero or more; kForever is no limit. Default: kFutureLimitOnArrival, or kForever on event
  // time.
  std::optional<Duration> future_limit = std::nullopt;

  // Matters from some ten thousand groups on.
  HugePages huge_pages = HugePages::kOffered;

  // How much memory Open() takes from the system and has it clear, for the tables of all
  // collections. They use it before they take more, and the engine keeps it to its end. A call that
  // finds it used up waits for the system now and then: see HugePages. For a number of groups,
  // Folder::Reserve() knows what they take.
  // Range: any; rounded up to 2 MiB. Default: zero.
  size_t prefault_bytes = 0;

  // For tests and stores; programs leave it alone.
  EngineInternals internals = {};
};

// Thread safety: any thread may call any method at any time. Destroying the engine waits for calls
// on its collections that are under way; later ones answer that it is gone.
// REQUIRES: no call on the engine itself is under way then, nor comes later.
// Ownership: owns all that its collections hold; emissions that nobody took end with it. A Drain
// (drain.h) is its orderly end.
//
// Your functions that run inside a call (folding, copying and destroying a state, rules) run under
// a lock.
// REQUIRES: they call no engine, neither this one nor another, and destroy none. From there, calls
// that answer an outcome answer kWouldDeadlock. All others do nothing, unless their comment says
// more; those that answer whether all is done answer true.
class PLEAT_EXPORT Engine {
 public:
  // Errors: kInvalidArgument for an option out of range, which the message names;
  // kResourceExhausted if the system refuses prefault_bytes.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options);

  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Moves the engine's time to `now` and closes every group that is due by it (deadline <= now).
  // Members of live sets and users of presence have deadlines, too, and end likewise; at theirs,
  // the windows of rollup counters are final.
  // Time never goes back: an earlier `now` than before moves nothing.
  // Complexity: O(1) when nothing is due; else O(groups due). A partition's lock is held for at
  // most 1,024 of them at a time.
  void Advance(EngineTime now) noexcept;

  // The same, closing at most `budget` groups. Returns whether every group that is due was closed;
  // if not, call again with the same or a later `now`. With a budget of 0 only time moves, and the
  // answer is true. A group that is due but not closed yet is already out of reach of Fold, Peek,
  // Flush and Cancel, and Pop finds it: these calls do not depend on the budget.
  [[nodiscard]] bool Advance(EngineTime now, size_t budget) noexcept;

  // Moves LeaseTime to `now` and takes back the leases that ran out by then, at most `budget` of
  // them. Returns whether those were all. With a budget of 0 only LeaseTime moves, and the answer
  // is true. An earlier `now` than before moves nothing. The engine's time does not move.
  [[nodiscard]] bool AdvanceLeases(LeaseTime now, size_t budget = SIZE_MAX) noexcept;

  // The engine's time; kBeginningOfTime before it has first moved. On event time: the watermark.
  EngineTime now() const noexcept;

  // When to call Advance() next: no group falls due before this instant. Absent if no group will.
  // The answer can be too early: the group may have been folded into, flushed or closed since. A
  // later fold may bring an earlier deadline. Set an alarm to learn of it.
  std::optional<EngineTime> NextDeadline() const noexcept;

  // The same for leases and AdvanceLeases().
  std::optional<LeaseTime> NextLeaseDeadline() const noexcept;

  // From the return of SetAlarm() on, `alarm` is told when NextDeadline() or NextLeaseDeadline()
  // becomes earlier; from the return of RemoveAlarm() on, `alarm` is not called any more. Removing
  // an alarm that is not set does nothing, so that nobody removes the alarm of somebody else.
  // REQUIRES: the engine has no alarm yet (an engine has one), and neither call comes from a fold
  // function or an alarm; otherwise ends the program. An alarm is removed before its end.
  void SetAlarm(EngineAlarm& alarm) noexcept;
  void RemoveAlarm(EngineAlarm& alarm) noexcept;

  // From its return on, every fold is answered kStopped, as are the events of live sets and of
  // rollup counters, and the calls of presence's clients. None is under way: Stop() waits for
  // those. All else goes on, so that open groups can be closed, emissions taken and changes read.
  // Idempotent.
  void Stop() noexcept;

  // The offset in `source` of the first event that some collection has not taken in this partition;
  // see batch.h. 0 if no batch of the source had one. Ask for each partition that is fed
  // from there, and go on at the smallest. O(collections).
  uint64_t SourcePositionOf(uint64_t source, int partition) const noexcept;

  int partitions() const noexcept;
  Axis axis() const noexcept;

  // Another handle of this engine, for adapters such as a driver. It may outlive the engine, and
  // destroying it destroys nothing. When the engine is gone, nothing is due, no alarm is told, and
  // nothing can be opened.
  std::unique_ptr<Engine> Handle() const;

 private:
  friend struct EngineAccess;  // of the collections
  Engine(std::shared_ptr<EngineCore> core, bool closes);

  std::shared_ptr<EngineCore> core_;
  const bool closes_;  // whether this is the engine, and no other handle of it
};

}  // namespace pleat::inline v0_1
