// gap_stats: what is measured of gaps.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/analysis.h>
#include <pleat/folder.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

TEST_F(Features, GapStats) {
  Open({.quiet_period = 10s, .max_wait = kForever, .measure = {.gap_stats = true}});
  Fold({{"a", 1, 0s}, {"b", 1, 1s}, {"a", 2, 4s}, {"a", 3, 13s}});
  Advance(40s);  // all closed; their ghosts know
  Fold({{"a", 4, 43s}, {"c", 1, 44s}, {"c", 2, 44s}});
  Flush("c");
  Fold({{"c", 3, 46s}});
  const auto stats = folder().gap_stats();
  ASSERT_NE(stats, nullptr);
  EXPECT_EQ(stats->events, 8u);
  EXPECT_EQ(stats->gaps.count(), 5u);  // all but three first ones
  EXPECT_EQ(stats->gaps.CountBelow(1), 1);
  EXPECT_EQ(stats->gaps.CountBelow(2'000'001), 2);
  EXPECT_EQ(stats->gaps.CountBelow(4'000'001), 3);
  EXPECT_EQ(stats->gaps.CountBelow(9'000'001), 4);
  EXPECT_EQ(stats->gaps.max(), 30'000'000u);
  EXPECT_EQ(stats->known_to, kForever);
  EXPECT_EQ(stats->first, kT0);
  EXPECT_EQ(stats->last, kT0 + 46s);
  EXPECT_EQ(stats->quiet_period, 10s);
  EXPECT_EQ(stats->max_wait, kForever);
  EXPECT_EQ(stats->spans.count(), 3u);
  EXPECT_EQ(stats->spans.max(), 13'000'000u);
  EXPECT_EQ(stats->fold_sizes.count(), 3u);
  EXPECT_EQ(stats->fold_sizes.max(), 3u);
  EXPECT_EQ(stats->open_peak, 2u);

  // Without the flush c would have folded once more.
  EXPECT_EQ(stats->WhatIf(10s).emissions, 4u);
  EXPECT_EQ(stats->WhatIf(31s).emissions, 3u);
  EXPECT_EQ(stats->WhatIf(31s).folding_ratio, 5.0 / 8);
  EXPECT_EQ(stats->WhatIf(2s).emissions, 7u);
  EXPECT_EQ(stats->WhatIf(kForever).emissions, 3u);
  EXPECT_EQ(stats->WhatIf(kForever).delay_p99, kForever);
  EXPECT_EQ(stats->WhatIf(kForever, 1us).emissions, 7u);  // two of c fold at one instant
  EXPECT_EQ(stats->WhatIf(kForever, 1us).delay_p99, 1us);
  Advance(100s);
  Pop();
}

// A cap cuts groups in two, and the ledger counts both halves. The gaps know what would have folded.
TEST_F(Features, GapStatsSayWhatCapsCost) {
  Open(
      {.quiet_period = 10s, .max_wait = kForever, .max_events = 2, .measure = {.gap_stats = true}});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 1s}, {"a", 3, 5s}, {"a", 4, 6s}, {"a", 5, 16s}}),
            "opened folded opened folded opened");
  EXPECT_DOUBLE_EQ(ledger().FoldingRatio(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(folder().gap_stats()->WhatIf(10s).folding_ratio, 3.0 / 5);
}

TEST_F(Features, GapStatsAreNotMeasuredUnasked) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  EXPECT_EQ(folder().gap_stats(), nullptr);
}

TEST_F(Features, GapStatsSayWhatGhostsForgot) {
  Open(
      {.quiet_period = 10s, .max_wait = kForever, .measure = {.gap_stats = true, .max_ghosts = 1}});
  Fold({{"a", 1, 0s}, {"b", 1, 1s}});
  Advance(20s);
  EXPECT_EQ(folder().gap_stats()->known_to, 20s);
  Pop();
}

// On a stream of keys each of which is as busy as it likes to be, with pauses; out of order by up to 2 s.
TEST(GapStats, AgreeWithASimulationOfAnyQuietPeriod) {
  std::mt19937_64 random(4);
  const auto seconds = [&](double mean) {
    return Duration(std::llround(1e6 * std::exponential_distribution<double>(1 / mean)(random)));
  };
  struct Next {
    EngineTime at;
    int key;
  };
  std::vector<Next> heap;
  for (int key = 0; key < 2000; ++key) heap.push_back({kT0 + seconds(3600), key});
  std::ranges::make_heap(heap, std::greater(), &Next::at);

  std::vector<Duration> grid;
  for (double quiet = 1'003; quiet < 40e9; quiet *= 1.217) grid.emplace_back(std::llround(quiet));
  Analyzer analyzer({.grid = grid});
  struct Tick {};
  struct Ticks {
    uint64_t n = 0;
    void Fold(const Tick&) noexcept { ++n; }
  };
  const auto engine = *Engine::Open({.partitions = 7, .axis = Axis::kEvent});
  Folder<Tick, Ticks> folder(
      *engine, "f", {.quiet_period = 90s, .max_wait = kForever, .measure = {.gap_stats = true}});
  uint64_t emissions = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::ranges::pop_heap(heap, std::greater(), &Next::at);
    Next& next = heap.back();
    const EngineTime at = next.at - (random() % 10 == 0 ? seconds(0.5) : Duration{0});
    const std::string key = std::to_string(next.key);
    analyzer.Add(key, at);
    folder.Fold(key, {}, at);
    if (i % 16 == 0) emissions += folder.Pop(SIZE_MAX).size();
    next.at += seconds(random() % 8 == 0 ? 1000 : 0.5 + next.key % 50);
    std::ranges::push_heap(heap, std::greater(), &Next::at);
  }
  const auto truth = std::move(analyzer).Finish();
  const auto stats = folder.gap_stats();
  EXPECT_EQ(stats->events, truth->events);
  EXPECT_EQ(stats->fold_sizes.count(), emissions);
  const Ledger ledger = folder.ledger();
  EXPECT_EQ(stats->gaps.CountBelow(90'000'000), static_cast<double>(ledger.folded));
  const auto factor = [](auto a, auto b) {
    return static_cast<double>(std::max(a, b)) / static_cast<double>(std::min(a, b));
  };
  for (const AnalysisRow& row : truth->rows) {
    const WhatIfRow told = stats->WhatIf(row.quiet_period);
    EXPECT_NEAR(told.folding_ratio, row.folding_ratio, 0.001) << row.quiet_period.count();
    if (row.quiet_period < 1s) continue;
    EXPECT_LT(factor(told.delay_p50.count(), row.delay_p50.count()), 2) << row.quiet_period.count();
    EXPECT_LT(factor(told.delay_p99.count(), row.delay_p99.count()), 2) << row.quiet_period.count();
    EXPECT_LT(factor(told.open_peak, row.open_peak), 2) << row.quiet_period.count();
  }
}

TEST(GapStats, OfTwoCollectionsAddUp) {
  const auto one = std::make_unique<GapStats>();
  one->events = 3;
  one->gaps.Add(5, 2);
  one->known_to = 7s;
  one->first = kT0;
  one->last = kT0 + 10s;
  one->quiet_period = 1min;
  one->open_peak = 2;
  const auto sum = std::make_unique<GapStats>();
  *sum += *one;
  *sum += *one;
  EXPECT_EQ(sum->events, 6u);
  EXPECT_EQ(sum->gaps.count(), 4u);
  EXPECT_EQ(sum->known_to, 7s);
  EXPECT_EQ(sum->first, kT0);
  EXPECT_EQ(sum->last, kT0 + 10s);
  EXPECT_EQ(sum->quiet_period, 1min);
  EXPECT_EQ(sum->open_peak, 4u);
}

TEST(GapStats, OfNothingSayNothing) {
  EXPECT_EQ(std::make_unique<GapStats>()->WhatIf(5s), WhatIfRow{.quiet_period = 5s});
}

}  // namespace
}  // namespace pleat
