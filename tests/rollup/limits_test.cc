// What a rollup counter does at its limits, and that its ledger adds up at every step: one story a
// rule of docs/counters.md.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"
#include "tests/support/seeds.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using enum AddOutcome;

// Counters.

TEST_F(RollupTest, AtTheLimitOnKeysAnotherOneIsRefused) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true, .limits = {.max_keys = 2}});
  EXPECT_EQ(Add("a", 3s), kAdded);
  EXPECT_EQ(Add("b", 3s), kAdded);
  EXPECT_EQ(Add("c", 3s), kOverLimit);
  EXPECT_EQ(Clear("c", 3s), kOverLimit);
  EXPECT_TRUE(counter().Ref("c").empty());
  EXPECT_EQ(Add("a", 13s), kAdded);
  EXPECT_FALSE(counter().Ref("a").empty());
  EXPECT_EQ(sizes().keys, 2u);
  EXPECT_EQ(ledger().over_limit, 2u);
  EXPECT_EQ(ledger().over_byte_limit, 0u);
  EXPECT_EQ(Sum("c"), 0);
}

TEST_F(RollupTest, WhatIsForgottenMakesRoomForAnotherKey) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 30s, .limits = {.max_keys = 1}});
  Add("a", 3s);
  MoveTime(45s - 1us);
  EXPECT_EQ(Add("b", 45s), kOverLimit);
  MoveTime(45s);
  EXPECT_EQ(Add("b", 45s), kAdded);
  EXPECT_EQ(ledger().forgotten, 1u);
}

TEST_F(RollupTest, ACounterThatIsReferencedMakesNoRoom) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 30s, .limits = {.max_keys = 1}});
  Add("a", 3s);
  CounterRef ref = counter().Ref("a");
  Advance(1h);
  EXPECT_EQ(Add("b", 1h), kOverLimit);
  ref = {};
  Advance(2h);
  EXPECT_EQ(Add("b", 2h), kAdded);
}

TEST_F(RollupTest, ALateEventIsLateAlsoAtALimit) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_keys = 1}});
  Add("a", 3s);
  Advance(30s);
  EXPECT_EQ(Add("b", 3s), kLate);
}

TEST_F(RollupTest, AtALimitACorrectionIsRefusedToo) {
  Open({.windows = {10s},
        .allowed_lateness = 5s,
        .on_late = OnLateAdd::kCorrect,
        .limits = {.max_keys = 1, .max_backlog = 2}});
  Add("a", 3s);
  Advance(30s);
  EXPECT_EQ(Add("b", 3s), kOverLimit);  // a counter more
  EXPECT_EQ(Add("a", 3s), kCorrected);
  EXPECT_EQ(Add("a", 3s), kOverLimit);  // two wait already
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final", "a 0-10 1/1 correction"));
}

// Bytes.

TEST_F(RollupTest, AtTheLimitOnBytesWhatNeedsMoreIsRefused) {
  Open({.windows = {10s},
        .allowed_lateness = 5s,
        .forget_after = 0s,
        .limits = {.max_bytes = 20'000}});
  int keys = 0;
  while (Add(std::string(300, 'k') + std::to_string(keys), 3s) == kAdded) ++keys;
  EXPECT_GT(keys, 10);
  EXPECT_LT(keys, 20'000 / 300);
  EXPECT_LE(sizes().bytes, 20'000u);
  EXPECT_EQ(ledger().over_limit, 1u);
  EXPECT_EQ(ledger().over_byte_limit, 1u);
  EXPECT_EQ(Add(std::string(300, 'k') + "0", 4s), kAdded);  // needs no more
  Advance(15s);
  EXPECT_EQ(Add(std::string(300, 'n'), 15s), kOverLimit);  // what waits takes room as well
  (void)PopAll();
  EXPECT_EQ(sizes().bytes, 0u);
  EXPECT_EQ(Add(std::string(300, 'n'), 15s), kAdded);
}

TEST_F(RollupTest, AtTheLimitOnBytesAWindowIsRefusedToo) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_bytes = 2'000}});
  int windows = 0;
  while (Add("a", windows * 10s) == kAdded) ++windows;
  EXPECT_GT(windows, 2);
  EXPECT_EQ(Add("a", 0s), kAdded);
  EXPECT_EQ(Sum("a"), windows + 1);
}

TEST_F(RollupTest, AnEventLargerThanTheLimitIsRefused) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_bytes = 2'000}});
  EXPECT_EQ(Add(std::string(3'000, 'k'), 3s), kOverLimit);
  EXPECT_TRUE(counter().Ref(std::string(3'000, 'k')).empty());
  EXPECT_EQ(sizes(), RollupSizes{});
  EXPECT_EQ(Add("a", 3s), kAdded);
}

// Before it is refused, an event has what is over by now removed.
TEST_F(RollupTest, WhatIsDueIsRemovedBeforeAnEventIsRefused) {
  Open({.windows = {10s},
        .allowed_lateness = 5s,
        .forget_after = 0s,
        .limits = {.max_bytes = 20'000}});
  int ids = 0;
  while (Add("a", 3s, 1, std::to_string(ids)) == kAdded) ++ids;
  EXPECT_GT(ids, 100);
  MoveTime(53s);
  (void)PopAll();
  int more = 0;  // the counter has gone, and its ids have not
  while (Add("a", 53s, 1, "new " + std::to_string(more)) == kAdded) ++more;
  EXPECT_LT(more, 20);
  MoveTime(53s + 1us);
  EXPECT_EQ(Add("a", 53s + 1us, 1, "new"), kAdded);
  EXPECT_LE(sizes().ids, static_cast<size_t>(more + 1));
}

// The backlog.

TEST_F(RollupTest, AtTheLimitOnTheBacklogNoWindowIsOpened) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_backlog = 2}});
  for (const char* key : {"a", "b", "c"}) Add(key, 3s);
  Add("a", 13s);
  Advance(15s);  // the limit is soft: three wait now
  EXPECT_EQ(sizes().ready, 3u);
  EXPECT_EQ(Add("b", 15s), kOverLimit);
  EXPECT_EQ(Add("a", 15s), kAdded);  // its window is open
  EXPECT_EQ(counter().Pop(1).size(), 1u);
  EXPECT_EQ(Add("b", 15s), kOverLimit);
  EXPECT_EQ(counter().Pop(1).size(), 1u);
  EXPECT_EQ(Add("b", 15s), kAdded);
  EXPECT_EQ(ledger().over_limit, 2u);
  EXPECT_EQ(ledger().over_byte_limit, 0u);
}

// Each partition has its share.
TEST_F(RollupTest, LimitsAreDividedAmongThePartitions) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_keys = 8}}, {.partitions = 4});
  for (int i = 0; i < 100; ++i) Add(std::to_string(i), 3s);
  EXPECT_EQ(sizes().keys, 8u);
  EXPECT_EQ(ledger().over_limit, 92u);
}

// The ledger.

TEST_F(RollupTest, TheLedgerSaysWhereEveryEventEndedUp) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s, .clears = true, .limits = {.max_keys = 2}},
       {.partitions = 1, .future_limit = 1h});
  Add("a", 3s, 5, "id");
  Add("a", 3s, 5, "id");
  Add("a", 3s, 6, "id");
  Clear("b", 4s);
  Add("c", 4s);
  Add("a", 2h);
  Advance(15s);
  Add("a", 3s);
  Add("b", 16s, -7);
  Add("b", 16s, 0.5);
  Advance(100s);
  Add("b", 17s);
  const RollupLedger expected{.events = 10,
                              .added = 4,
                              .duplicate = 1,
                              .conflict = 1,
                              .late = 2,
                              .future = 1,
                              .over_limit = 1,
                              .late_unknown = 1,
                              .clears = 1,
                              .windows = 5,
                              .made_final = 5,
                              .checkpointed = 3,
                              .delta_added = static_cast<uint64_t>(-2),
                              .delta_checkpointed = static_cast<uint64_t>(-2),
                              .keys_opened = 2};
  EXPECT_EQ(ledger(), expected);
}

// Random calls under small limits.
class RollupLimitsTest : public RollupTest {
 protected:
  void RunEpisode(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t end) { return random() % end; };
    const RollupOptions options{
        .windows = below(2) == 0 ? std::vector<Duration>{10s} : std::vector<Duration>{10s, 30s},
        .allowed_lateness = below(3) * 5s,
        .margin = below(2) * 7s,
        .on_late = static_cast<OnLateAdd>(below(3)),
        .deduplication_window = 40s,
        .retention = below(2) * 20s,
        .forget_after = below(2) == 0 ? kForever : Duration{below(60) * 1s + 20s},
        .clears = below(2) == 0,
        .limits = {.max_keys = 1 + below(8),
                   .max_bytes = below(2) == 0 ? 500 + below(20'000) : 1'000'000,
                   .max_backlog = 1 + below(30)}};
    Open(options,
         {.partitions = 1, .axis = static_cast<Axis>(below(2)), .future_limit = Duration{1min}});
    refused_ = events_ = 0;
    Duration clock{0};
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
      const std::string key(1 + below(2) * 60, static_cast<char>('a' + below(10)));
      const std::string id = below(2) == 0 ? "" : std::string(1 + below(40), 'i');
      if (below(4) == 0) clock += below(15) * 1s;
      const Duration at = clock - 60s + below(90) * 1s;
      const uint64_t choice = below(12);
      if (choice == 0) Advance(clock);
      if (choice == 1) MoveTime(clock);
      if (choice == 2) (void)counter().Pop(below(5));
      if (choice == 3) (void)counter().Lease(below(3), 1min, kLease0);
      if (choice == 4 && below(10) == 0) counter().CloseAll();
      if (choice == 5 && options.clears) Clear(key, at, id);
      if (choice > 5) Add(key, at, static_cast<int>(below(100)), id);
      CheckStep(options.limits);
    }
  }
  void CheckStep(const RollupLimits& limits) {
    const RollupLedger now = ledger();
    const RollupSizes held = sizes();
    EXPECT_LE(held.keys, limits.max_keys);
    EXPECT_LE(now.over_limit - refused_, 1u);
    EXPECT_EQ(now.keys_opened - now.forgotten, held.keys);
    EXPECT_GE(now.events, events_);
    refused_ = now.over_limit;
    events_ = now.events;
    CheckWhole(counter().any());
  }

  uint64_t refused_ = 0;
  uint64_t events_ = 0;
};

TEST_F(RollupLimitsTest, TheLedgerAddsUpAtEveryStep) {
  uint64_t refused = 0;
  if (!ForEachSeed(1, 200, [&](uint64_t seed) {
        RunEpisode(seed);
        refused += refused_;
      })) {
    return;
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
