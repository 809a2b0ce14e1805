// What is counted and measured: the Ledger of a collection says where every event, every group and
// every emission ended up, and Sizes how much it holds now. A Histogram says how often which values
// came. Drivers, consumers and watchers have statistics of both kinds.
//
//   const pleat::Ledger ledger = folder.ledger();
//   std::printf("%.1f %% folded\n", 100 * ledger.FoldingRatio());
//
//   pleat::Histogram latency_us;
//   latency_us.Add(1'250);
//   std::cout << latency_us.ValueAt(0.99) << " us at the 99th percentile, "
//             << latency_us.CountBelow(1'000) << " values below 1 ms";
//
// The values of a histogram are durations, sizes or counts. Each is known to two decimal digits
// whatever its magnitude, and no value is too rare to keep. Round values are exact:
// CountBelow(1'000) counts the values below 1,000, and no others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <pleat/detail/decimal_buckets.h>
#include <pleat/detail/export.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

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

  // With leases.wait_behind_dead: of the ready and unacked emissions, those that were found to wait
  // behind a dead letter of their key. Whoever looks for emissions finds them: once Pop() has given
  // less than it was asked for, or a drain is over, this is all of them.
  size_t behind_dead = 0;

  // Counted against max_bytes: open and ready groups with their keys and states, and the memory of
  // ids and of closed groups.
  size_t bytes = 0;

  Sizes& operator+=(const Sizes& other) noexcept {
    open_groups += other.open_groups;
    ready_emissions += other.ready_emissions;
    unacked_emissions += other.unacked_emissions;
    dead_letters += other.dead_letters;
    behind_dead += other.behind_dead;
    bytes += other.bytes;
    return *this;
  }

  friend bool operator==(const Sizes&, const Sizes&) = default;
};

// A histogram with any number of digits. Histogram, below, has two: a value that it tells is within
// a tenth of the true one. GapHistogram has three: within a hundredth.
//
// Plain data of a fixed size, 27 KB with two digits and 253 KB with three: keep the large one off
// small stacks. Allocates nothing.
// Thread safety: distinct objects are independent. One object is for one thread at a time.
template <int kDigits>
class BasicHistogram {
 public:
  // Which values are counted together, for code that keeps counts of its own.
  using Buckets = DecimalBuckets<kDigits>;

  // `count` values from `lowest` to `highest`, both included.
  struct Bucket {
    uint64_t lowest;
    uint64_t highest;
    uint64_t count;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  // Counts `value` `n` times. O(1).
  void Add(uint64_t value, uint64_t n = 1) noexcept {
    if (n == 0) return;
    counts_[Buckets::IndexOf(value)] += n;
    count_ += n;
    max_ = std::max(max_, value);
  }

  // Adds the values of another histogram.
  BasicHistogram& operator+=(const BasicHistogram& other) noexcept {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    return *this;
  }

  // How many values were added.
  uint64_t count() const noexcept { return count_; }

  // The largest value, exactly; 0 if there is none.
  uint64_t max() const noexcept { return max_; }

  // The quantile: a value that the share `quantile` of all values does not exceed, such as 0.99.
  // The answer is not below the true value, exceeds it by at most one part in 10^(kDigits - 1), and
  // is never above max(). 0 if there are no values. REQUIRES: 0 <= quantile <= 1.
  uint64_t ValueAt(double quantile) const noexcept {
    const double rank = std::ceil(quantile * static_cast<double>(count_));
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= rank)
        return std::min(Buckets::HighestOf(i), max_);
    }
    return max_;
  }

  // How many values were below `value`. Exact if `value` is round; otherwise the values between the
  // two round values around it are taken to be spread evenly.
  double CountBelow(uint64_t value) const noexcept {
    const size_t end = Buckets::IndexOf(value);
    uint64_t below = 0;
    for (size_t i = 0; i < end; ++i) below += counts_[i];
    const uint64_t lowest = Buckets::LowestOf(end);
    const uint64_t highest = std::min(Buckets::HighestOf(end), std::max(max_, lowest));
    const double share = value > highest ? 1.0
                                         : static_cast<double>(value - lowest) /
                                               (static_cast<double>(highest - lowest) + 1.0);
    return static_cast<double>(below) + share * static_cast<double>(counts_[end]);
  }

  // Calls `see(const Bucket&)` for each bucket that is not empty, lowest first.
  template <class See>
  void ForEachBucket(See&& see) const {
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) see(Bucket{Buckets::LowestOf(i), Buckets::HighestOf(i), counts_[i]});
    }
  }

  friend bool operator==(const BasicHistogram&, const BasicHistogram&) = default;

 private:
  std::array<uint64_t, Buckets::kCount> counts_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

using Histogram = BasicHistogram<2>;

// For gaps in microseconds: the time between an event and the event of the same key before it.
using GapHistogram = BasicHistogram<3>;

// How a stream of events folds with one quiet period.
struct WhatIfRow {
  Duration quiet_period{0};

  // The share of the events that fold; 0 if there are none.
  double folding_ratio = 0;

  // How many emissions there are, groups that are open at the end included; and how many a second,
  // over the time from the first event to the last.
  uint64_t emissions = 0;
  double emissions_per_second = 0;

  // From the event that opens a group to the instant at which the group closes. No event of the
  // group waits longer. Its last event waits the quiet period, which is the least that folding can
  // add.
  Duration delay_p50{0};
  Duration delay_p99{0};

  // The most groups that are open at a time.
  uint64_t open_peak = 0;

  friend bool operator==(const WhatIfRow&, const WhatIfRow&) = default;
};

// How other quiet periods would have folded the events of a running collection. A gap is how far
// engine time, when an event is folded, is past the latest stamp of its key.
//
// Limits of the answer:
// - After some millions of events, one event in eight is counted, for eight. The ratio of a quiet
//   period shorter than the one in use may then be off by another tenth of a percentage point.
// - The gap of a key whose group has closed is known only while its last stamp is remembered, for
//   measure.max_ghosts keys. For a quiet period longer than `known_to` the ratio is too low.
// - Delays and open groups depend on the order of gaps, which a histogram does not tell. They were
//   measured at the quiet period in use, and are scaled for others as if gaps came in no order.
//   docs/quiet-period.md says how far off that is on real logs.
// Plain data of 300 KB: keep it off small stacks. The statistics of two collections, or of two
// processes, are added up with +=.
// Thread safety: distinct objects are independent. One object is for one thread at a time.
struct GapStats {
  // The gaps in microseconds, of events whose key's last stamp was known.
  GapHistogram gaps;

  // All events that were measured. Those without a gap are the first of their key, or come after
  // one that is forgotten.
  uint64_t events = 0;

  // Every gap shorter than this was seen.
  Duration known_to = kForever;

  // The smallest and the largest stamp of an event.
  EngineTime first = kEndOfTime;
  EngineTime last = kBeginningOfTime;

  // The quiet period and the max wait in use.
  Duration quiet_period{0};
  Duration max_wait = kForever;

  // Of groups that closed: microseconds from the opening to the latest stamp. Of emissions: how
  // many events each holds. And the most groups that were open at a time.
  Histogram spans;
  Histogram fold_sizes;
  uint64_t open_peak = 0;

  // The effect that the quiet period `quiet` would have had. The ratio and the emissions per second
  // are exact, up to the resolution of the histogram, if `max_wait` is kForever; the rest are
  // estimates.
  // Cost: microseconds.
  // REQUIRES: both are above zero.
  PLEAT_EXPORT WhatIfRow WhatIf(Duration quiet, Duration max_wait = kForever) const;

  PLEAT_EXPORT GapStats& operator+=(const GapStats& other);
};

// What a driver, its consumers and its watchers have done so far: the answers of their stats().
struct DriverStats {
  // Calls of Engine::Advance(); on event time, turns that looked at the watermark instead.
  uint64_t turns = 0;

  // Turns that left work for the next one, and turns that the timer started.
  uint64_t unfinished = 0;
  uint64_t timer_wakes = 0;

  // How often the wall clock was set back or forward by 100 ms or more. That changes nothing else.
  uint64_t wall_steps_back = 0;
  uint64_t wall_steps_forward = 0;

  // The next turn, unless an alarm or Wake() comes first; kNever when stopped.
  EngineTime asleep_until;

  // Of turns that had work: by how much the earliest deadline lay behind.
  Histogram lateness_us;
};

struct ConsumerStats {
  // Operations that wait now; emissions handed out; operations that were cancelled, and those past
  // max_waiters.
  size_t waiting = 0;
  uint64_t delivered = 0;
  uint64_t cancelled = 0;
  uint64_t overloaded = 0;

  // On arrival time: how long after its instant an emission was taken for the first time. Of
  // emissions that time brought about: reasons quiet, max_wait and partial.
  Histogram lateness_us;
};

// As for a consumer; of changes instead of emissions. `lateness_us` is of members that time ended.
struct WatcherStats : ConsumerStats {
  uint64_t resyncs = 0;  // how often changes were gone
};

}  // namespace pleat::inline v0_1
