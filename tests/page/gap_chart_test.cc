#include "tools/pleat/analyze/gap_chart.h"

#include <chrono>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"

namespace pleat::cli {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

double Total(const std::vector<GapRange>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), 0.0,
                         [](double sum, const GapRange& range) { return sum + range.count; });
}

TEST(GapChart, BarsAndRangesHoldEveryGap) {
  const KeyAnalysis key = BurstyAnalysis();
  const auto gaps = static_cast<double>(key.analysis->gaps.count());
  EXPECT_DOUBLE_EQ(Total(GapBars(key.analysis->gaps)), gaps);
  EXPECT_DOUBLE_EQ(Total(GapRanges(key.analysis->gaps)), gaps);
}

TEST(GapChart, BarsAreAtMostSixtyOverAnyRange) {
  GapHistogram gaps;
  for (uint64_t us = 1; us < 100'000'000'000'000; us *= 2) gaps.Add(us);
  const std::vector<GapRange> bars = GapBars(gaps);
  EXPECT_LE(bars.size(), 60u);
  EXPECT_GE(bars.size(), 25u);
  EXPECT_DOUBLE_EQ(Total(bars), static_cast<double>(gaps.count()));
}

TEST(GapChart, EventsAtOneInstantHaveABarOfTheirOwn) {
  GapHistogram gaps;
  gaps.Add(0, 7);
  gaps.Add(5'000'000, 2);
  const std::vector<GapRange> bars = GapBars(gaps);
  ASSERT_THAT(bars, SizeIs(2));
  EXPECT_EQ(bars[0].to, 1us);
  EXPECT_EQ(bars[0].count, 7);
  EXPECT_EQ(bars[1].from, 5s);
  EXPECT_EQ(bars[1].count, 2);
}

TEST(GapChart, NothingIsSaidOfGapsThatDoNotComeBetweenZeroAndTheShortest) {
  GapHistogram gaps;
  gaps.Add(0, 7);
  gaps.Add(5'000'000, 2);
  gaps.Add(500'000'000, 2);
  const std::vector<GapRange> ranges = GapRanges(gaps);
  ASSERT_THAT(ranges, SizeIs(5));
  EXPECT_EQ(ranges[0].to, 1us);
  EXPECT_EQ(ranges[1].from, 1s);
  EXPECT_EQ(ranges[2].count, 0);
}

TEST(GapChart, RangesEndAtDurationsThatPeopleKnow) {
  GapHistogram gaps;
  gaps.Add(59'999'999, 3);
  gaps.Add(60'000'000, 4);
  const std::vector<GapRange> ranges = GapRanges(gaps);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].to, 1min);
  EXPECT_EQ(ranges[0].count, 3);
  EXPECT_EQ(ranges[1].to, 5min);
  EXPECT_EQ(ranges[1].count, 4);
}

TEST(GapChart, OfNoGapsIsEmpty) {
  EXPECT_THAT(GapBars({}), IsEmpty());
  EXPECT_THAT(GapRanges({}), IsEmpty());
}

}  // namespace
}  // namespace pleat::cli
