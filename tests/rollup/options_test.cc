// What SetOptions() makes of windows and counters that are there: what is over by the new options goes
// at once, and what is final, gone or forgotten stays so. Random changes are compared with the model in
// tests/model, restarts with other options in tests/core/changed_options_test.cc.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class RollupChanges : public RollupTest {
 protected:
  // Opens a counter of windows of ten seconds, whose options of now `options` are.
  void Begin(const RollupOptions& options, EngineOptions engine = {.partitions = 1}) {
    now_ = options;
    now_.windows = {10s};
    now_.allowed_lateness = 0s;
    Open(now_, engine);
  }
  RollupOptions& now() { return now_; }
  void Set() { ASSERT_TRUE(counter().SetOptions(now_).ok()); }
  std::vector<std::string> History(std::string_view key = "a") const {
    std::vector<std::string> lines;
    for (const CountedWindow& each : counter().History(key, kT0, kT0 + 1h)) {
      lines.push_back(Show(each));
    }
    return lines;
  }

 private:
  RollupOptions now_;
};

// Also those whose last window was only kept, and then is not.
TEST_F(RollupChanges, WithoutRetentionCountersAreForgottenAtOnce) {
  Begin({.retention = 1min, .forget_after = 2min});
  for (const char* const key : {"a", "b"}) Add(key, 5s);
  Advance(20s);
  ASSERT_EQ(sizes().keys, 2u);
  now().retention = now().forget_after = 0s;
  Set();
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(sizes().retained, 0u);
}

TEST_F(RollupChanges, ALongerRetentionKeepsWhatIsThere) {
  Begin({.retention = 10s});
  for (const Duration at : {5s, 15s, 25s}) Add("a", at);
  Advance(25s);
  now().retention = 30s;
  Set();
  EXPECT_THAT(History(), ElementsAre("10-20 1/1")) << "the first one stays gone";
  EXPECT_THAT(counter().Top(1, At(5s)), IsEmpty());
  Advance(49s);
  EXPECT_THAT(History(), ElementsAre("10-20 1/1", "20-30 1/1"));
  Advance(50s);
  EXPECT_THAT(History(), ElementsAre("20-30 1/1"));
  Advance(60s);
  EXPECT_EQ(sizes().retained, 0u);
  EXPECT_EQ(Sum("a"), 3) << "the value is that of all windows";
}

TEST_F(RollupChanges, AShorterRetentionDropsAtOnce) {
  Begin({.retention = 1h});
  for (const Duration at : {5s, 15s, 25s}) Add("a", at);
  Advance(35s);
  EXPECT_EQ(sizes().retained, 3u);
  now().retention = 10s;
  Set();
  EXPECT_EQ(sizes().retained, 1u);
  EXPECT_THAT(History(), ElementsAre("20-30 1/1"));
  now().retention = 0s;
  Set();
  EXPECT_EQ(sizes().retained, 0u);
  now().retention = 1h;
  Set();
  EXPECT_THAT(History(), IsEmpty());
  Add("a", 36s);
  Advance(40s);
  EXPECT_THAT(History(), ElementsAre("30-40 1/1"));
}

// Windows that the store lacks are there, whatever the retention, and nobody reads them.
TEST_F(RollupChanges, AWindowThatIsGoneDoesNotComeBackBecauseTheStoreLacksIt) {
  Begin({.retention = 10s, .store = std::make_shared<MemoryCheckpointStore>()});
  Add("a", 5s);
  Advance(25s);
  EXPECT_EQ(sizes().retained, 1u);
  now().retention = 1h;
  Set();
  EXPECT_THAT(History(), IsEmpty());
  CheckWhole(counter().any());
  EXPECT_EQ(counter().Publish().published, 1u);
  EXPECT_EQ(sizes().retained, 0u);
}

TEST_F(RollupChanges, ForgettingBeginsWithTheCountersThatAreThere) {
  Begin({});
  for (int i = 0; i < 3000; ++i) Add("key " + std::to_string(i), i % 2 == 0 ? 5s : 15s);
  const CounterRef never_counted = counter().Ref("never counted");
  Advance(60s);
  now().forget_after = 45s;
  Set();
  EXPECT_EQ(sizes().keys, 1501u) << "those of the first window are over by now";
  Advance(65s);
  EXPECT_EQ(sizes().keys, 1u);
  EXPECT_EQ(ledger().forgotten, 3000u);
}

TEST_F(RollupChanges, ForgettingEndsForTheCountersThatAreThere) {
  Begin({.forget_after = 30s});
  Add("a", 5s);
  Add("b", 15s);
  const CounterRef held = counter().Ref("a");
  Advance(45s);
  now().forget_after = kForever;
  Set();
  Advance(1h);
  EXPECT_EQ(sizes().keys, 2u);
  now().forget_after = 2h;
  Set();
  EXPECT_EQ(Sum("a") + Sum("b"), 2);
  Advance(3h);
  EXPECT_EQ(sizes().keys, 1u) << "the one that is held";
}

TEST_F(RollupChanges, WhatWasHeldBeyondItsTimeGoesOnByTheNewOne) {
  Begin({.forget_after = 10s});
  Add("a", 5s);
  CounterRef held = counter().Ref("a");
  Advance(40s);
  now().forget_after = 100s;
  Set();
  held = {};
  Advance(109s);
  EXPECT_EQ(Sum("a"), 1);
  Advance(110s);
  EXPECT_EQ(sizes().keys, 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
