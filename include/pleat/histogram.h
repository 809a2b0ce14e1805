// Histogram: how often which values came. Values are durations, sizes or counts.
//
//   pleat::Histogram latency_us;
//   latency_us.Add(1'250);
//   std::cout << latency_us.ValueAt(0.99) << " us at the 99th percentile, "
//             << latency_us.CountBelow(1'000) << " values below 1 ms";
//
// Each value is known to two decimal digits whatever its magnitude, and no value is too rare to
// keep. Round values are exact: CountBelow(1'000) counts the values below 1,000, and no others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <pleat/detail/decimal_buckets.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

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

}  // namespace pleat::inline v0_1
