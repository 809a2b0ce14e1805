// SpanCounts keeps, for every point of a grid, a histogram of how long groups lasted. One span counts
// for a whole range of points: SpanCounts adds one where the range begins, and takes one off where
// the range ends. Sums along the points then give each point's histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class SpanCounts {
  using Buckets = Histogram::Buckets;

 public:
  explicit SpanCounts(size_t points) : stride_(points + 1), steps_(Buckets::kCount * stride_) {}

  // A group of the points from `begin` to before `end`. Those without a span need not be added.
  void Add(Duration span, size_t begin, size_t end) noexcept {
    int64_t* const steps = &steps_[Buckets::IndexOf(static_cast<uint64_t>(span.count())) * stride_];
    ++steps[begin];
    --steps[end];
  }

  // The histogram of one point, all groups that were not added having no span.
  Histogram Of(size_t point, uint64_t groups) const noexcept {
    Histogram spans;
    for (size_t bucket = 0; bucket < Buckets::kCount; ++bucket) {
      int64_t count = 0;
      for (size_t i = 0; i <= point; ++i) count += steps_[bucket * stride_ + i];
      spans.Add(Buckets::HighestOf(bucket), static_cast<uint64_t>(count));
    }
    spans.Add(0, groups - spans.count());
    return spans;
  }

  size_t bytes() const noexcept { return steps_.capacity() * sizeof(int64_t); }

 private:
  const size_t stride_;
  std::vector<int64_t> steps_;
};

}  // namespace pleat::inline v0_1
