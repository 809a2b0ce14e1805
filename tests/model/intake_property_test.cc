// An intake, by drawn episodes (intake_episode.h).
//
//   PLEAT_SEED=17   in the environment: only this one
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/intake_episode.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

void TryMany(std::optional<std::string> (*attempt)(Choices&)) {
  const uint64_t seeds = ShareOf({.whole = 10'000, .usual = 1'500, .sanitized = 150});
  ForEachSeed(1, seeds, [&](uint64_t seed) {
    std::seed_seq sequence{seed};
    Choices choices(sequence);
    const std::optional<std::string> difference = attempt(choices);
    EXPECT_EQ(difference, std::nullopt) << *difference;
  });
}

TEST(IntakeProperty, BatchesOfEverySizeGiveWhatOneEventAfterTheOtherGives) {
  TryMany(TryIntakeBatches);
}

TEST(IntakeProperty, DisorderWithinTheBoundGivesWhatSortedEventsGive) {
  TryMany(TryIntakeDisorder);
}

TEST(IntakeProperty, RestartsAndBatchesOfEverySizeChangeNothingBeyondTheBound) {
  TryMany(TryIntakeRestarts);
}

}  // namespace
}  // namespace pleat::inline v0_1
