// The engine against the model: random episodes for several partition counts, on both axes, under
// every option and mixture of options.
//
//   PLEAT_SEED=17           run only the episode of that seed, for each axis and partition count
//   PLEAT_MODEL_OPS=50000000   run about so many operations in total, from seed 1 (or PLEAT_SEED) on
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/episode.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kOpsDefault = kSanitized ? 200'000 : 4'000'000;
constexpr size_t kOpsPerEpisode = 1'000;
constexpr uint64_t kInstances = 8;  // two axes, four partition counts

std::optional<uint64_t> FromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

class FoldModelProperty : public testing::TestWithParam<std::tuple<Axis, int>> {};

TEST_P(FoldModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const std::optional<uint64_t> seed = FromEnvironment("PLEAT_SEED");
  const std::optional<uint64_t> ops_wanted = FromEnvironment("PLEAT_MODEL_OPS");
  const uint64_t first_seed = seed.value_or(1);
  const uint64_t ops_total = ops_wanted.value_or(seed ? 1 : kOpsDefault);
  const uint64_t episodes = 1 + ops_total / kInstances / kOpsPerEpisode;

  Seen seen;
  for (uint64_t i = 0; i < episodes; ++i) {
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(first_seed + i));
    std::seed_seq mixed{first_seed + i, static_cast<uint64_t>(axis == Axis::kEvent),
                        static_cast<uint64_t>(partitions)};
    Choices choices(mixed);
    const Config config = DrawConfig(choices, axis, partitions);
    const std::vector<Op> ops = DrawOps(choices, config, kOpsPerEpisode);
    const std::optional<std::string> failure = RunEpisode(config, ops, seen);
    ASSERT_FALSE(failure.has_value()) << Report(config, ops, *failure);
  }
  if (episodes < 100) return;  // too few to see everything
  EXPECT_EQ(seen.outcomes.size(),
            kFoldOutcomes - 1);               // nothing is called from inside a fold function
  EXPECT_EQ(seen.lease_outcomes.size(), 3u);  // nor is the engine gone
  EXPECT_EQ(seen.deaths.size(), 2u);
  // A limit on groups is modelled for one partition only.
  EXPECT_EQ(seen.reasons.size(), partitions == 1 ? kReasons : kReasons - 1);
}

std::string InstanceName(const testing::TestParamInfo<std::tuple<Axis, int>>& instance) {
  const auto [axis, partitions] = instance.param;
  return (axis == Axis::kArrival ? "Arrival" : "Event") + std::to_string(partitions);
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, FoldModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 7, 16)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0_1
