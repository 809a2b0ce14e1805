// The delivery half of the model against semantics.md: a story for each row of the table in "Popping and
// leasing", worked out by hand. See story.h for how they are told.
#include "tests/model/delivery_model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/fold_model.h"
#include "tests/model/story.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What is handed out next, and when an emission comes back.

TEST(DeliveryModel, WhatNeverWentOutIsLentInTheOrderOfEmissions) {
  Story story;
  story.Emit({"b1", "a2", "c3"});
  EXPECT_THAT(story.Lease(2), ElementsAre("b1 x1 until 30", "a2 x1 until 30"));
  EXPECT_THAT(story.Lease(9, 7), ElementsAre("c3 x1 until 7"));
  EXPECT_THAT(story.Lease(9), IsEmpty());
}

TEST(DeliveryModel, WhatCameBackGoesBeforeWhatNeverWentOut) {
  Story story;
  story.Emit({"a1", "b2", "c3"});
  const uint64_t a = story.LeaseOne();
  EXPECT_EQ(story->Nack(a), LeaseOutcome::kDone);
  EXPECT_THAT(story.Pop(), ElementsAre("a1", "b2", "c3"));
  story.Emit({"a1", "b2", "c3"});
  story.LeaseOne();
  story.LeaseOne();
  story->Nack(story.last());
  EXPECT_THAT(story.Lease(9), ElementsAre("b2 x2 until 30", "c3 x1 until 30"));
}

TEST(DeliveryModel, LeaseIsOverAtItsInstantAndNotBefore) {
  Story story;
  story.Emit({"a1"});
  const uint64_t first = story.LeaseOne(30);
  story.Advance(Second(30) - Duration{1});
  EXPECT_THAT(story.Lease(9), IsEmpty());
  story.Advance(Second(30));
  EXPECT_EQ(story->Ack(first), LeaseOutcome::kStale);
  EXPECT_THAT(story.Lease(9, 5), ElementsAre("a1 x2 until 35"));
}

TEST(DeliveryModel, WhatCameBackIsHandedOutByTheInstantItCameBack) {
  Story story;
  story.Emit({"a1", "b2", "c3"});
  story.Lease(1, 30);
  story.Lease(1, 10);
  const uint64_t c = story.LeaseOne(99);
  story.Advance(Second(20));
  story->Nack(c);  // back at 20, between b at 10 and a at 30
  story.Advance(Second(30));
  EXPECT_THAT(story.Pop(), ElementsAre("b2", "c3", "a1"));
}

TEST(DeliveryModel, WhatCameBackAtOneInstantIsHandedOutByTimeBeforeByCall) {
  Story story;
  story.Emit({"a1", "b2", "c3", "d4"});
  const uint64_t a = story.LeaseOne(99);
  story.Lease(1, 10);                    // b, lent second
  const uint64_t c = story.LeaseOne(5);  // c, lent third
  story->Extend(c, Seconds(10));
  story.Lease(1, 10);  // d, lent fourth
  story.Advance(Second(10));
  story->Nack(a);
  EXPECT_THAT(story.Pop(), ElementsAre("b2", "c3", "d4", "a1"));
}

TEST(DeliveryModel, WhatCallsBroughtBackIsHandedOutInTheirOrder) {
  Story story;
  story.Emit({"a1", "b2", "c3"});
  const uint64_t a = story.LeaseOne();
  const uint64_t b = story.LeaseOne();
  const uint64_t c = story.LeaseOne();
  story->Nack(c);
  story->Nack(a);
  story->Nack(b);
  EXPECT_THAT(story.Pop(), ElementsAre("c3", "a1", "b2"));
}

// One emission of a key at a time.

TEST(DeliveryModel, KeyIsHeldUntilItsEmissionIsSettled) {
  Story story;
  story.Emit({"a1", "a2", "b3", "a4"});
  const uint64_t first = story.LeaseOne();
  story.Emit({"a5"});
  EXPECT_THAT(story.Lease(9), ElementsAre("b3 x1 until 30"));
  EXPECT_THAT(story.Pop(), IsEmpty());
  story->Nack(first, Seconds(5));
  EXPECT_THAT(story.Pop(), IsEmpty());  // delayed, and still held
  story.Advance(Second(5));
  EXPECT_THAT(story.Lease(9), ElementsAre("a1 x2 until 35"));
  story->Ack(story.last());
  EXPECT_THAT(story.Lease(9), ElementsAre("a2 x1 until 35"));
  EXPECT_THAT(story.Pop(), IsEmpty());
  story->Ack(story.last());
  EXPECT_THAT(story.Pop(), ElementsAre("a4", "a5"));
}

TEST(DeliveryModel, WhenAKeyIsFreeItsNextHasItsPlaceInTheOrderOfEmissions) {
  Story story;
  story.Emit({"a1", "b2", "a3", "c4"});
  const uint64_t a1 = story.LeaseOne();
  EXPECT_THAT(story.Lease(1), ElementsAre("b2 x1 until 30"));
  story->Ack(a1);
  EXPECT_THAT(story.Pop(), ElementsAre("a3", "c4"));
}

TEST(DeliveryModel, PopHoldsNoKey) {
  Story story;
  story.Emit({"a1", "b2", "a3"});
  EXPECT_THAT(story.Pop(1), ElementsAre("a1"));
  EXPECT_THAT(story.Pop(), ElementsAre("b2", "a3"));
}

TEST(DeliveryModel, PopSettlesWhatCameBackAndItsKeyGoesOn) {
  Story story;
  story.Emit({"a1", "b2", "a3", "a4"});
  story->Nack(story.LeaseOne());
  EXPECT_THAT(story.Pop(), ElementsAre("a1", "b2", "a3", "a4"));
  EXPECT_EQ(story->ledger().unacked, 0u);
}

// Acks.

TEST(DeliveryModel, AckIsAnsweredAgainAsLongAsItIsRemembered) {
  Story story({.leases = {.max_deliveries = UINT32_MAX}});
  story.Emit({"a1"});
  const uint64_t first = story.LeaseOne();
  EXPECT_EQ(story->Ack(first), LeaseOutcome::kDone);
  EXPECT_EQ(story->Ack(first), LeaseOutcome::kDone);
  story.Emit({"b2"});
  for (uint64_t n = 1; n < DeliveryModel::kRemembered; ++n) story->Nack(story.LeaseOne());
  EXPECT_EQ(story->Ack(first), LeaseOutcome::kDone);
  story->Nack(story.LeaseOne());
  EXPECT_EQ(story->Ack(first), LeaseOutcome::kStale);
  EXPECT_EQ(story->ledger().acked, 1u);
}

TEST(DeliveryModel, TokenThatIsOverIsStaleForEveryCall) {
  Story story({.leases = {.max_deliveries = 9}});
  story.Emit({"a1", "b2", "c3"});
  const uint64_t ran_out = story.LeaseOne(1);
  const uint64_t nacked = story.LeaseOne();
  const uint64_t acked = story.LeaseOne();
  story->Nack(nacked);
  story->Ack(acked);
  story.Advance(Second(1));
  for (const uint64_t over : {uint64_t{0}, ran_out, nacked, acked}) {
    if (over != acked) {
      EXPECT_EQ(story->Ack(over), LeaseOutcome::kStale);
    }
    EXPECT_EQ(story->Nack(over), LeaseOutcome::kStale);
    EXPECT_EQ(story->Extend(over, Seconds(5)).outcome, LeaseOutcome::kStale);
    EXPECT_EQ(story->RetryDeadLetter(over), LeaseOutcome::kStale);
    EXPECT_EQ(story->DropDeadLetter(over), LeaseOutcome::kStale);
  }
  // A later delivery does not make an earlier one good again.
  EXPECT_THAT(story.Lease(1), ElementsAre("b2 x2 until 31"));
  EXPECT_EQ(story->Ack(nacked), LeaseOutcome::kStale);
  EXPECT_EQ(story->Ack(story.last()), LeaseOutcome::kDone);
}

// Nacks.

TEST(DeliveryModel, NackedEmissionComesBackAfterItsDelay) {
  Story story;
  story.Emit({"a1"});
  EXPECT_EQ(story->Nack(story.LeaseOne(), Seconds(40)), LeaseOutcome::kDone);
  story.Advance(Second(40) - Duration{1});
  EXPECT_THAT(story.Lease(1), IsEmpty());
  EXPECT_EQ(story->FirstLeaseDue(), LeaseTime(Second(40)));
  story.Advance(Second(40));
  EXPECT_EQ(story->Nack(story.LeaseOne(), Seconds(-5)), LeaseOutcome::kDone);
  EXPECT_THAT(story.Pop(), ElementsAre("a1"));
}

TEST(DeliveryModel, DelayAboveTheLimitIsCut) {
  Story story({.leases = {.max_nack_delay = Seconds(10)}});
  story.Emit({"a1"});
  EXPECT_EQ(story->Nack(story.LeaseOne(), Seconds(11)), LeaseOutcome::kClamped);
  story.Advance(Second(10));
  EXPECT_EQ(story->Nack(story.LeaseOne(), Seconds(10)), LeaseOutcome::kDone);
}

// Extensions.

TEST(DeliveryModel, ExtendMakesALeaseLongerAndNeverShorter) {
  Story story;
  story.Emit({"a1"});
  const uint64_t first = story.LeaseOne(30);
  story.Advance(Second(20));
  EXPECT_EQ(story->Extend(first, Seconds(5)).outcome, LeaseOutcome::kDone);
  EXPECT_EQ(story->FirstLeaseDue(), LeaseTime(Second(30)));
  EXPECT_EQ(story->Extend(first, Seconds(15)).outcome, LeaseOutcome::kDone);
  EXPECT_EQ(story->FirstLeaseDue(), LeaseTime(Second(35)));
}

TEST(DeliveryModel, LeaseCannotBeMadeOlderThanItsLimit) {
  Story story({.leases = {.max_age = Seconds(50)}});
  story.Emit({"a1"});
  EXPECT_THAT(story.Lease(1, 51), ElementsAre("a1 x1 until 50"));
  story.Advance(Second(49));
  EXPECT_EQ(story->Extend(story.last(), Seconds(1)).outcome, LeaseOutcome::kDone);
  EXPECT_EQ(story->Extend(story.last(), Seconds(2)).outcome, LeaseOutcome::kClamped);
  story.Advance(Second(50));
  EXPECT_EQ(story->Extend(story.last(), Seconds(1)).outcome, LeaseOutcome::kStale);
  EXPECT_THAT(story.Lease(1, 10), ElementsAre("a1 x2 until 60"));
  EXPECT_EQ(story->Extend(story.last(), Seconds(51)).outcome, LeaseOutcome::kClamped);
  EXPECT_EQ(story->FirstLeaseDue(), LeaseTime(Second(100)));  // of this delivery
}

// Dead letters.

TEST(DeliveryModel, EmissionIsADeadLetterAfterItsLastDelivery) {
  Story story({.leases = {.max_deliveries = 2}});
  story.Emit({"a1", "b2", "a3", "b4"});
  story.Lease(2, 10);
  story.Advance(Second(10));
  EXPECT_THAT(story.Lease(1, 10), ElementsAre("a1 x2 until 20"));
  EXPECT_EQ(story->Nack(story.LeaseOne(), Seconds(5)), LeaseOutcome::kDone);  // whatever the delay
  EXPECT_THAT(story.DeadLetters(), ElementsAre("b2 x2 0..10 nacked"));
  story.Advance(Second(25));
  EXPECT_THAT(story.DeadLetters(), ElementsAre("b2 x2 0..10 nacked", "a1 x2 0..20 ran out"));
  EXPECT_EQ(story->ledger().dead, 2u);
  EXPECT_THAT(story.Pop(), ElementsAre("a3", "b4"));
}

TEST(DeliveryModel, RetriedLetterIsLentFromTheBeginning) {
  Story story({.leases = {.max_deliveries = 1}});
  story.Emit({"a1", "b2"});
  const uint64_t a = story.LeaseOne();
  story->Nack(a);
  EXPECT_EQ(story->Ack(a), LeaseOutcome::kStale);
  EXPECT_EQ(story->RetryDeadLetter(a), LeaseOutcome::kDone);
  EXPECT_EQ(story->RetryDeadLetter(a), LeaseOutcome::kStale);
  EXPECT_EQ(story->ledger().unacked, 1u);
  story.Advance(Second(7));
  EXPECT_THAT(story.Lease(9), ElementsAre("a1 x1 until 37", "b2 x1 until 37"));
  story.Advance(Second(37));
  EXPECT_THAT(story.DeadLetters(), ElementsAre("a1 x1 7..37 ran out", "b2 x1 7..37 ran out"));
}

TEST(DeliveryModel, RetriedLetterWaitsUntilItsKeyIsFree) {
  Story story({.leases = {.max_deliveries = 1}});
  story.Emit({"a1", "a2", "a3", "b4", "a5"});
  const uint64_t a1 = story.LeaseOne();
  story->Nack(a1);
  const uint64_t a2 = story.LeaseOne();
  story->Nack(a2);
  const uint64_t a3 = story.LeaseOne();
  story->RetryDeadLetter(a2);
  story->RetryDeadLetter(a1);
  EXPECT_EQ(story->ledger().unacked, 3u);
  EXPECT_THAT(story.Lease(1), ElementsAre("b4 x1 until 30"));
  story->Ack(a3);
  EXPECT_THAT(story.Pop(1), ElementsAre("a2"));
  EXPECT_THAT(story.Lease(9), ElementsAre("a1 x1 until 30"));
  story->Ack(story.last());
  EXPECT_THAT(story.Pop(), ElementsAre("a5"));
}

TEST(DeliveryModel, LettersThatCameBackAtOneInstantAreHandedOutAsTheyWereLentLast) {
  Story story({.leases = {.max_deliveries = 1}});
  story.Emit({"a1", "b2", "b3", "a4"});
  const uint64_t a1 = story.LeaseOne();
  story->Nack(a1);
  const uint64_t b2 = story.LeaseOne();
  story->Nack(b2);
  story.Lease(2, 10);  // b3 and a4
  story->RetryDeadLetter(b2);
  story->RetryDeadLetter(a1);
  story.Advance(Second(10));
  EXPECT_THAT(story.Pop(), ElementsAre("a1", "b2"));
}

TEST(DeliveryModel, RetriedLetterHoldsItsKeyIfThatIsFree) {
  Story story({.leases = {.max_deliveries = 1}});
  story.Emit({"a1"});
  const uint64_t a1 = story.LeaseOne();
  story->Nack(a1);
  story.Emit({"b2", "a3"});
  story->RetryDeadLetter(a1);
  EXPECT_THAT(story.Lease(9), ElementsAre("a1 x1 until 30", "b2 x1 until 30"));
}

TEST(DeliveryModel, DroppedLetterIsGone) {
  Story story({.leases = {.max_deliveries = 1}});
  story.Emit({"a1"});
  const uint64_t a1 = story.LeaseOne();
  EXPECT_EQ(story->DropDeadLetter(a1), LeaseOutcome::kStale);
  story->Nack(a1);
  EXPECT_EQ(story->DropDeadLetter(a1), LeaseOutcome::kDone);
  EXPECT_EQ(story->DropDeadLetter(a1), LeaseOutcome::kStale);
  EXPECT_EQ(story->RetryDeadLetter(a1), LeaseOutcome::kStale);
  EXPECT_THAT(story.DeadLetters(), IsEmpty());
  EXPECT_EQ(story->ledger().dropped, 1u);
}

TEST(DeliveryModel, AtTheLimitOnDeadLettersDeliveriesGoOn) {
  Story story({.leases = {.max_deliveries = 1, .max_dead_letters = 1}});
  story.Emit({"a1", "b2", "b3"});
  const uint64_t a = story.LeaseOne();
  story->Nack(a);
  story->Nack(story.LeaseOne(), Seconds(5));  // back at 5, as if it had deliveries left
  EXPECT_THAT(story.Lease(9), IsEmpty());
  story.Advance(Second(5));
  EXPECT_THAT(story.Lease(9), ElementsAre("b2 x2 until 35"));
  story->DropDeadLetter(a);
  story->Nack(story.last());
  EXPECT_THAT(story.DeadLetters(), ElementsAre("b2 x2 0..5 nacked"));
}

TEST(DeliveryModel, AtTheLimitOnDeadLettersTheOldestCanBeDropped) {
  Story story(
      {.leases = {
           .max_deliveries = 1, .max_dead_letters = 2, .on_dead_limit = OnDeadLimit::kDropOldest}});
  story.Emit({"a1", "b2", "c3"});
  story.Lease(1, 20);
  story.Lease(1, 10);
  story.Lease(1, 30);
  story.Advance(Second(30));
  EXPECT_THAT(story.DeadLetters(), ElementsAre("a1 x1 0..20 ran out", "c3 x1 0..30 ran out"));
  EXPECT_EQ(story->ledger().dropped, 1u);
}

// The limit on leases.

TEST(DeliveryModel, AtTheLimitOnLeasesOnlyWhatCameBackIsLent) {
  Story story({.leases = {.max_leased = 2}});
  story.Emit({"a1", "b2", "c3", "a4"});
  EXPECT_THAT(story.Lease(9, 10), ElementsAre("a1 x1 until 10", "b2 x1 until 10"));
  story->Ack(story.last());
  EXPECT_THAT(story.Lease(9, 20), ElementsAre("c3 x1 until 20"));
  story.Advance(Second(10));
  EXPECT_THAT(story.Lease(9, 20), ElementsAre("a1 x2 until 30"));
  story->Ack(story.last());
  story.Emit({"d5"});
  EXPECT_THAT(story.Lease(9, 20), ElementsAre("a4 x1 until 30"));
  EXPECT_THAT(story.Pop(), ElementsAre("d5"));
}

// Times and partitions.

TEST(DeliveryModel, LeasesHaveATimeOfTheirOwn) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Story story({.quiet_period = Seconds(60)}, 1, axis);
    story->AdvanceLeases(LeaseTime(Second(100)));
    EXPECT_EQ(story->now(), Second(0));
    story.Emit({"a1"});
    EXPECT_THAT(story.Lease(1), ElementsAre("a1 x1 until 130"));
    story->Advance(Second(500));
    EXPECT_EQ(story->lease_now(), LeaseTime(Second(100)));
    EXPECT_THAT(story.Lease(1), IsEmpty());
    EXPECT_EQ(story->FirstDue(), std::nullopt);
    EXPECT_EQ(story->FirstLeaseDue(), LeaseTime(Second(130)));
    story->AdvanceLeases(LeaseTime(Second(130)));
    story->AdvanceLeases(LeaseTime(Second(90)));  // it never goes back
    EXPECT_THAT(story.Lease(1), ElementsAre("a1 x2 until 160"));
  }
}

TEST(DeliveryModel, RangeSaysOfWhichPartitions) {
  Story story({}, 2);
  story.Emit({"a1", "B2", "c3", "D4"});
  EXPECT_THAT(story.Lease(1, 10, PartitionRange::One(1)), ElementsAre("B2 x1 until 10"));
  EXPECT_THAT(story.Pop(9, PartitionRange::One(0)), ElementsAre("a1", "c3"));
  story->Nack(story.last());
  EXPECT_THAT(story.Pop(9, PartitionRange::One(0)), IsEmpty());
  EXPECT_THAT(story.Pop(9, {1, 1}), IsEmpty());
  EXPECT_THAT(story.Pop(9), ElementsAre("B2", "D4"));
}

TEST(DeliveryModel, LimitsAreDividedAmongThePartitions) {
  Story story({.leases = {.max_deliveries = 1, .max_leased = 4, .max_dead_letters = 3}}, 2);
  story.Emit({"a1", "b2", "c3", "D4"});
  EXPECT_EQ(story.Lease(9, 10).size(), 3u);
  story.Advance(Second(10));
  EXPECT_THAT(story.DeadLetters(), ElementsAre("a1 x1 0..10 ran out", "D4 x1 0..10 ran out"));
}

TEST(DeliveryModel, DeliveryTellsItsNumberInItsPartition) {
  Story story({}, 2);
  story.Emit({"a1", "B2", "c3"});
  const std::vector<ModelLease> leases = story->Lease(9, Seconds(5));
  EXPECT_EQ(leases.at(0).of_partition, 1u);
  EXPECT_EQ(leases.at(1).of_partition, 1u);
  EXPECT_EQ(leases.at(2).of_partition, 2u);
}

TEST(DeliveryModel, EmissionIsTheSameAtEachDelivery) {
  Story story;
  story.Fold("a1");
  story.Advance(Second(60));
  const ModelLease first = story->Lease(1, Seconds(1)).at(0);
  story.Advance(Second(100));
  const ModelLease second = story->Lease(1, Seconds(1)).at(0);
  EXPECT_EQ(second.emission.closed, Second(60));
  EXPECT_EQ(second.emission.id, first.emission.id);
  EXPECT_EQ(second.emission.revision, 1u);
}

// Batches.

TEST(DeliveryModel, EventElsewhereOnlyMovesTime) {
  Story story({}, 2, Axis::kEvent);
  EXPECT_EQ(story->PassBy("a", Second(50)), FoldOutcome::kElsewhere);
  EXPECT_EQ(story->now(), Second(50));
  story->PassBy(std::string(kKeyBytesMax + 1, 'k'), Second(90));
  EXPECT_EQ(story->now(), Second(50));
  story->Stop();
  EXPECT_EQ(story->PassBy("a", Second(60)), FoldOutcome::kElsewhere);
  EXPECT_EQ(story->now(), Second(50));
  EXPECT_EQ(story->ledger(), Ledger{});
}

// The ledger.

TEST(DeliveryModel, LedgerTellsWhereEmissionsAre) {
  Story story({.leases = {.max_deliveries = 2}});
  story.Emit({"a1", "a2", "b3", "c4", "d5", "e6"});
  EXPECT_THAT(story.Pop(1), ElementsAre("a1"));
  story.Lease(4, 10);  // a2, b3, c4, d5
  story->Ack(story.last());
  story->Nack(story.last() - 1, Seconds(99));
  story.Advance(Second(10));
  const Ledger ledger = story->ledger();
  EXPECT_EQ(ledger.closed, 6u);
  EXPECT_EQ(ledger.popped, 1u);
  EXPECT_EQ(ledger.acked, 1u);
  EXPECT_EQ(ledger.nacked, 1u);
  EXPECT_EQ(ledger.ran_out, 2u);
  EXPECT_EQ(ledger.deliveries, 4u);
  EXPECT_EQ(ledger.unacked, 3u);
  EXPECT_EQ(ledger.ready, 1u);
  story.Lease(2, 10);
  story.Advance(Second(20));
  EXPECT_EQ(story->ledger().dead, 2u);
  EXPECT_EQ(story->ledger().unacked, 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
