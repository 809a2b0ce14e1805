// Events without a number: they count, and add nothing.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

using NoNumbers = RollupTest;

// An event without a number counts, and a sum of none of them is none.
TEST_F(NoNumbers, AnEventWithoutANumberAddsNothing) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s});
  Add("a", 3s, Delta::None());
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 1, .none = true}));
  Add("a", 13s, Delta::None());
  EXPECT_TRUE(Accurate("a").amount.none);
  Advance(1min);
  EXPECT_EQ(counter().Eventual("a")->amount, (Amount{.count = 2, .none = true}));
  EXPECT_EQ(counter().Ref("a").Eventual().amount, (Amount{.count = 2, .none = true}));
  Add("a", 63s, 0);
  Add("a", 64s, Delta::None());
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 4}));
  Add("b", 63s, Delta::None());
  Add("b", 63s, 7);
  Add("b", 64s, Delta::None());
  EXPECT_EQ(Accurate("b").amount, (Amount{.count = 3, .sum = 7, .real = 7}));
  Advance(1h);
  EXPECT_EQ(counter().Eventual("b")->amount, (Amount{.count = 3, .sum = 7, .real = 7}));
}

}  // namespace
}  // namespace pleat::inline v0_1
