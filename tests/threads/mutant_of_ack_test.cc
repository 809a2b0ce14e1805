// Both proofs can fail: this program is linked with a copy of engine/outbox/leases.cc in which a token is
// good for whatever is lent by now from the place of its own emission. See CMakeLists.txt.
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/threads/history.h"
#include "tests/threads/stress_round.h"

namespace pleat::inline v0_1 {
namespace {

TEST(MutantOfAck, IsFoundInAHistory) {
  const HistoryFound found = SearchHistories({.first_seed = 1, .histories = 40'000});
  std::cout << found.histories << " histories, " << found.calls << " calls\n";
  EXPECT_TRUE(found.failure.has_value());
}

TEST(MutantOfAck, IsFoundByTheStress) {
  StressSeen seen;
  std::optional<std::string> failure;
  for (uint64_t seed = 1; seed <= 50 && !failure; ++seed) {
    failure = RunStressRound(seed, 4, 10'000, seen);
  }
  EXPECT_TRUE(failure.has_value());
  std::cout << failure.value_or("") << " after " << seen.operations << " operations\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
