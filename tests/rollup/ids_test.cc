// Events with ids, which count once: one story a rule of docs/counters.md.
#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using enum AddOutcome;

TEST_F(RollupTest, ARetryIsADuplicateAndCountsOnce) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(Add("a", 3s, 7, "id"), kAdded);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(Add("a", 4s, 7, "id"), kDuplicate);  // its content is the delta alone
  EXPECT_EQ(Sum("a"), 7);
  EXPECT_EQ(Accurate("a").amount.count, 1u);
  EXPECT_EQ(ledger().duplicate, 2u);
  EXPECT_EQ(sizes().ids, 1u);
}

TEST_F(RollupTest, TheSameIdWithAnotherDeltaIsAConflict) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  EXPECT_EQ(Add("a", 3s, 8, "id"), kConflict);
  EXPECT_EQ(Add("a", 3s, 7.5, "id"), kConflict);
  EXPECT_EQ(Add("a", 3s, 7.0, "id"), kDuplicate);  // the same number, of another kind
  EXPECT_EQ(Add("a", 3s, Delta::Above(), "id"), kConflict);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(Sum("a"), 7);
  EXPECT_EQ(ledger().conflict, 3u);
}

TEST_F(RollupTest, DeltasOfEveryKindAreRecognized) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  const Delta deltas[] = {0, -1, INT64_MAX, INT64_MIN, 0.5, Delta::Above(), Delta::Below()};
  const char* const ids[] = {"1", "2", "3", "4", "5", "6", "7"};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(Add("a", 3s, deltas[i], ids[i]), kAdded);
    for (size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(Add("a", 3s, deltas[j], ids[i]), i == j ? kDuplicate : kConflict) << i << j;
    }
  }
  EXPECT_EQ(Accurate("a").amount.count, 7u);
}

TEST_F(RollupTest, AnIdIsOneOfItsKeyAlone) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(Add("a", 3s, 7, "id"), kAdded);
  EXPECT_EQ(Add("b", 3s, 8, "id"), kAdded);
  EXPECT_EQ(Add("ai", 3s, 8, "d"), kAdded);
  EXPECT_EQ(Add("", 3s, 8, "aid"), kAdded);
  EXPECT_EQ(sizes().ids, 4u);
}

TEST_F(RollupTest, WithoutIdsNothingIsRemembered) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(Add("a", 3s), kAdded);
  EXPECT_EQ(Add("a", 3s), kAdded);
  EXPECT_EQ(sizes().ids, 0u);
  EXPECT_EQ(Sum("a"), 2);
}

// How long.

TEST_F(RollupTest, ARetryOfWhatCountedIsADuplicateThoughItIsLate) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  Advance(30s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(Add("a", 3s, 8, "id"), kConflict);
  EXPECT_EQ(Add("a", 3s, 7, "other"), kLate);
}

TEST_F(RollupTest, AnIdIsRememberedForTheDeduplicationWindowOfItsStamp) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  Advance(53s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(sizes().ids, 1u);
  Advance(53s + 1us);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kLateUnknown);
  EXPECT_EQ(sizes().ids, 0u);
}

TEST_F(RollupTest, AnIdIsForgottenAtItsInstantThoughNobodyHasVisitedIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  MoveTime(53s + 1us);
  EXPECT_EQ(Add("a", 53s, 8, "id"), kAdded);
}

TEST_F(RollupTest, AnIdOfAStampAheadIsRememberedAsLongAsThatIs) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 1h, 7, "id");
  Advance(1h + 50s);
  EXPECT_EQ(Add("a", 1h, 7, "id"), kDuplicate);
  Advance(1h + 50s + 1us);
  EXPECT_EQ(Add("a", 1h, 7, "id"), kLateUnknown);
}

TEST_F(RollupTest, ARetryDoesNotLengthenTheMemory) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  Advance(50s);
  EXPECT_EQ(Add("a", 50s, 7, "id"), kDuplicate);
  Advance(54s);
  EXPECT_EQ(Add("a", 54s, 7, "id"), kAdded);
}

TEST_F(RollupTest, OnEventTimeTheEventItselfCanEndTheMemory) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime());
  Add("a", 3s, 7, "id");
  EXPECT_EQ(Add("a", 53s, 7, "id"), kDuplicate);
  EXPECT_EQ(Add("a", 53s + 1us, 7, "id"), kAdded);
}

TEST_F(RollupTest, WithADeduplicationWindowOfTheAllowedLatenessWhatIsLateIsUnknown) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .deduplication_window = 5s});
  Add("a", 3s, 7, "id");
  Advance(8s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  Advance(8s + 1us);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kLateUnknown);
}

// What is remembered.

TEST_F(RollupTest, WhatWasNotCountedIsNotRemembered) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_keys = 1}},
       {.partitions = 1, .future_limit = 1min});
  Add("a", 0s);
  Advance(20s);
  EXPECT_EQ(Add("a", 3s, 7, "late"), kLate);
  EXPECT_EQ(Add("b", 20s, 7, "over_limit"), kOverLimit);
  EXPECT_EQ(Add("a", 20s + 1min + 1us, 7, "future"), kFuture);
  EXPECT_EQ(sizes().ids, 0u);
  EXPECT_EQ(Add("a", 3s, 7, "late"), kLate);
  EXPECT_EQ(Add("a", 20s, 8, "late"), kAdded);
  EXPECT_EQ(Add("a", 20s, 8, "future"), kAdded);
  EXPECT_EQ(sizes().ids, 2u);
}

TEST_F(RollupTest, AClampedEventIsRememberedWithTheStampItCountedWith) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = OnLateAdd::kClamp});
  Advance(40s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kClamped);  // as if stamped 35 s
  Advance(85s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  Advance(85s + 1us);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kLateUnknown);
  EXPECT_EQ(Sum("a"), 7);
}

TEST_F(RollupTest, ACorrectedEventIsRememberedWithItsOwnStamp) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = OnLateAdd::kCorrect});
  Advance(40s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kCorrected);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(Add("a", 3s, 8, "id"), kConflict);
  Advance(53s);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  Advance(53s + 1us);
  EXPECT_EQ(Add("a", 3s, 7, "id"), kLateUnknown);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 7/1 correction"));
}

TEST_F(RollupTest, AClearHasAContentOfItsOwn) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  EXPECT_EQ(Clear("a", 3s, "id"), kAdded);
  EXPECT_EQ(Clear("a", 4s, "id"), kDuplicate);
  for (const Delta delta : {Delta(0), Delta(1), Delta(0.0), Delta::Above()}) {
    EXPECT_EQ(Add("a", 3s, delta, "id"), kConflict);
  }
  EXPECT_EQ(Add("a", 3s, 0, "other"), kAdded);
  EXPECT_EQ(Clear("a", 3s, "other"), kConflict);
}

TEST_F(RollupTest, ADuplicateIsNotCountedAgainAfterAClear) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 3s, 7, "id");
  Clear("a", 4s);
  EXPECT_EQ(Add("a", 5s, 7, "id"), kDuplicate);
  EXPECT_EQ(Sum("a"), 0);
}

TEST_F(RollupTest, IdsOutliveTheirWindows) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7, "id");
  counter().CloseAll();
  EXPECT_EQ(Add("a", 3s, 7, "id"), kDuplicate);
  EXPECT_EQ(Add("a", 3s, 8, "id"), kConflict);
  EXPECT_EQ(Add("a", 3s, 7, "other"), kLate);
}

TEST_F(RollupTest, IdsOutliveTheirCounter) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 0s});
  Add("a", 3s, 7, "id");
  Advance(15s);
  EXPECT_EQ(ledger().forgotten, 1u);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(sizes().ids, 1u);
  EXPECT_EQ(Add("a", 15s, 7, "id"), kDuplicate);
  EXPECT_EQ(sizes().keys, 0u);  // a retry opens nothing
  EXPECT_EQ(Add("a", 15s, 8, "other"), kAdded);
  EXPECT_EQ(Sum("a"), 8);
}

// What the memory costs.

TEST_F(RollupTest, IdsCountAsBytesUntilTheyAreForgotten) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  const size_t without = sizes().bytes;
  for (int i = 0; i < 100; ++i) Add("a", 3s, 1, "id " + std::to_string(i));
  EXPECT_EQ(sizes().ids, 100u);
  const size_t with = sizes().bytes;
  EXPECT_GE(with, without + 100 * 16);
  Add("a", 3s, 1, std::string(5'000, 'i'));
  EXPECT_LE(sizes().bytes, with + 6'000);
  Advance(53s + 1us);
  EXPECT_EQ(sizes().ids, 0u);
  EXPECT_LE(sizes().bytes, without);
}

TEST_F(RollupTest, ADuplicateNeedsNoRoom) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_bytes = 20'000}});
  int i = 0;
  while (Add("a", 3s, 1, "id " + std::to_string(i)) == kAdded) ++i;
  EXPECT_GT(i, 10);
  EXPECT_EQ(Add("a", 3s, 1, "id " + std::to_string(i)), kOverLimit);
  for (int j = 0; j < i; ++j) EXPECT_EQ(Add("a", 3s, 1, "id " + std::to_string(j)), kDuplicate);
  EXPECT_EQ(Add("a", 3s, 2, "id 0"), kConflict);
  EXPECT_EQ(Add("a", 3s), kAdded);  // without an id it needs none either
  EXPECT_EQ(ledger().over_limit, 2u);
  EXPECT_EQ(ledger().over_byte_limit, 2u);
}

}  // namespace
}  // namespace pleat::inline v0_1
