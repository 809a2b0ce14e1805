// Ledger and Sizes: where every event, every group and every emission of a collection ended up, and
// how much it holds now.
//
//   const pleat::Ledger ledger = folder.ledger();
//   std::printf("%.1f %% folded\n", 100 * ledger.FoldingRatio());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <pleat/outcome.h>

namespace pleat::inline v0_1 {

// Exact counts since the collection was opened, summed over the partitions, each read at one
// instant. Events answered kStopped, kWouldDeadlock or kElsewhere are not counted. A group that is
// due counts as open until Advance() or a pop has visited it. At rest the columns add up:
//   events = opened + folded + late + future + over_limit + overloaded + duplicate + conflict +
//            corrected
//   opened = closed + cancelled + open
//   closed + partial + corrected = silent + the sum of emissions
//                                = silent + popped + acked + dropped + ready + unacked + dead
struct Ledger {
  uint64_t events = 0;           // every event offered
  uint64_t opened = 0;           // events that opened a group
  uint64_t folded = 0;           // events folded into an open group: the work pleat saved
  uint64_t late = 0;             // older than the allowed lateness
  uint64_t future = 0;           // beyond the future limit
  uint64_t over_limit = 0;       // refused at a limit on groups, bytes or key length
  uint64_t overloaded = 0;       // refused because too many emissions wait
  uint64_t duplicate = 0;        // of an id that was taken already
  uint64_t conflict = 0;         // the same, with other content
  uint64_t corrected = 0;        // late events that became an emission by themselves
  uint64_t closed = 0;           // groups that closed
  uint64_t cancelled = 0;        // groups dropped by Cancel()
  uint64_t silent = 0;           // groups that closed without an emission: the leading one said all
  uint64_t partial = 0;          // emissions of groups that went on: leading ones and partials
  uint64_t popped = 0;           // emissions given away by Pop()
  uint64_t acked = 0;            // emissions acked
  uint64_t dropped = 0;          // emissions dropped: dead letters, or the oldest at max_backlog
  uint64_t open = 0;             // groups open now
  uint64_t ready = 0;            // emissions that wait to be handed out for the first time, now
  uint64_t unacked = 0;          // emissions that are lent, or wait to be lent again, now
  uint64_t dead = 0;             // dead letters now
  uint64_t late_folded = 0;      // of `opened` and `folded`: late ones, by OnLate::kFold
  uint64_t over_byte_limit = 0;  // of `over_limit`: at the limit on bytes
  uint64_t deliveries = 0;       // leases given
  uint64_t nacked = 0;           // of them, given back
  uint64_t ran_out = 0;          // of them, neither acked nor given back in time
  std::array<uint64_t, kReasons> emissions{};  // ever, by IndexOf(reason)

  // For snapshots; see stored.h. A folder whose groups have closing times stores the emissions for
  // that reason beside.
  template <class F>
  void Stored(F& f) {
    f(events, opened, folded, late, future, over_limit, overloaded, duplicate, conflict, corrected);
    f(closed, cancelled, silent, partial, popped, acked, dropped, open, ready, unacked, dead);
    f(late_folded, over_byte_limit, deliveries, nacked, ran_out);
    for (size_t i = 0; i < kFirstReasons; ++i) f(emissions[i]);
  }

  // folded / events; 0 when there was no event.
  double FoldingRatio() const noexcept { return Ratio(folded, events); }

  Ledger& operator+=(const Ledger& other) noexcept {
    events += other.events;
    opened += other.opened;
    folded += other.folded;
    late += other.late;
    future += other.future;
    over_limit += other.over_limit;
    over_byte_limit += other.over_byte_limit;
    overloaded += other.overloaded;
    duplicate += other.duplicate;
    conflict += other.conflict;
    corrected += other.corrected;
    closed += other.closed;
    cancelled += other.cancelled;
    silent += other.silent;
    partial += other.partial;
    popped += other.popped;
    acked += other.acked;
    dropped += other.dropped;
    open += other.open;
    ready += other.ready;
    unacked += other.unacked;
    dead += other.dead;
    late_folded += other.late_folded;
    deliveries += other.deliveries;
    nacked += other.nacked;
    ran_out += other.ran_out;
    for (size_t i = 0; i < kReasons; ++i) emissions[i] += other.emissions[i];
    return *this;
  }

  // Whether the columns add up, as above.
  bool Balances() const noexcept {
    return events == opened + folded + late + future + over_limit + overloaded + duplicate +
                         conflict + corrected &&
           opened == closed + cancelled + open &&
           closed + partial + corrected ==
               silent + popped + acked + dropped + ready + unacked + dead &&
           closed + partial + corrected ==
               silent + std::accumulate(emissions.begin(), emissions.end(), uint64_t{0});
  }

  friend bool operator==(const Ledger&, const Ledger&) = default;

 private:
  static double Ratio(uint64_t part, uint64_t whole) noexcept {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// How much a collection holds now.
struct Sizes {
  size_t open_groups = 0;
  size_t ready_emissions = 0;    // emissions that wait to be handed out for the first time
  size_t unacked_emissions = 0;  // emissions that are lent, or wait to be lent again
  size_t dead_letters = 0;

  // Counted against max_bytes: open and ready groups with their keys and states, and the memory of
  // ids and of closed groups.
  size_t bytes = 0;

  Sizes& operator+=(const Sizes& other) noexcept {
    open_groups += other.open_groups;
    ready_emissions += other.ready_emissions;
    unacked_emissions += other.unacked_emissions;
    dead_letters += other.dead_letters;
    bytes += other.bytes;
    return *this;
  }

  friend bool operator==(const Sizes&, const Sizes&) = default;
};

}  // namespace pleat::inline v0_1
