// A story for each sentence of "Backlog" in semantics.md. lease_stories.h says how stories are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/lease_stories.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class BacklogStories : public LeaseStories {
 protected:
  // The backlog is full: b is lent until 10, and c until 40. One of them can be a dead letter. The
  // group of a is open; its first partial is due at 20.
  void LendTheWholeBacklog() {
    FolderOptions options;
    options.partial_every = 20s;
    options.limits.max_backlog = 2;
    options.leases.max_deliveries = 1;
    options.leases.max_dead_letters = 1;
    options.leases.on_dead_limit = OnDeadLimit::kDropOldest;
    Open(options);
    Fold("a1");
    Emit({"b2", "c3"});
    Lease(1, 10s);
    Lease(1, 40s);
  }
};

TEST_F(BacklogStories, AtTheLimitOnTheBacklogNoGroupIsOpened) {
  Open({.limits = {.max_backlog = 2}, .leases = {.max_deliveries = 1}});
  Fold("a1");
  Emit({"b1", "c1"});
  EXPECT_EQ(Fold("d1"), "overloaded");
  EXPECT_EQ(Fold("a2"), "folded");
  EXPECT_EQ(Fold("a3", {.starts = true}), "overloaded");  // and a goes on
  EXPECT_EQ(Fold("a4", {.ends = true}), "folded");        // comes on top
  const size_t b = LeaseOne();
  EXPECT_EQ(Fold("d1"), "overloaded");
  Nack(b);
  EXPECT_THAT(Pop(1), ElementsAre("c1"));
  EXPECT_EQ(Fold("d1"), "overloaded");  // a dead letter waits too
  DropDeadLetter(b);
  EXPECT_EQ(Fold("d1"), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a124"));
  EXPECT_EQ(ledger().overloaded, 4u);
}

TEST_F(BacklogStories, OverloadedEventOvertakesNothing) {
  Open({.limits = {.max_backlog = 1}});
  Emit({"b1"});
  Pop();
  Fold("a1");
  Emit({"b1"});
  EXPECT_EQ(Fold({{"a", 2, 60s}}), "overloaded");
  EXPECT_EQ(Fold({{"a", 3, 59s}}), "folded");
}

TEST_F(BacklogStories, AtTheLimitOnTheBacklogNoCorrectionIsMade) {
  Open({.late = {.allowed_lateness = 0s, .on_late = OnLate::kCorrect},
        .limits = {.max_backlog = 1}});
  EXPECT_EQ(Fold({{"a", 1, -1s}}), "corrected");
  EXPECT_EQ(Fold({{"a", 2, -1s}}), "overloaded");
}

TEST_F(BacklogStories, AtTheLimitOnTheBacklogTheFirstThatNeverWentOutIsDropped) {
  Open({.limits = {.max_backlog = 3, .on_backlog = OnBacklog::kDropOldest}});
  Emit({"a1"});
  LeaseOne();
  Emit({"a2", "b3"});
  Emit({"c4"});  // the key of a2 is held, so that b3 goes
  EXPECT_EQ(ledger().dropped, 1u);
  Emit({"c5"});  // c4
  EXPECT_EQ(ledger().ready, 2u);
  Ack(last());
  EXPECT_THAT(Pop(), ElementsAre("a2", "c5"));
}

TEST_F(BacklogStories, AtTheLimitOnTheBacklogTheEmissionItselfCanBeTheOneThatIsDropped) {
  Open({.limits = {.max_backlog = 2, .on_backlog = OnBacklog::kDropOldest}});
  Emit({"a1", "b2"});
  Lease(2);
  Emit({"c3"});
  EXPECT_EQ(ledger().ready, 0u);
  EXPECT_EQ(ledger().dropped, 1u);
  Emit({"a4"});  // the only one of its key that never went out
  EXPECT_EQ(ledger().dropped, 2u);
}

TEST_F(BacklogStories, IfAllElseIsHeldTheFirstOfItsKeyIsDropped) {
  Open({.limits = {.max_backlog = 4, .on_backlog = OnBacklog::kDropOldest}});
  Emit({"a1", "b2", "b3", "a4"});
  Lease(2);
  Emit({"a5"});
  EXPECT_EQ(ledger().dropped, 1u);
  AdvanceTo(30s);
  EXPECT_THAT(Pop(), ElementsAre("a1", "b2", "b3", "a5"));
}

TEST_F(BacklogStories, AtTheLimitOnTheBacklogNoPartialIsCut) {
  FolderOptions options;
  options.partial_every = 20s;
  options.limits.max_backlog = 1;
  Open(options);
  Fold("a1");
  Emit({"b2"});
  AdvanceTo(30s);
  EXPECT_THAT(Pop(), ElementsAre("b2"));
  EXPECT_EQ(model_->FirstDue(), kT0 + 40s);
  AdvanceTo(40s);
  EXPECT_THAT(Pop(), ElementsAre("a1"));
}

TEST_F(BacklogStories, RoomThatTheEndOfALeaseMakesIsThereFromThenOn) {
  LendTheWholeBacklog();
  AdvanceLeases(40s);  // b and c die, and c drops b
  Advance(20s);
  EXPECT_THAT(Pop(), ElementsAre("a1"));
  EXPECT_THAT(DeadLetters(), ElementsAre("c3 x1 0..40 ran out"));
}

TEST_F(BacklogStories, RoomThatComesLaterIsNotThereYet) {
  LendTheWholeBacklog();
  Advance(50s);
  AdvanceLeases(50s);
  EXPECT_THAT(Pop(), IsEmpty());
}

}  // namespace
}  // namespace pleat
