// DecimalBuckets: the buckets of a histogram that knows its values to a number of decimal digits.
//
// With two digits the values 0 to 99 have a bucket each. Above, each round value (100, 110, ...,
// 990, 1,000, 1,100, ...) has a bucket, and so has the gap between it and the next. So the count of
// values below a round value is exact. The idea is HdrHistogram's, with powers of ten for powers of
// two.
//
// An implementation detail of stats.h: programs use Histogram.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

template <int kDigits>
class DecimalBuckets {
  static_assert(1 <= kDigits && kDigits <= 4, "each digit more makes it ten times as large");

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
  // How many buckets there are.
  static constexpr size_t kCount =
      kExact + (kDigitsMax - kDigits - 1) * kPerPower + 2 * (kTopLeading - kExact / 10 + 1);

  // The bucket of `value`. O(1), without a division.
  static constexpr size_t IndexOf(uint64_t value) noexcept {
    if (value < kExact) return value;
    const int power = DigitsOf(value) - kDigits;
    const Divisor& divisor = kDivisors[static_cast<size_t>(power)];
    const uint64_t leading = divisor.Divide(value, power);
    const bool between = leading * divisor.value != value;
    return kExact + static_cast<size_t>(power - 1) * kPerPower + 2 * (leading - kExact / 10) +
           static_cast<size_t>(between);
  }

  // The smallest and the largest value of a bucket. REQUIRES: index < kCount.
  static constexpr uint64_t LowestOf(size_t index) noexcept {
    if (index < kExact) return index;
    return RoundBelow(index) + (index - kExact) % 2;
  }
  static constexpr uint64_t HighestOf(size_t index) noexcept {
    if (index < kExact) return index;
    if ((index - kExact) % 2 == 0) return RoundBelow(index);
    return index == kCount - 1 ? UINT64_MAX : RoundBelow(index + 1) - 1;
  }

 private:
  // Division by 10^power as a shift and a multiplication (Granlund and Montgomery, "Division by
  // invariant integers using multiplication", 1994). value >> power has 63 bits or fewer, for which
  // 64 bits of the reciprocal of 5^power are enough. Only the high half of the product matters, for
  // 5^1 has 3 bits already.
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

  // REQUIRES: value > 0. The exponent of the value as a double is its number of bits, at times one
  // more, which does no harm; 1233 / 4096 is log10(2), near enough for 64 bits. Counting the bits
  // takes three times as long on processors whose instruction for it waits for its last result.
  static constexpr int DigitsOf(uint64_t value) noexcept {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value));
    const int guess = (static_cast<int>(bits >> 52) - 1022) * 1233 >> 12;
    return guess + static_cast<int>(value >= kPowersOfTen[static_cast<size_t>(guess)]);
  }

  // The round value of a bucket, or the one below it.
  static constexpr uint64_t RoundBelow(size_t index) noexcept {
    const size_t above = index - kExact;
    return (kExact / 10 + above % kPerPower / 2) *
           PowerOfTen(static_cast<int>(above / kPerPower) + 1);
  }
};

}  // namespace pleat::inline v0_1
