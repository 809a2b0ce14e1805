// The model against "Backlog" in semantics.md: a story for each sentence. See story.h for how they are told.
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/fold_model.h"
#include "tests/model/story.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BacklogModel, AtTheLimitOnTheBacklogNoGroupIsOpened) {
  Story story({.limits = {.max_backlog = 2}, .leases = {.max_deliveries = 1}});
  story.Fold("a1");
  story.Emit({"b1", "c1"});
  EXPECT_EQ(story.Fold("d1"), FoldOutcome::kOverloaded);
  EXPECT_EQ(story.Fold("a2"), FoldOutcome::kFolded);
  EXPECT_EQ(story.Fold("a3", {.starts = true}), FoldOutcome::kOverloaded);  // and a goes on
  EXPECT_EQ(story.Fold("a4", {.ends = true}), FoldOutcome::kFolded);        // comes on top
  const uint64_t b = story.LeaseOne();
  EXPECT_EQ(story.Fold("d1"), FoldOutcome::kOverloaded);
  story->Nack(b);
  EXPECT_THAT(story.Pop(1), ElementsAre("c1"));
  EXPECT_EQ(story.Fold("d1"), FoldOutcome::kOverloaded);  // a dead letter waits too
  story->DropDeadLetter(b);
  EXPECT_EQ(story.Fold("d1"), FoldOutcome::kOpened);
  EXPECT_THAT(story.Pop(), ElementsAre("a124"));
  EXPECT_EQ(story->ledger().overloaded, 4u);
}

TEST(BacklogModel, OverloadedEventOvertakesNothing) {
  Story story({.limits = {.max_backlog = 1}});
  story.Emit({"b1"});
  story.Pop();
  story.Fold("a1");
  story.Emit({"b1"});
  EXPECT_EQ(story->Fold("a", 2, Second(60)), FoldOutcome::kOverloaded);
  EXPECT_EQ(story->Fold("a", 3, Second(59)), FoldOutcome::kFolded);
}

TEST(BacklogModel, AtTheLimitOnTheBacklogNoCorrectionIsMade) {
  Story story({.late = {.accept_limit = Duration{0}, .on_late = OnLate::kCorrect},
               .limits = {.max_backlog = 1}});
  EXPECT_EQ(story->Fold("a", 1, Second(-1)), FoldOutcome::kCorrected);
  EXPECT_EQ(story->Fold("a", 2, Second(-1)), FoldOutcome::kOverloaded);
}

TEST(BacklogModel, AtTheLimitOnTheBacklogTheFirstThatNeverWentOutIsDropped) {
  Story story({.limits = {.max_backlog = 3, .on_backlog = OnBacklog::kDropOldest}});
  story.Emit({"a1"});
  story.LeaseOne();
  story.Emit({"a2", "b3"});
  story.Emit({"c4"});  // the key of a2 is held, so that b3 goes
  EXPECT_EQ(story->ledger().dropped, 1u);
  story.Emit({"c5"});  // c4
  EXPECT_EQ(story->ledger().ready, 2u);
  story->Ack(story.last());
  EXPECT_THAT(story.Pop(), ElementsAre("a2", "c5"));
}

TEST(BacklogModel, AtTheLimitOnTheBacklogTheEmissionItselfCanBeTheOneThatIsDropped) {
  Story story({.limits = {.max_backlog = 2, .on_backlog = OnBacklog::kDropOldest}});
  story.Emit({"a1", "b2"});
  story.Lease(2);
  story.Emit({"c3"});
  EXPECT_EQ(story->ledger().ready, 0u);
  EXPECT_EQ(story->ledger().dropped, 1u);
  story.Emit({"a4"});  // the only one of its key that never went out
  EXPECT_EQ(story->ledger().dropped, 2u);
}

TEST(BacklogModel, IfAllElseIsHeldTheFirstOfItsKeyIsDropped) {
  Story story({.limits = {.max_backlog = 4, .on_backlog = OnBacklog::kDropOldest}});
  story.Emit({"a1", "b2", "b3", "a4"});
  story.Lease(2);
  story.Emit({"a5"});
  EXPECT_EQ(story->ledger().dropped, 1u);
  story.Advance(Second(30));
  EXPECT_THAT(story.Pop(), ElementsAre("a1", "b2", "b3", "a5"));
}

TEST(BacklogModel, AtTheLimitOnTheBacklogNoPartialIsCut) {
  FolderOptions options;
  options.partial_every = Seconds(20);
  options.limits.max_backlog = 1;
  Story story(options);
  story.Fold("a1");
  story.Emit({"b2"});
  story.Advance(Second(30));
  EXPECT_THAT(story.Pop(), ElementsAre("b2"));
  EXPECT_EQ(story->FirstDue(), Second(40));
  story.Advance(Second(40));
  EXPECT_THAT(story.Pop(), ElementsAre("a1"));
}

FolderOptions OneLetterOfTwoEmissions() {
  FolderOptions options;
  options.partial_every = Seconds(20);
  options.limits.max_backlog = 2;
  options.leases.max_deliveries = 1;
  options.leases.max_dead_letters = 1;
  options.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  return options;
}

TEST(BacklogModel, RoomThatTheEndOfALeaseMakesIsThereFromThenOn) {
  Story story(OneLetterOfTwoEmissions());
  story.Fold("a1");
  story.Emit({"b2", "c3"});
  story.Lease(1, 10);
  story.Lease(1, 40);
  story->AdvanceLeases(LeaseTime(Second(40)));  // b and c die, and c drops b
  story->Advance(Second(20));
  EXPECT_THAT(story.Pop(), ElementsAre("a1"));
  EXPECT_THAT(story.DeadLetters(), ElementsAre("c3 x1 0..40 ran out"));
}

TEST(BacklogModel, RoomThatComesLaterIsNotThereYet) {
  Story story(OneLetterOfTwoEmissions());
  story.Fold("a1");
  story.Emit({"b2", "c3"});
  story.Lease(1, 10);
  story.Lease(1, 40);
  story->Advance(Second(50));
  story->AdvanceLeases(LeaseTime(Second(50)));
  EXPECT_THAT(story.Pop(), IsEmpty());
}

}  // namespace
}  // namespace pleat::inline v0_1
