// Rollup counters against their model: random episodes for several partition counts, on both axes,
// under every option and mixture of options. And one input, with visits at other moments, in other
// batches and partitions: the outcomes and the emissions are the same, byte for byte.
// chosen_episodes.h says how others are chosen.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/chosen_episodes.h"
#include "tests/model/rollup_episode.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Shares kOps = {.whole = 400'000, .usual = 150'000, .sanitized = 30'000};
constexpr size_t kOpsPerEpisode = 150;
constexpr uint64_t kInstances = 6;  // two axes, three partition counts

class RollupModelProperty : public testing::TestWithParam<AxisAndPartitions> {};

TEST_P(RollupModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const auto episodes = ChosenEpisodes::For(ShareOf(kOps), kInstances, kOpsPerEpisode);
  RollupSeen seen;
  episodes.RunAll(GetParam(), [&](Choices& choices) {
    return TryRollupEpisode(choices, axis, partitions, kOpsPerEpisode, seen);
  });
  if (HasFatalFailure() || episodes.count < 100) return;  // too few to see everything
  // In one partition nothing is elsewhere; nothing is called from inside a caller's function, and no
  // source is read again.
  EXPECT_EQ(seen.outcomes.size(), partitions == 1 ? kAddOutcomes - 3 : kAddOutcomes - 2);
  EXPECT_EQ(seen.reasons.size(), 3u);
  EXPECT_TRUE(seen.corrected_one);
  EXPECT_TRUE(seen.forgot);
  EXPECT_TRUE(seen.saturated);
  EXPECT_GT(seen.changes, 100u);
}

TEST_P(RollupModelProperty, SameInputGivesTheSameBytes) {
  const auto [axis, partitions] = GetParam();
  ChosenEpisodes::For(ShareOf(kOps) / 2, kInstances, kOpsPerEpisode)
      .RunAll(GetParam(), [&](Choices& choices) {
        return TryRollupReplay(choices, axis, partitions, kOpsPerEpisode);
      });
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, RollupModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 3)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0_1
