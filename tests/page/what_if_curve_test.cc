#include "tools/pleat/analyze/what_if_curve.h"

#include <algorithm>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"

namespace pleat::cli {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

TEST(WhatIfCurve, EveryRowIsAPointAsItWasMeasured) {
  const KeyAnalysis key = BurstyAnalysis();
  size_t rows = 0;
  for (const CurvePoint& point : CurveOf(*key.analysis)) {
    if (!point.measured) continue;
    EXPECT_EQ(point.row, rows);
    EXPECT_EQ(point.figures, static_cast<const WhatIfRow&>(key.analysis->rows[rows]));
    ++rows;
  }
  EXPECT_EQ(rows, key.analysis->rows.size());
}

TEST(WhatIfCurve, BetweenRowsItCountsWhatFolds) {
  const KeyAnalysis key = BurstyAnalysis();
  const Log log = BurstyLog(1);
  const std::vector<CurvePoint> curve = CurveOf(*key.analysis);
  EXPECT_GT(curve.size(), 300u);
  for (const CurvePoint& point : curve) {
    EXPECT_EQ(key.analysis->events - point.figures.emissions,
              FoldedAt(log, point.figures.quiet_period))
        << point.figures.quiet_period.count();
  }
}

TEST(WhatIfCurve, BetweenRowsTheRestIsBetweenTheirs) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::vector<AnalysisRow>& rows = key.analysis->rows;
  for (const CurvePoint& point : CurveOf(*key.analysis)) {
    if (point.measured) continue;
    const WhatIfRow& figures = point.figures;
    const WhatIfRow& below = rows[point.row];
    const WhatIfRow& above = rows[point.row + 1];
    EXPECT_LT(below.quiet_period, figures.quiet_period);
    EXPECT_LT(figures.quiet_period, above.quiet_period);
    // A longer delay or more groups, as a rule; but a row may also have fewer.
    EXPECT_LE(std::min(below.delay_p99, above.delay_p99), figures.delay_p99);
    EXPECT_LE(figures.delay_p99, std::max(below.delay_p99, above.delay_p99));
    EXPECT_LE(std::min(below.open_peak, above.open_peak), figures.open_peak);
    EXPECT_LE(figures.open_peak, std::max(below.open_peak, above.open_peak));
  }
}

TEST(WhatIfCurve, PassesThroughDurationsThatPeopleKnow) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::vector<CurvePoint> curve = CurveOf(*key.analysis);
  for (const Duration known : std::initializer_list<Duration>{3s, 30s, 2min, 10min, 1h, 8h}) {
    EXPECT_TRUE(std::ranges::any_of(curve, [known](const CurvePoint& point) {
      return point.figures.quiet_period == known;
    })) << known.count();
  }
  EXPECT_TRUE(std::ranges::is_sorted(
      curve, {}, [](const CurvePoint& point) { return point.figures.quiet_period; }));
}

TEST(WhatIfCurve, WithAMaxWaitTheRatioBetweenRowsIsInterpolated) {
  const KeyAnalysis key = HeldAnalysis();
  Analysis held = *key.analysis;
  held.gaps = {};  // would say that nothing folds
  for (const CurvePoint& point : CurveOf(held)) {
    EXPECT_GE(point.figures.folding_ratio, held.rows[point.row].folding_ratio);
    EXPECT_GT(point.figures.folding_ratio, 0);
  }
}

TEST(WhatIfCurve, OfOneRowIsAPointAndOfNoneIsNothing) {
  Analysis analysis = *BurstyAnalysis().analysis;
  analysis.rows.resize(1);
  EXPECT_THAT(CurveOf(analysis), SizeIs(1));
  analysis.rows.clear();
  EXPECT_THAT(CurveOf(analysis), IsEmpty());
}

TEST(WhatIfCurve, OfRowsTooCloseToTellApartTheOneToKeepStays) {
  const std::vector<Duration> grid = {1s, 9000s, 9001s, 9002s, 10'000s};
  const std::unique_ptr<Analysis> analysis = Analyze(BurstyLog(1), grid);
  for (const size_t keep : {1, 2, 3}) {
    EXPECT_TRUE(std::ranges::any_of(CurveOf(*analysis, keep), [&](const CurvePoint& point) {
      return point.measured && point.row == keep;
    })) << keep;
  }
}

}  // namespace
}  // namespace pleat::cli
