// What a live set does at its limits, with input that is wrong, and when it is called from the
// wrong place or too late: one story a rule.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/untyped/any_live_set.h>

#include "tests/live/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum LiveSetOutcome;

constexpr OnLiveSetLimit kDrop = OnLiveSetLimit::kDropOldest;

// Options.

std::string Refused(const LiveSetOptions& options, int partitions = 1) {
  const auto engine = Engine::Open({.partitions = partitions}).value();
  const auto live_set = LiveSet<>::Open(*engine, "live_set", options);
  if (live_set.ok()) return "";
  EXPECT_EQ(live_set.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(live_set.status().message());
}

TEST(LiveSetOptions, OneOutOfRangeIsRefusedByName) {
  EXPECT_EQ(Refused({.ttl = 1us}), "");
  EXPECT_THAT(Refused({}), HasSubstr("ttl"));
  EXPECT_THAT(Refused({.ttl = -1s}), HasSubstr("ttl"));
  EXPECT_THAT(Refused({.ttl = 1s, .retention = -1us}), HasSubstr("retention"));
  EXPECT_THAT(Refused({.ttl = 1s, .max_changes = 3}, 4), HasSubstr("max_changes"));
  EXPECT_THAT(Refused({.ttl = 1s, .limits = {.max_series = 3}}, 4), HasSubstr("limits.max_series"));
  EXPECT_THAT(Refused({.ttl = 1s, .limits = {.max_members = 3}}, 4),
              HasSubstr("limits.max_members"));
  EXPECT_THAT(Refused({.ttl = 1s, .limits = {.max_per_series = 0}}),
              HasSubstr("limits.max_per_series"));
  EXPECT_THAT(Refused({.ttl = 1s, .limits = {.max_bytes = 3}}, 4), HasSubstr("limits.max_bytes"));
}

TEST(LiveSetOptions, ANameIsTakenOnce) {
  const auto engine = Engine::Open({}).value();
  LiveSet<> live_set(*engine, "live_set", {.ttl = 1s});
  const auto again = LiveSet<>::Open(*engine, "live_set", {.ttl = 1s});
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  live_set.Close();
  EXPECT_TRUE(LiveSet<>::Open(*engine, "live_set", {.ttl = 1s}).ok());
}

// Limits.

TEST_F(LiveSetTest, AFullSeriesRefuses) {
  Open({.ttl = 10s, .limits = {.max_per_series = 2}});
  EXPECT_EQ(Add("ann", 0s), kAdded);
  EXPECT_EQ(Add("ben", 1s), kAdded);
  EXPECT_EQ(Add("cy", 2s), kFull);
  EXPECT_EQ(Add("ann", 2s), kRefreshed);  // adds nothing
  EXPECT_EQ(AddTo("other", "cy", 2s), kAdded);
  EXPECT_THAT(Ids(), ElementsAre("ben", "ann"));
  EXPECT_EQ(ledger().over_limit, 1u);
  // What has ended makes room.
  Advance(11s);
  EXPECT_EQ(Add("cy", 11s), kAdded);
}

TEST_F(LiveSetTest, AFullSeriesDropsItsOldest) {
  Open({.ttl = 10s, .limits = {.max_per_series = 2, .on_limit = kDrop}});
  Add("ann", 1s);
  Add("ben", 2s);
  EXPECT_EQ(Add("cy", 0s), kFull);  // it is itself the oldest
  EXPECT_EQ(Add("cy", 3s), kAdded);
  EXPECT_THAT(Ids(), ElementsAre("ben", "cy"));
  EXPECT_EQ(ledger().dropped, 1u);
  EXPECT_EQ(ledger().over_limit, 1u);
}

TEST_F(LiveSetTest, TooManyMembersAreRefused) {
  Open({.ttl = 10s, .limits = {.max_members = 2}});
  Add("ann", 0s);
  AddTo("other", "ann", 0s);
  EXPECT_EQ(Add("ben", 1s), kOverLimit);
  EXPECT_EQ(ledger().over_limit, 1u);
  EXPECT_EQ(ledger().live, 2u);
  Advance(10s);
  EXPECT_EQ(Add("ben", 1s), kAdded);
}

TEST_F(LiveSetTest, AtTheLimitOnMembersTheNextToExpireGoes) {
  Open({.ttl = 10s, .limits = {.max_members = 2, .on_limit = kDrop}});
  Add("ann", 0s, {.ttl = 60s});
  AddTo("other", "ben", 5s);
  EXPECT_EQ(Add("cy", 4s), kOverLimit);  // it would itself expire before
  EXPECT_EQ(Add("cy", 6s), kAdded);
  EXPECT_THAT(Ids(), ElementsAre("ann", "cy"));
  EXPECT_EQ(live_set().Count("other"), 0u);
  EXPECT_EQ(ledger().dropped, 1u);
}

TEST_F(LiveSetTest, TooManySeriesAreRefused) {
  Open({.ttl = 10s, .limits = {.max_series = 1}});
  Add("ann", 0s);
  EXPECT_EQ(AddTo("other", "ann", 0s), kOverLimit);
  EXPECT_EQ(Add("ben", 0s), kAdded);
  EXPECT_EQ(live_set().SetTtl("other", 1s), LiveSetControl::kOverLimit);
  Advance(10s);
  EXPECT_EQ(AddTo("other", "ann", 10s), kAdded);
}

TEST_F(LiveSetTest, AtTheLimitOnSeriesTheOneWithTheNextToExpireGoesAsAWhole) {
  Open({.ttl = 10s, .limits = {.max_series = 2, .on_limit = kDrop}});
  AddTo("long", "ann", 0s);
  AddTo("long", "ben", 5s);
  AddTo("short", "cy", 1s);
  EXPECT_EQ(AddTo("new", "di", 6s), kAdded);
  EXPECT_EQ(live_set().Count("long"), 0u);  // ann would have expired first
  EXPECT_EQ(live_set().Count("short"), 1u);
  EXPECT_EQ(ledger().dropped, 2u);
}

TEST_F(LiveSetTest, NoSeriesGoesForAMemberThatWouldExpireBefore) {
  Open({.ttl = 10s, .limits = {.max_series = 1, .on_limit = kDrop}});
  Add("ann", 1s);
  EXPECT_EQ(AddTo("other", "ben", 0s), kOverLimit);
  EXPECT_THAT(Ids(), ElementsAre("ann"));
  EXPECT_EQ(ledger().dropped, 0u);
}

TEST_F(LiveSetTest, ASeriesThatIsDroppedLosesItsTtl) {
  Open({.ttl = 10s, .limits = {.max_series = 1, .on_limit = kDrop}});
  live_set().SetTtl("s", 20s);
  Add("ann", 0s);
  EXPECT_EQ(AddTo("other", "ben", 60s), kAdded);
  EXPECT_EQ(live_set().sizes().series, 1u);
}

TEST_F(LiveSetTest, OfMembersThatNeverExpireTheOldestGoes) {
  Open({.ttl = kForever, .limits = {.max_members = 2, .on_limit = kDrop}});
  Add("ann", 0s);
  AddTo("other", "ben", 1s);
  EXPECT_EQ(Add("cy", 2s), kAdded);
  EXPECT_THAT(Ids(), ElementsAre("cy"));
}

TEST_F(LiveSetTest, WhatIsRetainedGoesBeforeWhatIsLive) {
  Open({.ttl = 10s, .retention = 60s, .limits = {.max_members = 2, .on_limit = kDrop}});
  Add("ann", 0s);
  Advance(10s);
  Add("ben", 10s);
  EXPECT_EQ(Add("cy", 11s), kAdded);
  EXPECT_THAT(Ids(), ElementsAre("ben", "cy"));
  EXPECT_EQ(ledger().dropped, 0u);
}

TEST_F(LiveSetTest, AnEventThatIsRefusedForgetsNothing) {
  Open({.ttl = 10s, .retention = 60s, .limits = {.max_per_series = 1, .on_limit = kDrop}});
  Add("ann", 0s);
  Advance(10s);
  Add("ben", 12s);
  EXPECT_EQ(Add("ann", 9s), kFull);
  EXPECT_EQ(live_set().sizes().members, 2u);  // ann is retained
}

TEST_F(LiveSetTest, BytesAreLimitedToo) {
  Open({.ttl = 10s, .limits = {.max_bytes = 10'000}});
  std::vector<LiveSetOutcome> outcomes;
  for (int i = 0; i < 100; ++i)
    outcomes.push_back(Add(std::string(500, 'a') + std::to_string(i), 0s));
  EXPECT_EQ(outcomes.front(), kAdded);
  EXPECT_EQ(outcomes.back(), kOverLimit);
  EXPECT_LE(live_set().sizes().bytes, 10'000u);
  Advance(10s);
  EXPECT_EQ(live_set().sizes().bytes, 0u);
  EXPECT_EQ(Add("ann", 10s), kAdded);
}

TEST_F(LiveSetTest, NobodyGoesForAnEventThatIsLargerThanTheLimit) {
  for (const size_t max_per_series : {size_t{2}, size_t{1000}}) {
    Open({.ttl = 10s,
          .limits = {.max_per_series = max_per_series, .max_bytes = 10'000, .on_limit = kDrop}});
    Add("ann", 0s);
    Add("ben", 0s);
    EXPECT_EQ(Add(std::string(20'000, 'a'), 1s), kOverLimit);
    EXPECT_EQ(AddTo(std::string(20'000, 's'), "cy", 1s), kOverLimit);
    EXPECT_THAT(Ids(), ElementsAre("ann", "ben"));
    EXPECT_EQ(ledger().dropped, 0u);
    EXPECT_EQ(ledger().over_limit, 2u);
  }
}

TEST_F(LiveSetTest, AnEventThatIsRefusedHasEndedNobody) {
  Open({.ttl = 10s, .limits = {.max_bytes = 10'000, .on_limit = kDrop}});
  for (int i = 0; i < 8; ++i) Add(std::string(1'000, 'a') + std::to_string(i), 1s, {.ttl = 60s});
  Add("first", 0s);
  EXPECT_EQ(Add(std::string(5'000, 'b'), 0s, {.ttl = 9s}), kOverLimit);
  EXPECT_EQ(Ids().size(), 9u);
  EXPECT_EQ(ledger().dropped, 0u);
  // It may come in for the first to expire: then as many as it takes go, whatever their deadlines.
  EXPECT_EQ(Add(std::string(5'000, 'b'), 0s, {.ttl = 30s}), kAdded);
  EXPECT_EQ(Find("first"), std::nullopt);
  EXPECT_GT(ledger().dropped, 1u);
  EXPECT_EQ(ledger().over_limit, 1u);
}

TEST_F(LiveSetTest, AFullSeriesThatMakesRoomTakesTheEvent) {
  Open({.ttl = 10s, .limits = {.max_per_series = 1, .max_bytes = 4'000, .on_limit = kDrop}});
  AddTo("other", std::string(1'000, 'a'), 0s, {.ttl = 60s});
  Add("ann", 0s);
  EXPECT_EQ(Add(std::string(2'900, 'b'), 1s), kAdded);  // ann is not enough
  EXPECT_EQ(ledger().dropped, 2u);
}

TEST_F(LiveSetTest, NobodyGoesForAnEventWhoseRoomIsTakenByTtls) {
  Open({.ttl = 10s, .limits = {.max_bytes = 4'000, .on_limit = kDrop}});
  EXPECT_EQ(live_set().SetTtl(std::string(2'000, 't'), 20s), LiveSetControl::kDone);
  Add("ann", 0s);
  EXPECT_EQ(Add(std::string(2'000, 'b'), 1s), kOverLimit);
  EXPECT_THAT(Ids(), ElementsAre("ann"));
}

TEST_F(LiveSetTest, AtTheLimitOnBytesRemovalsLeaveNoTombstones) {
  Open({.ttl = 10s, .limits = {.max_bytes = 10'000}});
  for (int i = 0; i < 1000; ++i) Remove(std::string(100, 'a') + std::to_string(i), 0s);
  EXPECT_LE(live_set().sizes().bytes, 10'000u);
  EXPECT_GT(ledger().tombstones_refused, 0u);
  EXPECT_EQ(live_set().sizes().tombstones + ledger().tombstones_refused, 1000u);
}

// Input that is wrong.

TEST_F(LiveSetTest, NamesMayHaveAnyBytesUpTo64KiB) {
  Open({.ttl = 10s});
  const std::string longest(64 * 1024, '\0');
  const std::string too_long(64 * 1024 + 1, '\0');
  EXPECT_EQ(AddTo(longest, longest, 0s), kAdded);
  EXPECT_EQ(AddTo("", "", 0s), kAdded);
  EXPECT_EQ(AddTo(too_long, "ann", 0s), kOverLimit);
  EXPECT_EQ(Add(too_long, 0s), kOverLimit);
  EXPECT_EQ(Touch(too_long, 0s), kOverLimit);
  EXPECT_EQ(Remove(too_long, 0s), LiveSetControl::kOverLimit);
  EXPECT_EQ(live_set().SetTtl(too_long, 1s), LiveSetControl::kOverLimit);
  EXPECT_EQ(live_set().Count(too_long), 0u);
  EXPECT_EQ(live_set().Clear(too_long), 0u);
  EXPECT_EQ(live_set().Count(longest), 1u);
  EXPECT_EQ(ledger().over_limit, 3u);
}

TEST_F(LiveSetTest, ANameThatIsTooLongMovesNoTime) {
  Open({.ttl = 10s}, OnEventTime());
  Add("ann", 0s);
  EXPECT_EQ(Add(std::string(64 * 1024 + 1, 'a'), 60s), kOverLimit);
  EXPECT_EQ(engine().now(), At(0s));
}

TEST_F(LiveSetTest, EveryEventIsCountedWhateverItsNames) {
  Open({.ttl = 10s});
  const std::string too_long(64 * 1024 + 1, '\0');
  const std::vector<KeyedEvent<Numbers::Event>> rows = {{"", At(0s), {.id = "ann"}}};
  EXPECT_EQ(live_set().Touch(too_long, "ann", At(0s)), kOverLimit);
  EXPECT_EQ(live_set().Import(too_long, rows)[kOverLimit], 1u);
  EXPECT_EQ(ledger().over_limit, 2u);
}

TEST_F(LiveSetTest, AnEventBeyondTheFutureLimitChangesNothing) {
  EngineOptions options = OnEventTime();
  options.future_limit = 1min;
  Open({.ttl = 10s}, options);
  Add("ann", 0s);
  EXPECT_EQ(Add("ben", 1min + 1us), kFuture);
  EXPECT_EQ(Touch("ann", 1min + 1us), kFuture);
  EXPECT_EQ(Remove("ann", 1min + 1us), LiveSetControl::kFuture);
  EXPECT_EQ(engine().now(), At(0s));
  EXPECT_THAT(Ids(), ElementsAre("ann"));
  EXPECT_EQ(ledger().future, 2u);  // removals are no events
}

TEST_F(LiveSetTest, EventsAreJudgedInOrder) {
  EngineOptions options = OnEventTime();
  options.future_limit = 1min;
  Open({.ttl = 10s}, options);
  Add("ann", 20s);
  Remove("ann", 20s);
  EXPECT_EQ(Add("ann", 2min, {.ttl = -1us}), kFuture);      // before late
  EXPECT_EQ(Add("ann", 20s, {.ttl = -1us}), kLate);         // before tombstoned
  EXPECT_EQ(Add("ann", 20s), kTombstoned);                  // before the limits and the member
  EXPECT_EQ(Add("ann", 15s, {.version = 9}), kTombstoned);  // whatever the version
}

TEST_F(LiveSetTest, StampsAtTheEndsOfTimeAreKept) {
  Open({.ttl = 10s}, OnEventTime());
  EXPECT_EQ(live_set().Add("s", {.id = "ann"}, EngineTime::min()), kAdded);
  EXPECT_EQ(Find("ann")->stamp, kBeginningOfTime);
  EXPECT_EQ(live_set().Add("s", {.id = "ben", .ttl = kForever}, EngineTime::max()), kAdded);
  EXPECT_EQ(Find("ben")->stamp, kEndOfTime);
  EXPECT_THAT(Ids(), ElementsAre("ben"));
}

// Calls that come too late, or from the wrong place.

TEST_F(LiveSetTest, AfterStopEventsAreAnsweredStopped) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  engine().Stop();
  EXPECT_EQ(Add("ben", 0s), kStopped);
  EXPECT_EQ(Touch("ann", 1s), kStopped);
  EXPECT_EQ(ledger().events, 1u);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(Remove("ann", 1s), LiveSetControl::kDone);
}

TEST_F(LiveSetTest, AfterStopTheAnswerIsStoppedWhateverTheNames) {
  Open({.ttl = 10s});
  engine().Stop();
  const std::string too_long(64 * 1024 + 1, '\0');
  EXPECT_EQ(AddTo(too_long, "ann", 0s), kStopped);
  EXPECT_EQ(live_set().Touch(too_long, "ann", At(0s)), kStopped);
  EXPECT_EQ(Touch(too_long, 0s), kStopped);
}

TEST_F(LiveSetTest, AClosedLiveSetIsEmpty) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  live_set().Close();
  EXPECT_EQ(Add("ben", 0s), kStopped);
  EXPECT_EQ(Remove("ann", 0s), LiveSetControl::kClosed);
  EXPECT_EQ(live_set().SetTtl("s", 1s), LiveSetControl::kClosed);
  EXPECT_EQ(Count(), 0u);
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(live_set().ledger(), LiveSetLedger{});
}

TEST(LiveSetCalls, OutliveTheEngine) {
  auto engine = Engine::Open({}).value();
  LiveSet<> live_set(*engine, "live_set", {.ttl = 10s});
  live_set.Add("s", {.id = "ann"}, kT0);
  engine.reset();
  EXPECT_EQ(live_set.Add("s", {.id = "ann"}, kT0), kStopped);
  EXPECT_EQ(live_set.Remove("s", "ann"), LiveSetControl::kClosed);
  EXPECT_EQ(live_set.Count("s"), 0u);
  live_set.Close();
}

TEST_F(LiveSetTest, ACallFromInsideAnotherIsRefused) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  AnyLiveSet any = live_set().any();
  std::vector<std::string> said;
  any.Find("s", "ann", kBeginningOfTime, [&](const AnyLive&) {
    EXPECT_EQ(Add("ben", 0s), kWouldDeadlock);
    EXPECT_EQ(Touch("ann", 1s), kWouldDeadlock);
    EXPECT_EQ(Remove("ann", 1s), LiveSetControl::kWouldDeadlock);
    EXPECT_EQ(live_set().SetTtl("s", 1s), LiveSetControl::kWouldDeadlock);
    EXPECT_EQ(live_set().Clear("s"), 0u);
    said.emplace_back("seen");
  });
  EXPECT_THAT(said, ElementsAre("seen"));
  EXPECT_EQ(ledger().events, 1u);
  EXPECT_EQ(Count(), 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
