// Presence against its model: random episodes for several partition counts, on both axes, under
// every option and mixture of options, with restarts in their midst. chosen_episodes.h says how others are chosen.
#include <cstdint>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/chosen_episodes.h"
#include "tests/model/presence_episode.h"
#include "tests/model/presence_words.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Shares kPresenceOps = {.whole = 100'000, .usual = 50'000, .sanitized = 15'000};
constexpr size_t kOpsPerPresenceEpisode = 150;
constexpr uint64_t kPresenceInstances = 6;  // two axes, three partition counts

class PresenceModelProperty : public testing::TestWithParam<AxisAndPartitions> {};

TEST_P(PresenceModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const auto episodes =
      ChosenEpisodes::For(ShareOf(kPresenceOps), kPresenceInstances, kOpsPerPresenceEpisode);
  PresenceSeen seen;
  episodes.RunAll(GetParam(), [&](Choices& choices) {
    return TryPresenceEpisode(choices, axis, partitions, kOpsPerPresenceEpisode, seen);
  });
  std::cout << episodes.count << " episodes with " << seen.restarts << " restarts, behind which "
            << seen.resyncs << " watchers had to start over\n";
  if (HasFatalFailure() || episodes.count < 50) return;  // too few to see everything
  // Nothing is called from inside a function of the caller's.
  EXPECT_EQ(seen.outcomes.size(), kPresenceOutcomes - 1);
  EXPECT_EQ(seen.causes.size(), 5u);
  EXPECT_EQ(seen.reads.size(), 4u);
  EXPECT_GT(seen.restarts, episodes.count);
  EXPECT_GT(seen.resyncs, 0u);
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, PresenceModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 7)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0_1
