// A RollupCounter counts events by key and by window of time. No event is added to a final window,
// so every read, every sum and every store of the window has the same number.
//
//   auto engine = *pleat::Engine::Open({});
//   pleat::RollupCounter plays(*engine, "plays", {.windows = {1min}, .allowed_lateness = 10s});
//   plays.Add("title 1", 1, at, "event 17");
//   plays.Add("title 1", 1, at, "event 17");           // kDuplicate
//   engine->Advance(at + 2min);
//   for (auto& e : plays.Pop(100)) Store(e.key, e.state.start, e.state.amount.sum);
//   plays.Accurate("title 1").amount.count;            // 1
//
// A window [start, end) is final once its end is allowed_lateness and margin before the engine's
// time. Final windows are emissions (emission_source.h) with reason kFinal, in the order of their
// ends; windows with one end, by resolution, then by the arrival of the first event. In an
// emission,
// `state` is the window, `first` and `last` are its start and end, `count` is the number of its
// events, and `closed` the instant at which the window became final. The value of a counter is the
// sum of all of its deltas, or, with clears, of those after the newest clear by (stamp, arrival).
// docs/counters.md has all guarantees.
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle of a collection that the engine owns; copies are handles of the same
// collection. When the collection is closed, or the engine is gone, calls answer kStopped or
// kClosed, or nothing.
// Allocation: without ids and clears, adding to an open window allocates nothing. A failure to
// allocate ends the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/detail/rollup_mistakes.h>
#include <pleat/emission_source.h>
#include <pleat/engine.h>
#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class AnyIntake;
class IntakeTarget;
class RollupCore;
class SharedCount;

// Keeps a counter from being forgotten, and reads its final windows without a lock.
// Thread safety: as a std::shared_ptr; Eventual() also while others hold copies.
class PLEAT_EXPORT CounterRef {
 public:
  CounterRef() = default;

  // The sum of the counter's final windows. Wait-free, except that a read during a write of this
  // counter reads again. REQUIRES: not empty.
  EventualCount Eventual() const noexcept;

  bool empty() const noexcept { return count_ == nullptr; }

 private:
  friend class RollupCore;
  CounterRef(std::shared_ptr<const SharedCount> count, std::shared_ptr<EngineCore> engine) noexcept;

  std::shared_ptr<const SharedCount> count_;
  std::shared_ptr<EngineCore> engine_;  // its time says how old the count is
};

class PLEAT_EXPORT RollupCounter : public EmissionSource<CountedWindow> {
 public:
  // Creates the collection `name`. The engine keeps it until Close().
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone.
  static absl::StatusOr<RollupCounter> Open(Engine& engine, std::string_view name,
                                            const RollupOptions& options);
  // The same for options known to be right: an error ends the program, and prints why.
  RollupCounter(Engine& engine, std::string_view name, const RollupOptions& options) noexcept;

  template <detail::IsMisplaced<RollupOptions> M = detail::Misplaced<RollupOptions>>
  static absl::StatusOr<RollupCounter> Open(Engine&, std::string_view, const M& options) {
    return detail::SayMisplaced<absl::StatusOr<RollupCounter>>(options);
  }
  template <detail::IsMisplaced<RollupOptions> M = detail::Misplaced<RollupOptions>>
  RollupCounter(Engine&, std::string_view, const M& options) noexcept
      : RollupCounter(detail::SayMisplaced<RollupCounter>(options)) {}

  // Adds `delta` to the counter of `key`, in the windows of the stamp `at`. A key is any bytes up
  // to 64 KiB. Events with an id count once; see CounterEvent. O(1).
  AddOutcome Add(std::string_view key, Delta delta, EngineTime at,
                 std::string_view id = {}) noexcept;
  // The same, and the value of the counter right after this event. O(open windows of the key).
  AddedCount AddAndGet(std::string_view key, Delta delta, EngineTime at,
                       std::string_view id = {}) noexcept;
  // Adds many events, as Folder::FoldBatch() folds them.
  RollupCounts AddBatch(std::span<const KeyedEvent<CounterEvent>> events,
                        std::span<AddOutcome> outcomes = {}, PartitionRange only = {},
                        std::optional<SourcePosition> position = {}) noexcept;
  template <std::same_as<SourcePosition> Position = SourcePosition>
  RollupCounts AddBatch(std::span<const KeyedEvent<CounterEvent>> events,
                        std::span<AddOutcome> outcomes, PartitionRange only,
                        const Position& position) noexcept {
    return AddBatch(events, outcomes, only, std::optional(position));
  }

  // For an Intake (intake.h), which adds the events of a map to CounterEvents.
  using IntakeEvent = CounterEvent;
  using IntakeOutcome = AddOutcome;
  void Join(AnyIntake& intake, std::unique_ptr<IntakeTarget> target) const noexcept;

  // Sets the value to zero, as an event stamped `at`: from then on the value is the sum of the
  // deltas with later stamps, or with this stamp and a later arrival. Windows do not change their
  // amounts. Answers as Add(); a late clear is rejected, whatever on_late.
  // REQUIRES: RollupOptions::clears.
  AddOutcome Clear(std::string_view key, EngineTime at, std::string_view id = {}) noexcept;

  // Closes all windows, in order, with reason kEnd, at the end of the input: events stamped before
  // the last end of those windows are late from then on, whatever their key. The windows are not
  // final: other instances may still add to theirs.
  void CloseAll() noexcept;

  // The sum of the final windows; nothing if there is no such counter. O(windows due).
  std::optional<EventualCount> Eventual(std::string_view key) const noexcept;
  // The sum of the final and the open windows at one instant; zero if there is no such counter.
  // O(open windows of the key).
  AccurateCount Accurate(std::string_view key) const noexcept;
  // Final windows of the resolution `window` with starts in [from, to) that are still kept, oldest
  // first. O(windows of the key).
  std::vector<CountedWindow> History(std::string_view key, EngineTime from, EngineTime to,
                                     Duration window = {}) const noexcept;
  // The n counters with the largest sums in the window of the resolution `window` around `at`, if
  // that window is open or still kept: the largest first, then by key. A resolution of zero is the
  // first one. O(keys in the window).
  std::vector<TopCount> Top(size_t n, EngineTime at, Duration window = {}) const noexcept;

  // Calls `see(key, window)` for every open window, in each partition in the order in which the
  // windows will be handed out. `see` runs under a partition's lock, and calls no engine.
  using SeeOpen = absl::FunctionRef<void(std::string_view key, const CountedWindow& window)>;
  void ScanOpen(SeeOpen see) const noexcept;

  // A reference to the counter of `key`. Opens the counter if there is none; empty at a limit.
  CounterRef Ref(std::string_view key) noexcept;

  // Makes the windows that are due final. Then, for up to `max` counters, loads the checkpoint of
  // each counter that is new in this engine, and publishes that of each counter with newly final
  // windows. Only this call and LoadCheckpoints() call the store: call it when windows have become
  // final, and again while there is `more`. No lock is held meanwhile; without a store, no effect.
  Publication Publish(size_t max = SIZE_MAX) noexcept;

  // Opens the counters of which the store has a checkpoint, so that an engine that begins empty has
  // all of them: takes the next part of the store's list, of up to `max` keys, and moves `cursor`
  // behind it. Begin with an empty cursor, and call again until it is empty once more:
  //
  //   std::string cursor;
  //   do {
  //     if (absl::Status s = plays.LoadCheckpoints(cursor); !s.ok()) return s;
  //   } while (!cursor.empty());
  //
  // A counter that is here already stays as it is: the next Publish() loads it. It also asks again
  // for a checkpoint that ends within a window, which ledger().store_errors counts. A counter that
  // would be forgotten by now is left out. Events may come before, meanwhile and later; no lock is
  // held while the store works. Memory: `max` keys and checkpoints. O(max) beside the store.
  // Errors. `cursor` is as it was then, and the same call may be made again.
  // - kUnimplemented: the store cannot list. Those of CheckpointStore::List().
  // - kResourceExhausted: limits.max_keys or limits.max_bytes; the counters that had room are open.
  // - kFailedPrecondition: there is no store, the counter is closed, the engine has stopped, or the
  //   call comes from inside a function of the caller's. kInvalidArgument: `max` is zero.
  absl::Status LoadCheckpoints(std::string& cursor, size_t max = 1'024) noexcept;

  // Changes the options while the counter runs, as one step: each event, each batch of up to 256
  // and each call sees those of before, or these. retention, forget_after, limits, leases and
  // on_late may change, the last not from or to kCorrect. What is gone or forgotten stays so. A
  // limit below what is there refuses what comes, and drops nothing. Cost: locks every partition
  // meanwhile, as long as it takes to close and drop what is due, and to look at counters that
  // somebody holds; with another forget_after O(counters), and a calendar is asked for their last
  // windows.
  // Errors: those of Open() for options; kFailedPrecondition for one that cannot change, which the
  // message names, after Close(), and from inside another call. Nothing has changed then.
  absl::Status SetOptions(const RollupOptions& options) noexcept;
  RollupOptions options() const noexcept;

  RollupLedger ledger() const noexcept;
  RollupSizes sizes() const noexcept;
  size_t held_bytes() const noexcept;  // see Folder::held_bytes()

  // Ends the collection: drops all that it holds, and frees the name.
  void Close() noexcept;

 private:
  RollupCounter(std::shared_ptr<EngineCore> engine, std::shared_ptr<RollupCore> core) noexcept;
  static RollupCounter OrEnd(std::string_view name, absl::StatusOr<RollupCounter> opened) noexcept;

  std::shared_ptr<EngineCore> engine_;  // which the collection uses
  std::shared_ptr<RollupCore> core_;
};

}  // namespace pleat::inline v0_1
