// The Analyzer against folders: each grid point is also folded, event by event, and has to come to the same.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/analysis.h>
#include <pleat/folder.h>

#include "engine/what_if/open_count.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

struct Touch {};
struct Touches {
  void Fold(const Touch&) noexcept {}
};

struct Event {
  std::string key;
  EngineTime at;
};
using Events = std::vector<Event>;

uint64_t Seed() {
  const char* const given = std::getenv("PLEAT_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

constexpr uint64_t kSeeds = kSanitized ? 4 : 20;

// Calls `check` with the random numbers of so many seeds.
void ForSeeds(uint64_t count, const std::function<void(std::mt19937_64&)>& check) {
  for (uint64_t seed = Seed(); seed < Seed() + count; ++seed) {
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    check(random);
  }
}

// Bursts of few keys and single events of many. With `disorder` some stamps lie behind.
Events DrawEvents(std::mt19937_64& random, size_t count, Duration disorder) {
  Events events;
  EngineTime now = kT0;
  for (size_t i = 0; i < count; ++i) {
    const double octave = std::uniform_real_distribution(0.0, 24.0)(random);
    if (random() % 3 != 0) now += Duration{static_cast<int64_t>(std::exp2(octave))};
    const uint64_t key = random() % (random() % 4 == 0 ? 60 : 5);
    const bool behind = disorder > 0us && random() % 5 == 0;
    const Duration back{behind ? static_cast<int64_t>(random() % disorder.count()) : 0};
    const std::string long_key = key % 7 == 0 ? std::string(40, 'k') : "";
    events.push_back({long_key + std::to_string(key), now - back});
  }
  return events;
}

std::vector<Duration> DrawGrid(std::mt19937_64& random, size_t points) {
  std::vector<Duration> grid;
  for (size_t i = 0; i < points; ++i) {
    const double octave = std::uniform_real_distribution(8.0, 28.0)(random);
    grid.emplace_back(static_cast<int64_t>(std::exp2(octave)));
  }
  std::ranges::sort(grid);
  const auto same = std::ranges::unique(grid);
  grid.erase(same.begin(), same.end());
  return grid;
}

std::unique_ptr<const Analysis> Analyze(const Events& events, AnalyzerOptions options) {
  Analyzer analyzer(std::move(options));
  for (const Event& event : events) EXPECT_TRUE(analyzer.Add(event.key, event.at));
  return std::move(analyzer).Finish();
}

// What a folder comes to.
struct Folded {
  Ledger ledger;
  uint64_t open_peak = 0;
  std::vector<Duration> delays;  // sorted
  std::map<std::string, uint64_t> biggest;
};

Folded FoldThem(const Events& events, Duration quiet, Duration max_wait, Duration watermark_delay) {
  auto engine =
      *Engine::Open({.partitions = 1, .axis = Axis::kEvent, .watermark_delay = watermark_delay});
  Folder<Touch, Touches> folder(*engine, "f", {.quiet_period = quiet, .max_wait = max_wait});
  Folded folded;
  for (const Event& event : events) {
    folder.Fold(event.key, {}, event.at);
    engine->Advance(engine->now());
    folded.open_peak = std::max<uint64_t>(folded.open_peak, folder.sizes().open_groups);
  }
  folder.CloseAll();
  for (const auto& emission : folder.Pop(SIZE_MAX)) {
    folded.delays.push_back(std::min(emission.last - emission.first + quiet, max_wait));
    uint64_t& biggest = folded.biggest[emission.key];
    biggest = std::max(biggest, emission.count);
  }
  std::ranges::sort(folded.delays);
  folded.ledger = folder.ledger();
  return folded;
}

Duration QuantileOf(const std::vector<Duration>& sorted, double quantile) {
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

void ExpectRatiosAgree(const Analysis& analysis, const Events& events, Duration watermark_delay) {
  for (const AnalysisRow& row : analysis.rows) {
    SCOPED_TRACE(row.quiet_period.count());
    const Folded folded = FoldThem(events, row.quiet_period, analysis.max_wait, watermark_delay);
    ASSERT_EQ(row.emissions, folded.ledger.opened);
    ASSERT_EQ(row.folding_ratio, folded.ledger.FoldingRatio());
  }
}

TEST(Analyzer, AgreesWithAFolderAtEveryGridPoint) {
  ForSeeds(kSeeds, [](std::mt19937_64& random) {
    const Events events = DrawEvents(random, 1'000, 0us);
    const auto analysis = Analyze(events, {.grid = DrawGrid(random, 24)});
    EXPECT_EQ(analysis->events, 1'000u);
    EXPECT_EQ(analysis->out_of_order, 0u);
    ExpectRatiosAgree(*analysis, events, 0us);
    for (const AnalysisRow& row : analysis->rows) {
      SCOPED_TRACE(row.quiet_period.count());
      const Folded folded = FoldThem(events, row.quiet_period, kForever, 0us);
      EXPECT_EQ(row.open_peak, folded.open_peak);
      for (const auto& [delay, quantile] : {std::pair(row.delay_p50, 0.5), {row.delay_p99, 0.99}}) {
        const Duration exact = QuantileOf(folded.delays, quantile);
        EXPECT_GE(delay, exact);
        EXPECT_LE(delay - row.quiet_period, (exact - row.quiet_period) * 11 / 10);
      }
    }
  });
}

TEST(Analyzer, AgreesWhenStampsAreOutOfOrder) {
  ForSeeds(kSeeds, [](std::mt19937_64& random) {
    const Events events = DrawEvents(random, 1'000, 20s);
    const auto analysis = Analyze(events, {.grid = DrawGrid(random, 24)});
    EXPECT_GT(analysis->out_of_order, 50u);
    ExpectRatiosAgree(*analysis, events, 0us);
  });
}

TEST(Analyzer, AgreesWithAWatermarkDelayAndMaxWait) {
  ForSeeds(3 * kSeeds, [](std::mt19937_64& random) {
    const Duration disorder{random() % 2 == 0 ? 20s : 1us};
    const Duration watermark_delay{random() % 2 == 0 ? static_cast<int64_t>(random() % 10'000'000)
                                                     : 0};
    const Duration max_wait{random() % 3 == 0 ? kForever.count()
                                              : 1 + static_cast<int64_t>(random() % 60'000'000)};
    const Events events = DrawEvents(random, 500, disorder);
    const auto analysis = Analyze(
        events,
        {.grid = DrawGrid(random, 24), .max_wait = max_wait, .watermark_delay = watermark_delay});
    ExpectRatiosAgree(*analysis, events, watermark_delay);
  });
}

TEST(Analyzer, KnowsThePeakOfOpenGroupsAlsoOutOfOrder) {
  ForSeeds(kSeeds, [](std::mt19937_64& random) {
    const Events events = DrawEvents(random, 1'000, 1s);
    const Duration watermark_delay{random() % 2 == 0 ? 0
                                                     : static_cast<int64_t>(random() % 2'000'000)};
    const auto analysis =
        Analyze(events, {.grid = DrawGrid(random, 24), .watermark_delay = watermark_delay});
    for (const AnalysisRow& row : analysis->rows) {
      const Folded folded = FoldThem(events, row.quiet_period, kForever, watermark_delay);
      EXPECT_EQ(row.open_peak, folded.open_peak);
    }
  });
}

// Saturated deadlines fall due at the last instant, at which a group can only be opened overdue.
TEST(Analyzer, TheEndOfTimeClosesEverything) {
  const Events events = {{"a", kEndOfTime - 2us}, {"a", kEndOfTime - 1us}, {"a", kEndOfTime},
                         {"a", kEndOfTime},       {"b", kEndOfTime},       {"b", kBeginningOfTime}};
  const auto analysis = Analyze(events, {.grid = {1us, 2us, 24h}});
  ExpectRatiosAgree(*analysis, events, 0us);
  EXPECT_EQ(analysis->rows[2].emissions, 5u);
}

TEST(Analyzer, NamesTheBiggestBurstOfEachKey) {
  std::mt19937_64 random(Seed());
  const Events events = DrawEvents(random, 1'000, 0us);
  const auto analysis = Analyze(events, {.grid = {1s, 5s}});
  for (const AnalysisRow& row : analysis->rows) {
    const Folded folded = FoldThem(events, row.quiet_period, kForever, 0us);
    std::vector<uint64_t> sizes;
    for (const auto& [key, size] : folded.biggest) {
      if (size > 1) sizes.push_back(size);
    }
    std::ranges::sort(sizes, std::ranges::greater());
    ASSERT_THAT(row.biggest, SizeIs(std::min(sizes.size(), kBurstsKept)));
    for (size_t i = 0; i < row.biggest.size(); ++i) {
      EXPECT_EQ(row.biggest[i].events, sizes[i]);
      EXPECT_EQ(row.biggest[i].events, folded.biggest.at(row.biggest[i].key));
    }
  }
}

TEST(Analyzer, NamesTheLongestBursts) {
  Events events;
  for (int i = 0; i < 100; ++i) {
    events.push_back({"all day", kT0 + i * 60s});
    if (i < 3) events.push_back({"short", kT0 + i * 60s});
    events.push_back({std::to_string(i), kT0 + i * 60s});
  }
  const auto analysis = Analyze(events, {.grid = {1min, 2min}});
  EXPECT_THAT(analysis->rows[0].longest, IsEmpty());
  EXPECT_THAT(analysis->rows[1].longest,
              ElementsAre(Burst{"all day", 100, kT0, 99min}, Burst{"short", 3, kT0, 2min}));
}

TEST(Analyzer, WithoutAGridItChoosesOneOverTheRangeOfTheGaps) {
  Events events;
  for (const Duration gap : std::initializer_list<Duration>{100ms, 1s, 60s, 3600s}) {
    for (int i = 0; i < 100; ++i)
      events.push_back({"k", events.empty() ? kT0 : events.back().at + gap});
  }
  const auto analysis = Analyze(events, {});
  ASSERT_THAT(analysis->rows, SizeIs(kGridPointsUsual));
  EXPECT_EQ(analysis->rows.front().quiet_period, 100ms);
  EXPECT_EQ(analysis->rows.front().folding_ratio, 0);
  EXPECT_GT(analysis->rows.back().quiet_period, 3600s);
  EXPECT_EQ(analysis->rows.back().emissions, 1u);
  ExpectRatiosAgree(*analysis, events, 0us);
}

TEST(Analyzer, ChoosesAsManyPointsWhenGapsAreAllTheSame) {
  for (const Duration gap : std::initializer_list<Duration>{1us, 1s, Duration(24h) * 4'000}) {
    const auto analysis = Analyze({{"k", kT0}, {"k", kT0 + gap}, {"k", kT0 + 2 * gap}}, {});
    EXPECT_THAT(analysis->rows, SizeIs(kGridPointsUsual));
  }
}

TEST(Analyzer, OfNothingIsEmpty) {
  const auto analysis = Analyze({}, {});
  EXPECT_EQ(analysis->events, 0u);
  EXPECT_EQ(analysis->span(), 0us);
  EXPECT_THAT(analysis->rows, SizeIs(kGridPointsUsual));
  EXPECT_EQ(analysis->rows[0].folding_ratio, 0);
  EXPECT_EQ(analysis->rows[0].delay_p99, 0us);
}

TEST(Analyzer, ReadsTheRatioBetweenGridPointsOffTheGaps) {
  std::mt19937_64 random(Seed());
  const Events events = DrawEvents(random, 20'000, 0us);
  const auto analysis = Analyze(events, {.grid = DrawGrid(random, 100)});
  for (const AnalysisRow& row : analysis->rows) {
    const double folded =
        analysis->gaps.CountBelow(static_cast<uint64_t>(row.quiet_period.count()));
    EXPECT_NEAR(folded / 20'000, row.folding_ratio, 0.001) << row.quiet_period.count();
  }
}

TEST(Analyzer, PastItsBytesItLeavesOutFurtherKeysAndCountsThem) {
  Analyzer analyzer({.grid = {1s}, .max_bytes = 4'000'000});
  uint64_t taken = 0;
  for (int i = 0; i < 100'000; ++i) taken += analyzer.Add(std::to_string(i), kT0);
  EXPECT_LT(taken, 100'000u);
  EXPECT_GT(taken, 1'000u);
  EXPECT_LE(analyzer.bytes(), 4'000'200u);
  EXPECT_TRUE(analyzer.Add("0", kT0 + 1min));  // a known key
  EXPECT_FALSE(analyzer.Add("new", kT0 + 24h));
  const auto analysis = std::move(analyzer).Finish();
  EXPECT_EQ(analysis->events, taken + 1);
  EXPECT_EQ(analysis->left_out, 100'001 - taken);
  EXPECT_EQ(analysis->keys, taken);
  EXPECT_EQ(analysis->span(), 1min);  // what was left out moved no time
}

TEST(Analyzer, LeavesOutAKeyThatNoFolderWouldTake) {
  Analyzer analyzer({});
  EXPECT_TRUE(analyzer.Add(std::string(kKeyBytesMax, 'k'), kT0));
  EXPECT_FALSE(analyzer.Add(std::string(kKeyBytesMax + 1, 'k'), kT0));
  EXPECT_EQ(analyzer.left_out(), 1u);
}

TEST(Analyzer, WithoutGapsTheGridLiesAroundTheSpan) {
  const auto analysis = Analyze({{"a", kT0}, {"b", kT0 + 60s}, {"c", kT0 + 90s}}, {});
  ASSERT_THAT(analysis->rows, SizeIs(kGridPointsUsual));
  EXPECT_LT(analysis->rows.front().quiet_period, 90s);
  EXPECT_GT(analysis->rows.back().quiet_period, 90s);
}

TEST(Analyzer, PastItsBytesKnownKeysDoNotTakeMoreEither) {
  std::mt19937_64 random(Seed());
  const Events events = DrawEvents(random, 20'000, 20s);
  for (const Duration max_wait : {Duration{50s}, kForever}) {
    // Half of what the analysis would like to have beside what an empty one has.
    Analyzer unlimited({.max_wait = max_wait});
    const size_t empty = unlimited.bytes();
    for (const Event& event : events) ASSERT_TRUE(unlimited.Add(event.key, event.at));
    const size_t limit = empty + (unlimited.bytes() - empty) / 2;
    // One event grows the analysis by a range for each point of the grid, at most.
    constexpr size_t kLastEventBytes = 32 * kGridPointsMax;

    Analyzer analyzer({.max_wait = max_wait, .max_bytes = limit});
    std::set<std::string> known;
    uint64_t known_left_out = 0;
    size_t most = 0;
    for (const Event& event : events) {
      const bool taken = analyzer.Add(event.key, event.at);
      if (taken) known.insert(event.key);
      known_left_out += static_cast<uint64_t>(!taken && known.contains(event.key));
      most = std::max(most, analyzer.bytes());
    }
    EXPECT_GE(most, limit);
    EXPECT_LE(most, limit + kLastEventBytes);
    EXPECT_GT(known_left_out, 0u) << "of keys that the analysis has";
    EXPECT_EQ(analyzer.events() + analyzer.left_out(), events.size());
  }
}

// Stamps that come late make room for themselves in the queue of stamps, which must not grow by that.
TEST(Analyzer, MemoryDoesNotGrowWithDisorder) {
  const std::vector<Duration> levels = {1s, 1h};
  OpenCount open(levels);
  std::mt19937_64 random(Seed());
  std::vector<EngineTime> latest(100, kT0);
  for (const EngineTime at : latest) open.Add(at);
  for (int i = 0; i < 100'000; ++i) {
    EngineTime& last = latest[random() % latest.size()];
    const EngineTime at = std::max(last, kT0 + i * 1ms - Duration{random() % 50'000});
    open.MoveTo(kT0 + i * 1ms);
    open.Move(last, at);
    last = at;
  }
  EXPECT_LE(open.stamps(), 1'000u);
}

TEST(Analyzer, MemoryGrowsWithKeysOnly) {
  Analyzer analyzer({});
  const auto add_round = [&](int round) {
    for (int key = 0; key < 1'000; ++key)
      analyzer.Add(std::to_string(key), kT0 + round * 1h + key * 17ms);
  };
  for (int round = 0; round < 5; ++round) add_round(round);
  const size_t bytes = analyzer.bytes();
  for (int round = 5; round < 100; ++round) add_round(round);
  EXPECT_LE(analyzer.bytes(), bytes + bytes / 10);
}

}  // namespace
}  // namespace pleat
