// How often which values came: durations, sizes, counts. Each is known to a number of decimal digits,
// whatever its magnitude, and no value is too rare to keep.
//
// The idea is HdrHistogram's, with powers of ten for powers of two: what people ask about, 1 ms, 30 s, 1,000
// events, is round in decimal. With two digits the values 0 to 99 have a bucket each; above, a bucket for every
// round value (100, 110, ..., 990, 1,000, 1,100, ...) and one for what lies between it and the next. So how
// many values were less than a round one, or equal to it, is exact. All histograms of one kind have the same
// buckets: two are merged by adding them up.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

// With another number of digits. `Histogram` is the one to use, for a known value is within a tenth
// of the true one; GapHistogram, for within a hundredth.
//
// Thread safety: distinct objects are independent, one is not to be shared. Plain data of a fixed size,
// 27 KB with two digits, 253 KB with three; allocates nothing.
template <int kDigits>
class BasicHistogram {
  static_assert(1 <= kDigits && kDigits <= 4, "each digit more makes it ten times as large");

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
  // above it by one part in 10^(kDigits - 1) at most, and never above max(). 0 if there is none.
  uint64_t ValueAt(double quantile) const noexcept {
    const double rank = std::ceil(quantile * static_cast<double>(count_));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= rank) return std::min(HighestOf(i), max_);
    }
    return max_;
  }

  // How many values were below `value`: exact if it is round. Otherwise those between the round values on
  // either side of it count as spread evenly.
  double CountBelow(uint64_t value) const noexcept {
    const size_t end = IndexOf(value);
    uint64_t below = 0;
    for (size_t i = 0; i < end; ++i) below += counts_[i];
    const uint64_t lowest = LowestOf(end);
    const uint64_t highest = std::min(HighestOf(end), std::max(max_, lowest));
    const double share = value > highest ? 1.0
                                         : static_cast<double>(value - lowest) /
                                               (static_cast<double>(highest - lowest) + 1.0);
    return static_cast<double>(below) + share * static_cast<double>(counts_[end]);
  }

  // Hands each bucket that is not empty to `see(const Bucket&)`, lowest first.
  template <class See>
  void ForEachBucket(See&& see) const {
    for (size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] != 0) see(Bucket{LowestOf(i), HighestOf(i), counts_[i]});
    }
  }

  friend bool operator==(const BasicHistogram&, const BasicHistogram&) = default;

  // Which bucket a value counts in, of kBuckets, for who keeps counts of another width.
  static constexpr size_t IndexOf(uint64_t value) noexcept {
    if (value < kExact) return value;
    const int power = DigitsOf(value) - kDigits;
    const Divisor& divisor = kDivisors[static_cast<size_t>(power)];
    const uint64_t leading = divisor.Divide(value, power);
    const bool between = leading * divisor.value != value;
    return kExact + static_cast<size_t>(power - 1) * kPerPower + 2 * (leading - kExact / 10) +
           static_cast<size_t>(between);
  }
  static constexpr uint64_t LowestOf(size_t index) noexcept {
    if (index < kExact) return index;
    return RoundBelow(index) + (index - kExact) % 2;
  }
  static constexpr uint64_t HighestOf(size_t index) noexcept {
    if (index < kExact) return index;
    if ((index - kExact) % 2 == 0) return RoundBelow(index);
    return index == kBuckets - 1 ? UINT64_MAX : RoundBelow(index + 1) - 1;
  }

 private:
  static constexpr int kDigitsMax = 20;  // of a number of 64 bits

  static constexpr uint64_t PowerOfTen(int power) noexcept {
    uint64_t value = 1;
    for (int i = 0; i < power; ++i) value *= 10;
    return value;
  }

  static constexpr uint64_t kExact = PowerOfTen(kDigits);
  static constexpr size_t kPerPower = 2 * (kExact - kExact / 10);
  // The highest power has leading digits up to those of 2^64 - 1 only.
  static constexpr size_t kTopLeading = UINT64_MAX / PowerOfTen(kDigitsMax - kDigits);

 public:
  static constexpr size_t kBuckets =
      kExact + (kDigitsMax - kDigits - 1) * kPerPower + 2 * (kTopLeading - kExact / 10 + 1);

 private:
  // Division by 10^power as a shift and a multiplication (Granlund and Montgomery, "Division by invariant
  // integers using multiplication", 1994): value >> power has 63 bits or fewer, for which 64 bits of
  // the reciprocal of 5^power are enough. Of the product only the high half matters, for 5^1 has 3 bits already.
  struct Divisor {
    uint64_t value;  // 10^power
    uint64_t reciprocal;
    int shift;  // of the high half

    constexpr uint64_t Divide(uint64_t dividend, int power) const noexcept {
      __extension__ using Wide = unsigned __int128;
      return static_cast<uint64_t>(Wide{dividend >> power} * reciprocal >> 64) >> shift;
    }
  };
  static constexpr auto kDivisors = [] {
    __extension__ using Wide = unsigned __int128;
    std::array<Divisor, kDigitsMax - kDigits + 1> all{};
    uint64_t five = 1;
    for (int power = 1; power <= kDigitsMax - kDigits; ++power) {
      five *= 5;
      const int shift = 63 + static_cast<int>(std::bit_width(five - 1));
      all[static_cast<size_t>(power)] = {
          PowerOfTen(power), static_cast<uint64_t>(((Wide{1} << shift) + five - 1) / five),
          shift - 64};
    }
    return all;
  }();

  static constexpr auto kPowersOfTen = [] {
    std::array<uint64_t, kDigitsMax> all{};
    for (int power = 0; power < kDigitsMax; ++power)
      all[static_cast<size_t>(power)] = PowerOfTen(power);
    return all;
  }();
  // REQUIRES: value > 0. 1233 / 4096 is log10(2), near enough for 64 bits. How many bits the value has its
  // exponent as a double tells, at times one too many, which is as good; counting them takes three times as long
  // where the instruction for it waits for its own last result.
  static constexpr int DigitsOf(uint64_t value) noexcept {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value));
    const int guess = (static_cast<int>(bits >> 52) - 1022) * 1233 >> 12;
    return guess + static_cast<int>(value >= kPowersOfTen[static_cast<size_t>(guess)]);
  }

  // The round value of a bucket, or below it.
  static constexpr uint64_t RoundBelow(size_t index) noexcept {
    const size_t above = index - kExact;
    return (kExact / 10 + above % kPerPower / 2) *
           PowerOfTen(static_cast<int>(above / kPerPower) + 1);
  }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

using Histogram = BasicHistogram<2>;

// Of microseconds between an event and the one before it of its key.
using GapHistogram = BasicHistogram<3>;

}  // namespace pleat::inline v0_1
