// A story for each row of the table in "Popping and leasing" in semantics.md, worked out by hand.
// lease_stories.h says how stories are told; tests of the engine alone are in delivery_test.cc.
#include "tests/core/lease_stories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// What is handed out next, and when an emission comes back.

TEST_F(LeaseStories, WhatNeverWentOutIsLentInTheOrderOfEmissions) {
  Open();
  Emit({"b1", "a2", "c3"});
  EXPECT_THAT(Lease(2), ElementsAre("b1 x1 until 30", "a2 x1 until 30"));
  EXPECT_THAT(Lease(9, 7s), ElementsAre("c3 x1 until 7"));
  EXPECT_THAT(Lease(9), IsEmpty());
}

TEST_F(LeaseStories, WhatCameBackGoesBeforeWhatNeverWentOut) {
  Open();
  Emit({"a1", "b2", "c3"});
  const size_t a = LeaseOne();
  EXPECT_EQ(Nack(a), "done");
  EXPECT_THAT(Pop(), ElementsAre("a1", "b2", "c3"));
  Emit({"a1", "b2", "c3"});
  LeaseOne();
  LeaseOne();
  Nack(last());
  EXPECT_THAT(Lease(9), ElementsAre("b2 x2 until 30", "c3 x1 until 30"));
}

TEST_F(LeaseStories, LeaseIsOverAtItsInstantAndNotBefore) {
  Open();
  Emit({"a1"});
  const size_t first = LeaseOne(30s);
  AdvanceTo(30s - 1us);
  EXPECT_THAT(Lease(9), IsEmpty());
  AdvanceTo(30s);
  EXPECT_EQ(Ack(first), "stale");
  EXPECT_THAT(Lease(9, 5s), ElementsAre("a1 x2 until 35"));
}

TEST_F(LeaseStories, LeaseThatIsOverAtOnceIsGivenOncePerCall) {
  Open();
  Emit({"a1"});
  EXPECT_THAT(Lease(9, 0s), ElementsAre("a1 x1 until 0"));
  EXPECT_THAT(Lease(9, -3600s), ElementsAre("a1 x2 until 0"));
}

TEST_F(LeaseStories, WhatCameBackIsHandedOutByTheInstantItCameBack) {
  Open();
  Emit({"a1", "b2", "c3"});
  Lease(1, 30s);
  Lease(1, 10s);
  const size_t c = LeaseOne(99s);
  AdvanceTo(20s);
  Nack(c);  // back at 20, between b at 10 and a at 30
  AdvanceTo(30s);
  EXPECT_THAT(Pop(), ElementsAre("b2", "c3", "a1"));
}

TEST_F(LeaseStories, WhatCameBackAtOneInstantIsHandedOutByTimeBeforeByCall) {
  Open();
  Emit({"a1", "b2", "c3", "d4"});
  const size_t a = LeaseOne(99s);
  Lease(1, 10s);                  // b, lent second
  const size_t c = LeaseOne(5s);  // c, lent third
  Extend(c, 10s);
  Lease(1, 10s);  // d, lent fourth
  AdvanceTo(10s);
  Nack(a);
  EXPECT_THAT(Pop(), ElementsAre("b2", "c3", "d4", "a1"));
}

TEST_F(LeaseStories, WhatCallsBroughtBackIsHandedOutInTheirOrder) {
  Open();
  Emit({"a1", "b2", "c3"});
  const size_t a = LeaseOne();
  const size_t b = LeaseOne();
  const size_t c = LeaseOne();
  Nack(c);
  Nack(a);
  Nack(b);
  EXPECT_THAT(Pop(), ElementsAre("c3", "a1", "b2"));
}

// One emission of a key at a time.

TEST_F(LeaseStories, KeyIsHeldUntilItsEmissionIsSettled) {
  Open();
  Emit({"a1", "a2", "b3", "a4"});
  const size_t first = LeaseOne();
  Emit({"a5"});
  EXPECT_THAT(Lease(9), ElementsAre("b3 x1 until 30"));
  EXPECT_THAT(Pop(), IsEmpty());
  Nack(first, 5s);
  EXPECT_THAT(Pop(), IsEmpty());  // delayed, and still held
  AdvanceTo(5s);
  EXPECT_THAT(Lease(9), ElementsAre("a1 x2 until 35"));
  Ack(last());
  EXPECT_THAT(Lease(9), ElementsAre("a2 x1 until 35"));
  EXPECT_THAT(Pop(), IsEmpty());
  Ack(last());
  EXPECT_THAT(Pop(), ElementsAre("a4", "a5"));
}

TEST_F(LeaseStories, WhenAKeyIsFreeItsNextHasItsPlaceInTheOrderOfEmissions) {
  Open();
  Emit({"a1", "b2", "a3", "c4"});
  const size_t a1 = LeaseOne();
  EXPECT_THAT(Lease(1), ElementsAre("b2 x1 until 30"));
  Ack(a1);
  EXPECT_THAT(Pop(), ElementsAre("a3", "c4"));
}

// Those of a held key go into a line behind it when a lease comes across them.
TEST_F(LeaseStories, WhenAKeyIsFreeItsLineHasItsPlaceToo) {
  Open({.leases = {.max_deliveries = 2}});
  Emit({"a1", "b2", "a3", "c4", "a5"});
  const size_t first = LeaseOne();
  EXPECT_THAT(Lease(9), ElementsAre("b2 x1 until 30", "c4 x1 until 30"));
  Ack(2);
  Ack(3);
  Emit({"d6"});
  Ack(first);
  EXPECT_THAT(Pop(), ElementsAre("a3", "a5", "d6"));
}

TEST_F(LeaseStories, PopHoldsNoKey) {
  Open();
  Emit({"a1", "b2", "a3"});
  EXPECT_THAT(Pop(1), ElementsAre("a1"));
  EXPECT_THAT(Pop(), ElementsAre("b2", "a3"));
}

TEST_F(LeaseStories, PopSettlesWhatCameBackAndItsKeyGoesOn) {
  Open();
  Emit({"a1", "b2", "a3", "a4"});
  Nack(LeaseOne());
  EXPECT_THAT(Pop(), ElementsAre("a1", "b2", "a3", "a4"));
  EXPECT_EQ(ledger().unacked, 0u);
}

// Acks.

TEST_F(LeaseStories, AckedEmissionIsGoneAndItsAckCanBeRepeated) {
  Open();
  Emit({"a1", "b2"});
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30", "b2 x1 until 30"));
  for (const Duration after : {0s, 0s, 3600s}) {
    AdvanceTo(after);
    EXPECT_EQ(Ack(1), "done");
    EXPECT_EQ(Ack(2), "done");
  }
  EXPECT_THAT(Lease(9), IsEmpty());
  EXPECT_EQ(ledger().acked, 2u);
  EXPECT_EQ(sizes(), Sizes{});
}

TEST_F(LeaseStories, TokenThatIsOverIsStaleForEveryCall) {
  Open({.leases = {.max_deliveries = 9}});
  Emit({"a1", "b2", "c3"});
  const size_t ran_out = LeaseOne(1s);
  const size_t nacked = LeaseOne();
  const size_t acked = LeaseOne();
  Nack(nacked);
  Ack(acked);
  AdvanceTo(1s);
  for (const size_t over : {size_t{0}, ran_out, nacked, acked}) {
    if (over != acked) {
      EXPECT_EQ(Ack(over), "stale");
    }
    EXPECT_EQ(Nack(over), "stale");
    EXPECT_EQ(Extend(over, 5s), "stale");
    EXPECT_EQ(RetryDeadLetter(over), "stale");
    EXPECT_EQ(DropDeadLetter(over), "stale");
  }
  // A later delivery does not make an earlier one good again.
  EXPECT_THAT(Lease(1), ElementsAre("b2 x2 until 31"));
  EXPECT_EQ(Ack(nacked), "stale");
  EXPECT_EQ(Ack(last()), "done");
}

// Nacks.

TEST_F(LeaseStories, NackedEmissionComesBackAfterItsDelay) {
  Open();
  Emit({"a1"});
  EXPECT_EQ(Nack(LeaseOne(), 40s), "done");
  AdvanceTo(40s - 1us);
  EXPECT_THAT(Lease(1), IsEmpty());
  EXPECT_EQ(model_->FirstLeaseDue(), LeaseTime(kT0 + 40s));
  AdvanceTo(40s);
  EXPECT_EQ(Nack(LeaseOne(), -5s), "done");
  EXPECT_THAT(Pop(), ElementsAre("a1"));
}

TEST_F(LeaseStories, DelayAboveTheLimitIsCut) {
  Open({.leases = {.max_nack_delay = 10s}});
  Emit({"a1"});
  EXPECT_EQ(Nack(LeaseOne(), 11s), "clamped");
  AdvanceTo(10s);
  EXPECT_EQ(Nack(LeaseOne(), 10s), "done");
}

// Extensions.

TEST_F(LeaseStories, ExtendMakesALeaseLongerAndNeverShorter) {
  Open();
  Emit({"a1"});
  const size_t first = LeaseOne(30s);
  AdvanceTo(20s);
  EXPECT_EQ(Extend(first, 5s), "done until 30");
  EXPECT_EQ(Extend(first, 15s), "done until 35");
  EXPECT_EQ(model_->FirstLeaseDue(), LeaseTime(kT0 + 35s));
  AdvanceTo(35s - 1us);
  EXPECT_EQ(Ack(first), "done");
}

TEST_F(LeaseStories, LeaseCannotBeMadeOlderThanItsLimit) {
  Open({.leases = {.max_age = 50s}});
  Emit({"a1"});
  EXPECT_THAT(Lease(1, 51s), ElementsAre("a1 x1 until 50"));
  AdvanceTo(49s);
  EXPECT_EQ(Extend(last(), 1s), "done until 50");
  EXPECT_EQ(Extend(last(), 2s), "clamped until 50");
  AdvanceTo(50s);
  EXPECT_EQ(Extend(last(), 1s), "stale");
  EXPECT_THAT(Lease(1, 10s), ElementsAre("a1 x2 until 60"));
  EXPECT_EQ(Extend(last(), 51s), "clamped until 100");  // of this delivery
}

// Dead letters.

TEST_F(LeaseStories, EmissionIsADeadLetterAfterItsLastDelivery) {
  Open({.leases = {.max_deliveries = 2}});
  Emit({"a1", "b2", "a3", "b4"});
  Lease(2, 10s);
  AdvanceTo(10s);
  EXPECT_THAT(Lease(1, 10s), ElementsAre("a1 x2 until 20"));
  EXPECT_EQ(Nack(LeaseOne(), 5s), "done");  // whatever the delay
  EXPECT_THAT(DeadLetters(), ElementsAre("b2 x2 0..10 nacked"));
  AdvanceTo(25s);
  EXPECT_THAT(DeadLetters(), ElementsAre("a1 x2 0..20 ran out", "b2 x2 0..10 nacked"));
  EXPECT_EQ(ledger().dead, 2u);
  EXPECT_THAT(Pop(), ElementsAre("a3", "b4"));
}

TEST_F(LeaseStories, RetriedLetterIsLentFromTheBeginning) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1", "b2"});
  const size_t a = LeaseOne();
  Nack(a);
  EXPECT_EQ(Ack(a), "stale");
  EXPECT_EQ(RetryDeadLetter(a), "done");
  EXPECT_EQ(RetryDeadLetter(a), "stale");
  EXPECT_EQ(ledger().unacked, 1u);
  AdvanceTo(7s);
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 37", "b2 x1 until 37"));
  AdvanceTo(37s);
  EXPECT_THAT(DeadLetters(), ElementsAre("a1 x1 7..37 ran out", "b2 x1 7..37 ran out"));
}

TEST_F(LeaseStories, RetriedLetterIsFoundAlsoIfNothingElseWaits) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1"});
  const size_t a = LeaseOne();
  Nack(a);
  EXPECT_THAT(Lease(9), IsEmpty());
  EXPECT_EQ(RetryDeadLetter(a), "done");
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30"));
}

TEST_F(LeaseStories, RetriedLetterWaitsUntilItsKeyIsFree) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1", "a2", "a3", "b4", "a5"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  const size_t a2 = LeaseOne();
  Nack(a2);
  const size_t a3 = LeaseOne();
  RetryDeadLetter(a2);
  RetryDeadLetter(a1);
  EXPECT_EQ(ledger().unacked, 3u);
  EXPECT_THAT(Lease(1), ElementsAre("b4 x1 until 30"));
  Ack(a3);
  EXPECT_THAT(Pop(1), ElementsAre("a2"));
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30"));
  Ack(last());
  EXPECT_THAT(Pop(), ElementsAre("a5"));
}

TEST_F(LeaseStories, RetriedLetterComesBeforeTheLineOfItsKey) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1"});
  const size_t letter = LeaseOne();
  Nack(letter);
  Emit({"a2", "a3", "a4"});
  const size_t second = LeaseOne();
  EXPECT_THAT(Lease(9), IsEmpty());
  Ack(second);
  RetryDeadLetter(letter);
  EXPECT_THAT(Pop(), ElementsAre("a1", "a3", "a4"));
}

TEST_F(LeaseStories, LettersThatCameBackAtOneInstantAreHandedOutAsTheyWereLentLast) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1", "b2", "b3", "a4"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  const size_t b2 = LeaseOne();
  Nack(b2);
  Lease(2, 10s);  // b3 and a4
  RetryDeadLetter(b2);
  RetryDeadLetter(a1);
  AdvanceTo(10s);
  EXPECT_THAT(Pop(), ElementsAre("a1", "b2"));
}

// Whatever partitions the keys are in.
TEST_F(LeaseStories, LettersThatOneCallBroughtBackAreHandedOutInTheOrderOfItsTokens) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1"});
  Lease(8);
  for (size_t letter = 1; letter <= 8; ++letter) Nack(letter);
  Emit({"a2", "b2", "c2", "d2", "e2", "f2", "g2", "h2"});
  Lease(8);
  for (size_t letter = 1; letter <= 8; ++letter) RetryDeadLetter(letter);
  EXPECT_EQ(AckMany({13, 10, 16, 0, 11, 9, 15, 13, 14, 12}),
            "done done done stale done done done done done done");
  EXPECT_THAT(Pop(), ElementsAre("e1", "b1", "h1", "c1", "a1", "g1", "f1", "d1"));
}

TEST_F(LeaseStories, RetriedLetterHoldsItsKeyIfThatIsFree) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  Emit({"b2", "a3"});
  RetryDeadLetter(a1);
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30", "b2 x1 until 30"));
}

TEST_F(LeaseStories, DroppedLetterIsGone) {
  Open({.leases = {.max_deliveries = 1}});
  Emit({"a1"});
  const size_t a1 = LeaseOne();
  EXPECT_EQ(DropDeadLetter(a1), "stale");
  Nack(a1);
  EXPECT_EQ(DropDeadLetter(a1), "done");
  EXPECT_EQ(DropDeadLetter(a1), "stale");
  EXPECT_EQ(RetryDeadLetter(a1), "stale");
  EXPECT_THAT(DeadLetters(), IsEmpty());
  EXPECT_EQ(ledger().dropped, 1u);
}

TEST_F(LeaseStories, AtTheLimitOnDeadLettersDeliveriesGoOn) {
  Open({.leases = {.max_deliveries = 1, .max_dead_letters = 1}});
  Emit({"a1", "b2", "b3"});
  const size_t a = LeaseOne();
  Nack(a);
  Nack(LeaseOne(), 5s);  // back at 5, as if it had deliveries left
  EXPECT_THAT(Lease(9), IsEmpty());
  AdvanceTo(5s);
  EXPECT_THAT(Lease(9), ElementsAre("b2 x2 until 35"));
  DropDeadLetter(a);
  Nack(last());
  EXPECT_THAT(DeadLetters(), ElementsAre("b2 x2 0..5 nacked"));
}

TEST_F(LeaseStories, AtTheLimitOnDeadLettersTheOldestCanBeDropped) {
  Open(
      {.leases = {
           .max_deliveries = 1, .max_dead_letters = 2, .on_dead_limit = OnDeadLimit::kDropOldest}});
  Emit({"a1", "b2", "c3"});
  Lease(1, 20s);
  Lease(1, 10s);
  Lease(1, 30s);
  AdvanceTo(30s);
  EXPECT_THAT(DeadLetters(), ElementsAre("a1 x1 0..20 ran out", "c3 x1 0..30 ran out"));
  EXPECT_EQ(ledger().dropped, 1u);
}

// Keys that wait behind their dead letters.

constexpr LeaseOptions kStrict{.max_deliveries = 1, .wait_behind_dead = true};

TEST_F(LeaseStories, LaterEmissionsOfAKeyWaitBehindItsDeadLetter) {
  Open({.leases = kStrict});
  Emit({"a1", "b2", "a3"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  Emit({"a4", "c5"});
  EXPECT_THAT(Lease(9), ElementsAre("b2 x1 until 30", "c5 x1 until 30"));
  EXPECT_THAT(Pop(), IsEmpty());
  EXPECT_EQ(sizes().behind_dead, 2u);
  EXPECT_EQ(ledger().ready, 2u);
  EXPECT_EQ(RetryDeadLetter(a1), "done");
  EXPECT_EQ(sizes().behind_dead, 0u);
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30"));
  EXPECT_THAT(Pop(), IsEmpty());
  Ack(last());
  EXPECT_THAT(Lease(9), ElementsAre("a3 x1 until 30"));
  Ack(last());
  EXPECT_THAT(Pop(), ElementsAre("a4"));
}

TEST_F(LeaseStories, LetterThatDiesAgainGoesOnHoldingItsKey) {
  Open({.leases = kStrict});
  Emit({"a1", "a2"});
  for (const Duration after : {30s, 60s, 90s}) {
    RetryDeadLetter(last());
    LeaseOne();
    AdvanceTo(after);
    EXPECT_THAT(Pop(), IsEmpty());
    EXPECT_EQ(DeadLetters().size(), 1u);
  }
  EXPECT_EQ(DropDeadLetter(last()), "done");
  EXPECT_THAT(Pop(), ElementsAre("a2"));
}

TEST_F(LeaseStories, LetterThatIsDroppedLetsTheNextEmissionGo) {
  Open({.leases = kStrict});
  Emit({"a1", "b2", "a3", "b4"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  EXPECT_THAT(Pop(), ElementsAre("b2", "b4"));
  DropDeadLetter(a1);
  EXPECT_EQ(ledger().dropped, 1u);
  Emit({"b5"});
  EXPECT_THAT(Pop(), ElementsAre("a3", "b5"));
}

TEST_F(LeaseStories, KeyThatWaitsForItsLetterIsNotInFlight) {
  Open({.leases = {.max_deliveries = 1, .max_leased = 1, .wait_behind_dead = true}});
  Emit({"a1", "b2", "a3", "c4"});
  const size_t a1 = LeaseOne();
  Nack(a1);
  EXPECT_THAT(Lease(9), ElementsAre("b2 x1 until 30"));
  RetryDeadLetter(a1);
  EXPECT_THAT(Lease(9), ElementsAre("a1 x1 until 30"));  // it came back
  Ack(2);
  EXPECT_THAT(Lease(9), IsEmpty());
}

TEST_F(LeaseStories, LetterThatIsDroppedAtTheLimitLetsItsKeyGo) {
  Open({.leases = {.max_deliveries = 1,
                   .max_dead_letters = 1,
                   .on_dead_limit = OnDeadLimit::kDropOldest,
                   .wait_behind_dead = true}});
  Emit({"a1", "b2", "a3", "b4"});
  Nack(LeaseOne());
  EXPECT_THAT(Lease(9, 10s), ElementsAre("b2 x1 until 10"));
  AdvanceTo(10s);
  EXPECT_THAT(DeadLetters(), ElementsAre("b2 x1 0..10 ran out"));
  EXPECT_THAT(Pop(), ElementsAre("a3"));
  EXPECT_EQ(sizes().behind_dead, 1u);
}

// The limit on leases.

TEST_F(LeaseStories, AtTheLimitOnLeasesOnlyWhatCameBackIsLent) {
  Open({.leases = {.max_leased = 2}});
  Emit({"a1", "b2", "c3", "a4"});
  EXPECT_THAT(Lease(9, 10s), ElementsAre("a1 x1 until 10", "b2 x1 until 10"));
  Ack(last());
  EXPECT_THAT(Lease(9, 20s), ElementsAre("c3 x1 until 20"));
  AdvanceTo(10s);
  EXPECT_THAT(Lease(9, 20s), ElementsAre("a1 x2 until 30"));
  Ack(last());
  Emit({"d5"});
  EXPECT_THAT(Lease(9, 20s), ElementsAre("a4 x1 until 30"));
  EXPECT_THAT(Pop(), ElementsAre("d5"));
}

// Time.

TEST_F(LeaseStories, LeasesRunOnAClockOfTheirOwn) {
  for (const Axis axis : kBothAxes) {
    Open({}, axis);
    AdvanceLeases(100s);
    EXPECT_EQ(engine().now(), kT0);
    Emit({"a1"});
    EXPECT_THAT(Lease(1), ElementsAre("a1 x1 until 130"));
    Advance(500s);
    EXPECT_EQ(model_->lease_now(), LeaseTime(kT0 + 100s));
    EXPECT_EQ(Features::Fold({{"b", 2, 48h, {.ends = true}}}), "opened");
    EXPECT_THAT(Pop(), ElementsAre("b2"));
    EXPECT_THAT(Lease(1), IsEmpty());
    EXPECT_EQ(model_->FirstDue(), std::nullopt);
    EXPECT_EQ(model_->FirstLeaseDue(), LeaseTime(kT0 + 130s));
    EXPECT_EQ(engine().NextLeaseDeadline(), LeaseTime(kT0 + 130s));
    AdvanceLeases(130s);
    EXPECT_EQ(engine().NextLeaseDeadline(), std::nullopt);
    AdvanceLeases(90s);  // LeaseTime never goes back
    EXPECT_THAT(Lease(1), ElementsAre("a1 x2 until 160"));
  }
}

// The ledger.

TEST_F(LeaseStories, LedgerTellsWhereEmissionsAre) {
  Open({.leases = {.max_deliveries = 2}});
  Emit({"a1", "a2", "b3", "c4", "d5", "e6"});
  EXPECT_THAT(Pop(1), ElementsAre("a1"));
  Lease(4, 10s);  // a2, b3, c4, d5
  Ack(last());
  Nack(last() - 1, 99s);
  AdvanceTo(10s);
  const Ledger counts = ledger();
  EXPECT_EQ(counts.closed, 6u);
  EXPECT_EQ(counts.popped, 1u);
  EXPECT_EQ(counts.acked, 1u);
  EXPECT_EQ(counts.nacked, 1u);
  EXPECT_EQ(counts.ran_out, 2u);
  EXPECT_EQ(counts.deliveries, 4u);
  EXPECT_EQ(counts.unacked, 3u);
  EXPECT_EQ(counts.ready, 1u);
  Lease(2, 10s);
  AdvanceTo(20s);
  EXPECT_EQ(ledger().dead, 2u);
  EXPECT_EQ(ledger().unacked, 1u);
}

}  // namespace
}  // namespace pleat
