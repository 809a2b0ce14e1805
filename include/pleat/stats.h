// The ledger: where every event, every group and every emission ended up. Its columns always add up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pleat::inline v0 {

// Counts since the collection was opened, exact, summed over all partitions, each partition read at
// one instant. A group that is due counts as open until Advance() or a pop has visited it. At rest:
//   events = opened + folded + late + future + refused + duplicate + conflict + corrected
//   opened = closed + cancelled + open
//   closed + partial + corrected = silent + popped + ready
struct Ledger {
  uint64_t events = 0;     // every event offered, except those answered kStopped
  uint64_t opened = 0;     // events that opened a group
  uint64_t folded = 0;     // events folded into an open group: the work pleat saved
  uint64_t late = 0;       // older than the accept limit
  uint64_t future = 0;     // beyond the future limit
  uint64_t refused = 0;    // refused at a limit on groups, bytes or key length
  uint64_t duplicate = 0;  // of an id that was taken already
  uint64_t conflict = 0;   // the same, with other content
  uint64_t corrected = 0;  // late events that became an emission by themselves
  uint64_t closed = 0;     // groups that closed
  uint64_t cancelled = 0;  // groups dropped by Cancel()
  uint64_t silent = 0;     // groups that closed without an emission: their leading one said it
  uint64_t partial = 0;    // emissions of groups that went on: leading ones and partials
  uint64_t popped = 0;     // emissions handed out
  uint64_t open = 0;       // groups open now
  uint64_t ready = 0;      // emissions waiting to be popped now
  uint64_t reopened =
      0;  // of `opened`: a max hold, a cap, a limit or Flush() had closed the key's group
          // before it early; without that it would have folded. Only with count_reopened
  uint64_t late_folded = 0;  // of `opened` and `folded`: late ones, by OnLate::kFold

  // folded / events; 0 when there was no event.
  double FoldingRatio() const noexcept { return Ratio(folded, events); }

  // How much of what could be folded was: a group that reopened only goes on with the one before it,
  // so that it is no new group. folded / (events - (opened - reopened)); 0 when nothing could be.
  double CorrectedFoldingRatio() const noexcept {
    return Ratio(folded, events - (opened - reopened));
  }

  Ledger& operator+=(const Ledger& other) noexcept {
    events += other.events;
    opened += other.opened;
    folded += other.folded;
    late += other.late;
    future += other.future;
    refused += other.refused;
    duplicate += other.duplicate;
    conflict += other.conflict;
    corrected += other.corrected;
    closed += other.closed;
    cancelled += other.cancelled;
    silent += other.silent;
    partial += other.partial;
    popped += other.popped;
    open += other.open;
    ready += other.ready;
    reopened += other.reopened;
    late_folded += other.late_folded;
    return *this;
  }

  // Whether the columns add up, as above.
  bool Balances() const noexcept {
    return events == opened + folded + late + future + refused + duplicate + conflict + corrected &&
           opened == closed + cancelled + open &&
           closed + partial + corrected == silent + popped + ready;
  }

  friend bool operator==(const Ledger&, const Ledger&) = default;

 private:
  static double Ratio(uint64_t part, uint64_t whole) noexcept {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// What a collection holds now.
struct Sizes {
  size_t open_groups = 0;
  size_t ready_emissions = 0;
  size_t bytes =
      0;  // counted against max_bytes: groups with their keys and state, open or ready, and
          // what is remembered of ids and of closed groups

  friend bool operator==(const Sizes&, const Sizes&) = default;
};

}  // namespace pleat::inline v0
