// What GapStats of a running folder say of other quiet periods, beside what an Analyzer has counted, on real logs.
// docs/quiet-period.md has the figures.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/analysis.h>
#include <pleat/json.h>
#include <pleat/json_analysis.h>

#include "tests/lines/real_logs.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<GapStats> Measure(const RealLog& log, Duration quiet) {
  FoldSpec spec;
  spec.event = LogSpec(log);
  spec.folder.quiet_period = quiet;
  spec.folder.max_wait = kForever;
  spec.folder.measure.gap_stats = true;
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto folder = *JsonFolder::Open(*engine, "log", spec);
  std::string out;
  ReadLog(log, [&](std::string_view lines) {
    while (!lines.empty()) {  // often enough that what is due does not count as open for long
      const size_t end = lines.find('\n', std::min<size_t>(lines.size() - 1, 2048));
      const size_t part = end == std::string_view::npos ? lines.size() : end + 1;
      folder->FoldLines(lines.substr(0, part), {}, [](const UnusualLine&) { return true; });
      lines.remove_prefix(part);
      folder->Pop(SIZE_MAX, out);
      out.clear();
    }
  });
  return folder->gap_stats();
}

class LiveGapStats : public testing::TestWithParam<RealLog> {};

std::vector<Duration> Grid(double from, double to, double factor) {
  std::vector<Duration> grid;
  for (double quiet = from; quiet < to; quiet *= factor) grid.emplace_back(std::llround(quiet));
  return grid;
}

// By what factor the larger is larger.
double Factor(double a, double b) { return std::max(a, b) / std::min(a, b); }
double Factor(Duration a, Duration b) {
  return Factor(static_cast<double>(a.count()), static_cast<double>(b.count()));
}

TEST_P(LiveGapStats, TellTheRatioOfAnyQuietPeriodWithinATenthOfAPoint) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  // Quiet periods without a round digit.
  const auto truth =
      AnalyzeLog(GetParam(), {.grid = Grid(20.123, 864e9, 1.2345), .max_wait = kForever});
  const auto stats = Measure(GetParam(), 2min);
  EXPECT_EQ(stats->events, truth->events);
  EXPECT_EQ(stats->known_to, kForever);
  EXPECT_EQ(stats->first, truth->first);
  EXPECT_EQ(stats->last, truth->last);
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow told = stats->WhatIf(row.quiet_period);
    EXPECT_NEAR(told.folding_ratio, row.folding_ratio, 0.001) << row.quiet_period.count();
    EXPECT_NEAR(told.emissions_per_second, row.emissions_per_second,
                0.001 * static_cast<double>(truth->events) / 1e-6 /
                    static_cast<double>(truth->span().count()))
        << row.quiet_period.count();
  }
}

// From 2 min, to quiet periods of 1 s to 2 h.
TEST_P(LiveGapStats, GuessDelaysAndThePeakWithinAFactorOfTwoAndAHalf) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  const auto truth =
      AnalyzeLog(GetParam(), {.grid = Grid(1.0123e6, 2 * 3600e6, 3.1), .max_wait = kForever});
  const auto stats = Measure(GetParam(), 2min);
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow guess = stats->WhatIf(row.quiet_period);
    EXPECT_LT(Factor(guess.delay_p50, row.delay_p50), 2.5) << row.quiet_period.count();
    EXPECT_LT(Factor(guess.delay_p99, row.delay_p99), 2.5) << row.quiet_period.count();
    EXPECT_LT(Factor(static_cast<double>(guess.open_peak), static_cast<double>(row.open_peak)), 2.5)
        << row.quiet_period.count();
  }
}

TEST_P(LiveGapStats, GuessTheRatioWithAMaxWaitWithinTwoPoints) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  const auto truth =
      AnalyzeLog(GetParam(), {.grid = Grid(1.0123e6, 4 * 3600e6, 3.1), .max_wait = 20min});
  const auto stats = Measure(GetParam(), 2min);
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow guess = stats->WhatIf(row.quiet_period, 20min);
    EXPECT_NEAR(guess.folding_ratio, row.folding_ratio, 0.02) << row.quiet_period.count();
    EXPECT_LE(guess.delay_p99, 20min);
  }
}

INSTANTIATE_TEST_SUITE_P(RealLogs, LiveGapStats,
                         testing::Values(kWikitickerSlice, kGharchive, kHiggs, kZeekByHost),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pleat
