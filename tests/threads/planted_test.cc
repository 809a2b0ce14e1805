// The proofs can fail: on an engine with a mistake in it they do. It is built from the same sources, with
// engine/base/planted.h awake.
#include "engine/base/planted.h"

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/threads/history.h"
#include "tests/threads/stress_round.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kHistories = kSanitized ? 300 : 1'000;

class Planted : public testing::Test {
 protected:
  void TearDown() override { planted_mistake = Mistake::kNone; }

  static HistoryFound SearchWith(Mistake mistake) {
    planted_mistake = mistake;
    const HistoryFound found = SearchHistories({.first_seed = 1, .histories = kHistories});
    std::cout << found.histories << " histories, " << found.calls << " calls\n";
    return found;
  }
};

TEST_F(Planted, NothingIsFoundInAnEngineWithoutAMistake) {
  const HistoryFound found = SearchWith(Mistake::kNone);
  EXPECT_FALSE(found.failure.has_value()) << *found.failure;
}

TEST_F(Planted, APopThatLetsGoOfTheLockBetweenEmissionsIsFound) {
  EXPECT_TRUE(SearchWith(Mistake::kLetsGoBetweenEmissions).failure.has_value());
}

TEST_F(Planted, AnAckThatDoesNotCompareTheLeaseIsFound) {
  EXPECT_TRUE(SearchWith(Mistake::kAnyLeaseOfThePlace).failure.has_value());
}

TEST_F(Planted, TheStressFindsAnAckThatDoesNotCompareTheLease) {
  planted_mistake = Mistake::kAnyLeaseOfThePlace;
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
