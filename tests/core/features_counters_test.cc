// What a rollup counter does, one test a feature.
#include "tests/core/features_counters.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CounterFeatures, CountsByKeyAndWindow) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({.windows = {1min}, .allowed_lateness = 10s}, axis);
    EXPECT_EQ(Add({{"a", 1, 0s}, {"a", 3, 60s - 1us}, {"b", -5, 2s}, {"a", 1, 60s}}),
              axis == Axis::kArrival ? "added added added added" : "added added late added");
    EXPECT_EQ(Add({{"a", 10, 55s}}), "added");  // out of order, into the window of its stamp
    Advance(130s);
    const std::string a = "a [0 60) 3: 14 final 70", last = "a [60 120) 1: 1 final 130";
    if (axis == Axis::kArrival) {
      EXPECT_THAT(Pop(), ElementsAre(a, "b [0 60) 1: -5 final 70", last));
    } else {
      EXPECT_THAT(Pop(), ElementsAre(a, last));
    }
    EXPECT_EQ(Sum("a"), 15);
  }
}

TEST_F(CounterFeatures, AnEventIsLateOnlyIfItIsOlderThanTheAllowedLateness) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .margin = 5s});
  AdvanceOnly(69s);
  EXPECT_EQ(Add({{"a", 1, 59s}, {"a", 1, 59s - 1us}}), "added late");
  // The margin lets nothing in.
  AdvanceOnly(70s);
  EXPECT_EQ(Add({{"a", 1, 60s - 1us}, {"a", 1, 60s}}), "late added");
  EXPECT_THAT(Pop(), IsEmpty());
  EXPECT_EQ(ledger().late, 2u);
}

TEST_F(CounterFeatures, ABatchGivesEachEventItsAnswer) {
  Open({.windows = {1min}, .allowed_lateness = 10s}, Axis::kEvent);
  // Each is judged by the watermark that it brings.
  EXPECT_EQ(Add({{"a", 1, 0s, "1"},
                 {"a", 1, 30s, "2"},
                 {"b", 1, 20s, "1"},
                 {"a", 1, 0s, "1"},
                 {"a", 2, 30s, "2"},
                 {"b", 1, 19s, "3"}}),
            "added added added duplicate conflict late");
}

TEST_F(CounterFeatures, SumsStayAtTheEndOfTheirRangeAndSaySo) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  Add({{"a", INT64_MAX, 1s}, {"b", 1, 1s}, {"c", 0.5, 1s}, {"c", 1, 2s}});
  EXPECT_FALSE(counter().Accurate("a").amount.saturated);
  Add({{"a", 1, 2s}, {"a", -5, 3s}, {"b", Delta::Below(), 2s}});
  const Amount a = counter().Accurate("a").amount;
  EXPECT_TRUE(a.saturated);
  EXPECT_EQ(a.sum, INT64_MAX);
  EXPECT_EQ(counter().Accurate("b").amount.sum, INT64_MIN);
  const Amount c = counter().Accurate("c").amount;
  EXPECT_FALSE(c.integer);
  EXPECT_EQ(c.real, 1.5);
  Advance(70s);
  const auto emissions = counter().Pop(10);
  ASSERT_EQ(emissions.size(), 3u);
  EXPECT_TRUE(emissions[0].state.amount.saturated);
  EXPECT_EQ(emissions[0].state.amount.sum, INT64_MAX);
}

TEST_F(CounterFeatures, EventualIsWhatIsFinalAndSaysAsOfWhen) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .margin = 5s});
  EXPECT_EQ(Eventual("a"), "nothing");
  Add({{"a", 1, 0s}, {"a", 2, 61s}});
  EXPECT_EQ(Eventual("a"), "0 until -60, 60 s ago");
  AdvanceOnly(75s - 1us);
  EXPECT_EQ(Eventual("a"), "0 until 0, 74 s ago");
  AdvanceOnly(75s);  // nobody has visited the window
  EXPECT_EQ(Eventual("a"), "1 until 60, 15 s ago");
  Advance(1000s);
  EXPECT_EQ(Eventual("a"), "3 until 960, 40 s ago");
}

TEST_F(CounterFeatures, AccurateIsAllThatWasCounted) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  EXPECT_EQ(Sum("a"), 0);
  Add({{"a", 1, 0s}, {"a", 2, 61s}, {"b", 7, 0s}});
  EXPECT_EQ(Sum("a"), 3);
  AdvanceOnly(70s);
  EXPECT_EQ(Sum("a"), 3);
  EXPECT_EQ(counter().Accurate("a").checkpoint, kNoon + 60s);
  EXPECT_TRUE(counter().Accurate("a").loaded);
}

TEST_F(CounterFeatures, AddAndGetIsTheValueRightBehindItsEvent) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  EXPECT_EQ(counter().AddAndGet("a", 2, kNoon, "1").value.amount.sum, 2);
  EXPECT_EQ(counter().AddAndGet("a", 3, kNoon + 100s).value.amount.sum, 5);
  // Also of an event that changes nothing.
  const AddedCount again = counter().AddAndGet("a", 2, kNoon, "1");
  EXPECT_EQ(again.outcome, AddOutcome::kDuplicate);
  EXPECT_EQ(again.value.amount.sum, 5);
}

TEST_F(CounterFeatures, ARefReadsWhatIsFinalAndKeepsItsCounter) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .forget_after = 1min});
  EXPECT_TRUE(CounterRef().empty());
  CounterRef ref = counter().Ref("a");
  ASSERT_FALSE(ref.empty());
  Add({{"a", 4, 0s}});
  EXPECT_EQ(ref.Eventual().amount.sum, 0);
  Advance(70s);
  EXPECT_EQ(ref.Eventual().amount.sum, 4);
  EXPECT_EQ(ref.Eventual().as_of, kNoon + 60s);
  Advance(1h);
  EXPECT_EQ(counter().Accurate("a").amount.sum, 4);
  EXPECT_EQ(sides_[1].counter->Accurate("a").amount.sum, 0);  // forgotten: nobody holds it
  ref = {};
  Advance(2h);
  EXPECT_EQ(counter().Accurate("a").amount.sum, 0);
}

TEST_F(CounterFeatures, AWindowIsHandedOutAtTheInstantAtWhichItIsFinal) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .margin = 5s});
  Add({{"b", 1, 61s}, {"b", 1, 0s}, {"a", 1, 1s}});
  Advance(75s - 1us);
  EXPECT_THAT(Pop(), IsEmpty());
  Advance(1000s);  // however late anybody looks
  EXPECT_THAT(Pop(), ElementsAre("b [0 60) 1: 1 final 75", "a [0 60) 1: 1 final 75",
                                 "b [60 120) 1: 1 final 135"));
  EXPECT_THAT(Pop(), IsEmpty());
}

TEST_F(CounterFeatures, TheEngineKnowsWhenTheNextWindowIsFinal) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
  Add({{"a", 1, 1s}});
  ASSERT_TRUE(engine().NextDeadline().has_value());
  EXPECT_LE(*engine().NextDeadline(), kNoon + 70s);
}

TEST_F(CounterFeatures, AFinalWindowIsLentUntilItIsAcked) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  Add({{"a", 1, 0s}, {"a", 2, 60s}});
  Advance(130s);
  const LeaseTime start(kNoon);
  auto lent = counter().Lease(10, 30s, start);
  ASSERT_EQ(lent.size(), 1u);  // one emission of a key at a time
  EXPECT_TRUE(engine().AdvanceLeases(LeaseTime(kNoon + 30s)));
  auto again = counter().Lease(10, 30s, LeaseTime(kNoon + 30s));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, lent[0].id);
  EXPECT_EQ(again[0].state, lent[0].state);
  EXPECT_EQ(again[0].Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(counter().Lease(10, 30s, LeaseTime(kNoon + 30s)).at(0).state.amount.sum, 2);
}

TEST_F(CounterFeatures, TheEndOfTheInputClosesWhatIsOpen) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  Add({{"b", 1, 100s}, {"a", 1, 59s}, {"a", 1, 61s}});
  AdvanceOnly(75s);
  CloseAll();
  EXPECT_THAT(Pop(), ElementsAre("a [0 60) 1: 1 final 70", "b [60 120) 1: 1 end 75",
                                 "a [60 120) 1: 1 end 75"));
  EXPECT_EQ(Add({{"a", 1, 119s}, {"a", 1, 120s}}), "late added");
  EXPECT_EQ(Sum("a"), 3);
  EXPECT_EQ(Eventual("a"), "1 until 60, 15 s ago");  // it ended, and is not final yet
  AdvanceOnly(130s);
  EXPECT_EQ(Eventual("a"), "2 until 120, 10 s ago");
  const RollupLedger counts = ledger();
  EXPECT_EQ(counts.ended, 2u);
}

TEST_F(CounterFeatures, SeveralResolutionsCountOneStream) {
  Open({.windows = {1min, 3min}, .allowed_lateness = 10s, .retention = 1h});
  Add({{"a", 1, 0s}, {"a", 2, 70s}, {"a", 4, 179s}, {"a", 8, 180s}});
  Advance(190s);
  EXPECT_THAT(Pop(), ElementsAre("a [0 60) 1: 1 final 70", "a [60 120) 1: 2 final 130",
                                 "a [120 180) 1: 4 final 190", "a [0 180) 3: 7 final 190"));
  EXPECT_THAT(History("a", 0s, 1h, 3min), ElementsAre("[0 180) 7"));
  EXPECT_EQ(Sum("a"), 15);
  EXPECT_FALSE(
      RollupCounter::Open(engine(), "b", {.windows = {2min, 3min}, .allowed_lateness = 10s}).ok());
}

TEST_F(CounterFeatures, ARetryOfWhatWasCountedIsADuplicateHoweverLate) {
  Open({.windows = {1min}, .allowed_lateness = 10s});  // ten times that is the deduplication window
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}, {"a", 1, 0s, "x"}, {"b", 1, 0s, "x"}}),
            "added duplicate added");
  Advance(100s);  // its window is final long since
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}}), "duplicate");
  EXPECT_EQ(Sum("a"), 1);
}

TEST_F(CounterFeatures, AnIdWithAnotherDeltaIsAConflict) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .clears = true});
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}, {"a", 2, 0s, "x"}, {"a", 1.0, 0s, "x"}}),
            "added conflict duplicate");
  EXPECT_EQ(Clear("a", 0s, "x"), "conflict");
  EXPECT_EQ(Sum("a"), 1);
}

TEST_F(CounterFeatures, LateMeansNeverCountedAndLateUnknownThatNobodyKnows) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .deduplication_window = 50s});
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}}), "added");
  Advance(50s);
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}, {"a", 1, 0s, "y"}}), "duplicate late");
  AdvanceOnly(50s + 1us);
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}, {"a", 1, 0s, "y"}}), "late_unknown late_unknown");
  EXPECT_EQ(ledger().late, 3u);
  EXPECT_EQ(ledger().late_unknown, 2u);
  EXPECT_EQ(Sum("a"), 1);
  Advance(1h);
  EXPECT_EQ(counter().sizes().ids, 0u);
}

TEST_F(CounterFeatures, ALateEventIsClampedToTheEarliestStampThatIsNotLate) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .on_late = OnLateAdd::kClamp});
  Advance(100s);
  EXPECT_EQ(Add({{"a", 1, 0s, "x"}, {"a", 1, 0s, "x"}, {"a", 1, -1h}}),
            "clamped duplicate clamped");
  Advance(130s);
  EXPECT_THAT(Pop(), ElementsAre("a [60 120) 2: 2 final 130"));
  EXPECT_EQ(Sum("a"), 2);
}

TEST_F(CounterFeatures, ALateEventBecomesACorrectionThatNamesWhatItCorrects) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .on_late = OnLateAdd::kCorrect});
  Add({{"a", 1, 0s}});
  Advance(80s);
  EXPECT_EQ(Add({{"a", 5, 3s, "x"}, {"a", 5, 3s, "x"}, {"b", 7, 3s}}),
            "corrected duplicate corrected");
  EXPECT_THAT(Pop(), ElementsAre("a [0 60) 1: 1 final 70", "a [0 60) 1: 5 correction 80 corrects 0",
                                 "b [0 60) 1: 7 correction 80"));
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(Sum("b"), 0);
}

TEST_F(CounterFeatures, AClearCountsByItsStampAndArrival) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .clears = true});
  Add({{"a", 1, 10s}, {"a", 2, 20s}});
  EXPECT_EQ(Clear("a", 20s), "added");
  EXPECT_EQ(Sum("a"), 0);
  Add({{"a", 4, 20s}, {"a", 8, 19s}, {"a", 16, 40s}});  // of these, one is before the clear
  EXPECT_EQ(Sum("a"), 20);
  EXPECT_EQ(Clear("a", 15s), "added");  // not the newest
  EXPECT_EQ(Sum("a"), 20);
  Advance(70s);
  EXPECT_THAT(Pop(), ElementsAre("a [0 60) 5: 31 final 70"));  // windows keep all
  EXPECT_EQ(Eventual("a"), "20 until 60, 10 s ago");
  EXPECT_EQ(Clear("a", 30s), "late");
  EXPECT_EQ(ledger().clears, 2u);
}

TEST_F(CounterFeatures, HistoryKeepsWhatIsFinalForARetention) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .retention = 5min});
  Add({{"a", 1, 0s}, {"a", 2, 60s}, {"a", 4, 180s}});
  EXPECT_THAT(History("a", 0s, 1h), IsEmpty());
  Advance(130s);
  EXPECT_THAT(History("a", 0s, 1h), ElementsAre("[0 60) 1", "[60 120) 2"));
  EXPECT_THAT(History("a", 60s, 1h), ElementsAre("[60 120) 2"));
  EXPECT_THAT(History("a", 0s, 60s), ElementsAre("[0 60) 1"));
  AdvanceOnly(370s - 1us);
  EXPECT_THAT(History("a", 0s, 1h), ElementsAre("[0 60) 1", "[60 120) 2", "[180 240) 4"));
  AdvanceOnly(370s);  // a frontier of 360 s is five minutes after the end of the first one
  EXPECT_THAT(History("a", 0s, 1h), ElementsAre("[60 120) 2", "[180 240) 4"));
}

TEST_F(CounterFeatures, TopIsTheLargestOfOneWindow) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .retention = 1h});
  Add({{"a", 1, 0s}, {"b", 3, 1s}, {"c", 3, 2s}, {"d", 9, 61s}});
  EXPECT_THAT(Top(2, 30s), ElementsAre("b 3", "c 3"));
  EXPECT_THAT(Top(9, 61s), ElementsAre("d 9"));
  Advance(70s);
  EXPECT_THAT(Top(9, 59s), ElementsAre("b 3", "c 3", "a 1"));
}

TEST_F(CounterFeatures, AtALimitAnEventIsRefused) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .forget_after = 0s, .limits = {.max_keys = 1}});
  EXPECT_EQ(Add({{"a", 1, 0s}, {"b", 1, 0s}, {"a", 1, 1s}}), "added over_limit added");
  EXPECT_EQ(ledger().over_limit, 1u);
  AdvanceOnly(70s);  // the first one is due to be forgotten
  EXPECT_EQ(Add({{"b", 1, 60s}}), "added");

  Open({.windows = {1min}, .allowed_lateness = 10s, .limits = {.max_backlog = 1}});
  Add({{"a", 1, 0s}});
  Advance(70s);
  EXPECT_EQ(Add({{"a", 1, 60s}}), "over_limit");
  EXPECT_THAT(Pop(), ElementsAre("a [0 60) 1: 1 final 70"));
  EXPECT_EQ(Add({{"a", 1, 60s}}), "added");
}

TEST_F(CounterFeatures, BytesStayWithinTheirLimit) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .limits = {.max_bytes = 64 * 1024}});
  std::string id;
  size_t refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    id = std::to_string(i);
    refused += Add({{"a", 1, 0s, id}}) == "over_limit" ? 1 : 0;
    ASSERT_LE(counter().sizes().bytes, 64u * 1024);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(ledger().over_byte_limit, refused);
}

TEST_F(CounterFeatures, ACounterIsForgottenWhenNothingHasComeForLong) {
  Open({.windows = {1min}, .allowed_lateness = 10s, .forget_after = 1h});
  Add({{"a", 1, 0s}});
  AdvanceOnly(60s + 10s + 1h - 1us);
  EXPECT_EQ(Sum("a"), 1);
  AdvanceOnly(60s + 10s + 1h);
  EXPECT_EQ(Sum("a"), 0);
  EXPECT_EQ(Eventual("a"), "nothing");
  Add({{"a", 5, 1h + 60s}});
  EXPECT_EQ(Sum("a"), 5);
  EXPECT_EQ(ledger().forgotten, 1u);
}

TEST_F(CounterFeatures, OpenNamesTheOptionThatIsOutOfRange) {
  Open({.windows = {1min}, .allowed_lateness = 10s});
  const auto says = [&](const RollupOptions& options) {
    return std::string(RollupCounter::Open(engine(), "other", options).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(says({.windows = {}, .allowed_lateness = 10s}), HasSubstr("windows"));
  EXPECT_THAT(says({.windows = {0s}, .allowed_lateness = 10s}), HasSubstr("windows"));
  EXPECT_THAT(says({.windows = {1min}}), HasSubstr("allowed_lateness"));
  EXPECT_THAT(says({.windows = {1min}, .allowed_lateness = 10s, .margin = -1s}),
              HasSubstr("margin"));
  EXPECT_THAT(says({.windows = {1min}, .allowed_lateness = 10s, .deduplication_window = 9s}),
              HasSubstr("deduplication_window"));
  EXPECT_THAT(
      says({.windows = {1min}, .allowed_lateness = 10s, .retention = 2h, .forget_after = 1h}),
      HasSubstr("forget_after"));
  EXPECT_THAT(says({.windows = {1min}, .allowed_lateness = 10s, .limits = {.max_keys = 0}}),
              HasSubstr("limits.max_keys"));
}

}  // namespace
}  // namespace pleat
