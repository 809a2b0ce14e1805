// The model against semantics.md, feature by feature: small stories whose numbers were worked out by
// hand from the sentences there, so that model and engine cannot agree on something that nobody wrote.
//
// An emission is written as "key [events] reason @closed #revision"; time is in seconds.
#include "tests/model/fold_model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr EngineOptions kArrivalTime{.axis = Axis::kArrival};
constexpr EngineOptions kEventTime{.axis = Axis::kEvent};

Duration Seconds(int64_t n) { return std::chrono::seconds(n); }
EngineTime Second(int64_t n) { return FromUnix(Seconds(n)); }

FolderOptions Quiet(int64_t seconds) {
  return {.quiet_period = Seconds(seconds), .max_hold = kForever};
}

std::string Line(const ModelGroup& emission) {
  std::string events;
  for (const uint64_t event : emission.events) {
    events += (events.empty() ? "" : " ") + std::to_string(event);
  }
  const auto closed = (emission.closed - Second(0)) / Seconds(1);
  return emission.key + " [" + events + "] " + std::string(ReasonName(emission.reason)) + " @" +
         std::to_string(closed) + " #" + std::to_string(emission.revision);
}

std::vector<std::string> PopAll(FoldModel& model) {
  std::vector<std::string> lines;
  for (const ModelGroup& emission : model.Pop(SIZE_MAX)) lines.push_back(Line(emission));
  EXPECT_TRUE(model.ledger().Balances());
  return lines;
}

// Marks, conditions, caps, quiet periods of the events' own.

TEST(FoldModel, EventWithAnEndMarkIsTheLastOfItsGroup) {
  FoldModel model(kArrivalTime, Quiet(60));
  model.Advance(Second(5));
  model.Fold("a", 1, Second(5));
  EXPECT_EQ(model.Fold("a", 2, Second(7), {.ends = true}), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("a", 3, Second(8)), FoldOutcome::kOpened);
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 2] end_mark @5 #1"));
}

TEST(FoldModel, EventWithAStartMarkIsTheFirstOfItsGroup) {
  FoldModel model(kEventTime, Quiet(60));
  model.Fold("a", 1, Second(5), {.starts = true});
  EXPECT_EQ(model.Fold("a", 2, Second(7), {.starts = true}), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 3, Second(8), {.starts = true, .ends = true}), FoldOutcome::kOpened);
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] start_mark @7 #1", "a [2] start_mark @8 #1",
                                         "a [3] end_mark @8 #1"));
}

TEST(FoldModel, OfSeveralReasonsTheFirstInTheListCloses) {
  FolderOptions options = Quiet(60);
  options.max_events = 2;
  options.max_group_bytes = 10;
  ModelRules rules;
  rules.condition = [](const std::vector<uint64_t>& events) { return events.back() >= 100; };
  rules.weight = [](const std::vector<uint64_t>& events) { return events.back() % 100; };
  FoldModel model(kEventTime, options, rules);
  model.Fold("a", 1, Second(0));
  model.Fold("a", 110, Second(1), {.ends = true});
  model.Fold("b", 1, Second(1));
  model.Fold("b", 110, Second(1));
  model.Fold("c", 1, Second(1));
  model.Fold("c", 10, Second(1));
  model.Fold("d", 10, Second(1));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 110] end_mark @1 #1", "b [1 110] condition @1 #1",
                                         "c [1 10] max_events @1 #1", "d [10] max_bytes @1 #1"));
}

TEST(FoldModel, GroupOpenedOverdueClosesForItsMarkFirst) {
  FoldModel model(kEventTime, Quiet(60));
  model.Fold("now", 1, Second(1000));
  model.Fold("old", 2, Second(5), {.ends = true});
  model.Fold("old", 3, Second(6));
  EXPECT_THAT(PopAll(model), ElementsAre("old [2] end_mark @1000 #1", "old [3] quiet @66 #1"));
}

TEST(FoldModel, NoEventMakesADeadlineEarlier) {
  FoldModel model(kArrivalTime, Quiet(60));
  model.Fold("a", 1, Second(0), {.quiet_period = Seconds(300)});
  model.Fold("a", 2, Second(10), {.quiet_period = Seconds(5)});
  model.Fold("b", 3, Second(10), {.quiet_period = Seconds(5)});
  EXPECT_EQ(model.FirstDue(), Second(15));
  model.Advance(Second(299));
  EXPECT_THAT(PopAll(model), ElementsAre("b [3] quiet @15 #1"));
  model.Advance(Second(300));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 2] quiet @300 #1"));
}

TEST(FoldModel, OnArrivalTimeAnEventMoreThanMaxHoldBeforeTheOpenerOpensTheNext) {
  FolderOptions options = Quiet(60);
  options.max_hold = Seconds(100);
  FoldModel model(kArrivalTime, options);
  model.Advance(Second(10));
  EXPECT_EQ(model.Fold("a", 1, Second(200)), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 2, Second(100)), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("a", 3, Second(99)), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 4, Second(98)), FoldOutcome::kFolded);
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 2] max_hold @10 #1"));
}

TEST(FoldModel, OnEventTimeNoEventIsTooOldForItsGroup) {
  FolderOptions options = Quiet(60);
  options.max_hold = Seconds(100);
  FoldModel model(kEventTime, options);
  EXPECT_EQ(model.Fold("a", 1, Second(200)), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 2, Second(1)), FoldOutcome::kFolded);
}

// Edges.

TEST(FoldModel, LeadingEdgeHandsOutTheFirstEventAndHoldsBackTheRest) {
  FolderOptions options = Quiet(60);
  options.edge = Edge::kLeading;
  FoldModel model(kEventTime, options);
  model.Fold("a", 1, Second(0));
  model.Fold("a", 2, Second(30));
  model.Fold("a", 3, Second(90));  // at its deadline, so it opens the next
  const std::vector<ModelGroup> emissions = model.Pop(9);
  ASSERT_EQ(emissions.size(), 2u);
  EXPECT_EQ(Line(emissions[0]), "a [1] leading @0 #1");
  EXPECT_TRUE(emissions[0].partial);
  EXPECT_EQ(Line(emissions[1]), "a [3] leading @90 #1");
  EXPECT_EQ(model.ledger().closed, 1u);
  EXPECT_EQ(model.ledger().silent, 1u);
  EXPECT_EQ(model.ledger().partial, 2u);
}

TEST(FoldModel, BothEdgesSayNothingTwice) {
  FolderOptions options = Quiet(60);
  options.edge = Edge::kBoth;
  FoldModel model(kEventTime, options);
  model.Fold("once", 1, Second(0));
  model.Fold("twice", 2, Second(0));
  model.Fold("twice", 3, Second(1));
  model.Advance(Second(100));
  EXPECT_THAT(PopAll(model), ElementsAre("once [1] leading @0 #1", "twice [2] leading @0 #1",
                                         "twice [2 3] quiet @61 #2"));
  EXPECT_EQ(model.ledger().silent, 1u);
}

// Partials.

FolderOptions PartialsEvery(int64_t seconds) {
  FolderOptions options = Quiet(60);
  options.partial_every = Seconds(seconds);
  return options;
}

TEST(FoldModel, PartialsComeOnTheGridOfTheirGroupIfThereIsNews) {
  FoldModel model(kArrivalTime, PartialsEvery(20));
  model.Advance(Second(3));
  model.Fold("a", 1, Second(3));  // grid: 23, 43, 63; deadline 63
  EXPECT_EQ(model.FirstDue(), Second(23));
  model.Advance(Second(44));  // 43 passes without a trace
  EXPECT_EQ(model.FirstDue(), Second(63));
  model.Fold("a", 2, Second(45));  // deadline 105: 63 is on the grid now, and 83, 103
  EXPECT_EQ(model.FirstDue(), Second(63));
  model.Advance(Second(200));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] partial @23 #1", "a [1 2] partial @63 #2",
                                         "a [1 2] quiet @105 #3"));
  EXPECT_EQ(model.ledger().partial, 2u);
}

TEST(FoldModel, DeadlineOnTheGridClosesWithoutAPartial) {
  FoldModel model(kArrivalTime, PartialsEvery(60));
  model.Fold("a", 1, Second(0));
  model.Advance(Second(60));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] quiet @60 #1"));
}

TEST(FoldModel, OpeningEventThatWasHandedOutIsNoNews) {
  FolderOptions options = PartialsEvery(20);
  options.edge = Edge::kBoth;
  FoldModel model(kArrivalTime, options);
  model.Fold("a", 1, Second(0));
  model.Advance(Second(30));
  model.Fold("a", 2, Second(30));
  model.Advance(Second(90));
  EXPECT_EQ(PopAll(model).at(1), "a [1 2] partial @40 #2");
}

TEST(FoldModel, OnArrivalTimeAnEventComesAfterTheGridInstantsBeforeItsStamp) {
  FoldModel model(kArrivalTime, PartialsEvery(20));
  model.Fold("a", 1, Second(0));
  model.Fold("a", 2, Second(50));  // after 20, which has news, and 40, which has none
  model.Fold("a", 3, Second(10));  // time stands still, so it joins; the past of event 2 is cut off
  EXPECT_THAT(PopAll(model), IsEmpty());
  model.Advance(Second(60));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] partial @20 #1", "a [1 2 3] partial @60 #2"));
}

TEST(FoldModel, OvertakenGroupHasItsPartialsToo) {
  FoldModel model(kArrivalTime, PartialsEvery(20));
  model.Fold("a", 1, Second(0));
  EXPECT_EQ(model.Fold("a", 2, Second(60)), FoldOutcome::kOpened);
  model.Advance(Second(60));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] partial @20 #1", "a [1] quiet @60 #2"));
}

TEST(FoldModel, OnEventTimeOnlyTheWatermarkReachesTheGrid) {
  FoldModel model({.axis = Axis::kEvent, .lateness = Seconds(30)}, PartialsEvery(20));
  model.Fold("a", 1, Second(0));
  model.Fold("a", 2, Second(45));  // watermark 15
  model.Fold("a", 3, Second(51));  // watermark 21
  model.CloseAll();
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 2] partial @20 #1", "a [1 2 3] end @21 #2"));
}

TEST(FoldModel, GridInstantsBeforeTheGroupWasThereLeaveNoTrace) {
  FoldModel model(kEventTime, PartialsEvery(7));
  model.Fold("now", 1, Second(30));
  model.Fold("a", 2, Second(0));  // grid: 7, 14, 21, 28, 35
  EXPECT_EQ(model.FirstDue(), Second(35));
}

// Late events.

TEST(FoldModel, LateEventsCanBeFoldedAndAreCounted) {
  FolderOptions options = Quiet(60);
  options.late.accept_limit = Seconds(10);
  options.late.on_late = OnLate::kFold;
  FoldModel model(kEventTime, options);
  model.Fold("a", 1, Second(100));
  EXPECT_EQ(model.Fold("a", 2, Second(90)), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("a", 3, Second(89)), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("b", 4, Second(50)), FoldOutcome::kOpened);
  EXPECT_EQ(model.ledger().late_folded, 2u);
  EXPECT_EQ(model.ledger().late, 0u);
  EXPECT_TRUE(model.ledger().Balances());
}

TEST(FoldModel, CorrectionNamesTheLastEmissionOfItsKey) {
  FolderOptions options = Quiet(10);
  options.late.accept_limit = Seconds(5);  // so it is remembered for 150 s
  options.late.on_late = OnLate::kCorrect;
  FoldModel model(kEventTime, options);
  model.Fold("a", 1, Second(0));
  model.Fold("b", 2, Second(100));  // a: @10, generation 0
  EXPECT_EQ(model.Fold("a", 3, Second(94)), FoldOutcome::kCorrected);
  EXPECT_EQ(model.Fold("a", 4, Second(93)), FoldOutcome::kCorrected);
  EXPECT_EQ(model.Fold("b", 5, Second(94)), FoldOutcome::kCorrected);
  model.Fold("b", 6, Second(160));
  EXPECT_EQ(model.Fold("a", 7, Second(0)), FoldOutcome::kCorrected);
  model.Fold("b", 8, Second(161));
  EXPECT_EQ(model.Fold("a", 9, Second(0)), FoldOutcome::kCorrected);

  const std::vector<ModelGroup> emissions = model.Pop(99);
  ASSERT_EQ(emissions.size(), 7u);
  EXPECT_EQ(Line(emissions[1]), "a [3] correction @100 #1");
  EXPECT_EQ(emissions[1].first, Second(94));
  EXPECT_EQ(emissions[1].last, Second(94));
  EXPECT_EQ(emissions[1].id.generation, 1u);
  EXPECT_EQ(emissions[1].corrects, (EmissionId{0, 0}));
  EXPECT_EQ(emissions[2].corrects, (EmissionId{0, 0}));  // not the correction before it
  EXPECT_EQ(emissions[3].corrects, std::nullopt);        // b is still open
  EXPECT_EQ(Line(emissions[4]), "b [2] quiet @110 #1");
  EXPECT_EQ(emissions[5].corrects, (EmissionId{0, 0}));
  EXPECT_EQ(emissions[6].corrects, std::nullopt);  // 10 + 150 is over
  EXPECT_EQ(model.ledger().corrected, 5u);
  EXPECT_TRUE(model.ledger().Balances());
}

TEST(FoldModel, CorrectionCanNameALeadingEmission) {
  FolderOptions options = Quiet(60);
  options.late.accept_limit = Seconds(5);
  options.late.on_late = OnLate::kCorrect;
  options.edge = Edge::kLeading;
  FoldModel model(kEventTime, options);
  model.Fold("a", 1, Second(10));
  model.Fold("a", 2, Second(4));
  EXPECT_EQ(model.Pop(9).at(1).corrects, (EmissionId{0, 0}));
}

// Ids.

ModelRules WithIds() {
  ModelRules rules;
  rules.has_ids = true;
  return rules;
}

TEST(FoldModel, IdIsTakenForAsLongAsItsStampIsAccepted) {
  FolderOptions options = Quiet(60);
  options.late.accept_limit = Seconds(10);
  FoldModel model(kEventTime, options, WithIds());
  const EventMarks x{.id = "x", .content = 7};
  EXPECT_EQ(model.Fold("a", 1, Second(100), x), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 1, Second(100), x), FoldOutcome::kDuplicate);
  EXPECT_EQ(model.Fold("a", 1, Second(95), {.id = "x", .content = 8}), FoldOutcome::kConflict);
  EXPECT_EQ(model.Fold("b", 1, Second(95), x), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("a", 1, Second(95), {.id = "y"}), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("a", 1, Second(110), x), FoldOutcome::kDuplicate);  // 100 is accepted still
  EXPECT_EQ(model.Fold("a", 1, Second(99), x), FoldOutcome::kLate);
  EXPECT_EQ(model.Fold("a", 1, Second(111), x), FoldOutcome::kFolded);
  EXPECT_EQ(model.Fold("a", 1, Second(111), x), FoldOutcome::kDuplicate);
  EXPECT_EQ(model.ledger().duplicate, 3u);
  EXPECT_EQ(model.ledger().conflict, 1u);
  EXPECT_TRUE(model.ledger().Balances());
}

TEST(FoldModel, IdOfARefusedEventIsNotTaken) {
  FolderOptions options = Quiet(60);
  options.late.accept_limit = Seconds(10);
  options.limits.max_groups = 1;
  FoldModel model(kArrivalTime, options, WithIds());
  model.Fold("a", 1, Second(0), {.id = "x"});
  EXPECT_EQ(model.Fold("b", 2, Second(0), {.id = "x"}), FoldOutcome::kOverLimit);
  model.Flush("a");
  EXPECT_EQ(model.Fold("b", 2, Second(0), {.id = "x"}), FoldOutcome::kOpened);
}

// Limits.

FolderOptions EmitAt(size_t groups) {
  FolderOptions options = Quiet(60);
  options.limits.max_groups = groups;
  options.limits.on_limit = OnLimit::kEmitOldest;
  return options;
}

TEST(FoldModel, AtTheLimitWhatWouldCloseNextClosesInstead) {
  FoldModel model(kArrivalTime, EmitAt(2));
  model.Advance(Second(20));
  model.Fold("a", 1, Second(10));
  model.Fold("b", 2, Second(5));
  EXPECT_EQ(model.Fold("c", 3, Second(20)), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("d", 4, Second(20), {.ends = true}), FoldOutcome::kOpened);
  EXPECT_THAT(PopAll(model),
              ElementsAre("b [2] limit @20 #1", "a [1] limit @20 #1", "d [4] end_mark @20 #1"));
}

TEST(FoldModel, GroupWithAGridInstantBeforeAllDeadlinesMakesRoomFirst) {
  FolderOptions options = EmitAt(2);
  options.partial_every = Seconds(50);
  FoldModel model(kArrivalTime, options);
  model.Advance(Second(12));
  model.Fold("a", 1, Second(0));   // deadline 60, grid 50
  model.Fold("b", 2, Second(12));  // deadline 72, grid 62
  model.Advance(Second(52));       // a's next on the grid is not before its deadline
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] partial @50 #1"));
  model.Fold("a", 3, Second(52));  // deadline 112, grid 100
  model.Fold("c", 4, Second(52));
  EXPECT_THAT(PopAll(model), ElementsAre("b [2] limit @52 #1"));
}

TEST(FoldModel, OvertakenGroupsAndWaitingPartialsSurfaceToMakeRoom) {
  FolderOptions options = EmitAt(2);
  options.partial_every = Seconds(40);
  FoldModel model(kArrivalTime, options);
  model.Fold("a", 1, Second(0));
  model.Fold("a", 2, Second(60));  // a: partial @40, overtaken @60; then open, deadline 120
  EXPECT_EQ(model.ledger().open, 2u);
  model.Fold("b", 3, Second(60));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1] partial @40 #1", "a [1] quiet @60 #2"));
  EXPECT_EQ(model.ledger().open, 2u);
}

TEST(FoldModel, EventThatIsRefusedLeavesNoTrace) {
  FolderOptions options = PartialsEvery(40);
  options.limits.max_groups = 1;
  FoldModel model(kArrivalTime, options);
  model.Fold("a", 1, Second(0));
  EXPECT_EQ(model.Fold("a", 2, Second(60)), FoldOutcome::kOverLimit);
  EXPECT_EQ(model.Fold("a", 3, Second(39)), FoldOutcome::kFolded);  // neither overtaken nor cut
  model.Advance(Second(40));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 3] partial @40 #1"));
}

TEST(FoldModel, StartMarkNeedsNoRoomForAnotherGroup) {
  FolderOptions options = Quiet(60);
  options.limits.max_groups = 1;
  FoldModel model(kArrivalTime, options);
  model.Fold("a", 1, Second(0));
  EXPECT_EQ(model.Fold("a", 2, Second(1), {.starts = true}), FoldOutcome::kOpened);
  EXPECT_EQ(model.Fold("b", 3, Second(1), {.starts = true}), FoldOutcome::kOverLimit);
  EXPECT_EQ(model.ledger().closed, 1u);
}

// Order, ids of emissions, the ledger.

TEST(FoldModel, GenerationsCountEachPartitionsEmissionsInTheirOrder) {
  ModelRules rules;
  rules.partition = [](std::string_view key) { return key == "even" ? 0 : 1; };
  FoldModel model(kEventTime, Quiet(10), rules);
  model.Fold("odd", 1, Second(0));
  model.Fold("even", 2, Second(1));
  model.Fold("odd", 3, Second(11), {.ends = true});  // after both, which time has closed
  const std::vector<ModelGroup> emissions = model.Pop(9);
  ASSERT_EQ(emissions.size(), 3u);
  EXPECT_EQ(emissions[0].id, (EmissionId{1, 0}));
  EXPECT_EQ(emissions[1].id, (EmissionId{0, 0}));
  EXPECT_EQ(emissions[2].id, (EmissionId{1, 1}));
}

TEST(FoldModel, WhatOneEventBringsAboutComesInOrder) {
  FolderOptions options = EmitAt(1);
  options.edge = Edge::kBoth;
  FoldModel model(kArrivalTime, options);
  model.Advance(Second(0));
  model.Fold("a", 1, Second(0));
  model.Fold("a", 2, Second(0));
  PopAll(model);
  model.Fold("b", 3, Second(0), {.starts = true});
  model.Fold("b", 4, Second(0));
  EXPECT_THAT(PopAll(model), ElementsAre("a [1 2] limit @0 #2", "b [3] leading @0 #1"));
  model.Fold("b", 5, Second(0), {.starts = true});
  EXPECT_THAT(PopAll(model), ElementsAre("b [3 4] start_mark @0 #2", "b [5] leading @0 #1"));
}

TEST(FoldModel, CloseAllMakesFinalWhatWaits) {
  FoldModel model(kArrivalTime, PartialsEvery(40));
  model.Advance(Second(0));
  model.Fold("b", 1, Second(0));
  model.Fold("a", 2, Second(1));
  model.Fold("a", 3, Second(50));  // partial @41 waits
  model.Fold("b", 4, Second(60));  // partial @40, overtaken @60
  model.CloseAll();
  EXPECT_THAT(PopAll(model),
              ElementsAre("b [1] partial @40 #1", "a [2] partial @41 #1", "b [1] quiet @60 #2",
                          "a [2 3] end @0 #2", "b [4] end @0 #1"));
  EXPECT_EQ(model.FirstDue(), std::nullopt);
}

TEST(FoldModel, ScanListsOpenGroupsOnly) {
  FoldModel model(kArrivalTime, Quiet(60));
  model.Fold("b", 1, Second(0));
  model.Fold("a", 2, Second(0));
  model.Fold("b", 3, Second(60));  // overtakes
  model.Fold("c", 4, Second(0), {.ends = true});
  std::vector<std::string> keys;
  for (const ModelGroup& group : model.Scan()) keys.push_back(group.key);
  EXPECT_THAT(keys, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace pleat::inline v0_1
