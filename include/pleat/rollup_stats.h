// RollupLedger: the counts of all events and windows of a rollup counter, by their fates.
// RollupSizes: the numbers of counters, windows and ids that a rollup counter holds now.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

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
