// Examples that are a service with threads, killed at system calls and started again by the same command.
// Each run compares its store with the answers and mails of the runs before, and fails if an order is missing
// or there twice.
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

struct ServiceExample {
  const char* name;
  const char* says;  // in the end, when all is there
  Shares lives;
};

// A directory that the example works in, run after run.
class Shop {
 public:
  explicit Shop(const ServiceExample& example) : example_(example) {}

  // Runs the command to its end, or up to a call.
  TroubledEnd Run(uint64_t up_to_call = UINT64_MAX) {
    const TroubledEnd end = RunUpToCall({ExampleProgram(example_.name), dir_ / "shop"}, up_to_call,
                                        dir_ / "err", dir_ / "out");
    EXPECT_FALSE(end.stuck);
    EXPECT_TRUE(end.killed || end.code == 0) << Content(dir_ / "err");
    return end;
  }
  std::string Printed() const { return Content(dir_ / "out"); }

 private:
  const ServiceExample example_;
  const TemporaryDirectory dir_{PlaceForKills()};
};

class ServiceExampleTest : public testing::TestWithParam<ServiceExample> {};
INSTANTIATE_TEST_SUITE_P(
    Examples, ServiceExampleTest,
    testing::Values(ServiceExample{"14_durable_answers",
                                   "400 orders of 400, each once, in ",
                                   {.whole = 200, .usual = 15, .sanitized = 2}},
                    ServiceExample{"16_delivery",
                                   "300 orders in ",
                                   {.whole = 100, .usual = 4, .sanitized = 1}}),
    [](const auto& of) { return std::string(of.param.name).substr(3); });

TEST_P(ServiceExampleTest, KeepsEachOrderOnceAlsoWhenRunAgain) {
  Shop shop(GetParam());
  shop.Run();
  EXPECT_THAT(shop.Printed(), StartsWith(GetParam().says));
  shop.Run();
  EXPECT_THAT(shop.Printed(), StartsWith(GetParam().says));
}

// It has several threads, so that a call of the same number is another one each time.
TEST_P(ServiceExampleTest, KilledAgainAndAgainItHasKeptAll) {
  constexpr uint64_t kKillsMax = 8;  // in a life: where all runs are short, it may get nowhere
  Shop unharmed(GetParam());
  const uint64_t calls = unharmed.Run().calls;
  uint64_t all_kills = 0;
  const uint64_t lives = ShareOf(GetParam().lives);
  ForEachSeed(1, lives, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Shop shop(GetParam());
    uint64_t kills = 0;
    while (shop.Run(kills < kKillsMax ? 1 + random() % calls : UINT64_MAX).killed) ++kills;
    ASSERT_THAT(shop.Printed(), StartsWith(GetParam().says));
    all_kills += kills;
  });
  std::cout << all_kills << " kills in " << lives << " lives\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
