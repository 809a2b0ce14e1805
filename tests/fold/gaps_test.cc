// Ghosts, and the counters that gaps are counted in.
#include "engine/fold/gaps.h"

#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

const EngineTime t0 = FromUnix(1'000'000s);

TEST(Ghosts, TellOnceWhenAKeyWasSeenLast) {
  PagePool pool;
  Ghosts ghosts(pool, 10);
  ghosts.Put(1, t0, t0 + 1s);
  ghosts.Put(2, t0 + 5s, t0 + 6s);
  ghosts.Put(1, t0 + 7s, t0 + 8s);
  EXPECT_EQ(ghosts.size(), 2u);
  EXPECT_EQ(ghosts.Take(1), t0 + 7s);
  EXPECT_EQ(ghosts.Take(1), std::nullopt);
  EXPECT_EQ(ghosts.Take(3), std::nullopt);
  EXPECT_EQ(ghosts.Take(2), t0 + 5s);
  EXPECT_EQ(ghosts.size(), 0u);
  EXPECT_EQ(ghosts.known_to(), kForever);
}

TEST(Ghosts, TheLongestRememberedMakesWayAndIsOwnedUp) {
  PagePool pool;
  Ghosts ghosts(pool, 3);
  for (uint64_t key = 1; key <= 3; ++key) ghosts.Put(key, t0, t0);
  EXPECT_EQ(ghosts.Take(2), t0);
  ghosts.Put(2, t0 + 1s, t0 + 1s);
  EXPECT_EQ(ghosts.known_to(), kForever);
  ghosts.Put(4, t0 + 9s, t0 + 10s);
  EXPECT_EQ(ghosts.known_to(), 10s);
  ghosts.Put(5, t0 + 20s, t0 + 20s);
  EXPECT_EQ(ghosts.known_to(), 10s);
  EXPECT_EQ(ghosts.Take(1), std::nullopt);
  EXPECT_EQ(ghosts.Take(3), std::nullopt);
  EXPECT_EQ(ghosts.Take(2), t0 + 1s);
  EXPECT_EQ(ghosts.Take(4), t0 + 9s);
}

TEST(Ghosts, WithoutRoomForAnyNothingIsKnownBeyondTheAge) {
  PagePool pool;
  Ghosts ghosts(pool, 0);
  ghosts.Put(1, t0, t0 + 5s);
  EXPECT_EQ(ghosts.size(), 0u);
  EXPECT_EQ(ghosts.Take(1), std::nullopt);
  EXPECT_EQ(ghosts.known_to(), 5s);
}

TEST(Ghosts, TakeAsMuchMemoryAsThereAreOfThem) {
  PagePool pool;
  Ghosts ghosts(pool, SIZE_MAX);
  EXPECT_LE(pool.held_bytes(), size_t{4} << 20);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) ghosts.Put(random(), t0, t0);
  EXPECT_LE(pool.held_bytes(), 300'000 * Ghosts::kBytes * 3 / 2 + (size_t{4} << 20));
  random.seed(1);
  for (int i = 0; i < 300'000; ++i) ASSERT_TRUE(ghosts.Take(random()));
  EXPECT_LE(pool.held_bytes(), size_t{4} << 20);
}

TEST(BucketCounts, CountWhatAHistogramCounts) {
  std::mt19937_64 random(2);
  const auto counts = std::make_unique<BucketCounts<3>>();
  const auto plain = std::make_unique<GapHistogram>();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = random() >> random() % 64;
    counts->Add(value);
    plain->Add(value);
  }
  for (int i = 0; i < 200'000; ++i) counts->Add(1'234'567);  // more than fit 16 bits
  plain->Add(1'234'567, 200'000);
  for (int i = 0; i < 10'000; ++i) counts->Count(5, counts->SlotOf(5), 8);
  plain->Add(5, 80'000);
  const auto told = std::make_unique<GapHistogram>();
  counts->AddTo(*told);
  EXPECT_EQ(*told, *plain);
}

TEST(BucketCounts, OfNothingAddNothing) {
  const auto told = std::make_unique<GapHistogram>();
  BucketCounts<3>().AddTo(*told);
  EXPECT_EQ(*told, *std::make_unique<GapHistogram>());
}

// Of gaps within groups beyond the first `exact` some are counted for all.
TEST(Gaps, ManyAreTakenForAllWithoutChangingTheirNumber) {
  PagePool pool;
  MeasuredWhole peak;
  Gaps gaps(pool, 10, /*exact=*/1000, peak);
  std::mt19937_64 random(3);
  std::exponential_distribution<double> seconds(1);
  constexpr int kEvents = 1'000'000;
  int below = 0;
  for (int i = 0; i < kEvents; ++i) {
    const Duration gap(static_cast<Duration::rep>(seconds(random) * 1e6));
    below += gap < 500ms ? 1 : 0;
    gaps.NoteFolded(t0 + gap, t0, t0 + gap);
  }
  const auto stats = std::make_unique<GapStats>();
  gaps.AddTo(*stats);
  EXPECT_EQ(stats->gaps.count(), kEvents);
  EXPECT_EQ(stats->gaps.CountBelow(UINT64_MAX), kEvents);
  const double error = (stats->gaps.CountBelow(500'000) - below) / kEvents;
  EXPECT_LT(std::abs(error), 4 * 1.32 / 1000);  // four standard deviations
  EXPECT_NE(error, 0);
}

TEST(Gaps, ThePeakIsOfAllThatShareIt) {
  PagePool pool;
  MeasuredWhole peak;
  Gaps one(pool, 10, 1000, peak);
  Gaps other(pool, 10, 1000, peak);
  one.NoteOpened(1, t0, t0);
  other.NoteOpened(2, t0, t0);
  one.NoteClosed(0s);
  other.NoteOpened(3, t0, t0);
  EXPECT_EQ(peak.open_peak(), 2u);
}

}  // namespace
}  // namespace pleat
