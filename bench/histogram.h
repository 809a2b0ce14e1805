// Counts of how long things took, from a nanosecond to an hour, each known to within one part in 64.
//
// The idea is HdrHistogram's: below 64 every value has a bucket of its own; above, each power of two is
// cut into 64 equal buckets. So a bucket's number is the exponent and the six bits below the leading
// one, recording costs a handful of instructions, and no value is ever too rare to keep.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pleat::bench {

class Histogram {
 public:
  void Record(uint64_t value) {
    ++counts_[Bucket(value)];
    ++size_;
    max_ = std::max(max_, value);
  }

  uint64_t size() const { return size_; }
  uint64_t max() const { return max_; }

  // The value that the share `q` of all values does not exceed: not below the true one, and above it by
  // at most one part in 64; never above max(). 0 if nothing was recorded.
  uint64_t Quantile(double q) const {
    const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(size_)));
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen >= rank && seen > 0) return std::min(Largest(bucket), max_);
    }
    return max_;
  }

 private:
  static constexpr int kBits = 6;
  static constexpr uint64_t kPerPower = uint64_t{1} << kBits;

  static size_t Bucket(uint64_t value) {
    if (value < kPerPower) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
    return static_cast<size_t>(shift) * kPerPower + (value >> shift);
  }

  // The largest value of a bucket.
  static uint64_t Largest(size_t bucket) {
    if (bucket < 2 * kPerPower) return bucket;
    const size_t shift = bucket / kPerPower - 1;
    const uint64_t leading = bucket % kPerPower + kPerPower;
    return ((leading + 1) << shift) - 1;
  }

  // Every exponent that 64 bits can have.
  std::vector<uint64_t> counts_ = std::vector<uint64_t>((64 - kBits + 1) * kPerPower);
  uint64_t size_ = 0;
  uint64_t max_ = 0;
};

}  // namespace pleat::bench
