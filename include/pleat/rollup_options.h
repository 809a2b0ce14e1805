// RollupOptions: the windows of a counter, the treatment of late events, and the limits. Also
// AddOutcome, the answer to an event, and the counts: RollupLedger of all events and windows by
// their fates, RollupSizes of the counters, windows and ids that there are now.
//
//   pleat::RollupOptions options{
//       .windows = {1min, 1h},
//       .allowed_lateness = 10s,
//       .retention = 24h,
//       .limits = {.max_keys = 1'000'000},
//   };
//
// Opening a counter checks the ranges below. An option out of range is answered kInvalidArgument,
// and the message names the option, such as "limits.max_keys". A limit holds for the whole
// collection; each partition gets an equal share of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class CheckpointStore;

// How many resolutions one counter can have.
inline constexpr size_t kResolutionsMax = 8;

// The treatment of a late event. An event with an id that is older than the deduplication window is
// answered kLateUnknown in any case: it could have counted already.
enum class OnLateAdd : uint8_t {
  // The event is answered kLate and changes nothing.
  kReject,
  // The event counts as if stamped with the earliest stamp that is not late, and is answered
  // kClamped. The value is right; the window is not the window of the stamp.
  kClamp,
  // The event becomes an emission of its own, with reason kCorrection, and is answered kCorrected.
  // No window and no value changes: a program that stores windows adds the correction to the stored
  // window.
  kCorrect,
};

struct RollupLimits {
  // The most counters at a time. An event of one more key is answered kOverLimit.
  // Range: at least one per partition. Default: 50 million.
  size_t max_keys = 50'000'000;

  // The most bytes of counters, windows, emissions that wait, and ids. An event that needs more is
  // answered kOverLimit. Bytes are counted, not measured. Closing is never refused: a window that
  // waits takes 64 bytes more, even beyond the limit. Where windows are kept, their room counts.
  // Range: at least one per partition. Default: 4 GiB.
  size_t max_bytes = size_t{4} << 30;

  // How many emissions may wait: to be taken, to be acked, or as dead letters. At the limit an
  // event that would open a window is answered kOverLimit. The limit is soft: open windows still
  // close.
  // Range: at least one per partition. Default: 50 million.
  size_t max_backlog = 50'000'000;
};

struct RollupOptions {
  // The lengths of the windows: one, or several, ascending, each a multiple of the first. Windows
  // are [start, end), and start at multiples of their length since 1970, or by `calendar`.
  // Range: 1 to kResolutionsMax lengths above zero and below kForever. Required.
  std::vector<Duration> windows = {};

  // Windows that have no fixed length, such as the days of a zone, and months: the window [start,
  // end) around `at` of one resolution, which `window` of the lengths above names. The lengths only
  // need to ascend then. A window of the first resolution is cut where it would reach beyond one of
  // a further resolution. An open window keeps its start and end, also over a restart with other
  // data about zones. Called under a partition's lock, from any thread.
  // REQUIRES: start <= at < end; the answer depends on the arguments alone.
  // Default: none.
  std::function<std::pair<EngineTime, EngineTime>(EngineTime at, Duration window)> calendar = {};
  // Required with a calendar. Snapshots and stores compare it: one of another calendar is refused.
  std::string calendar_name = {};

  // An event is late if its stamp is more than this before the engine's time. A window is final,
  // and handed out, once the engine's time is its end + allowed_lateness + margin.
  // Range: zero or more, below kForever. Required.
  Duration allowed_lateness = kForever;

  // The largest difference between the clocks of engines that share a store; see docs/counters.md.
  // A margin only makes windows final later. Range: zero or more, below kForever.
  Duration margin{0};

  OnLateAdd on_late = OnLateAdd::kReject;

  // How long an id is remembered, counted from the stamp that its event was counted with.
  // Range: allowed_lateness or more, below kForever; zero stands for ten times allowed_lateness.
  Duration deduplication_window{0};

  // How long final windows are kept for History() and Top(), counted from the instant at which they
  // became final. With OnLateAdd::kCorrect they are kept for deduplication_window at least, so that
  // corrections can name the emission that they correct. Range: zero or more.
  Duration retention{0};

  // A counter is forgotten, with its value, when its newest window has been final for this long,
  // unless a CounterRef to the counter exists. The next event of its key begins at zero, or at the
  // store's checkpoint.
  // Range: retention or more. Default: never.
  Duration forget_after = kForever;

  // Whether Clear() may be called. Costs 24 bytes for each event of an open window, besides time.
  bool clears = false;

  // Keeps checkpoints, from which counters continue after a restart; see RollupCounter::Publish().
  // Default: none.
  std::shared_ptr<CheckpointStore> store = nullptr;

  RollupLimits limits = {};
  LeaseOptions leases = {};
};

// The answer to one event, and how to react. On event time every event moves the watermark, except
// events answered kFuture, kStopped or kWouldDeadlock, and events with a key or an id that is too
// long. Programs may store these values: they never change.
enum class AddOutcome : uint8_t {
  // The event counts.
  kAdded = 0,
  // The event is late and counts, in the earliest window that is open (OnLateAdd::kClamp).
  kClamped = 1,
  // The event is late, and became an emission of its own (OnLateAdd::kCorrect).
  kCorrected = 2,
  // The event is late, and older than the deduplication window: if it has an id, nobody knows
  // whether an earlier try was counted. The event changes nothing.
  kLateUnknown = 3,
  // An event of this key, id and delta has been counted: a retry. There is nothing to do.
  kDuplicate = 4,
  // An event of this key and id, but with another delta, has been counted: one of the two is wrong.
  kConflict = 5,
  // The event is late, and was not counted, now or before. Store it somewhere else, or drop it.
  kLate = 6,
  // The event is further ahead of the engine's time than the future limit: its clock is likely
  // wrong.
  kFuture = 7,
  // A limit was reached, or the key or id is longer than 64 KiB. Unless the key or id is too long,
  // the same event may be accepted once windows have closed and emissions were taken.
  kOverLimit = 8,
  // The engine was stopped or is gone, or the collection was closed. Not counted.
  kStopped = 9,
  // Called from inside a function of the caller's. Not counted. Call again from outside.
  kWouldDeadlock = 10,
  // AddBatch() was told to leave the event's partition alone. Not counted; another worker adds it.
  kElsewhere = 11,
  // The partition has taken the event before, by its SourcePosition. Not counted.
  kReplayed = 12,
};
inline constexpr size_t kAddOutcomes = 13;
using RollupCounts = OutcomeCounts<AddOutcome, kAddOutcomes>;

// Exact counts since the counter was opened, summed over the partitions, each read at one instant.
// Always:
//   events  = added + duplicate + conflict + late + clamped + corrected + future + refused
//   windows = made_final + ended + open
//   added + clamped = clears + checkpointed + pending
//   delta_added     = delta_checkpointed + delta_pending, modulo 2^64
struct PLEAT_EXPORT RollupLedger {
  uint64_t events = 0;  // every event offered, clears included
  uint64_t added = 0;
  uint64_t duplicate = 0;
  uint64_t conflict = 0;
  uint64_t late = 0;  // kLate and kLateUnknown
  uint64_t clamped = 0;
  uint64_t corrected = 0;
  uint64_t future = 0;
  uint64_t over_limit = 0;       // at a limit
  uint64_t over_byte_limit = 0;  // of `over_limit`: at max_bytes
  uint64_t late_unknown = 0;     // of `late`
  uint64_t clears = 0;           // of `added`: by Clear()

  uint64_t windows = 0;     // that were opened, of all resolutions
  uint64_t made_final = 0;  // of them, handed out with reason kFinal
  uint64_t ended = 0;       // by CloseAll(), with reason kEnd
  uint64_t open = 0;        // open now; a window that is due counts until a visit

  // The events in final windows, and in all other windows; and the sums of their integer deltas,
  // as far as these sums have not saturated.
  uint64_t checkpointed = 0;
  uint64_t pending = 0;
  uint64_t delta_added = 0;
  uint64_t delta_checkpointed = 0;
  uint64_t delta_pending = 0;

  uint64_t keys_opened = 0;
  uint64_t forgotten = 0;  // counters, with their values

  // Of Publish():
  uint64_t published = 0;        // checkpoints that the store kept
  uint64_t store_errors = 0;     // answers that were errors, or end within a window
  uint64_t store_behind = 0;     // answers with an earlier checkpoint than before
  uint64_t store_conflicts = 0;  // answers with another amount for the same `until`

  RollupLedger& operator+=(const RollupLedger& other) noexcept;
  bool Balances() const noexcept {
    return events ==
               added + duplicate + conflict + late + clamped + corrected + future + over_limit &&
           windows == made_final + ended + open &&
           added + clamped == clears + checkpointed + pending &&
           delta_added == delta_checkpointed + delta_pending;
  }

  friend bool operator==(const RollupLedger&, const RollupLedger&) = default;
};

// The numbers and bytes that a rollup counter holds now.
struct PLEAT_EXPORT RollupSizes {
  size_t keys = 0;      // counters
  size_t open = 0;      // open windows
  size_t retained = 0;  // final windows that are kept
  size_t ids = 0;
  size_t ready = 0;        // emissions that wait to be handed out for the first time
  size_t unpublished = 0;  // counters that Publish() has to load or publish
  size_t bytes = 0;        // counted against max_bytes

  RollupSizes& operator+=(const RollupSizes& other) noexcept;

  friend bool operator==(const RollupSizes&, const RollupSizes&) = default;
};

}  // namespace pleat::inline v0_1
