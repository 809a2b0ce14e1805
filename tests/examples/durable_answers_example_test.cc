// examples/14_durable_answers, killed at system calls and started again by the same command: each run
// looks for all that was answered before in the store, and fails if something is missing.
//
//   PLEAT_SEED=17   this chain of kills alone
#include <cstdint>
#include <iostream>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/traced_process.h"

namespace pleat::inline v0_1 {
namespace {

using testing::StartsWith;

constexpr char kAll[] = "400 orders of 400, each once, in ";

// A directory that the example works in, run after run.
class Shop {
 public:
  // Runs the command to its end, or up to a call.
  TroubledEnd Run(uint64_t up_to_call = UINT64_MAX) {
    const TroubledEnd end = RunUpToCall({ExampleProgram("14_durable_answers"), dir_ / "shop"},
                                        up_to_call, dir_ / "err", dir_ / "out");
    EXPECT_FALSE(end.stuck);
    EXPECT_TRUE(end.killed || end.code == 0) << Content(dir_ / "err");
    return end;
  }
  std::string Printed() const { return Content(dir_ / "out"); }

 private:
  const TemporaryDirectory dir_{PlaceForKills()};
};

TEST(DurableAnswersExample, KeepsEachOrderOnceAlsoWhenRunAgain) {
  Shop shop;
  shop.Run();
  EXPECT_THAT(shop.Printed(), StartsWith(kAll));
  shop.Run();
  EXPECT_THAT(shop.Printed(), StartsWith(kAll));
}

// It has two threads, so that a call of the same number is another one each time.
TEST(DurableAnswersExample, KilledAgainAndAgainItHasKeptWhatItHadAnswered) {
  constexpr uint64_t kKillsMax = 8;  // in a life: where all runs are short, it may get nowhere
  Shop unharmed;
  const uint64_t calls = unharmed.Run().calls;
  uint64_t all_kills = 0;
  const uint64_t lives = ShareOf({.whole = 200, .usual = 15, .sanitized = 2});
  ForEachSeed(1, lives, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Shop shop;
    uint64_t kills = 0;
    while (shop.Run(kills < kKillsMax ? 1 + random() % calls : UINT64_MAX).killed) ++kills;
    ASSERT_THAT(shop.Printed(), StartsWith(kAll));
    all_kills += kills;
  });
  std::cout << all_kills << " kills in " << lives << " lives\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
