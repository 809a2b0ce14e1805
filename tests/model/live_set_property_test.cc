// Live sets against their model: random episodes for several partition counts, on both axes,
// under every option and mixture of options, with restarts in their midst.
// chosen_episodes.h says how others are chosen.
#include <cstdint>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/chosen_episodes.h"
#include "tests/model/live_set_episode.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Shares kOps = {.whole = 400'000, .usual = 75'000, .sanitized = 20'000};
constexpr size_t kOpsPerEpisode = 200;
constexpr uint64_t kInstances = 6;  // two axes, three partition counts

class LiveSetModelProperty : public testing::TestWithParam<AxisAndPartitions> {};

TEST_P(LiveSetModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const auto episodes = ChosenEpisodes::For(ShareOf(kOps), kInstances, kOpsPerEpisode);
  LiveSetSeen seen;
  episodes.RunAll(GetParam(), [&](Choices& choices) {
    return TryLiveSetEpisode(choices, axis, partitions, kOpsPerEpisode, seen);
  });
  std::cout << episodes.count << " episodes with " << seen.restarts << " restarts, behind which "
            << seen.resyncs << " readers of changes had to start over\n";
  if (HasFatalFailure() || episodes.count < 50) return;  // too few to see everything
  // Limits are modelled for one partition only, where nothing is elsewhere; nothing is called from
  // inside a function of the caller's.
  EXPECT_EQ(seen.outcomes.size(), kLiveSetOutcomes - 3);
  EXPECT_EQ(seen.causes.size(), partitions == 1 ? 12u : 10u);
  EXPECT_GT(seen.restarts, episodes.count);
  EXPECT_GT(seen.resyncs, 0u);
  EXPECT_LT(seen.resyncs, seen.restarts);
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, LiveSetModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 7)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0_1
