// Examples that go on after a kill: killed at system calls and started again by the same command, each
// prints the bytes of a run that nobody killed.
//
//   PLEAT_SEED=17   this chain of kills alone
#include <cstdint>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/traced_process.h"

namespace pleat::inline v0_1 {
namespace {

// A directory that the example works in, run after run.
class Life {
 public:
  explicit Life(const std::string& example) : example_(example) {}

  // Runs the command to its end, or up to a call.
  TroubledEnd Run(uint64_t up_to_call = UINT64_MAX) {
    const TroubledEnd end = RunUpToCall({ExampleProgram(example_), dir_ / "orders"}, up_to_call,
                                        dir_ / "err", dir_ / "out");
    EXPECT_TRUE(end.killed || end.code == 0) << Content(dir_ / "err");
    return end;
  }
  std::string Printed() const { return Content(dir_ / "out"); }

 private:
  const std::string example_;
  const TemporaryDirectory dir_{PlaceForKills()};
};

// A run that nobody kills.
struct Unharmed {
  explicit Unharmed(const std::string& example) {
    Life life(example);
    calls = life.Run().calls;
    printed = life.Printed();
  }
  uint64_t calls = 0;
  std::string printed;
};

class KilledExample : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Examples, KilledExample, testing::Values("13_event_store", "15_lanes"),
                         [](const auto& of) { return std::string(of.param).substr(3); });

TEST_P(KilledExample, TakesEachOrderOnceAlsoWhenRunAgain) {
  Life life(GetParam());
  life.Run();
  const std::string printed = life.Printed();
  EXPECT_TRUE(printed.ends_with("\n2000 orders of 2000, each once\n")) << printed;
  life.Run();
  EXPECT_EQ(life.Printed(), printed);
}

// One kill in each life, at calls that are evenly spread, or at each.
TEST_P(KilledExample, KilledAtACallItPrintsTheSame) {
  const Unharmed unharmed(GetParam());
  const uint64_t kills =
      ShareOf({.whole = unharmed.calls, .usual = unharmed.calls / 40, .sanitized = 9});
  uint64_t killed = 0;  // a run may take a few calls less, and end before the last ones
  for (uint64_t i = 1; i <= kills; ++i) {
    const uint64_t call = i * unharmed.calls / kills;
    SCOPED_TRACE("killed at call " + std::to_string(call));
    Life life(GetParam());
    killed += life.Run(call).killed ? 1 : 0;
    ASSERT_FALSE(life.Run().killed);
    ASSERT_EQ(life.Printed(), unharmed.printed);
  }
  EXPECT_GE(killed, kills * 8 / 10);
  std::cout << killed << " kills at " << unharmed.calls << " calls\n";
}

// A life is killed again and again, also within what a run does to recover.
TEST_P(KilledExample, KilledAgainAndAgainItPrintsTheSame) {
  constexpr uint64_t kKillsMax = 12;  // in a life: where all runs are short, it may get nowhere
  const Unharmed unharmed(GetParam());
  uint64_t all_kills = 0;
  const uint64_t lives = ShareOf({.whole = 200, .usual = 6, .sanitized = 2});
  ForEachSeed(1, lives, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const uint64_t calls = unharmed.calls >> (random() % 3);
    Life life(GetParam());
    uint64_t kills = 0;
    while (life.Run(kills < kKillsMax ? 1 + random() % calls : UINT64_MAX).killed) ++kills;
    ASSERT_EQ(life.Printed(), unharmed.printed);
    all_kills += kills;
  });
  std::cout << all_kills << " kills in " << lives << " lives\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
