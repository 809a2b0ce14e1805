#include "tools/pleat/analyze/analysis_chart.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::string SvgOf(KeyAnalysis key) {
  std::vector<KeyAnalysis> keys(1);
  keys[0] = std::move(key);
  return AnalysisSvg(keys);
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(AnalysisChart, MarksTheRecommendation) {
  const std::string svg = SvgOf(BurstyAnalysis());
  EXPECT_TRUE(Has(svg, ">recommended: 5 min</text>"));
  EXPECT_EQ(CountOf(svg, "<circle class=\"dot"), 3u);
}

TEST(AnalysisChart, SaysInWordsWhatItShows) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::string svg = SvgOf(BurstyAnalysis());
  EXPECT_TRUE(Has(svg, "role=\"img\" aria-labelledby=\"title desc\""));
  EXPECT_TRUE(Has(svg, "<title id=\"title\">"));
  EXPECT_TRUE(Has(svg, "Marked as recommended: at a quiet period of 5 min, " +
                           PercentText(MarkedRow(key)->folding_ratio) + " of the events fold and " +
                           Grouped(MarkedRow(key)->emissions) + " emissions remain"));
}

TEST(AnalysisChart, CallsTheNearestRowNearest) {
  KeyAnalysis key = BurstyAnalysis();
  key.recommended.kind = Recommendation::Kind::kOutOfReach;
  EXPECT_TRUE(Has(SvgOf(std::move(key)), ">nearest: 5 min</text>"));
}

TEST(AnalysisChart, MarksNothingWhereNothingIsRecommended) {
  KeyAnalysis key = BurstyAnalysis();
  key.recommended.row.reset();
  const std::string svg = SvgOf(std::move(key));
  EXPECT_FALSE(Has(svg, "class=\"dot"));
  EXPECT_FALSE(Has(svg, "class=\"answer"));
}

TEST(AnalysisChart, SeveralKeysHaveALineEachAndALegend) {
  std::vector<KeyAnalysis> keys;
  for (const char* key : {"user", "<page>", "channel", "a", "b"})
    keys.push_back(BurstyAnalysis(key));
  const std::string svg = AnalysisSvg(keys);
  EXPECT_TRUE(Has(svg, ">&lt;page&gt;<tspan"));
  EXPECT_EQ(CountOf(svg, "class=\"line line-1\""), 4u);  // three panels and the legend
  EXPECT_EQ(CountOf(svg, "class=\"line line-0 dashed\""), 4u);
}

TEST(AnalysisChart, DrawsOneRowAndNone) {
  KeyAnalysis one = BurstyAnalysis();
  one.analysis = Analyze(BurstyLog(1), {5min});
  one.recommended.row = 0;
  EXPECT_TRUE(Has(SvgOf(std::move(one)), ">recommended: 5 min</text>"));
  for (const std::string& svg : {SvgOf(EmptyAnalysis()), AnalysisSvg({})}) {
    EXPECT_TRUE(Has(svg, "</svg>"));
    EXPECT_FALSE(Has(svg, "nan"));
    EXPECT_FALSE(Has(svg, "inf"));
  }
}

TEST(AnalysisChart, AxisHasDurationsThatPeopleKnow) {
  EXPECT_THAT(DurationMarks({1e3, 86'400e6}, 780, 56),
              ElementsAre(1ms, 10ms, 100ms, 1s, 10s, 1min, 5min, 1h, 6h, 24h));
  EXPECT_THAT(DurationMarks({1e6, 60e6}, 780, 56),
              ElementsAre(1s, 2s, 3s, 5s, 10s, 15s, 30s, 1min));
}

TEST(AnalysisChart, AxisOfANarrowRangeHasItsEnds) {
  EXPECT_THAT(DurationMarks({11e6, 14e6}, 780, 56), ElementsAre(11s, 14s));
}

TEST(AnalysisChart, AxisOfCountsIsRound) {
  EXPECT_THAT(CountMarks({1, 100'000}, 110, 20), ElementsAre(1, 10, 100, 1000, 10'000, 100'000));
  EXPECT_THAT(CountMarks({200, 5000}, 110, 20), ElementsAre(200, 500, 1000, 2000, 5000));
  EXPECT_EQ(RoundDown125(4999), 2000);
  EXPECT_EQ(RoundUp125(2001), 5000);
  EXPECT_EQ(RoundUp125(2000), 2000);
  EXPECT_EQ(RoundUp125(5001), 10'000);
}

}  // namespace
}  // namespace pleat::cli
