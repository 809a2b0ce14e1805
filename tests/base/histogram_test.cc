#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/stats.h>

namespace pleat {
namespace {

using testing::ElementsAre;

std::vector<Histogram::Bucket> BucketsOf(const Histogram& histogram) {
  std::vector<Histogram::Bucket> out;
  histogram.ForEachBucket([&](const Histogram::Bucket& bucket) { out.push_back(bucket); });
  return out;
}

TEST(Histogram, EmptyAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.ValueAt(0), 0u);
  EXPECT_EQ(histogram.ValueAt(1), 0u);
  EXPECT_TRUE(BucketsOf(histogram).empty());
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 32; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.ValueAt(0), 0u);
  EXPECT_EQ(histogram.ValueAt(0.01), 0u);
  EXPECT_EQ(histogram.ValueAt(0.5), 15u);
  EXPECT_EQ(histogram.ValueAt(0.75), 23u);
  EXPECT_EQ(histogram.ValueAt(1), 31u);
}

// On both sides of every edge of a bucket that a power of two or ten can be.
TEST(Histogram, EveryMagnitudeIsKnownToTwoDigits) {
  std::vector<uint64_t> values;
  for (int bit = 0; bit < 64; ++bit) values.push_back(uint64_t{1} << bit);
  for (uint64_t ten = 1, n = 0; n < 20; ++n, ten *= 10) {
    values.insert(values.end(), {ten, ten / 2 * 3, ten / 10 * 99, ten / 100 * 99});
  }
  for (const uint64_t middle : values) {
    for (const uint64_t value : {middle - 1, middle, middle + 1}) {
      Histogram histogram;
      histogram.Add(value);
      const auto [lowest, highest, count] = BucketsOf(histogram).at(0);
      EXPECT_LE(lowest, value);
      EXPECT_GE(highest, value);
      EXPECT_LE(highest - lowest, value / 10) << value;
      EXPECT_EQ(count, 1u);
      histogram.Add(UINT64_MAX);  // so that the answer is the bucket's edge, not the maximum
      EXPECT_EQ(histogram.ValueAt(0.5), highest);
      EXPECT_EQ(histogram.ValueAt(1), UINT64_MAX);
    }
  }
}

// Division by multiplication must be right at every edge, for both numbers of digits.
template <int kDigits>
void ExpectRoundValuesApart() {
  using Tested = typename BasicHistogram<kDigits>::Buckets;
  uint64_t power = 1;
  for (int n = 0; n < 20 - kDigits; ++n, power *= 10) {
    uint64_t least = 1;
    for (int digit = 1; digit < kDigits; ++digit) least *= 10;
    for (uint64_t leading = least; leading < 10 * least; ++leading) {
      const uint64_t round = leading * power;
      const size_t index = Tested::IndexOf(round);
      ASSERT_EQ(Tested::LowestOf(index), round);
      ASSERT_EQ(Tested::HighestOf(index), round);
      ASSERT_EQ(Tested::IndexOf(round - 1), index - 1);
      ASSERT_EQ(Tested::IndexOf(round + 1), index + 1);
    }
  }
  EXPECT_EQ(Tested::IndexOf(UINT64_MAX), Tested::kCount - 1);
  EXPECT_EQ(Tested::HighestOf(Tested::kCount - 1), UINT64_MAX);
}
TEST(Histogram, RoundValuesHaveABucketOfTheirOwn) {
  ExpectRoundValuesApart<2>();
  ExpectRoundValuesApart<3>();
}

TEST(Histogram, CountsExactlyWhatIsBelowARoundValue) {
  Histogram histogram;
  for (const uint64_t second : {1, 1, 2, 3, 30}) histogram.Add(second * 1'000'000);
  EXPECT_EQ(histogram.CountBelow(1'000'000), 0);
  EXPECT_EQ(histogram.CountBelow(1'000'001), 2);
  EXPECT_EQ(histogram.CountBelow(1'023'457), 2);
  EXPECT_EQ(histogram.CountBelow(2'000'000), 2);
  EXPECT_EQ(histogram.CountBelow(30'000'000), 4);
  EXPECT_EQ(histogram.CountBelow(31'000'000), 5);
  EXPECT_EQ(histogram.CountBelow(UINT64_MAX), 5);
}

TEST(Histogram, CountsBetweenRoundValuesAsSpreadEvenly) {
  Histogram histogram;
  for (uint64_t value = 1'000; value < 10'000; ++value) histogram.Add(value);
  for (uint64_t value = 1'000; value < 10'000; value += 7) {
    EXPECT_NEAR(histogram.CountBelow(value), static_cast<double>(value - 1'000), 1.0);
  }
}

TEST(Histogram, BucketsCoverEveryValueOnce) {
  Histogram histogram;
  for (uint64_t value = 0; value < 100'000; ++value) histogram.Add(value);
  uint64_t next = 0;
  for (const auto& bucket : BucketsOf(histogram)) {
    EXPECT_EQ(bucket.lowest, next);
    const uint64_t end = std::min<uint64_t>(bucket.highest + 1, 100'000);
    EXPECT_EQ(bucket.count, end - bucket.lowest);
    next = bucket.highest + 1;
  }
  EXPECT_GE(next, 100'000u);
}

TEST(Histogram, NoAnswerExceedsTheMaximum) {
  Histogram histogram;
  histogram.Add(1'000'001);
  EXPECT_EQ(histogram.ValueAt(0.5), 1'000'001u);
  EXPECT_EQ(histogram.max(), 1'000'001u);
}

TEST(Histogram, AddsManyOfAValueAtOnce) {
  Histogram histogram;
  histogram.Add(3, 99);
  histogram.Add(7);
  histogram.Add(1'000, 0);
  EXPECT_EQ(histogram.count(), 100u);
  EXPECT_EQ(histogram.ValueAt(0.99), 3u);
  EXPECT_EQ(histogram.max(), 7u);
  EXPECT_THAT(BucketsOf(histogram),
              ElementsAre(Histogram::Bucket{3, 3, 99}, Histogram::Bucket{7, 7, 1}));
}

TEST(Histogram, MergedIsAsIfAllHadBeenAddedToOne) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  Histogram all;
  Histogram parts[2];
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    all.Add(value);
    parts[i % 2].Add(value);
  }
  parts[0] += parts[1];
  EXPECT_EQ(parts[0], all) << "seed " << kSeed;
}

TEST(Histogram, QuantilesAgreeWithSorting) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  std::lognormal_distribution<double> latency(8, 2);
  Histogram histogram;
  std::vector<uint64_t> values(100'000);
  for (uint64_t& value : values) histogram.Add(value = static_cast<uint64_t>(latency(random)));
  std::sort(values.begin(), values.end());
  for (const auto& [quantile, rank] :
       {std::pair{0.5, 50'000}, {0.99, 99'000}, {0.999, 99'900}, {1.0, 100'000}}) {
    const uint64_t exact = values[static_cast<size_t>(rank) - 1];
    EXPECT_GE(histogram.ValueAt(quantile), exact) << quantile << ", seed " << kSeed;
    EXPECT_LE(histogram.ValueAt(quantile) - exact, exact / 16) << quantile << ", seed " << kSeed;
  }
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.max(), values.back());
}

}  // namespace
}  // namespace pleat
