#include "bench/histogram.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pleat::bench {
namespace {

TEST(Histogram, EmptyAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.size(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 100; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Quantile(0.01), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 49u);
  EXPECT_EQ(histogram.Quantile(0.99), 98u);
  EXPECT_EQ(histogram.Quantile(1), 99u);
}

// On both sides of every edge of a bucket that a power of two can be.
TEST(Histogram, EveryMagnitudeIsKnownWithinOnePartIn64) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {(uint64_t{1} << bit) - 1, uint64_t{1} << bit,
                                 (uint64_t{1} << bit) + 1, (uint64_t{3} << bit) / 2}) {
      Histogram histogram;
      histogram.Record(value);
      histogram.Record(UINT64_MAX);  // so that the answer is the bucket's edge, not the maximum
      EXPECT_GE(histogram.Quantile(0.5), value);
      EXPECT_LE(histogram.Quantile(0.5) - value, value / 64) << value;
      EXPECT_EQ(histogram.Quantile(1), UINT64_MAX);
    }
  }
}

TEST(Histogram, QuantilesAgreeWithSorting) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  std::lognormal_distribution<double> latency(8, 2);
  Histogram histogram;
  std::vector<uint64_t> values(100'000);
  for (uint64_t& value : values) histogram.Record(value = static_cast<uint64_t>(latency(random)));
  std::sort(values.begin(), values.end());
  for (const auto& [q, rank] :
       {std::pair{0.5, 50'000}, {0.99, 99'000}, {0.999, 99'900}, {1.0, 100'000}}) {
    const uint64_t exact = values[static_cast<size_t>(rank) - 1];
    EXPECT_GE(histogram.Quantile(q), exact) << "q " << q << ", seed " << kSeed;
    EXPECT_LE(histogram.Quantile(q) - exact, exact / 64) << "q " << q << ", seed " << kSeed;
  }
  EXPECT_EQ(histogram.size(), values.size());
  EXPECT_EQ(histogram.max(), values.back());
}

}  // namespace
}  // namespace pleat::bench
