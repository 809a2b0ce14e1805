// Every public call from four threads at once, on small limits, for many engines.
//
//   PLEAT_SEED=17                  only the round of that seed
//   PLEAT_STRESS_OPS=200000000     about so many operations in all, from seed 1 (or PLEAT_SEED) on
//   PLEAT_STRESS_THREADS=1         fewer threads, or more: what one finds, it finds every time
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/threads/environment.h"
#include "tests/threads/stress_round.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kOperations = kSanitized ? 1'000'000 : 2'000'000;
constexpr uint64_t kOperationsPerRound = 20'000;
constexpr uint64_t kThreads = 4;

TEST(Stress, NothingIsLostOrDoneTwiceWhateverIsCalledAtTheSameTime) {
  const uint64_t first = FromEnvironment("PLEAT_SEED", 1);
  const bool one = std::getenv("PLEAT_SEED") != nullptr;
  const uint64_t wanted = FromEnvironment("PLEAT_STRESS_OPS", one ? 1 : kOperations);
  const auto threads = static_cast<int>(FromEnvironment("PLEAT_STRESS_THREADS", kThreads));
  StressSeen seen;
  uint64_t rounds = 0;
  uint64_t reported = 0;
  while (seen.operations < wanted) {
    const uint64_t seed = first + rounds++;
    const std::optional<std::string> failure =
        RunStressRound(seed, threads, kOperationsPerRound, seen);
    ASSERT_FALSE(failure.has_value()) << *failure << "; again with PLEAT_SEED=" << seed;
    if (seen.operations / 10'000'000 > reported) {
      reported = seen.operations / 10'000'000;
      std::cout << seen.operations << " operations, up to seed " << seed << std::endl;
    }
  }
  std::cout << seen.operations << " operations in " << rounds << " rounds from seed " << first
            << ": " << seen.counts << "\n";
  if (rounds < 100) return;  // too few to see everything
  // All but kWouldDeadlock, which is for calls from inside.
  EXPECT_EQ(seen.outcomes.size(), kFoldOutcomes - 2);
  // Final is what counters' windows are, and no folder here has closing times.
  EXPECT_EQ(seen.reasons.size(), kReasons - 2);
  for (const char* name : {"popped", "acked", "stale", "clamped", "ran out", "nacked", "dropped",
                           "retried", "cancelled", "told", "engines gone", "folders"}) {
    EXPECT_GT(seen.counts[name], 0) << name;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
