// What a counter comes to: Accurate, Eventual, AddAndGet, History, Top and CounterRef, with clears,
// numbers of all kinds, retention and forgetting: one story a rule of docs/counters.md.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"
#include "tests/support/allocations.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum AddOutcome;

class RollupValues : public RollupTest {
 protected:
  std::vector<std::string> History(Duration from, Duration to, Duration window = {}) const {
    std::vector<std::string> lines;
    for (const CountedWindow& w : counter().History("a", At(from), At(to), window)) {
      lines.push_back(Show(w));
    }
    return lines;
  }
  std::vector<std::string> Top(size_t n, Duration at, Duration window = {}) const {
    std::vector<std::string> lines;
    for (const TopCount& top : counter().Top(n, At(at), window)) {
      lines.push_back(top.key + " " + std::to_string(top.amount.sum));
    }
    return lines;
  }
};

// Open windows.

// On event time nobody has visited the partitions of the first events when the last one comes.
TEST_F(RollupValues, AScanSeesNoWindowThatIsOver) {
  EngineOptions options = OnEventTime();
  options.partitions = 8;
  Open({.windows = {10s}, .allowed_lateness = 5s}, options);
  for (int i = 0; i < 8; ++i) Add(std::to_string(i), 3s);
  Add("last", 1h);
  std::vector<std::string> open;
  counter().ScanOpen([&](std::string_view key, const CountedWindow& window) {
    open.push_back(std::string(key) + " " + Show(window));
  });
  EXPECT_THAT(open, ElementsAre("last 3600-3610 1/1"));
}

// With clears an open window keeps its events, a final one its amount.
TEST_F(RollupValues, TheEventsOfAFinalWindowTakeNoBytes) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .retention = 1h, .clears = true});
  Clear("a", 1s);
  for (int i = 0; i < 1000; ++i) Add("a", 3s, 1);
  const size_t open = sizes().bytes;
  Advance(15s);
  EXPECT_LT(sizes().bytes, open - 1000 * 24);
  EXPECT_EQ(FinalSum("a"), 1000);
  EXPECT_THAT(History(0s, 10s), ElementsAre("0-10 1000/1000"));
}

// Accurate and Eventual.

TEST_F(RollupValues, AValueIsTheSumOfAllWindows) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Add("a", 1h, 4);
  Add("b", 3s, 8);
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 3, .sum = 7, .real = 7}));
  EXPECT_TRUE(Accurate("a").loaded);
  Advance(15s);
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 3, .sum = 7, .real = 7}));
  EXPECT_EQ(Accurate("a").checkpoint, At(10s));
  Advance(2h);
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 3, .sum = 7, .real = 7}));
}

TEST_F(RollupValues, ACounterThatIsNotThereIsZero) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(Accurate("a").amount, Amount{});
  EXPECT_EQ(counter().Eventual("a"), std::nullopt);
}

TEST_F(RollupValues, TheFinalPartTrailsByTheLimits) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .margin = 2s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Advance(17s - 1us);
  EXPECT_EQ(counter().Eventual("a")->amount, Amount{});
  EXPECT_EQ(counter().Eventual("a")->as_of, At(0s));
  EXPECT_EQ(counter().Eventual("a")->lag, 17s - 1us);
  Advance(17s);
  EXPECT_EQ(counter().Eventual("a")->amount, (Amount{.count = 1, .sum = 1, .real = 1}));
  EXPECT_EQ(counter().Eventual("a")->as_of, At(10s));
  EXPECT_EQ(counter().Eventual("a")->lag, 7s);
  Advance(28s);
  EXPECT_EQ(counter().Eventual("a")->amount, (Amount{.count = 2, .sum = 3, .real = 3}));
  EXPECT_EQ(counter().Eventual("a")->as_of, At(20s));
  EXPECT_EQ(counter().Eventual("a")->lag, 8s);
}

TEST_F(RollupValues, TheFinalPartIsThatOfNowThoughNobodyHasVisitedIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  MoveTime(15s);
  EXPECT_EQ(counter().Eventual("a")->amount.sum, 1);
  EXPECT_EQ(counter().Eventual("a")->as_of, At(10s));
  EXPECT_EQ(Accurate("a").checkpoint, At(10s));
  EXPECT_EQ(Sum("a"), 3);
}

TEST_F(RollupValues, BeforeThereWasAnyTimeNothingIsFinal) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime());
  EXPECT_EQ(Accurate("a").checkpoint, kBeginningOfTime);
  counter().Add("a", 1, kBeginningOfTime);
  EXPECT_EQ(counter().Eventual("a")->as_of, kBeginningOfTime);
  EXPECT_EQ(counter().Eventual("a")->lag, 0s);
  EXPECT_EQ(Sum("a"), 1);
}

TEST_F(RollupValues, ValuesOfSeveralResolutionsAreThoseOfTheFinest) {
  Open({.windows = {10s, 100s}, .allowed_lateness = 5s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Advance(15s);
  EXPECT_EQ(FinalSum("a"), 1);
  EXPECT_EQ(Sum("a"), 3);
  Advance(1h);
  EXPECT_EQ(FinalSum("a"), 3);
  EXPECT_EQ(Sum("a"), 3);
}

// AddAndGet.

TEST_F(RollupValues, AddingAnswersWhatTheCounterComesTo) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 1);
  Advance(15s);
  const AddedCount added = counter().AddAndGet("a", 2, At(16s), "id");
  EXPECT_EQ(added.outcome, kAdded);
  EXPECT_EQ(added.value.amount, (Amount{.count = 2, .sum = 3, .real = 3}));
  EXPECT_EQ(added.value.checkpoint, At(10s));
  EXPECT_TRUE(added.value.loaded);
}

TEST_F(RollupValues, WhateverTheOutcomeTheValueIsThatOfTheEventsPlace) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_keys = 1}});
  Add("a", 3s, 1, "id");
  Advance(15s);
  for (const auto& [at, delta, id, outcome] :
       std::vector<std::tuple<Duration, int, const char*, AddOutcome>>{
           {3s, 1, "id", kDuplicate}, {3s, 2, "id", kConflict}, {3s, 1, "other", kLate}}) {
    const AddedCount added = counter().AddAndGet("a", delta, At(at), id);
    EXPECT_EQ(added.outcome, outcome);
    EXPECT_EQ(added.value.amount.sum, 1);
  }
  const AddedCount refused = counter().AddAndGet("b", 1, At(15s));
  EXPECT_EQ(refused.outcome, kOverLimit);
  EXPECT_EQ(refused.value.amount, Amount{});
}

TEST_F(RollupValues, OnEventTimeTheValueIsFinalByTheEventItself) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, OnEventTime());
  Add("a", 3s, 1);
  const AddedCount added = counter().AddAndGet("a", 2, At(16s));
  EXPECT_EQ(added.value.amount.sum, 3);
  EXPECT_EQ(added.value.checkpoint, At(10s));
}

// Clears.

TEST_F(RollupValues, AClearForgetsWhatCameBefore) {
  Open({.windows = {10s}, .allowed_lateness = 60s, .clears = true});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  EXPECT_EQ(Clear("a", 14s), kAdded);
  EXPECT_EQ(Accurate("a").amount, Amount{});
  Add("a", 15s, 4);
  Add("a", 12s, 8);  // before the clear, by its stamp
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 1, .sum = 4, .real = 4}));
  EXPECT_EQ(ledger().clears, 1u);
  EXPECT_EQ(ledger().added, 5u);
}

TEST_F(RollupValues, WithTheStampOfAClearTheArrivalDecides) {
  Open({.windows = {10s}, .allowed_lateness = 60s, .clears = true});
  Add("a", 3s, 1);
  Clear("a", 3s);
  Add("a", 3s, 2);
  EXPECT_EQ(Sum("a"), 2);
}

TEST_F(RollupValues, AnOlderClearThatComesLaterChangesNothing) {
  Open({.windows = {10s}, .allowed_lateness = 60s, .clears = true});
  Add("a", 3s, 1);
  Clear("a", 5s);
  Add("a", 7s, 2);
  EXPECT_EQ(Clear("a", 4s), kAdded);
  EXPECT_EQ(Sum("a"), 2);
  Clear("a", 7s);
  EXPECT_EQ(Sum("a"), 0);
}

TEST_F(RollupValues, AClearMayComeAfterEventsThatItDoesNotCover) {
  Open({.windows = {10s}, .allowed_lateness = 60s, .clears = true});
  Add("a", 3s, 1);
  Add("a", 23s, 2);
  Add("a", 33s, 4);
  Clear("a", 20s);
  EXPECT_EQ(Sum("a"), 6);
  Clear("a", 23s);
  EXPECT_EQ(Sum("a"), 4);
}

TEST_F(RollupValues, WindowsKeepWhatAClearForgets) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 3s, 1);
  Clear("a", 4s);
  Add("a", 5s, 2);
  Advance(15s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 3/2 final"));
  EXPECT_EQ(Sum("a"), 2);
  EXPECT_EQ(FinalSum("a"), 2);
}

TEST_F(RollupValues, AClearForgetsFinalWindowsToo) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 3s, 1);
  Advance(15s);
  EXPECT_EQ(FinalSum("a"), 1);
  Clear("a", 13s);
  Add("a", 14s, 2);
  EXPECT_EQ(Sum("a"), 2);
  EXPECT_EQ(FinalSum("a"), 1);  // as of the end of the first window there was no clear
  Advance(25s);
  EXPECT_EQ(FinalSum("a"), 2);
}

TEST_F(RollupValues, AClearOpensItsWindow) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  EXPECT_EQ(Clear("a", 3s), kAdded);
  EXPECT_EQ(sizes().keys, 1u);
  EXPECT_EQ(ledger().open, 1u);
  EXPECT_NE(counter().Eventual("a"), std::nullopt);
  Advance(15s);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 0/0 final"));
}

TEST_F(RollupValues, WithClearsEventsTakeRoomUntilTheirWindowIsFinal) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 3s, 1);
  const size_t one = sizes().bytes;
  for (int i = 0; i < 100; ++i) Add("a", 3s, 1);
  EXPECT_GE(sizes().bytes, one + 100 * 24);
  Advance(15s);
  (void)PopAll();
  EXPECT_LE(sizes().bytes, one);
}

// Numbers.

TEST_F(RollupValues, IntegersAreExactAndSaturate) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, INT64_MAX - 1);
  Add("a", 3s, 1);
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MAX);
  EXPECT_FALSE(Accurate("a").amount.saturated);
  Add("a", 3s, 1);
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MAX);
  EXPECT_TRUE(Accurate("a").amount.saturated);
  Add("a", 3s, -5);  // what has left its type stays there
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MAX);
  Advance(15s);
  const auto out = PopAll();
  EXPECT_TRUE(out[0].state.amount.saturated);
  EXPECT_EQ(out[0].state.amount.sum, INT64_MAX);
  EXPECT_TRUE(counter().Eventual("a")->amount.saturated);
}

TEST_F(RollupValues, SumsOfWindowsSaturateToo) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, INT64_MIN);
  Add("a", 13s, -1);
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MIN);
  EXPECT_TRUE(Accurate("a").amount.saturated);
  Advance(1h);
  for (const Counted& e : PopAll()) EXPECT_FALSE(e.state.amount.saturated);
  EXPECT_TRUE(counter().Eventual("a")->amount.saturated);
}

// Of the final window and two open ones, the second leaves the type; the third would lead back.
TEST_F(RollupValues, AValueSaturatesInTheOrderOfItsWindows) {
  Open({.windows = {10s}, .allowed_lateness = 30s});
  Add("a", 3s, INT64_MAX - 10);
  Advance(45s);
  Add("a", 16s, 20);
  Add("a", 26s, -20);
  Add("a", 36s, 1);
  EXPECT_EQ(FinalSum("a"), INT64_MAX - 10);
  EXPECT_TRUE(Accurate("a").amount.saturated);
  Advance(1h);
  EXPECT_EQ(Accurate("a").amount, counter().Eventual("a")->amount);
}

TEST_F(RollupValues, ANumberBeyond64BitsSaturates) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, Delta::Above());
  Add("b", 3s, Delta::Below());
  Add("c", 3s, UINT64_MAX);
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MAX);
  EXPECT_EQ(Accurate("b").amount.sum, INT64_MIN);
  EXPECT_EQ(Accurate("c").amount.sum, INT64_MAX);
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(Accurate(key).amount.saturated);
    EXPECT_TRUE(Accurate(key).amount.integer);
  }
}

// A. Neumaier's compensated sum, as plainly as it can be written.
double PlainNeumaier(const std::vector<double>& numbers) {
  double sum = 0;
  double lost = 0;
  for (const double x : numbers) {
    const double total = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - total) + x : (x - total) + sum;
    sum = total;
  }
  return sum + lost;
}

TEST_F(RollupValues, OtherNumbersAreSummedWithCompensation) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  std::vector<double> numbers = {1e16, 1.0, -1e16, 0.1, 1e-30, 3e300, -3e300, 0.7};
  for (int i = 0; i < 1000; ++i) numbers.push_back(std::ldexp(i * 0.1, i % 60 - 30));
  for (const double x : numbers) Add("a", 3s, x);
  const Amount amount = Accurate("a").amount;
  EXPECT_EQ(amount.real, PlainNeumaier(numbers));
  EXPECT_FALSE(amount.integer);
  EXPECT_FALSE(amount.saturated);
  EXPECT_EQ(amount.count, numbers.size());
  Advance(15s);
  EXPECT_EQ(PopAll()[0].state.amount, amount);
  EXPECT_EQ(counter().Eventual("a")->amount, amount);
}

TEST_F(RollupValues, IntegersAndOtherNumbersAddUp) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 2);
  Add("a", 4s, 0.75);
  const Amount amount = Accurate("a").amount;
  EXPECT_EQ(amount.real, 2.75);
  EXPECT_EQ(amount.sum, 3);  // the nearest integer
  EXPECT_FALSE(amount.integer);
  Add("a", 13s, 0.5);
  EXPECT_EQ(Accurate("a").amount.real, 3.25);
}

TEST_F(RollupValues, NumbersBeyondDoublesStayAtTheirEnd) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  const double most = std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {most, most, -most}) Add("a", 3s, x);
  Add("b", 3s, -infinity);
  Add("c", 3s, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Accurate("a").amount.real, most);
  EXPECT_EQ(Accurate("a").amount.sum, INT64_MAX);
  EXPECT_TRUE(Accurate("a").amount.saturated);
  EXPECT_EQ(Accurate("b").amount.real, -most);
  EXPECT_EQ(Accurate("b").amount.sum, INT64_MIN);
  EXPECT_EQ(Accurate("c").amount.real, 0);
  EXPECT_EQ(Accurate("c").amount.count, 1u);
  EXPECT_FALSE(Accurate("c").amount.saturated);
}

// History and Top.

TEST_F(RollupValues, HistoryHasFinalWindowsAsLongAsTheyAreKept) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .retention = 30s});
  for (int i = 0; i < 5; ++i) Add("a", i * 10s, i);
  EXPECT_THAT(History(0s, 1h), IsEmpty());
  Advance(35s);
  EXPECT_THAT(History(0s, 1h), ElementsAre("0-10 0/1", "10-20 1/1", "20-30 2/1"));
  EXPECT_THAT(History(10s, 20s), ElementsAre("10-20 1/1"));
  EXPECT_THAT(History(1us, 20s + 1us), ElementsAre("10-20 1/1", "20-30 2/1"));
  EXPECT_THAT(History(20s, 10s), IsEmpty());
  Advance(45s - 1us);
  EXPECT_EQ(History(0s, 1h).size(), 3u);
  Advance(45s);
  EXPECT_THAT(History(0s, 1h), ElementsAre("10-20 1/1", "20-30 2/1", "30-40 3/1"));
  EXPECT_EQ(sizes().retained, 3u);
  Advance(1h);
  EXPECT_THAT(History(0s, 1h), IsEmpty());
  EXPECT_EQ(sizes().retained, 0u);
}

TEST_F(RollupValues, HistoryIsThatOfNowThoughNobodyHasVisitedIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .retention = 30s});
  Add("a", 3s);
  MoveTime(15s);
  EXPECT_THAT(History(0s, 1h), ElementsAre("0-10 1/1"));
  MoveTime(45s);
  EXPECT_THAT(History(0s, 1h), IsEmpty());
}

TEST_F(RollupValues, WithoutRetentionThereIsNoHistory) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  Advance(15s);
  EXPECT_THAT(History(0s, 1h), IsEmpty());
  EXPECT_EQ(sizes().retained, 0u);
}

TEST_F(RollupValues, HistoryIsOfOneResolution) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s, .retention = 1h});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Advance(25s);
  EXPECT_THAT(History(0s, 1h), ElementsAre("0-10 1/1", "10-20 2/1"));
  EXPECT_THAT(History(0s, 1h, 10s), ElementsAre("0-10 1/1", "10-20 2/1"));
  EXPECT_THAT(History(0s, 1h, 20s), ElementsAre("0-20 3/2"));
  EXPECT_THAT(History(0s, 1h, 30s), IsEmpty());
}

TEST_F(RollupValues, TopHasTheLargestSumsOfAWindow) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s, .retention = 30s});
  Add("b", 3s, 7);
  Add("a", 9s, 7);
  Add("c", 4s, 9);
  Add("d", 5s, -1);
  Add("d", 13s, 100);
  EXPECT_THAT(Top(3, 6s), ElementsAre("c 9", "a 7", "b 7"));
  EXPECT_THAT(Top(9, 0s), ElementsAre("c 9", "a 7", "b 7", "d -1"));
  EXPECT_THAT(Top(9, 10s), ElementsAre("d 100"));
  EXPECT_THAT(Top(2, 6s, 20s), ElementsAre("d 99", "c 9"));
  EXPECT_THAT(Top(0, 6s), IsEmpty());
  EXPECT_THAT(Top(9, 20s), IsEmpty());
  EXPECT_THAT(Top(9, 6s, 30s), IsEmpty());
  Advance(45s - 1us);
  EXPECT_THAT(Top(1, 6s), ElementsAre("c 9"));  // final, and kept
  Advance(45s);
  EXPECT_THAT(Top(1, 6s), IsEmpty());
}

TEST_F(RollupValues, TopIsOverAllPartitions) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, {.partitions = 7});
  for (int i = 0; i < 50; ++i) Add("key " + std::to_string(i), 3s, i);
  EXPECT_THAT(Top(3, 3s), ElementsAre("key 49 49", "key 48 48", "key 47 47"));
}

// Forgetting.

TEST_F(RollupValues, ACounterIsForgottenWhenItsNewestWindowHasBeenFinalForSoLong) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 30s});
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Advance(55s - 1us);
  EXPECT_EQ(Sum("a"), 3);
  Advance(55s);
  EXPECT_EQ(Sum("a"), 0);
  EXPECT_EQ(counter().Eventual("a"), std::nullopt);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(ledger().forgotten, 1u);
  EXPECT_EQ(Add("a", 55s, 4), kAdded);  // begins at zero
  EXPECT_EQ(Sum("a"), 4);
  EXPECT_EQ(ledger().keys_opened, 2u);
}

TEST_F(RollupValues, ACounterIsGoneAtItsInstantThoughNobodyHasVisitedIt) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 30s});
  Add("a", 3s, 1);
  MoveTime(45s);
  EXPECT_EQ(counter().Eventual("a"), std::nullopt);
  EXPECT_EQ(Sum("a"), 0);
  EXPECT_EQ(counter().AddAndGet("a", 4, At(45s)).value.amount.sum, 4);
}

TEST_F(RollupValues, WhatIsForgottenLeavesNothingBehind) {
  Open({.windows = {10s, 20s}, .allowed_lateness = 5s, .retention = 10s, .forget_after = 10s});
  for (int i = 0; i < 100; ++i) Add(std::to_string(i), 3s, 1, "id");
  Advance(1h);
  (void)PopAll();
  EXPECT_EQ(sizes(), RollupSizes{});
  EXPECT_EQ(ledger().forgotten, 100u);
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
}

TEST_F(RollupValues, AReferenceKeepsItsCounter) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 0s});
  Add("a", 3s, 1);
  CounterRef ref = counter().Ref("a");
  CounterRef copy = ref;
  Advance(1h);
  EXPECT_EQ(Sum("a"), 1);
  ref = {};
  Advance(2h);
  EXPECT_EQ(Sum("a"), 1);
  copy = {};
  EXPECT_EQ(Sum("a"), 0);  // its key is asked for
  Advance(3h);
  EXPECT_EQ(ledger().forgotten, 1u);
  EXPECT_EQ(sizes().keys, 0u);
}

TEST_F(RollupValues, WithoutAReferenceTimeForgetsTheCounterThatWasKept) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 0s});
  Add("a", 3s, 1);
  CounterRef ref = counter().Ref("a");
  Advance(1h);
  EXPECT_EQ(sizes().keys, 1u);
  ref = {};
  Advance(2h);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(ledger().forgotten, 1u);
}

// References.

TEST_F(RollupValues, AReferenceReadsTheFinalPart) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .clears = true});
  Add("a", 3s, 1);
  const CounterRef ref = counter().Ref("a");
  ASSERT_FALSE(ref.empty());
  EXPECT_EQ(ref.Eventual().amount, Amount{});
  Advance(15s);
  EXPECT_EQ(ref.Eventual().amount, (Amount{.count = 1, .sum = 1, .real = 1}));
  EXPECT_EQ(ref.Eventual().as_of, At(10s));
  EXPECT_EQ(ref.Eventual().lag, 5s);
  Clear("a", 13s);
  Add("a", 14s, 0.5);
  EXPECT_EQ(ref.Eventual().amount.sum, 1);
  Advance(25s);
  EXPECT_EQ(ref.Eventual().amount, counter().Eventual("a")->amount);
  EXPECT_EQ(ref.Eventual().amount.real, 0.5);
  EXPECT_EQ(ref.Eventual().as_of, At(20s));
}

TEST_F(RollupValues, AReferenceMakesItsCounter) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_TRUE(CounterRef().empty());
  const CounterRef ref = counter().Ref("a");
  ASSERT_FALSE(ref.empty());
  EXPECT_EQ(sizes().keys, 1u);
  EXPECT_EQ(ledger().keys_opened, 1u);
  EXPECT_EQ(ledger().windows, 0u);
  EXPECT_EQ(ref.Eventual().amount, Amount{});
  Add("a", 3s, 4);
  EXPECT_EQ(ledger().keys_opened, 1u);
  Advance(15s);
  EXPECT_EQ(ref.Eventual().amount.sum, 4);
}

TEST_F(RollupValues, AReferenceOutlivesTheEngine) {
  std::optional<CounterRef> ref;
  {
    auto engine = Engine::Open({.partitions = 1}).value();
    RollupCounter plays(*engine, "plays", {.windows = {10s}, .allowed_lateness = 5s});
    engine->Advance(kT0);
    plays.Add("a", 3, kT0);
    ref = plays.Ref("a");
    engine->Advance(kT0 + 15s);
  }
  EXPECT_EQ(ref->Eventual().amount.sum, 3);
  EXPECT_EQ(ref->Eventual().as_of, kT0 + 10s);
}

// What adding and reading cost.

TEST_F(RollupValues, AddingToAnOpenWindowAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations cannot be counted here";
  Open({.windows = {10s, 100s}, .allowed_lateness = 5s}, {.partitions = 4});
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key " + std::to_string(i));
  for (const std::string& key : keys) Add(key, 3s);
  const CounterRef ref = counter().Ref(keys[0]);
  const size_t before = AllocationCount();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(Add(keys[i * 7 % keys.size()], 4s, round), kAdded);
    }
    EXPECT_EQ(counter().AddAndGet(keys[0], 1, At(5s)).outcome, kAdded);
    EXPECT_EQ(ref.Eventual().amount.count, 0u);
    EXPECT_EQ(counter().Eventual(keys[1])->amount.count, 0u);
  }
  EXPECT_EQ(AllocationCount(), before);
}

}  // namespace
}  // namespace pleat::inline v0_1
