// Whole services on a clock of the test's own: nothing is lost, handed out too early or finished twice, and in the end
// everything comes out, whoever has died meanwhile.
//
//   PLEAT_SEED=17          only the service of that seed
//   PLEAT_SERVICES=100000  so many, from seed 1 (or PLEAT_SEED) on
#include "tests/threads/service_simulation.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/threads/environment.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kServices = kSanitized ? 200 : 1'500;

TEST(ServiceSimulation, EveryEventIsFinishedOnceAndInTheEndNothingIsLeft) {
  const uint64_t first = FromEnvironment("PLEAT_SEED", 1);
  const bool one = std::getenv("PLEAT_SEED") != nullptr;
  const uint64_t services = FromEnvironment("PLEAT_SERVICES", one ? 1 : kServices);
  Tally seen;
  for (uint64_t seed = first; seed < first + services; ++seed) {
    const ServiceOutcome outcome = RunService(seed, seen);
    ASSERT_FALSE(outcome.failure.has_value())
        << *outcome.failure << "; again with PLEAT_SEED=" << seed;
  }
  std::cout << services << " services from seed " << first << ": " << seen << "\n";
  if (services < 100) return;  // too few to see everything
  for (const char* name :
       {"acked", "popped", "dropped", "cancelled", "ran out", "stale acks", "delayed nacks",
        "clamped", "extended", "letters retried", "letters dropped", "overloaded", "jumps",
        "deaths", "ranges moved", "turns cut short"}) {
    EXPECT_GT(seen[name], services / 10) << name;
  }
}

TEST(ServiceSimulation, ASeedGivesTheSameServiceEveryTime) {
  Tally seen;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(RunService(seed, seen).digest, RunService(seed, seen).digest);
    EXPECT_NE(RunService(seed, seen).digest, RunService(seed + 1, seen).digest);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
