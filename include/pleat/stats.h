// The ledger: where every event and every group ended up. Its columns always add up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pleat::inline v0 {

// Counts since the collection was opened, exact, summed over all partitions, each partition read at
// one instant. A group that is due counts as open until Advance() or a pop has visited it. At rest:
//   events = opened + folded + late + future + refused
//   opened = closed + cancelled + open
//   closed = popped + ready
struct Ledger {
  uint64_t events = 0;     // every event offered, except those answered kStopped
  uint64_t opened = 0;     // events that opened a group
  uint64_t folded = 0;     // events folded into an open group: the work pleat saved
  uint64_t late = 0;       // older than the accept limit
  uint64_t future = 0;     // beyond the future limit
  uint64_t refused = 0;    // refused at a limit on groups, bytes or key length
  uint64_t closed = 0;     // groups that became emissions
  uint64_t cancelled = 0;  // groups dropped by Cancel()
  uint64_t popped = 0;     // emissions handed out
  uint64_t open = 0;       // groups open now
  uint64_t ready = 0;      // emissions waiting to be popped now

  // folded / events; 0 when there was no event.
  double FoldingRatio() const noexcept {
    return events == 0 ? 0.0 : static_cast<double>(folded) / static_cast<double>(events);
  }

  Ledger& operator+=(const Ledger& other) noexcept {
    events += other.events;
    opened += other.opened;
    folded += other.folded;
    late += other.late;
    future += other.future;
    refused += other.refused;
    closed += other.closed;
    cancelled += other.cancelled;
    popped += other.popped;
    open += other.open;
    ready += other.ready;
    return *this;
  }

  friend bool operator==(const Ledger&, const Ledger&) = default;
};

// What a collection holds now.
struct Sizes {
  size_t open_groups = 0;
  size_t ready_emissions = 0;
  size_t bytes = 0;  // counted against max_bytes: groups with their keys and state, open or ready

  friend bool operator==(const Sizes&, const Sizes&) = default;
};

}  // namespace pleat::inline v0
