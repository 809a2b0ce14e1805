// Engines on several hosts that share one checkpoint store, by drawn schedules: docs/counters.md,
// "Several instances". With clocks that differ by no more than the margin every published value is
// the sum of all events before its end, and no event is added behind a checkpoint. With clocks that
// differ by more, the same schedules show the step at which this breaks.
//
//   PLEAT_SEED=17   only that schedule
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/shared_store_simulation.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSchedules = kSanitized ? 100 : 1000;

void Accumulate(SharedStoreSimulation::Seen& all, const SharedStoreSimulation::Seen& one) {
  all.kept += one.kept;
  all.overtaken += one.overtaken;
  all.stalls += one.stalls;
  all.failures += one.failures;
  all.deaths += one.deaths;
  all.deaths_inside += one.deaths_inside;
  all.overlaps += one.overlaps;
  all.replayed += one.replayed;
  all.retries += one.retries;
  all.forgotten += one.forgotten;
}

TEST(SharedStore, WithinTheMarginEveryPublishedValueIsTheSumOfAllEvents) {
  SharedStoreSimulation::Seen seen;
  const auto run = [&](uint64_t seed) {
    SharedStoreSimulation hosts(seed, {.while_acceptable_there = seed % 2 == 0,
                                       .clears = seed % 3 == 0,
                                       .forget_after = seed % 5 < 2 ? seed % 5 * 15s : kForever});
    hosts.Run();
    EXPECT_THAT(hosts.added_behind, IsEmpty());
    EXPECT_THAT(hosts.refused, IsEmpty());
    EXPECT_THAT(hosts.wrong_values, IsEmpty());
    EXPECT_THAT(hosts.stepped_back, IsEmpty());
    Accumulate(seen, hosts.seen());
  };
  if (!ForEachSeed(1, kSchedules, run)) return;
  EXPECT_GT(seen.kept, kSchedules);
  EXPECT_GT(seen.overtaken, kSchedules / 10);
  EXPECT_GT(seen.stalls, kSchedules);
  EXPECT_GT(seen.failures, kSchedules);
  EXPECT_GT(seen.deaths, kSchedules);
  EXPECT_GT(seen.deaths_inside, kSchedules / 10);
  EXPECT_GT(seen.overlaps, kSchedules / 10);
  EXPECT_GT(seen.replayed, kSchedules);
  EXPECT_GT(seen.retries, kSchedules);
  EXPECT_GT(seen.forgotten, kSchedules);
}

// The step that breaks: a slow clock still takes an event for a window that was published by a fast
// one. Nothing else does, as long as each host gets each event while it is acceptable there.
TEST(SharedStore, BeyondTheMarginEventsAreAddedBehindACheckpoint) {
  uint64_t broken = 0;
  const auto run = [&](uint64_t seed) {
    SharedStoreSimulation hosts(seed, {.clocks_apart = 8s});
    hosts.Run();
    EXPECT_THAT(hosts.refused, IsEmpty());
    EXPECT_THAT(hosts.wrong_values, IsEmpty());
    EXPECT_THAT(hosts.stepped_back, IsEmpty());
    if (hosts.added_behind.empty()) return;
    if (++broken > 1) return;
    EXPECT_THAT(hosts.added_behind[0], HasSubstr("was published until"));
    testing::Test::RecordProperty("broken", hosts.added_behind[0]);
  };
  if (!ForEachSeed(1, kSchedules, run)) return;
  EXPECT_GT(broken, 0u);
}

// And what comes of it: in true time each event comes early enough, but not for the fast clock,
// which publishes a sum without the event.
TEST(SharedStore, BeyondTheMarginAFastClockPublishesTooLittle) {
  uint64_t refused = 0;
  uint64_t wrong = 0;
  const auto run = [&](uint64_t seed) {
    SharedStoreSimulation hosts(seed, {.clocks_apart = 8s, .while_acceptable_there = false});
    hosts.Run();
    refused += !hosts.refused.empty();
    wrong += !hosts.wrong_values.empty();
  };
  if (!ForEachSeed(1, kSchedules / 10, run)) return;
  EXPECT_GT(refused, 0u);
  EXPECT_GT(wrong, 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
