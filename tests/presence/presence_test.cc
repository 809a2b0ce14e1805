// Who is here, away and gone: one story a rule of docs/semantics-presence.md.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/presence/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using enum PresenceOutcome;

// The example of docs/semantics-presence.md.
TEST_F(PresenceTest, AUserIsHereThenAwayThenLeft) {
  EXPECT_EQ(Enter("ann", "phone", 0s), kJoined);
  EXPECT_EQ(Beat("ann", "phone", 40s), kRefreshed);
  Advance(115s - 1us);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  Advance(115s);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  Advance(130s);
  EXPECT_EQ(Beat("ann", "phone", 130s), kReturned);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  Advance(235s - 1us);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  Advance(235s);
  EXPECT_THAT(Counts(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "115 ann away 1 1", "130 ann restored 1 0",
                                     "205 ann away 1 1", "235 ann left 0 0"));
  const PresenceLedger ledger = this->ledger();
  EXPECT_EQ(ledger.went_away, 2u);
  EXPECT_EQ(ledger.timed_out, 1u);
  EXPECT_EQ(ledger.expired, 1u);
  EXPECT_EQ(room().sizes(), PresenceSizes{});
}

TEST_F(PresenceTest, AUserIsAsPresentAsTheBestConnection) {
  EXPECT_EQ(Enter("ann", "phone", 0s), kJoined);
  Advance(20s);
  EXPECT_EQ(Enter("ann", "desk", 20s), kConnected);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 2));
  Advance(75s);  // the phone is overdue
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  Advance(95s);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  Advance(105s);  // the phone is gone
  EXPECT_EQ(Beat("ann", "phone", 105s), kUnknown);
  EXPECT_EQ(Find("ann")->connections.size(), 1u);
  Advance(125s);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "95 ann away 1 1", "125 ann left 0 0"));
  ledger();
}

TEST_F(PresenceTest, AnOverdueConnectionThatBeatsIsLiveAgain) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 50s);
  Advance(80s);
  EXPECT_EQ(Beat("ann", "phone", 80s), kRefreshed);  // she was here all the time
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 2));
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0"));
}

TEST_F(PresenceTest, ABeatOnlyMovesADeadlineLater) {
  Enter("ann", "phone", 40s);
  EXPECT_EQ(Beat("ann", "phone", 30s), kUnchanged);
  EXPECT_EQ(Beat("ann", "phone", 40s), kUnchanged);
  EXPECT_EQ(Find("ann")->deadline, At(115s));
  EXPECT_EQ(Enter("ann", "phone", 10s), kReconnected);  // a newer generation, an older stamp
  EXPECT_EQ(Find("ann")->deadline, At(115s));
}

// Leaving.

TEST_F(PresenceTest, TheLastConnectionThatLeavesTakesTheUserAlong) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 0s);
  Advance(10s);
  EXPECT_EQ(Leave("ann", "phone", 10s), kDisconnected);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  EXPECT_EQ(Leave("ann", "desk", 10s), kLeft);
  EXPECT_THAT(Counts(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "10 ann left 0 0"));
  EXPECT_EQ(Leave("ann", "desk", 10s), kUnknown);
  EXPECT_EQ(ledger().left, 1u);
}

TEST_F(PresenceTest, WhoLeavesWhileAwayHasLeftAtOnce) {
  Enter("ann", "phone", 0s);
  Advance(80s);
  EXPECT_EQ(Leave("ann", "phone", 80s), kLeft);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "75 ann away 1 1", "80 ann left 0 0"));
  EXPECT_EQ(ledger().left_away, 1u);
}

TEST_F(PresenceTest, WhoLeavesAllButAnOverdueConnectionIsAwayAtOnce) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 60s);
  Advance(80s);
  EXPECT_EQ(Leave("ann", "desk", 80s), kDisconnected);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  EXPECT_EQ(Find("ann")->deadline, At(105s));
  Advance(200s);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "80 ann away 1 1", "105 ann left 0 0"));
  ledger();
}

TEST_F(PresenceTest, AnAwayUserWhoLeavesTheLatestOfTwoConnectionsStaysForTheOther) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 10s);
  Advance(90s);
  EXPECT_EQ(Leave("ann", "desk", 90s), kDisconnected);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  Advance(200s);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "85 ann away 1 1", "105 ann left 0 0"));
  ledger();
}

TEST_F(PresenceTest, ALeaveThatIsLaterThanItsDeadlineStillEnds) {
  Enter("ann", "phone", 0s);
  Advance(50s);
  Beat("ann", "phone", 50s);
  Advance(110s);
  EXPECT_EQ(Leave("ann", "phone", 1s), kLeft);  // at + TTL has passed
}

TEST_F(PresenceTest, NobodyWhoIsGoneLeavesATrace) {
  Enter("ann", "phone", 0s, "busy");
  Leave("ann", "phone", 1s);
  EXPECT_EQ(room().sizes(), PresenceSizes{});
  EXPECT_EQ(Beat("ann", "phone", 2s), kUnknown);
  EXPECT_EQ(Enter("ann", "phone", 0s), kJoined);  // an older stamp than that of the Leave()
  EXPECT_EQ(Find("ann")->metadata, "");
}

// Generations.

TEST_F(PresenceTest, ALeaveOfAnOldGenerationEndsNothing) {
  Enter("ann", "tab", 0s);
  const uint64_t old = Generation("ann", "tab");
  EXPECT_EQ(Enter("ann", "tab", 10s), kReconnected);
  EXPECT_THAT(Generation("ann", "tab"), Gt(old));
  EXPECT_EQ(room().Leave("r", "ann", "tab", old, At(11s)), kSuperseded);
  EXPECT_EQ(room().Beat("r", "ann", "tab", old, At(60s)), kSuperseded);
  EXPECT_EQ(room().Update("r", "ann", "tab", old, "busy", At(60s)), kSuperseded);
  EXPECT_EQ(Find("ann")->deadline, At(85s));
  EXPECT_EQ(Find("ann")->metadata, "");
  EXPECT_EQ(Leave("ann", "tab", 12s), kLeft);
}

TEST_F(PresenceTest, AnOldGenerationIsSupersededAlsoAfterTheUserHasLeft) {
  Enter("ann", "tab", 0s);
  const uint64_t old = Generation("ann", "tab");
  Leave("ann", "tab", 1s);
  Enter("ann", "tab", 2s);
  EXPECT_EQ(room().Leave("r", "ann", "tab", old, At(3s)), kSuperseded);
  EXPECT_EQ(room().Leave("r", "ann", "tab", old + 100, At(3s)), kSuperseded);  // forged
  EXPECT_EQ(room().Leave("r", "ann", "tab", 0, At(3s)), kSuperseded);
}

TEST_F(PresenceTest, ConnectionsBelongToTheirUserAndSeries) {
  Enter("ann", "tab", 0s);
  EXPECT_EQ(Enter("ben", "tab", 0s), kJoined);
  const Entered elsewhere = room().Enter("other", "ann", "tab", "", At(0s));
  EXPECT_EQ(elsewhere.outcome, kJoined);
  EXPECT_EQ(room().Leave("other", "ben", "tab", elsewhere.generation, At(1s)), kUnknown);
  EXPECT_EQ(Leave("ben", "tab", 1s), kLeft);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  EXPECT_EQ(room().Count("other").here, 1u);
  ledger();
}

// Metadata.

TEST_F(PresenceTest, MetadataIsTheUsersAndTheLatestCallsCounts) {
  Enter("ann", "phone", 10s, "on the train");
  EXPECT_EQ(Enter("ann", "desk", 20s, "at work"), kConnected);
  EXPECT_EQ(Find("ann")->metadata, "at work");
  EXPECT_EQ(Update("ann", "phone", 5s, "in a meeting"), kUpdated);  // an older stamp
  EXPECT_EQ(Find("ann")->metadata, "in a meeting");
  EXPECT_EQ(Update("ann", "phone", 30s, "in a meeting"), kRefreshed);
  EXPECT_EQ(Update("ann", "phone", 30s, "in a meeting"), kUnchanged);
  EXPECT_EQ(Leave("ann", "phone", 31s), kDisconnected);
  EXPECT_EQ(Find("ann")->metadata, "in a meeting");
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "0 ann updated 1 0", "0 ann updated 1 0"));
}

TEST_F(PresenceTest, AReturnBringsItsMetadataInOneChange) {
  Enter("ann", "phone", 0s, "old");
  Advance(80s);
  EXPECT_EQ(Update("ann", "phone", 80s, "new"), kReturned);
  const auto changes = Read();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[1].payload, "old");
  EXPECT_EQ(changes[2].cause, Cause::kRestored);
  EXPECT_EQ(changes[2].payload, "new");
  EXPECT_EQ(changes[2].deadline, At(155s));
}

TEST_F(PresenceTest, AnAwayUserReturnsByAnyConnection) {
  Enter("ann", "phone", 0s);
  Advance(80s);
  EXPECT_EQ(Enter("ann", "desk", 80s), kReturned);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  Advance(160s);
  EXPECT_EQ(Enter("ann", "desk", 160s), kReturned);  // the same connection, overdue
  EXPECT_EQ(ledger().returned, 2u);
}

// The order of judging.

TEST_F(PresenceTest, ACallWhoseOwnDeadlineHasPassedIsLate) {
  Enter("ann", "tab", 0s);
  Advance(60s);
  Beat("ann", "tab", 60s);
  Advance(100s);
  EXPECT_EQ(Beat("ann", "tab", 25s), kLate);  // its deadline is now
  EXPECT_EQ(Update("ann", "tab", 25s, "busy"), kLate);
  EXPECT_EQ(Enter("ann", "tab", 25s), kLate);
  EXPECT_EQ(Beat("nobody", "tab", 25s), kLate);
  EXPECT_EQ(Beat("ann", "tab", 25s + 1us), kUnchanged);
  EXPECT_EQ(Find("ann")->metadata, "");
  EXPECT_EQ(ledger().late, 4u);
}

TEST_F(PresenceTest, ACallBeyondTheFutureLimitChangesNothing) {
  Open({}, {.partitions = 1, .axis = Axis::kEvent, .future_limit = 60s});
  Enter("ann", "tab", 0s);
  EXPECT_EQ(Enter("ann", "tab", 61s), kFuture);
  EXPECT_EQ(room().Enter("r", "ben", "tab", "", At(61s)), (Entered{kFuture, 0}));
  EXPECT_EQ(Leave("ann", "tab", 61s), kFuture);
  EXPECT_EQ(engine().now(), At(0s));
  EXPECT_EQ(Beat("ann", "tab", 60s), kRefreshed);
  EXPECT_EQ(ledger().future, 3u);
}

TEST_F(PresenceTest, OnEventTimeEachCallMovesTheWatermark) {
  Open({}, OnEventTime(5s));
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 79s);
  EXPECT_THAT(Counts(), ElementsAre(2, 0, 2));
  EXPECT_EQ(Leave("nobody", "tab", 80s), kUnknown);
  EXPECT_EQ(engine().now(), At(75s));
  EXPECT_THAT(Counts(), ElementsAre(1, 1, 1));
  EXPECT_EQ(Leave("ann", "tab", 110s), kUnknown);  // the call itself ends her grace
  EXPECT_THAT(Changes(), ElementsAre("-5 ann added 1 0", "74 ben added 2 0", "75 ann away 2 1",
                                     "105 ann left 1 0"));
}

TEST_F(PresenceTest, AtADeadlineTimeComesBeforeTheCall) {
  Enter("ann", "tab", 0s);
  Advance(75s);
  EXPECT_EQ(Beat("ann", "tab", 75s), kReturned);
  Advance(180s);
  EXPECT_EQ(Beat("ann", "tab", 180s), kUnknown);
  EXPECT_EQ(Enter("ann", "tab", 180s), kJoined);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "75 ann away 1 1", "75 ann restored 1 0",
                                     "150 ann away 1 1", "180 ann left 0 0", "180 ann added 1 0"));
}

// Without grace, and without end.

TEST_F(PresenceTest, WithoutGraceNobodyIsAway) {
  Open({.grace = 0s});
  Enter("ann", "tab", 0s);
  Enter("ann", "desk", 30s);
  Advance(75s);
  EXPECT_EQ(Find("ann")->connections.size(), 1u);
  EXPECT_EQ(Leave("ann", "tab", 80s), kUnknown);
  Advance(105s);
  EXPECT_THAT(Counts(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0", "105 ann left 0 0"));
  EXPECT_EQ(ledger().went_away, 1u);
}

TEST_F(PresenceTest, ForeverIsNoDeadline) {
  Open({.ttl = kForever});
  Enter("ann", "tab", 0s);
  engine().Advance(kEndOfTime);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));
  EXPECT_EQ(Find("ann")->deadline, kNever);
  EXPECT_EQ(Leave("ann", "tab", 0s), kLeft);

  Open({.ttl = 75s, .grace = kForever});
  Enter("ann", "tab", 0s);
  engine().Advance(kEndOfTime);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  EXPECT_EQ(Find("ann")->deadline, kNever);
  ledger();
}

// The end of the engine.

TEST_F(PresenceTest, AfterStopAndCloseNothingIsTaken) {
  Enter("ann", "tab", 0s);
  engine().Stop();
  EXPECT_EQ(room().Enter("r", "ben", "tab", "", At(1s)), (Entered{kStopped, 0}));
  EXPECT_EQ(Beat("ann", "tab", 1s), kStopped);
  EXPECT_EQ(Leave("ann", "tab", 1s), kStopped);
  EXPECT_EQ(ledger().events, 1u);
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));  // reads go on, and so does time
  Advance(75s);
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  room().Close();
  EXPECT_EQ(Update("ann", "tab", 1s, "busy"), kStopped);
  EXPECT_THAT(Counts(), ElementsAre(0, 0, 0));
  EXPECT_THAT(room().List("r"), IsEmpty());
}

TEST(Presence, NeedsNoMetadata) {
  auto engine = *Engine::Open({.partitions = 1});
  engine->Advance(kT0);
  Presence<> readers(*engine, "readers", {});
  const auto [outcome, generation] = readers.Enter("page", "ann", "tab", kT0);
  EXPECT_EQ(outcome, kJoined);
  EXPECT_EQ(readers.Update("page", "ann", "tab", generation, {}, kT0), kUnchanged);
  EXPECT_EQ(readers.Count("page").here, 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
