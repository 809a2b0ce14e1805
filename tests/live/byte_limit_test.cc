// Random events in live sets that may hold few bytes. The model does not know what a member weighs,
// so what has to hold here is what holds for every weight: the limit, the ledger's balance, and
// that reads agree with each other.
//
//   PLEAT_SEED=17   only that episode
#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <pleat/untyped/any_live_set.h>

#include "tests/live/fixture.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr Shares kEpisodes = {.whole = 100, .usual = 50, .sanitized = 15};
constexpr int kEventsPerEpisode = 300;

class LiveSetBytes : public LiveSetTest {
 protected:
  void RunEpisode(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t end) { return random() % end; };
    const size_t max_bytes = 200 + below(20'000);
    const auto on_limit = static_cast<OnLiveSetLimit>(below(2));
    Open(
        {.ttl = 60s,
         .retention = below(2) * 90s,
         .limits = {.max_per_series = 2 + below(20), .max_bytes = max_bytes, .on_limit = on_limit}},
        {.partitions = 1, .axis = static_cast<Axis>(below(2))});
    Duration clock{0};
    for (int i = 0; i < kEventsPerEpisode && !HasFailure(); ++i) {
      const std::string series(below(40), static_cast<char>('a' + below(4)));
      const std::string id(below(4) == 0 ? below(3000) : below(20),
                           static_cast<char>('a' + below(9)));
      if (below(4) == 0) clock += std::chrono::seconds(below(20));
      const Duration at = clock - std::chrono::seconds(below(30));
      const uint64_t choice = below(16);
      if (choice < 10) AddOne(series, id, at, {.ttl = std::chrono::seconds(below(4) * below(50))});
      if (choice == 10) live_set().Remove(series, id);
      if (choice == 11) live_set().Touch(series, id, At(at));
      if (choice == 12) live_set().SetTtl(series, std::chrono::seconds(1 + below(100)));
      if (choice == 13) live_set().Remove(series, At(at), At(at + 5s));
      if (choice == 14) live_set().Clear(series);
      if (choice == 15) Advance(clock);
      Check(series, max_bytes);
    }
    Advance(1000h);
    EXPECT_EQ(ledger().live, 0u);
    EXPECT_EQ(live_set().sizes().members, 0u);
    refused_ += ledger().over_limit;
    dropped_ += ledger().dropped;
  }

  // One that is refused has ended nobody.
  void AddOne(const std::string& series, const std::string& id, Duration at, const Extra& extra) {
    const uint64_t dropped = ledger().dropped;
    const LiveSetOutcome outcome = AddTo(series, id, at, extra);
    if (outcome == LiveSetOutcome::kFull || outcome == LiveSetOutcome::kOverLimit) {
      EXPECT_EQ(ledger().dropped, dropped);
    }
  }

  void Check(const std::string& series, size_t max_bytes) {
    EXPECT_LE(live_set().sizes().bytes, max_bytes);
    EXPECT_EQ(live_set().Count(series), live_set().List(series, {.limit = SIZE_MAX}).size());
    EXPECT_TRUE(live_set().ledger().Balances());
    live_set().any().CheckWhole();
  }

  uint64_t refused_ = 0;
  uint64_t dropped_ = 0;
};

TEST_F(LiveSetBytes, NeverExceedTheirLimit) {
  if (!ForEachSeed(1, ShareOf(kEpisodes), [&](uint64_t seed) { RunEpisode(seed); }) || kSanitized)
    return;
  EXPECT_GT(refused_, 0u);
  EXPECT_GT(dropped_, 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
