// The engine against the model: random episodes for several partition counts, on both axes, under
// every option and mixture of options.
// chosen_episodes.h says how others are chosen.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/chosen_episodes.h"
#include "tests/model/episode.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Shares kOps = {.whole = 4'000'000, .usual = 1'000'000, .sanitized = 100'000};
constexpr size_t kOpsPerEpisode = 1'000;
constexpr uint64_t kInstances = 8;  // two axes, four partition counts

class FoldModelProperty : public testing::TestWithParam<AxisAndPartitions> {};

TEST_P(FoldModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const auto episodes = ChosenEpisodes::For(ShareOf(kOps), kInstances, kOpsPerEpisode);
  Seen seen;
  episodes.RunAll(GetParam(), [&](Choices& choices) {
    return TryEpisode(choices, axis, partitions, kOpsPerEpisode, seen);
  });
  if (HasFatalFailure() || episodes.count < 100) return;  // too few to see everything
  EXPECT_EQ(seen.outcomes.size(),
            kFoldOutcomes - 2);               // nothing is called from inside a fold function
  EXPECT_EQ(seen.lease_outcomes.size(), 3u);  // nor is the engine gone
  EXPECT_EQ(seen.deaths.size(), 2u);
  EXPECT_EQ(seen.steps.size(), kTraceSteps);
  // A limit on groups is modelled for one partition only. Final is what counters' windows are.
  EXPECT_EQ(seen.reasons.size(), partitions == 1 ? kReasons - 1 : kReasons - 2);
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, FoldModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 7, 16)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0_1
