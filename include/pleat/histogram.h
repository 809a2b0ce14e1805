// How often which values came: durations, sizes, counts. Each is known to within one part in 16, whatever
// its magnitude, and no value is too rare to keep.
//
// The idea is HdrHistogram's: below 16 every value has a bucket of its own; above, each power of two is
// cut into 16 equal buckets. So a bucket's number is the exponent and the four bits below the leading
// one, and adding a value costs a handful of instructions. All histograms have the same buckets: two are
// merged by adding them up.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace pleat::inline v0 {

// With another number of buckets for each power of two, 2^kBits. `Histogram` is the one to use.
//
// Thread safety: distinct objects are independent, one is not to be shared. Plain data of a fixed size,
// for kBits = 4 some 8 KiB; allocates nothing.
template <int kBits>
class BasicHistogram {
 public:
  // `count` values from `lowest` to `highest`, both included.
  struct Bucket {
    uint64_t lowest;
    uint64_t highest;
    uint64_t count;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  void Add(uint64_t value, uint64_t n = 1) noexcept {
    if (n == 0) return;
    counts_[IndexOf(value)] += n;
    count_ += n;
    max_ = std::max(max_, value);
  }

  BasicHistogram& operator+=(const BasicHistogram& other) noexcept {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    return *this;
  }

  uint64_t count() const noexcept { return count_; }
  uint64_t max() const noexcept { return max_; }  // exact; 0 if there is none

  // The value that the share `quantile` of all values, 0 to 1, does not exceed: not below the true one,
  // above it by one part in 16 at most, and never above max(). 0 if there is none.
  uint64_t ValueAt(double quantile) const noexcept {
    const double rank = std::ceil(quantile * static_cast<double>(count_));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= rank) return std::min(HighestOf(i), max_);
    }
    return max_;
  }

  // Hands each bucket that is not empty to `see(const Bucket&)`, lowest first.
  template <class See>
  void ForEachBucket(See&& see) const {
    for (size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] != 0) see(Bucket{LowestOf(i), HighestOf(i), counts_[i]});
    }
  }

  friend bool operator==(const BasicHistogram&, const BasicHistogram&) = default;

 private:
  static constexpr size_t kPerPower = size_t{1} << kBits;
  static constexpr size_t kBuckets = (64 - kBits + 1) * kPerPower;  // for all that 64 bits can say

  static size_t IndexOf(uint64_t value) noexcept {
    if (value < kPerPower) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
    return static_cast<size_t>(shift) * kPerPower + (value >> shift);
  }

  static uint64_t LowestOf(size_t index) noexcept {
    if (index < 2 * kPerPower) return index;
    return (index % kPerPower + kPerPower) << ShiftOf(index);
  }
  static uint64_t HighestOf(size_t index) noexcept {
    if (index < 2 * kPerPower) return index;
    return LowestOf(index) + ((uint64_t{1} << ShiftOf(index)) - 1);
  }
  static size_t ShiftOf(size_t index) noexcept { return index / kPerPower - 1; }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

using Histogram = BasicHistogram<4>;

}  // namespace pleat::inline v0
