// Which events are late, what becomes of them by each OnLateAdd, and other input that is wrong: one
// story a rule of docs/counters.md.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum AddOutcome;

constexpr OnLateAdd kClamp = OnLateAdd::kClamp;
constexpr OnLateAdd kCorrect = OnLateAdd::kCorrect;

// Which events are late.

TEST_F(RollupTest, AnEventAtTheAllowedLatenessIsNotLate) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Advance(20s);
  EXPECT_EQ(Add("a", 15s), kAdded);
  EXPECT_EQ(Add("a", 15s - 1us), kLate);
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(ledger().late, 1u);
}

TEST_F(RollupTest, AMarginMakesNothingAcceptable) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .margin = 60s});
  Add("a", 3s);
  Advance(9s);
  EXPECT_EQ(Add("a", 4s), kAdded);
  EXPECT_EQ(Add("a", 4s - 1us), kLate);  // though its window is open
  EXPECT_EQ(ledger().open, 1u);
}

TEST_F(RollupTest, OnArrivalTimeAStampMakesNothingLate) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 1h);
  EXPECT_EQ(Add("a", 0s), kAdded);
}

TEST_F(RollupTest, ALateEventLeavesNoTrace) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Advance(1h);
  EXPECT_EQ(Add("a", 1h - 6s, 1, "id"), kLate);
  EXPECT_EQ(sizes(), RollupSizes{});
  EXPECT_EQ(counter().Eventual("a"), std::nullopt);
  EXPECT_EQ(ledger().keys_opened, 0u);
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
}

TEST_F(RollupTest, BeyondTheDeduplicationWindowLateIsUnknown) {
  Open({.windows = {10s}, .allowed_lateness = 5s});  // the horizon is ten times that
  Advance(100s);
  EXPECT_EQ(Add("a", 50s), kLate);
  EXPECT_EQ(Add("a", 50s, 1, "id"), kLate);
  EXPECT_EQ(Add("a", 50s - 1us), kLateUnknown);
  EXPECT_EQ(Add("a", 50s - 1us, 1, "id"), kLateUnknown);
  EXPECT_EQ(ledger().late, 4u);
  EXPECT_EQ(ledger().late_unknown, 2u);
}

TEST_F(RollupTest, TheDeduplicationWindowCanBeNamed) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .deduplication_window = 5s});
  Advance(100s);
  EXPECT_EQ(Add("a", 95s), kAdded);
  EXPECT_EQ(Add("a", 95s - 1us), kLateUnknown);
}

// Clamping.

TEST_F(RollupTest, AClampedEventCountsInTheEarliestWindowThatTakesEvents) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kClamp});
  Advance(28s);
  EXPECT_EQ(Add("a", 2s, 7), kClamped);  // counts as if stamped 23 s
  EXPECT_EQ(Add("a", 24s, 1), kAdded);
  EXPECT_EQ(Sum("a"), 8);
  Advance(1h);
  EXPECT_THAT(PopLines(), ElementsAre("a 20-30 8/2 final"));
  EXPECT_EQ(ledger().clamped, 1u);
  EXPECT_EQ(ledger().added, 1u);
  EXPECT_EQ(ledger().delta_added, 8u);
}

TEST_F(RollupTest, AfterTheEndAnEventIsClampedBehindIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kClamp});
  Add("a", 3s);
  counter().CloseAll();
  EXPECT_EQ(Add("a", 4s), kClamped);
  (void)PopAll();
  Advance(1h);
  EXPECT_THAT(PopLines(), ElementsAre("a 10-20 1/1 final"));
}

TEST_F(RollupTest, WithoutAnIdAnEventIsClampedHoweverOld) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kClamp});
  Advance(1h);
  EXPECT_EQ(Add("a", 0s), kClamped);
  EXPECT_EQ(counter().Add("a", 1, EngineTime::min()), kClamped);
  EXPECT_EQ(Add("a", 1h - 50s, 1, "id"), kClamped);
  EXPECT_EQ(Add("a", 1h - 50s - 1us, 1, "other"), kLateUnknown);  // may have counted already
  EXPECT_EQ(Sum("a"), 3);
}

// Corrections.

TEST_F(RollupTest, ACorrectionIsAnEmissionThatNamesTheOneItCorrects) {
  Open({.windows = {10s, 100s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 3s);
  Add("b", 3s);
  Advance(20s);
  const auto popped = PopAll();
  ASSERT_EQ(popped.size(), 2u);
  EXPECT_EQ(Add("b", 4s, 7), kCorrected);
  const auto out = PopAll();
  EXPECT_THAT(Lines(out), ElementsAre("b 0-10 7/1 correction"));
  EXPECT_EQ(out[0].state, (CountedWindow{At(0s), At(10s), {.count = 1, .sum = 7, .real = 7}}));
  EXPECT_EQ(out[0].count, 1u);
  EXPECT_EQ(out[0].closed, At(20s));
  EXPECT_EQ(out[0].corrects, popped[1].id);
  EXPECT_EQ(out[0].id.generation, 2u);
}

TEST_F(RollupTest, ASecondCorrectionNamesTheFinalWindowToo) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 3s);
  Advance(20s);
  EXPECT_EQ(Add("a", 4s), kCorrected);
  EXPECT_EQ(Add("a", 5s), kCorrected);
  const auto out = PopAll();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].corrects, out[0].id);
  EXPECT_EQ(out[2].corrects, out[0].id);
}

TEST_F(RollupTest, ACorrectionChangesNoWindowAndNoValue) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kCorrect, .retention = 1h});
  Add("a", 3s);
  Advance(20s);
  const auto value = Accurate("a");
  const auto windows = counter().History("a", At(0s), At(1h));
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(Add("a", 4s, 7), kCorrected);
  EXPECT_EQ(Accurate("a").amount, value.amount);
  EXPECT_EQ(counter().History("a", At(0s), At(1h)), windows);
  EXPECT_EQ(ledger().corrected, 1u);
  EXPECT_EQ(ledger().delta_added, 1u);
}

TEST_F(RollupTest, ACorrectionOfAWindowThatNeverWasNamesNone) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 13s);
  Advance(1min);
  (void)PopAll();
  EXPECT_EQ(Add("a", 11s - 10s), kCorrected);  // the window before
  EXPECT_EQ(Add("b", 13s), kCorrected);        // a key without any
  const auto out = PopAll();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].corrects, std::nullopt);
  EXPECT_EQ(out[1].corrects, std::nullopt);
}

TEST_F(RollupTest, ACorrectionMayComeBeforeItsWindowIsFinal) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .margin = 60s, .on_late = kCorrect});
  Add("a", 3s);
  Advance(10s);
  EXPECT_EQ(Add("a", 4s, 7), kCorrected);
  Advance(1h);
  const auto out = PopAll();
  EXPECT_THAT(Lines(out), ElementsAre("a 0-10 7/1 correction", "a 0-10 1/1 final"));
  EXPECT_EQ(out[0].corrects, std::nullopt);
}

TEST_F(RollupTest, ACorrectionNamesAWindowThatTheEndClosed) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 3s);
  counter().CloseAll();
  EXPECT_EQ(Add("a", 4s), kCorrected);
  const auto out = PopAll();
  EXPECT_THAT(Lines(out), ElementsAre("a 0-10 1/1 end", "a 0-20 1/1 end", "a 0-10 1/1 correction"));
  EXPECT_EQ(out[2].corrects, out[0].id);
}

TEST_F(RollupTest, WhatIsDueComesBeforeTheCorrection) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 3s);
  Add("b", 13s);
  MoveTime(25s);
  EXPECT_EQ(Add("a", 4s), kCorrected);
  const auto out = PopAll();
  EXPECT_THAT(Lines(out),
              ElementsAre("a 0-10 1/1 final", "b 10-20 1/1 final", "a 0-10 1/1 correction"));
  EXPECT_EQ(out[2].corrects, out[0].id);
}

TEST_F(RollupTest, WithoutAnIdAnEventIsCorrectedHoweverOld) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = kCorrect});
  Add("a", 3s);
  Advance(55s - 1us);
  EXPECT_EQ(Add("a", 3s), kCorrected);
  Advance(1h);
  EXPECT_EQ(Add("a", 3s), kCorrected);
  EXPECT_EQ(Add("a", 3s, 1, "id"), kLateUnknown);
  const auto out = PopAll();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].corrects, out[0].id);
  EXPECT_EQ(out[2].corrects, std::nullopt);  // nothing is kept for so long
}

// Clears that are late.

TEST_F(RollupTest, ALateClearIsRejectedWhateverTheOption) {
  for (const OnLateAdd on_late : {OnLateAdd::kReject, kClamp, kCorrect}) {
    Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = on_late, .clears = true});
    Advance(100s);
    Add("a", 98s, 3);
    EXPECT_EQ(Clear("a", 95s - 1us), kLate);
    EXPECT_EQ(Clear("a", 50s, "id"), kLate);
    EXPECT_EQ(Clear("a", 50s - 1us), kLateUnknown);
    EXPECT_EQ(Clear("a", 50s - 1us, "id"), kLateUnknown);
    EXPECT_EQ(Sum("a"), 3);
    EXPECT_EQ(ledger().late, 4u);
    EXPECT_EQ(ledger().clears, 0u);
  }
}

// Other input that is wrong.

TEST_F(RollupTest, AnEventTooFarAheadChangesNothing) {
  EngineOptions options = OnEventTime();
  options.future_limit = 1min;
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true}, options);
  Add("a", 0s);
  EXPECT_EQ(Add("b", 1min + 1us, 1, "id"), kFuture);
  EXPECT_EQ(Clear("a", 1min + 1us), kFuture);
  EXPECT_EQ(engine().now(), At(0s));
  EXPECT_EQ(sizes().keys, 1u);
  EXPECT_EQ(ledger().future, 2u);
  EXPECT_EQ(Add("b", 1min, 1, "id"), kAdded);
}

TEST_F(RollupTest, KeysAndIdsMayHaveAnyBytesUpTo64KiB) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  const std::string longest(kKeyBytesMax, '\0');
  const std::string too_long(kKeyBytesMax + 1, '\0');
  EXPECT_EQ(Add(longest, 0s, 1, longest), kAdded);
  EXPECT_EQ(Add(longest, 0s, 1, longest), kDuplicate);
  EXPECT_EQ(Add("", 0s), kAdded);
  EXPECT_EQ(Add(too_long, 0s), kOverLimit);
  EXPECT_EQ(Add("a", 0s, 1, too_long), kOverLimit);
  EXPECT_EQ(Clear(too_long, 0s), kOverLimit);
  EXPECT_EQ(Clear("a", 0s, too_long), kOverLimit);
  EXPECT_EQ(counter().AddAndGet(too_long, 1, At(0s)).outcome, kOverLimit);
  EXPECT_EQ(ledger().over_limit, 5u);
  const AddedCount refused = counter().AddAndGet(longest, 1, At(0s), too_long);
  EXPECT_EQ(refused.outcome, kOverLimit);
  EXPECT_EQ(refused.value.amount.sum, 1);
  EXPECT_EQ(Sum(longest), 1);
  EXPECT_EQ(Sum(""), 1);
  EXPECT_EQ(Accurate(too_long).amount, Amount{});
  EXPECT_EQ(counter().Eventual(too_long), std::nullopt);
  EXPECT_TRUE(counter().Ref(too_long).empty());
}

TEST_F(RollupTest, ANameThatIsTooLongMovesNoTime) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime());
  const std::string too_long(kKeyBytesMax + 1, 'a');
  Add("a", 0s);
  EXPECT_EQ(Add(too_long, 1h), kOverLimit);
  EXPECT_EQ(Add("a", 1h, 1, too_long), kOverLimit);
  EXPECT_EQ(engine().now(), At(0s));
}

// Calls that come too late, or from the wrong place.

TEST_F(RollupTest, AfterStopEventsAreAnsweredStopped) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 0s);
  engine().Stop();
  EXPECT_EQ(Add("a", 0s), kStopped);
  EXPECT_EQ(Add(std::string(kKeyBytesMax + 1, 'a'), 0s), kStopped);
  EXPECT_EQ(Clear("a", 0s), kStopped);
  EXPECT_EQ(counter().AddAndGet("a", 1, At(0s)).outcome, kStopped);
  const std::vector<KeyedEvent<CounterEvent>> batch = {{"a", At(0s), {}}};
  EXPECT_EQ(counter().AddBatch(batch)[kStopped], 1u);
  EXPECT_EQ(ledger().events, 1u);
  EXPECT_EQ(Sum("a"), 1);
  counter().CloseAll();
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 end"));
}

TEST_F(RollupTest, AClosedCounterIsEmpty) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .retention = 1h, .clears = true});
  Add("a", 0s);
  const CounterRef ref = counter().Ref("a");
  counter().Close();
  EXPECT_EQ(Add("a", 0s), kStopped);
  EXPECT_EQ(Clear("a", 0s), kStopped);
  EXPECT_EQ(Accurate("a").amount, Amount{});
  EXPECT_EQ(counter().Eventual("a"), std::nullopt);
  EXPECT_THAT(counter().History("a", At(0s), At(1h)), IsEmpty());
  EXPECT_THAT(counter().Top(3, At(0s)), IsEmpty());
  EXPECT_TRUE(counter().Ref("a").empty());
  EXPECT_EQ(counter().Publish().published, 0u);
  counter().CloseAll();
  EXPECT_THAT(PopAll(), IsEmpty());
  EXPECT_EQ(counter().ledger(), RollupLedger{});
  EXPECT_EQ(counter().sizes(), RollupSizes{});
  EXPECT_EQ(ref.Eventual().amount, Amount{});  // the reference outlives it
}

TEST(RollupCalls, OutliveTheEngine) {
  auto engine = Engine::Open({}).value();
  RollupCounter counter(*engine, "counter", {.windows = {10s}, .allowed_lateness = 5s});
  counter.Add("a", 1, kT0);
  const CounterRef ref = counter.Ref("a");
  engine->Advance(kT0 + 1h);
  engine.reset();
  EXPECT_EQ(counter.Add("a", 1, kT0), kStopped);
  EXPECT_EQ(counter.AddAndGet("a", 1, kT0).outcome, kStopped);
  EXPECT_EQ(counter.Eventual("a"), std::nullopt);
  EXPECT_THAT(counter.Pop(3), IsEmpty());
  EXPECT_EQ(ref.Eventual().amount.sum, 1);
  counter.CloseAll();
  counter.Close();
}

// A function of the caller's runs under a partition's lock.
TEST_F(RollupTest, ACallFromInsideAnotherIsRefused) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .retention = 1h, .clears = true});
  Add("a", 3s, 7);
  const CounterRef ref = counter().Ref("a");
  Advance(15s);
  const std::vector<KeyedEvent<CounterEvent>> batch = {{"a", At(15s), {}}};
  AnyCollection any = counter().any();
  const size_t popped = any.Pop(1, {}, [&](std::span<const ClosedGroup>) {
    EXPECT_EQ(Add("a", 15s), kWouldDeadlock);
    EXPECT_EQ(Clear("a", 15s), kWouldDeadlock);
    EXPECT_EQ(counter().AddAndGet("a", 1, At(15s)).outcome, kWouldDeadlock);
    EXPECT_EQ(counter().AddBatch(batch)[kWouldDeadlock], 1u);
    EXPECT_EQ(counter().Eventual("a"), std::nullopt);
    EXPECT_EQ(counter().Accurate("a").amount, Amount{});
    EXPECT_THAT(counter().History("a", At(0s), At(1h)), IsEmpty());
    EXPECT_THAT(counter().Top(3, At(3s)), IsEmpty());
    EXPECT_TRUE(counter().Ref("a").empty());
    counter().CloseAll();
    EXPECT_EQ(counter().ledger(), RollupLedger{});
    EXPECT_EQ(counter().sizes().keys, 0u);
    EXPECT_EQ(ref.Eventual().amount.sum, 7);  // which needs no lock
  });
  EXPECT_EQ(popped, 1u);
  EXPECT_EQ(ledger().events, 1u);
  EXPECT_EQ(Add("a", 15s), kAdded);
}

}  // namespace
}  // namespace pleat::inline v0_1
