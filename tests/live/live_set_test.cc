// What a live set does, one story a rule of docs/semantics-live-sets.md: how members
// come, stay and end. limits_test.cc has limits and bad input, reading_test.cc the reads.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum LiveSetOutcome;

TEST_F(LiveSetTest, AMemberIsLiveUntilItsDeadlineAndNotAtIt) {
  Open({.ttl = 24h});
  EXPECT_EQ(Add("ann", 0h), kAdded);
  Advance(6h);
  EXPECT_EQ(Add("ann", 6h), kRefreshed);
  Advance(30h - 1us);
  EXPECT_EQ(Count(), 1u);
  Advance(30h);
  EXPECT_EQ(Count(), 0u);
  EXPECT_EQ(ledger().expired, 1u);
  EXPECT_EQ(live_set().sizes(), LiveSetSizes{});
}

TEST_F(LiveSetTest, AMemberEndsAlsoIfNothingElseHappens) {
  Open({.ttl = 5min});
  Add("ann", 0s);
  ASSERT_TRUE(engine().NextDeadline().has_value());
  EXPECT_LE(*engine().NextDeadline(), At(5min));
  Advance(5min);
  EXPECT_EQ(ledger().expired, 1u);
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
}

TEST_F(LiveSetTest, WithATtlOfForeverAMemberStays) {
  Open({.ttl = kForever});
  Add("ann", 0s);
  EXPECT_EQ(Find("ann")->deadline, kNever);
  engine().Advance(kEndOfTime);
  EXPECT_EQ(Count(), 1u);
}

TEST_F(LiveSetTest, AStampAheadOfTheEnginesTimeIsOrdinary) {
  Open({.ttl = 10s});
  EXPECT_EQ(Add("ann", 1h), kAdded);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(Find("ann")->deadline, At(1h + 10s));
}

TEST_F(LiveSetTest, OnlyTheEnginesTimeDecides) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  Add("ben", 60s);  // on arrival time a stamp moves nothing
  EXPECT_THAT(Ids(), ElementsAre("ann", "ben"));
}

TEST_F(LiveSetTest, OnEventTimeTheWatermarkDecides) {
  Open({.ttl = 10s}, OnEventTime(/*watermark_delay=*/3s));
  Add("ann", 0s);
  Add("ben", 12s);
  EXPECT_EQ(engine().now(), At(9s));
  EXPECT_THAT(Ids(), ElementsAre("ann", "ben"));
  Add("cy", 13s);
  EXPECT_EQ(engine().now(), At(10s));
  EXPECT_THAT(Ids(), ElementsAre("ben", "cy"));
}

TEST_F(LiveSetTest, WhatFallsDueByAnEventExpiresBeforeIt) {
  Open({.ttl = 10s}, OnEventTime());
  Add("ann", 0s);
  EXPECT_EQ(Add("ann", 10s), kAdded);
  EXPECT_EQ(ledger().expired, 1u);
  // Of all series of the partition.
  AddTo("other", "ben", 20s);
  EXPECT_EQ(ledger().expired, 2u);
}

TEST_F(LiveSetTest, AnEventThatIsOverAlreadyIsLate) {
  Open({.ttl = 10s});
  Advance(20s);
  EXPECT_EQ(Add("ann", 10s), kLate);
  EXPECT_EQ(Add("ann", 10s + 1us), kAdded);
  EXPECT_EQ(Add("ann", 10s), kLate);  // also if the id is live
  EXPECT_EQ(Add("ben", 5s, {.ttl = 16s}), kAdded);
  EXPECT_EQ(Add("cy", 20s, {.ttl = -1us}), kLate);
  EXPECT_EQ(ledger().late, 3u);
}

TEST_F(LiveSetTest, ALateEventLeavesNoTrace) {
  Open({.ttl = 10s});
  Advance(20s);
  EXPECT_EQ(Add("ann", 0s), kLate);
  EXPECT_EQ(live_set().sizes(), LiveSetSizes{});
  EXPECT_EQ(ledger().changes, 0u);
  EXPECT_EQ(engine().NextDeadline(), std::nullopt);
}

// Of a live id.

TEST_F(LiveSetTest, TheSameEventAgainIsADuplicate) {
  Open({.ttl = 10s});
  Add("ann", 1s, {.version = 3, .payload = 7});
  EXPECT_EQ(Add("ann", 1s, {.version = 3, .payload = 7}), kDuplicate);
  EXPECT_EQ(ledger().changes, 1u);
}

TEST_F(LiveSetTest, TheSameStampAndVersionWithAnotherPayloadIsAConflict) {
  Open({.ttl = 10s});
  Add("ann", 1s, {.version = 3, .payload = 7});
  EXPECT_EQ(Add("ann", 1s, {.version = 3, .payload = 8}), kConflict);
  EXPECT_EQ(Find("ann")->payload, 7);
}

TEST_F(LiveSetTest, WithoutVersionsTheLaterPayloadWins) {
  Open({.ttl = 10s});
  Add("ann", 1s, {.payload = 7});
  EXPECT_EQ(Add("ann", 1s, {.payload = 8}), kUpdated);
  EXPECT_EQ(Find("ann")->payload, 8);
}

TEST_F(LiveSetTest, OfEqualStampsTheHigherVersionWins) {
  Open({.ttl = 10s});
  Add("ann", 1s, {.payload = 7});
  EXPECT_EQ(Add("ann", 1s, {.version = 1, .payload = 8}), kUpdated);  // none is below any
  EXPECT_EQ(Add("ann", 1s, {.payload = 9}), kUnchanged);
  EXPECT_EQ(Add("ann", 1s, {.version = 0, .payload = 9}), kUnchanged);
  EXPECT_EQ(Find("ann")->payload, 8);
  EXPECT_EQ(Find("ann")->version, 1u);
}

TEST_F(LiveSetTest, AnOlderStampChangesNothing) {
  Open({.ttl = 10s});
  Add("ann", 5s, {.payload = 7});
  EXPECT_EQ(Add("ann", 4s, {.version = 9, .payload = 8}), kUnchanged);
  EXPECT_EQ(Find("ann")->payload, 7);
  EXPECT_EQ(Find("ann")->stamp, At(5s));
}

TEST_F(LiveSetTest, ANewerStampRefreshesOrUpdates) {
  Open({.ttl = 10s});
  Add("ann", 1s, {.payload = 7});
  EXPECT_EQ(Add("ann", 2s, {.payload = 7}), kRefreshed);
  EXPECT_EQ(Add("ann", 3s, {.payload = 8}), kUpdated);
  EXPECT_EQ(Add("ann", 4s, {.version = 1, .payload = 8}), kUpdated);
  EXPECT_EQ(Find("ann")->stamp, At(4s));
  EXPECT_EQ(Count(), 1u);
}

TEST_F(LiveSetTest, EventsInAnyOrderAndTwiceGiveTheSame) {
  Open({.ttl = 10s});
  for (const Duration at : {3s, 1s, 3s, 2s, 1s}) Add("ann", at);
  EXPECT_EQ(Find("ann")->stamp, At(3s));
  EXPECT_EQ(ledger().duplicate, 1u);
  EXPECT_EQ(ledger().unchanged, 3u);
}

TEST_F(LiveSetTest, WithFirstTheEventThatAddedTheMemberCounts) {
  Open({.ttl = 10s, .refresh = Refresh::kFirst});
  Add("ann", 1s, {.payload = 7});
  EXPECT_EQ(Add("ann", 5s, {.payload = 8}), kUnchanged);
  EXPECT_EQ(Add("ann", 1s, {.payload = 7}), kDuplicate);
  Advance(11s);
  EXPECT_EQ(Count(), 0u);
}

TEST_F(LiveSetTest, WithReplaceTheMemberEndsAndIsAddedAgain) {
  Open({.ttl = 10s, .refresh = Refresh::kReplace});
  Add("ann", 1s);
  EXPECT_EQ(Add("ann", 5s), kAdded);
  EXPECT_EQ(Add("ann", 5s), kDuplicate);
  EXPECT_EQ(Add("ann", 4s), kUnchanged);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(ledger().added, 2u);
  EXPECT_EQ(ledger().replaced, 1u);
  EXPECT_EQ(ledger().changes, 3u);
}

TEST_F(LiveSetTest, ATouchRefreshesAndNeverAdds) {
  Open({.ttl = 10s});
  EXPECT_EQ(Touch("ann", 1s), kUnchanged);
  Add("ann", 1s, {.ttl = 5s, .version = 2, .payload = 7});
  EXPECT_EQ(Touch("ann", 3s), kRefreshed);
  EXPECT_EQ(Touch("ann", 3s), kDuplicate);
  EXPECT_EQ(Touch("ann", 2s), kUnchanged);
  EXPECT_EQ(Find("ann")->payload, 7);
  EXPECT_EQ(Find("ann")->version, 2u);
  EXPECT_EQ(Find("ann")->deadline, At(8s));
  EXPECT_EQ(ledger().events, 5u);
}

// TTL.

TEST_F(LiveSetTest, AMemberKeepsItsOwnTtlUnlessAnEventNamesAnother) {
  Open({.ttl = 10s});
  Add("ann", 0s, {.ttl = 60s});
  Add("ann", 5s);
  EXPECT_EQ(Find("ann")->deadline, At(65s));
  Add("ann", 6s, {.ttl = 1s});
  EXPECT_EQ(Find("ann")->deadline, At(7s));
}

TEST_F(LiveSetTest, AShorterTtlEndsWhatIsDueNow) {
  Open({.ttl = 60s});
  Add("ann", 0s);
  Add("ben", 5s);
  Add("cy", 0s, {.ttl = 60s});  // not concerned
  Advance(10s);
  EXPECT_EQ(live_set().SetTtl("s", 10s), LiveSetControl::kDone);
  EXPECT_THAT(Ids(), ElementsAre("cy", "ben"));
  EXPECT_EQ(Find("ben")->deadline, At(15s));
  EXPECT_EQ(ledger().expired, 1u);
}

TEST_F(LiveSetTest, ALongerTtlKeepsWhatIsLive) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  EXPECT_EQ(live_set().SetTtl("s", 60s), LiveSetControl::kDone);
  Advance(59s);
  EXPECT_EQ(Count(), 1u);
  Advance(60s);
  EXPECT_EQ(Count(), 0u);
}

TEST_F(LiveSetTest, WithoutRetentionALongerTtlBringsNothingBack) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  Advance(10s);
  live_set().SetTtl("s", 60s);
  EXPECT_EQ(Count(), 0u);
}

TEST_F(LiveSetTest, ALongerTtlBringsBackWhatIsRetained) {
  Open({.ttl = 10s, .retention = 30s});
  Add("ann", 0s);
  Add("ben", 5s);
  Add("cy", 5s, {.ttl = 1s});  // members with a TTL of their own are not retained
  Advance(30s);                // ann has been forgotten
  EXPECT_EQ(Count(), 0u);
  EXPECT_EQ(live_set().sizes().members, 1u);
  EXPECT_EQ(live_set().SetTtl("s", 60s), LiveSetControl::kDone);
  EXPECT_THAT(Ids(), ElementsAre("ben"));
  EXPECT_EQ(Find("ben")->deadline, At(65s));
  EXPECT_EQ(ledger().expired, 2u);  // a restored member no longer counts
}

TEST_F(LiveSetTest, WhatAShorterTtlEndedComesBackToo) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 0s);
  Advance(5s);
  live_set().SetTtl("s", 5s);
  EXPECT_EQ(Count(), 0u);
  live_set().SetTtl("s", 10s);
  EXPECT_THAT(Ids(), ElementsAre("ann"));
  EXPECT_EQ(ledger().expired, 0u);
}

TEST_F(LiveSetTest, ARetainedMemberThatIsAddedAgainIsNew) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 0s, {.payload = 7});
  Advance(10s);
  EXPECT_EQ(Add("ann", 5s, {.payload = 8}), kAdded);
  EXPECT_EQ(live_set().sizes().members, 1u);
  live_set().SetTtl("s", 60s);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(Find("ann")->payload, 8);
}

TEST_F(LiveSetTest, ATtlOfASeriesOutlivesItsMembers) {
  Open({.ttl = 10s});
  live_set().SetTtl("s", 20s);
  EXPECT_EQ(live_set().sizes().series, 1u);
  Add("ann", 0s);
  Advance(20s);
  Add("ben", 20s);
  EXPECT_EQ(Find("ben")->deadline, At(40s));
  AddTo("other", "ben", 20s);
  EXPECT_EQ(live_set().Find("other", "ben")->deadline, At(30s));
}

TEST_F(LiveSetTest, ATouchLeavesAloneWhatIsRetained) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 0s);
  Advance(10s);
  EXPECT_EQ(Touch("ann", 10s), kUnchanged);
  EXPECT_EQ(live_set().sizes().members, 1u);
}

// Removing.

TEST_F(LiveSetTest, RemovingEndsAMemberAndRefusesLateCopies) {
  Open({.ttl = 10s});
  Add("ann", 1s);
  EXPECT_EQ(Remove("ann", 2s), LiveSetControl::kDone);
  EXPECT_EQ(Count(), 0u);
  EXPECT_EQ(Add("ann", 1s), kTombstoned);
  EXPECT_EQ(Add("ann", 2s), kTombstoned);
  EXPECT_EQ(Add("ann", 2s + 1us), kAdded);
  EXPECT_EQ(ledger().removed, 1u);
}

TEST_F(LiveSetTest, RemovingWhatIsNotThereLeavesATombstone) {
  Open({.ttl = 10s});
  EXPECT_EQ(Remove("ann", 2s), LiveSetControl::kNothing);
  EXPECT_EQ(Add("ann", 1s), kTombstoned);
  EXPECT_EQ(live_set().sizes().tombstones, 1u);
}

TEST_F(LiveSetTest, RemovingWithAnEarlierStampRemovesAllTheSame) {
  Open({.ttl = 10s});
  Add("ann", 5s);
  EXPECT_EQ(Remove("ann", 2s), LiveSetControl::kDone);
  EXPECT_EQ(Add("ann", 5s), kTombstoned);  // the member's stamp is the later
}

TEST_F(LiveSetTest, RemovingOnlyIfNotNewerLeavesTheNewer) {
  Open({.ttl = 10s});
  Add("ann", 5s);
  EXPECT_EQ(Remove("ann", 2s, /*only_if_not_newer=*/true), LiveSetControl::kNewer);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(Add("ann", 2s), kTombstoned);  // the tombstone is left all the same
  EXPECT_EQ(Add("ann", 3s), kUnchanged);
  EXPECT_EQ(Remove("ann", 5s, /*only_if_not_newer=*/true), LiveSetControl::kDone);
}

TEST_F(LiveSetTest, WithoutAStampTheEnginesTimeStandsForIt) {
  Open({.ttl = 10s});
  Advance(4s);
  live_set().Remove("s", "ann");
  EXPECT_EQ(Add("ann", 4s), kTombstoned);
  EXPECT_EQ(Add("ann", 5s), kAdded);
}

TEST_F(LiveSetTest, OnEventTimeARemovalMovesTheWatermark) {
  Open({.ttl = 10s}, OnEventTime());
  Add("ann", 0s);
  Remove("ben", 10s);
  EXPECT_EQ(engine().now(), At(10s));
  EXPECT_EQ(Count(), 0u);
}

TEST_F(LiveSetTest, ATombstoneIsForgottenWhenNothingItStopsCanComeAnyMore) {
  Open({.ttl = 10s});
  Remove("ann", 2s);
  Advance(12s - 1us);
  EXPECT_EQ(live_set().sizes().tombstones, 1u);
  Advance(12s);
  EXPECT_EQ(live_set().sizes(), LiveSetSizes{});
  EXPECT_EQ(Add("ann", 2s), kLate);
}

TEST_F(LiveSetTest, ATombstoneThatIsOverStopsNothing) {
  Open({.ttl = 10s});
  Remove("ann", 0s);
  ASSERT_TRUE(engine().Advance(At(10s), 0));  // only moves time
  EXPECT_EQ(Add("ann", 0s, {.ttl = 60s}), kAdded);
}

TEST_F(LiveSetTest, ATombstoneLivesAsLongAsTheMembersOwnTtl) {
  Open({.ttl = 10s});
  Add("ann", 0s, {.ttl = 60s});
  Remove("ann", 0s);
  Advance(30s);
  EXPECT_EQ(Add("ann", 0s, {.ttl = 60s}), kTombstoned);
}

TEST_F(LiveSetTest, ATombstoneStopsTheCopiesThatALongerTtlWouldTake) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 1s);
  Remove("ann", 2s);
  Advance(20s);
  live_set().SetTtl("s", 60s);
  EXPECT_EQ(Add("ann", 1s), kTombstoned);
  EXPECT_EQ(Add("ben", 1s), kAdded);
}

TEST_F(LiveSetTest, RemovingARangeEndsTheMembersInIt) {
  Open({.ttl = 60s});
  for (const char* const id : {"1", "2", "3", "4"}) Add(id, std::chrono::seconds(*id - '0'));
  EXPECT_EQ(live_set().Remove("s", At(2s), At(4s)), 2u);
  EXPECT_THAT(Ids(), ElementsAre("1", "4"));
  EXPECT_EQ(Add("2", 2s), kTombstoned);
  EXPECT_EQ(Add("2", 3s), kAdded);  // each has a tombstone of its own stamp
  EXPECT_EQ(ledger().removed, 2u);
}

TEST_F(LiveSetTest, RemovingForgetsWhatIsRetained) {
  Open({.ttl = 10s, .retention = 60s});
  for (const char* const id : {"1", "2", "3"}) Add(id, std::chrono::seconds(*id - '0'));
  Advance(20s);
  EXPECT_EQ(Remove("1", 20s), LiveSetControl::kNothing);
  EXPECT_EQ(live_set().Remove("s", At(2s), At(3s)), 0u);
  live_set().SetTtl("s", 60s);
  EXPECT_THAT(Ids(), ElementsAre("3"));
}

TEST_F(LiveSetTest, RemovingARangeForgetsWhatAShorterTtlEnded) {
  Open({.ttl = 20s, .retention = 60s});
  Add("ann", 0s);
  Advance(10s);
  live_set().SetTtl("s", 5s);
  EXPECT_EQ(live_set().Remove("s", At(0s), At(10s)), 0u);
  Advance(20s);  // the deadline that ann had at first
  live_set().SetTtl("s", 60s);
  EXPECT_EQ(Count(), 0u);
}

TEST_F(LiveSetTest, RemovingOnlyIfNotNewerLeavesWhatIsRetainedAndNewer) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 5s);
  Advance(20s);
  Remove("ann", 2s, /*only_if_not_newer=*/true);
  live_set().SetTtl("s", 60s);
  EXPECT_THAT(Ids(), ElementsAre("ann"));
}

TEST_F(LiveSetTest, ClearingEndsAllAndLeavesNoTombstones) {
  Open({.ttl = 10s, .retention = 60s});
  Add("ann", 0s);
  Advance(10s);
  Add("ben", 10s);
  AddTo("other", "cy", 10s);
  EXPECT_EQ(live_set().Clear("s"), 1u);
  EXPECT_EQ(live_set().Clear("s"), 0u);
  EXPECT_EQ(live_set().sizes().members, 1u);  // what was retained is forgotten
  EXPECT_EQ(live_set().sizes().tombstones, 0u);
  EXPECT_EQ(Add("ben", 10s), kAdded);
  EXPECT_EQ(ledger().cleared, 1u);
}

// Many at once.

TEST_F(LiveSetTest, ABatchAnswersAsItsEventsWouldOneByOne) {
  Open({.ttl = 10s}, {.partitions = 4});
  const std::vector<KeyedEvent<Numbers::Event>> batch = {{"s", At(0s), {.id = "ann"}},
                                                         {"other", At(1s), {.id = "ann"}},
                                                         {"s", At(1s), {.id = "ann"}},
                                                         {"s", At(0s), {.id = "ann"}}};
  std::vector<LiveSetOutcome> outcomes(batch.size());
  const LiveSetCounts counts = live_set().AddBatch(batch, outcomes);
  EXPECT_THAT(outcomes, ElementsAre(kAdded, kAdded, kRefreshed, kUnchanged));
  EXPECT_EQ(counts[kAdded], 2u);
}

TEST_F(LiveSetTest, ABatchForARangeLeavesOtherPartitionsAlone) {
  Open({.ttl = 10s}, {.partitions = 4});
  const int home = PartitionOf("s", 4);
  const std::vector<KeyedEvent<Numbers::Event>> batch = {{"s", At(0s), {.id = "ann"}}};
  const int other = (home + 1) % 4;
  EXPECT_EQ(live_set().AddBatch(batch, {}, PartitionRange::One(other))[kElsewhere], 1u);
  EXPECT_EQ(ledger().events, 0u);
  EXPECT_EQ(live_set().AddBatch(batch, {}, PartitionRange::One(home))[kAdded], 1u);
}

TEST_F(LiveSetTest, AnEventOfABatchMayEndTheSeriesOfTheNext) {
  Open({.ttl = 10s}, OnEventTime());
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back(std::to_string(i));
  for (const std::string& name : names) AddTo(name, "ann", 0s);
  std::vector<KeyedEvent<Numbers::Event>> batch = {{"s", At(60s), {.id = "ann"}}};
  for (const std::string& name : names) batch.push_back({name, At(60s), {.id = "ann"}});
  EXPECT_EQ(live_set().AddBatch(batch)[kAdded], 101u);
  EXPECT_EQ(ledger().expired, 100u);
}

TEST_F(LiveSetTest, AnImportIsOneChangeAndMayBeRepeated) {
  Open({.ttl = 10s});
  Advance(20s);
  const std::vector<KeyedEvent<Numbers::Event>> rows = {
      {"", At(15s), {.id = "ann"}}, {"", At(5s), {.id = "ben"}}, {"", At(18s), {.id = "cy"}}};
  const LiveSetCounts counts = live_set().Import("s", rows);
  EXPECT_EQ(counts[kAdded], 2u);
  EXPECT_EQ(counts[kLate], 1u);  // has expired
  EXPECT_THAT(Ids(), ElementsAre("ann", "cy"));
  EXPECT_EQ(ledger().changes, 1u);
  EXPECT_EQ(live_set().Import("s", rows)[kDuplicate], 2u);
  EXPECT_EQ(ledger().changes, 1u);
  EXPECT_EQ(ledger().events, 6u);
}

TEST_F(LiveSetTest, AnImportMovesNoTime) {
  Open({.ttl = 10s}, OnEventTime());
  Add("ann", 0s);
  const std::vector<KeyedEvent<Numbers::Event>> rows = {{"", At(60s), {.id = "ben"}}};
  live_set().Import("s", rows);
  EXPECT_EQ(engine().now(), At(0s));
  EXPECT_THAT(Ids(), ElementsAre("ann", "ben"));
}

TEST_F(LiveSetTest, ARowBeyondTheFutureLimitIsRefused) {
  Open({.ttl = 10s}, {.partitions = 1, .future_limit = 1min});
  const std::vector<KeyedEvent<Numbers::Event>> rows = {{"", At(60s + 1us), {.id = "ben"}}};
  EXPECT_EQ(live_set().Import("s", rows)[kFuture], 1u);
}

TEST_F(LiveSetTest, AnImportGoesAsWithLatestWhateverTheOption) {
  Open({.ttl = 10s, .refresh = Refresh::kFirst});
  Add("ann", 0s);
  const std::vector<KeyedEvent<Numbers::Event>> rows = {{"", At(1s), {.id = "ann"}}};
  EXPECT_EQ(live_set().Import("s", rows)[kRefreshed], 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
