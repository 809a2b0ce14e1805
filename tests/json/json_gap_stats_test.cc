// What GapStats of a running folder say of other quiet periods, beside what an Analyzer has counted, on real logs.
// docs/quiet-period.md has the figures.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/gap_stats.h>
#include <pleat/json.h>
#include <pleat/json_analysis.h>

#include "tests/support/source_dir.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct RealLog {
  std::string name;
  std::string path;
  std::string key;
  std::string time;
  TimeUnit unit = TimeUnit::kNotStated;
};

FoldSpec SpecOf(const RealLog& log, Duration quiet) {
  FoldSpec spec;
  spec.key = {{.name = "key", .path = log.key}};
  spec.time = log.time;
  spec.time_unit = log.unit;
  spec.quiet = quiet;
  spec.max_hold = kForever;
  spec.gap_stats = true;
  return spec;
}

// The lines of a file, some at a time.
template <class See>
void ReadFile(const std::string& path, const See& see) {
  constexpr size_t kBytes = 1 << 16;
  const gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::string text;
  std::vector<char> buffer(kBytes);
  for (int got = 1; got > 0;) {
    got = gzread(file, buffer.data(), kBytes);
    text.append(buffer.data(), static_cast<size_t>(std::max(got, 0)));
    const size_t whole = got > 0 ? text.rfind('\n') + 1 : text.size();
    const std::string padded = text.substr(0, whole) + std::string(kLinePaddingBytes, ' ');
    see(std::string_view(padded).substr(0, whole));
    text.erase(0, whole);
  }
  gzclose(file);
}

std::unique_ptr<GapStats> Measure(const RealLog& log, Duration quiet) {
  const FoldSpec spec = SpecOf(log, quiet);
  const auto engine = *Engine::Open(EngineOptionsFor(spec));
  const auto folder = *JsonFolder::Open(*engine, "log", spec);
  std::string out;
  ReadFile(log.path, [&](std::string_view lines) {
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

std::unique_ptr<const Analysis> Analyze(const RealLog& log, std::vector<Duration> grid,
                                        Duration max_hold) {
  auto analyzer =
      *JsonAnalyzer::Open(SpecOf(log, 1s), {.grid = std::move(grid), .max_hold = max_hold});
  JsonLines lines(*analyzer);
  ReadFile(log.path, [&](std::string_view text) {
    lines.Read(text);
    analyzer->Add(lines, [](const UnusualLine&) { return true; });
  });
  return std::move(*analyzer).Finish();
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
  const auto truth = Analyze(GetParam(), Grid(20.123, 864e9, 1.2345), kForever);
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
  const auto truth = Analyze(GetParam(), Grid(1.0123e6, 2 * 3600e6, 3.1), kForever);
  const auto stats = Measure(GetParam(), 2min);
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow guess = stats->WhatIf(row.quiet_period);
    EXPECT_LT(Factor(guess.delay_p50, row.delay_p50), 2.5) << row.quiet_period.count();
    EXPECT_LT(Factor(guess.delay_p99, row.delay_p99), 2.5) << row.quiet_period.count();
    EXPECT_LT(Factor(static_cast<double>(guess.open_peak), static_cast<double>(row.open_peak)), 2.5)
        << row.quiet_period.count();
  }
}

TEST_P(LiveGapStats, GuessTheRatioWithAMaxHoldWithinTwoPoints) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  const auto truth = Analyze(GetParam(), Grid(1.0123e6, 4 * 3600e6, 3.1), 20min);
  const auto stats = Measure(GetParam(), 2min);
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow guess = stats->WhatIf(row.quiet_period, 20min);
    EXPECT_NEAR(guess.folding_ratio, row.folding_ratio, 0.02) << row.quiet_period.count();
    EXPECT_LE(guess.delay_p99, 20min);
  }
}

const std::string kShared = SharedData() + "/";
INSTANTIATE_TEST_SUITE_P(
    RealLogs, LiveGapStats,
    testing::Values(RealLog{"WikitickerSlice",
                            SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz",
                            "user", "time"},
                    RealLog{"Gharchive", kShared + "gharchive2015-apr.ndjson.gz", "actor", "dt"},
                    RealLog{"Higgs", kShared + "higgs-activity.ndjson.gz", "userB", "timestamp",
                            TimeUnit::kSeconds},
                    RealLog{"ZeekByHost", kShared + "zeek-wrccdc.ndjson.gz", "/id.orig_h", "ts"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pleat
