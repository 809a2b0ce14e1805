// What windows of a rollup counter are, when they are final, and in which order they come out: one
// story a rule of docs/counters.md. late_test.cc has what comes late, values_test.cc the reads,
// ids_test.cc events with ids, limits_test.cc the limits.
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
using testing::HasSubstr;
using testing::IsEmpty;
using enum AddOutcome;

// When a window is final.

TEST_F(RollupTest, AWindowIsFinalOnceItsEndIsBothLimitsOld) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .margin = 2s});
  EXPECT_EQ(Add("a", 3s, 4), kAdded);
  EXPECT_EQ(Add("a", 9s, 5), kAdded);
  Advance(17s - 1us);
  EXPECT_THAT(PopAll(), IsEmpty());
  Advance(17s);
  const auto out = PopAll();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].key, "a");
  EXPECT_EQ(out[0].state, (CountedWindow{At(0s), At(10s), {.count = 2, .sum = 9, .real = 9}}));
  EXPECT_EQ(out[0].count, 2u);
  EXPECT_EQ(out[0].first, At(0s));
  EXPECT_EQ(out[0].last, At(10s));
  EXPECT_EQ(out[0].closed, At(17s));
  EXPECT_EQ(out[0].reason, Reason::kFinal);
  EXPECT_EQ(out[0].id, EmissionId{});
  EXPECT_EQ(out[0].revision, 1u);
  EXPECT_FALSE(out[0].partial);
  EXPECT_EQ(out[0].corrects, std::nullopt);
}

TEST_F(RollupTest, AWindowIsFinalAlsoIfNothingElseHappens) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  ASSERT_TRUE(engine().NextDeadline().has_value());
  EXPECT_LE(*engine().NextDeadline(), At(15s));
  Advance(15s);
  EXPECT_EQ(ledger().made_final, 1u);
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
}

TEST_F(RollupTest, AnEmissionSaysWhenItsWindowBecameFinalHoweverLateAnybodyLooked) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  Advance(1h);
  EXPECT_EQ(PopAll()[0].closed, At(15s));
}

TEST_F(RollupTest, APopFindsWhatIsDueThoughNobodyHasVisitedIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  MoveTime(15s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final"));
}

TEST_F(RollupTest, WithoutLimitsAWindowIsFinalAtItsEnd) {
  Open({.windows = {10s}, .allowed_lateness = 0s});
  EXPECT_EQ(Add("a", 0s), kAdded);
  EXPECT_EQ(Add("a", 9s), kAdded);
  Advance(10s - 1us);
  EXPECT_EQ(Add("a", 10s - 2us), kLateUnknown);  // ten times no limit is no horizon
  EXPECT_EQ(Add("a", 10s - 1us), kAdded);
  EXPECT_THAT(PopAll(), IsEmpty());
  Advance(10s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 3/3 final"));
}

TEST_F(RollupTest, OnEventTimeTheWatermarkMakesWindowsFinal) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime(/*watermark_delay=*/3s));
  Add("a", 3s);
  Add("a", 18s - 1us);
  EXPECT_THAT(PopAll(), IsEmpty());
  Add("a", 18s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final"));
}

TEST_F(RollupTest, OnEventTimeAnEventBringsItsOwnTime) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime());
  Add("a", 3s);
  EXPECT_EQ(Add("b", 60s), kAdded);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final"));
  EXPECT_EQ(Add("b", 55s), kAdded);
  EXPECT_EQ(Add("b", 55s - 1us), kLate);
}

TEST_F(RollupTest, AStampAheadOfTheEnginesTimeIsOrdinary) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(Add("a", 1h), kAdded);
  EXPECT_EQ(Add("a", 0s), kAdded);
  Advance(1h + 15s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final", "a 3600-3610 1/1 final"));
}

// Which window an event belongs to.

TEST_F(RollupTest, AWindowHasItsStartAndNotItsEnd) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 0s, 1);
  Add("a", 10s - 1us, 2);
  Add("a", 10s, 4);
  Add("a", 20s - 1us, 8);
  Add("a", 20s, 16);
  Advance(100s);
  EXPECT_THAT(PopLines(),
              ElementsAre("a 0-10 3/2 final", "a 10-20 12/2 final", "a 20-30 16/1 final"));
}

TEST_F(RollupTest, WindowsBefore1970StartAtMultiplesToo) {
  const EngineTime epoch{};
  Open({.windows = {10s}, .allowed_lateness = 1h}, OnEventTime());
  for (const Duration at : {-10s - 1us, -10s + 0us, -1us, 0us, 10s + 0us}) {
    EXPECT_EQ(counter().Add("a", 1, epoch + at), kAdded);
  }
  counter().CloseAll();
  std::vector<Duration> starts;
  for (const Counted& e : PopAll()) {
    EXPECT_EQ(e.state.end - e.state.start, 10s);
    for (uint64_t i = 0; i < e.count; ++i) starts.push_back(e.state.start - epoch);
  }
  EXPECT_THAT(starts, ElementsAre(-20s, -10s, -10s, 0s, 10s));
}

// The largest multiple of `length` that is not after `t`, as plain arithmetic.
EngineTime PlainStart(EngineTime t, Duration length) {
  const Duration::rep rest = t.time_since_epoch().count() % length.count();
  return t - Duration{rest < 0 ? rest + length.count() : rest};
}

TEST_F(RollupTest, TheFirstWindowOfTimeStartsBeforeIt) {
  constexpr Duration kWeek = 7 * 24h;
  const EngineTime start = PlainStart(kBeginningOfTime, kWeek);
  ASSERT_LT(start, kBeginningOfTime);
  Open({.windows = {kWeek}, .allowed_lateness = 5s, .retention = kForever}, OnEventTime());
  EXPECT_EQ(counter().Add("a", 2, EngineTime::min()), kAdded);
  EXPECT_EQ(counter().Add("a", 3, kBeginningOfTime), kAdded);
  EXPECT_EQ(Sum("a"), 5);
  engine().Advance(start + kWeek + 5s - 1us);
  EXPECT_THAT(PopAll(), IsEmpty());
  engine().Advance(start + kWeek + 5s);
  const auto out = PopAll();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].state.start, start);
  EXPECT_EQ(out[0].state.end, start + kWeek);
  EXPECT_EQ(out[0].closed, start + kWeek + 5s);
  EXPECT_THAT(counter().History("a", EngineTime::min(), EngineTime::max()),
              ElementsAre(out[0].state));
  EXPECT_THAT(counter().History("a", kBeginningOfTime, EngineTime::max()), IsEmpty());
}

TEST_F(RollupTest, TheLastWindowOfTimeEndsWithIt) {
  for (const Duration length : {Duration{10s}, Duration{7 * 24h}}) {
    Open({.windows = {length}, .allowed_lateness = 5s}, OnEventTime());
    EXPECT_EQ(counter().Add("a", 2, EngineTime::max()), kAdded);
    EXPECT_EQ(counter().Add("a", 3, kEndOfTime), kAdded);
    EXPECT_EQ(engine().now(), kEndOfTime);
    EXPECT_EQ(counter().Add("a", 1, kEndOfTime - 5s - 1us), kLate);
    EXPECT_EQ(Sum("a"), 5);
    counter().CloseAll();
    const auto out = PopAll();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].state.start, PlainStart(kEndOfTime, length));
    EXPECT_EQ(out[0].state.end, kNever);
    EXPECT_EQ(out[0].state.amount.sum, 5);
    EXPECT_EQ(out[0].reason, Reason::kEnd);  // it would be final behind the end of time
    EXPECT_EQ(counter().Add("a", 1, kEndOfTime), kLate);  // of a window that is closed
    EXPECT_EQ(Sum("a"), 5);
  }
}

TEST_F(RollupTest, TheLongestWindowsAndLimitsWrapNothing) {
  const Duration almost_for_ever = kForever - 1us;
  Open({.windows = {almost_for_ever},
        .allowed_lateness = almost_for_ever,
        .margin = almost_for_ever,
        .deduplication_window = almost_for_ever},
       OnEventTime());
  for (const EngineTime at : {kEndOfTime, kBeginningOfTime, EngineTime{}, EngineTime{} - 1us}) {
    EXPECT_EQ(counter().Add("a", 1, at, std::to_string(at.time_since_epoch().count())), kAdded);
  }
  EXPECT_EQ(Sum("a"), 4);
  EXPECT_EQ(counter().Eventual("a")->as_of, kBeginningOfTime);
  EXPECT_THAT(PopAll(), IsEmpty());
  counter().CloseAll();
  EXPECT_EQ(PopAll().size(), 2u);  // before 1970, and from there on
  EXPECT_EQ(Sum("a"), 4);
}

// Several resolutions.

TEST_F(RollupTest, AnEventAddsToAWindowOfEachResolution) {
  Open({.windows = {10s, 20s, 100s}, .allowed_lateness = 5s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Add("a", 23s, 4);
  EXPECT_EQ(ledger().open, 6u);
  Advance(105s);
  EXPECT_THAT(PopLines(),
              ElementsAre("a 0-10 1/1 final", "a 10-20 2/1 final", "a 0-20 3/2 final",
                          "a 20-30 4/1 final", "a 20-40 4/1 final", "a 0-100 7/3 final"));
  EXPECT_EQ(Sum("a"), 7);
  EXPECT_EQ(ledger().made_final, 6u);
  EXPECT_EQ(ledger().checkpointed, 3u);
}

TEST_F(RollupTest, ACoarserWindowTakesEventsUntilItsOwnEnd) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s});
  Add("a", 3s);
  Advance(15s);
  Add("a", 12s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final"));
  Advance(25s);
  EXPECT_THAT(PopLines(), ElementsAre("a 10-20 1/1 final", "a 0-20 2/2 final"));
}

// The order of emissions.

TEST_F(RollupTest, WindowsComeOutInTheOrderOfTheirEndsThenOfTheirFirstEvents) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("late in time", 25s);
  Add("b", 5s);
  Add("a", 3s);
  Add("c", 12s);
  Add("a", 11s);
  Add("b", 1s);  // its window is there already
  Add("b", 13s);
  Advance(100s);
  EXPECT_THAT(PopLines(), ElementsAre("b 0-10 2/2 final", "a 0-10 1/1 final", "c 10-20 1/1 final",
                                      "a 10-20 1/1 final", "b 10-20 1/1 final",
                                      "late in time 20-30 1/1 final"));
}

TEST_F(RollupTest, OfOneEndTheFinerResolutionComesFirst) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s});
  Add("a", 3s);
  Add("b", 12s);
  Add("a", 13s);
  Advance(100s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final", "b 10-20 1/1 final", "a 10-20 1/1 final",
                                      "a 0-20 2/2 final", "b 0-20 1/1 final"));
}

TEST_F(RollupTest, TheOrderDoesNotDependOnWhenTimeWasMoved) {
  std::vector<std::vector<std::string>> orders;
  for (const Duration step : {Duration{1s}, Duration{7s}, Duration{1h}}) {
    Open({.windows = {10s, 50s}, .allowed_lateness = 5s});
    for (int i = 0; i < 200; ++i) {
      Add(std::string(1, static_cast<char>('a' + i * 7 % 11)), i * 13 % 101 * 1s + i * 1us, i);
    }
    for (Duration now = step; now < 1h + step; now += step) Advance(now);
    orders.push_back(PopLines());
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
}

TEST_F(RollupTest, IdsOfEmissionsCountOn) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  Add("b", 4s);
  Advance(15s);
  Add("a", 13s);
  Advance(25s);
  std::vector<uint64_t> generations;
  for (const Counted& e : PopAll()) generations.push_back(e.id.generation);
  EXPECT_THAT(generations, ElementsAre(0, 1, 2));
}

// CloseAll.

TEST_F(RollupTest, TheEndOfTheInputClosesWhatIsOpenInOrder) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s});
  Add("a", 12s);
  Add("b", 3s);
  Add("c", 25s);
  Advance(7s);
  counter().CloseAll();
  const auto out = PopAll();
  EXPECT_THAT(Lines(out), ElementsAre("b 0-10 1/1 end", "a 10-20 1/1 end", "a 0-20 1/1 end",
                                      "b 0-20 1/1 end", "c 20-30 1/1 end", "c 20-40 1/1 end"));
  for (const Counted& e : out) EXPECT_EQ(e.closed, At(7s));
  EXPECT_EQ(ledger().ended, 6u);
  EXPECT_EQ(ledger().open, 0u);
}

TEST_F(RollupTest, WhatIsDueIsFinalBeforeTheRestEnds) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 13s);
  Add("a", 3s);
  MoveTime(15s);
  counter().CloseAll();
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 1/1 final", "a 10-20 1/1 end"));
}

TEST_F(RollupTest, AfterTheEndEventsOfThoseWindowsAreLate) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s});
  Add("a", 23s);
  counter().CloseAll();
  EXPECT_EQ(Add("a", 23s), kLate);
  EXPECT_EQ(Add("b", 40s - 1us), kLate);  // the coarser window ends there, and for all keys
  EXPECT_EQ(Add("a", 40s), kAdded);
  EXPECT_EQ(Sum("a"), 2);
}

// However keys are spread over partitions.
TEST_F(RollupTest, AfterTheEndEventsOfAnyPartitionAreLate) {
  Open({.windows = {10s}, .allowed_lateness = 1h}, {.partitions = 8});
  Add("a", 3s);
  counter().CloseAll();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Add(std::to_string(i), 9s), kLate);
  EXPECT_EQ(Add("0", 10s), kAdded);
}

// Other instances may still add to theirs, so the value takes its time.
TEST_F(RollupTest, WhatHasEndedIsFinalWhenItsTimeComes) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7);
  counter().CloseAll();
  EXPECT_EQ(FinalSum("a"), 0);
  EXPECT_EQ(Sum("a"), 7);
  EXPECT_EQ(ledger().pending, 1u);
  Advance(15s - 1us);
  EXPECT_EQ(FinalSum("a"), 0);
  Advance(15s);
  EXPECT_EQ(FinalSum("a"), 7);
  EXPECT_EQ(ledger().checkpointed, 1u);
  EXPECT_EQ(ledger().ended, 1u);
  EXPECT_EQ(ledger().made_final, 0u);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 7/1 end"));  // once
}

TEST_F(RollupTest, ClosingAllOfNothingChangesNothing) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  counter().CloseAll();
  EXPECT_EQ(Add("a", 0s), kAdded);
  counter().CloseAll();
  counter().CloseAll();
  EXPECT_EQ(PopAll().size(), 1u);
}

// Options.

std::string RefusedRollup(const RollupOptions& options, int partitions = 1) {
  const auto engine = Engine::Open({.partitions = partitions}).value();
  const auto counter = RollupCounter::Open(*engine, "counter", options);
  if (counter.ok()) return "";
  EXPECT_EQ(counter.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(counter.status().message());
}

// With one option changed.
RollupOptions Fine(void (*change)(RollupOptions&) = nullptr) {
  RollupOptions options{.windows = {10s}, .allowed_lateness = 5s};
  if (change != nullptr) change(options);
  return options;
}

TEST(RollupOptionsTest, OneOutOfRangeIsRefusedByName) {
  EXPECT_EQ(RefusedRollup(Fine()), "");
  EXPECT_THAT(RefusedRollup({.windows = {10s}}), HasSubstr("allowed_lateness"));
  const auto refused = [](void (*change)(RollupOptions&)) {
    return RefusedRollup(Fine(change), 4);
  };
  EXPECT_THAT(refused([](auto& o) { o.allowed_lateness = -1us; }), HasSubstr("allowed_lateness"));
  EXPECT_THAT(refused([](auto& o) { o.allowed_lateness = kForever; }),
              HasSubstr("allowed_lateness"));
  EXPECT_THAT(refused([](auto& o) { o.margin = -1us; }), HasSubstr("margin"));
  EXPECT_THAT(refused([](auto& o) { o.margin = kForever; }), HasSubstr("margin"));
  EXPECT_THAT(refused([](auto& o) { o.deduplication_window = 5s - 1us; }),
              HasSubstr("deduplication_window"));
  EXPECT_THAT(refused([](auto& o) { o.deduplication_window = -1us; }),
              HasSubstr("deduplication_window"));
  EXPECT_THAT(refused([](auto& o) { o.deduplication_window = kForever; }),
              HasSubstr("deduplication_window"));
  EXPECT_THAT(refused([](auto& o) { o.retention = -1us; }), HasSubstr("retention"));
  EXPECT_THAT(refused([](auto& o) { o.retention = 2s, o.forget_after = 1s; }),
              HasSubstr("forget_after"));
  EXPECT_THAT(refused([](auto& o) { o.forget_after = -1us; }), HasSubstr("forget_after"));
  EXPECT_THAT(refused([](auto& o) { o.limits.max_keys = 3; }), HasSubstr("limits.max_keys"));
  EXPECT_THAT(refused([](auto& o) { o.limits.max_bytes = 3; }), HasSubstr("limits.max_bytes"));
  EXPECT_THAT(refused([](auto& o) { o.limits.max_backlog = 3; }), HasSubstr("limits.max_backlog"));
  EXPECT_THAT(refused([](auto& o) { o.leases.max_deliveries = 0; }),
              HasSubstr("leases.max_deliveries"));
}

TEST(RollupOptionsTest, WindowsThatDoNotDivideAreRefused) {
  const auto refused = [](std::vector<Duration> windows) {
    return RefusedRollup({.windows = std::move(windows), .allowed_lateness = 5s});
  };
  EXPECT_THAT(refused({}), HasSubstr("windows"));
  EXPECT_THAT(refused({0s}), HasSubstr("windows"));
  EXPECT_THAT(refused({-10s}), HasSubstr("windows"));
  EXPECT_THAT(refused({kForever}), HasSubstr("windows"));
  EXPECT_THAT(refused({10s, 15s}), HasSubstr("windows"));
  EXPECT_THAT(refused({10s, 10s}), HasSubstr("windows"));
  EXPECT_THAT(refused({20s, 10s}), HasSubstr("windows"));
  EXPECT_THAT(refused({1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s}), HasSubstr("windows"));
  EXPECT_EQ(refused({1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s}), "");  // each a multiple of the first
  EXPECT_EQ(refused({1us}), "");
}

TEST(RollupOptionsTest, ANameIsTakenOnce) {
  const auto engine = Engine::Open({}).value();
  RollupCounter counter(*engine, "counter", Fine());
  EXPECT_EQ(RollupCounter::Open(*engine, "counter", Fine()).status().code(),
            absl::StatusCode::kAlreadyExists);
  counter.Close();
  EXPECT_TRUE(RollupCounter::Open(*engine, "counter", Fine()).ok());
}

}  // namespace
}  // namespace pleat::inline v0_1
