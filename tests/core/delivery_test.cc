// Leases as their users see them, one behaviour a test. The rules come from docs/semantics.md, "Popping and
// leasing" and "Backlog". Which tokens end a lease is in lease_token_test.cc.
#include "tests/core/delivery.h"

#include <string>
#include <vector>

namespace pleat::leasing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(Delivery, WhatIsAckedIsGone) {
  Open();
  Emit("a", 1);
  Emit("b", 2);
  auto leases = Lease();
  ASSERT_THAT(ShowAll(leases), ElementsAre("a:1", "b:2"));
  EXPECT_EQ(leases[0].Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(leases[1].Ack(), LeaseOutcome::kDone);
  AdvanceBy(1h);
  EXPECT_THAT(LeaseAll(), IsEmpty());
  EXPECT_EQ(folder_->ledger().acked, 2);
  EXPECT_EQ(folder_->sizes().bytes, 0);
}

TEST_F(Delivery, WhatIsNotAckedInTimeIsHandedOutAgain) {
  Open();
  Emit("a", 1);
  const auto first = Lease();
  AdvanceBy(30s - 1us);
  EXPECT_THAT(LeaseAll(), IsEmpty());
  AdvanceBy(1us);
  const auto second = Lease();
  ASSERT_THAT(ShowAll(second), ElementsAre("a:1"));
  EXPECT_EQ(second[0].id, first[0].id);
  EXPECT_EQ(second[0].delivery.deliveries, 2);
  EXPECT_NE(second[0].delivery.token, first[0].delivery.token);
}

// L10, C4.
TEST_F(Delivery, LaterEmissionsOfALeasedKeyWaitAndOthersGoOn) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  Emit("a", 2);
  Emit("b", 3);
  Emit("a", 4);
  EXPECT_THAT(LeaseAll(), ElementsAre("b:3"));
  EXPECT_EQ(folder_->ledger().ready, 2);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
  auto next = Lease();
  ASSERT_THAT(ShowAll(next), ElementsAre("a:2"));
  EXPECT_EQ(next[0].delivery.deliveries, 1);
  next[0].Ack();
  EXPECT_THAT(LeaseAll(), ElementsAre("a:4"));
}

TEST_F(Delivery, PopLeavesALeasedKeyAlone) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne();
  Emit("a", 2);
  Emit("b", 3);
  EXPECT_THAT(PopAll(), ElementsAre("b:3"));
  folder_->Nack(token);
  EXPECT_THAT(PopAll(), ElementsAre("a:1", "a:2"));
}

TEST_F(Delivery, ANackedEmissionComesBackAfterItsDelay) {
  Open();
  Emit("a", 1);
  auto lease = Lease();
  EXPECT_EQ(lease[0].Nack(10s, kLease0), LeaseOutcome::kDone);
  EXPECT_EQ(lease[0].Ack(), LeaseOutcome::kStale);
  AdvanceBy(10s - 1us);
  EXPECT_THAT(LeaseAll(), IsEmpty());
  AdvanceBy(1us);
  EXPECT_THAT(LeaseAll(), ElementsAre("a:1"));
}

TEST_F(Delivery, ADelayCanBeLongerThanTheLeaseWas) {
  Open();
  Emit("a", 1);
  EXPECT_EQ(folder_->Nack(LeaseOne(1s), 10min, kLease0), LeaseOutcome::kDone);
  AdvanceBy(10min - 1us);
  EXPECT_THAT(LeaseAll(), IsEmpty());
  AdvanceBy(1us);
  EXPECT_THAT(LeaseAll(), ElementsAre("a:1"));
}

// nasty-cases 63.
TEST_F(Delivery, ADelayAboveTheLimitIsCutAndSaysSo) {
  Open({.leases = {.max_nack_delay = 1min}});
  Emit("a", 1);
  EXPECT_EQ(folder_->Nack(LeaseOne(), 1min + 1us, kLease0), LeaseOutcome::kClamped);
  AdvanceBy(1min);
  EXPECT_THAT(LeaseAll(), ElementsAre("a:1"));
}

// nasty-cases 65.
TEST_F(Delivery, ALeaseCanBeExtendedUpToItsAge) {
  Open({.leases = {.max_age = 5min}});
  Emit("a", 1);
  const LeaseToken token = LeaseOne(30s);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(folder_->Extend(token, 30s, kLease0).outcome, LeaseOutcome::kDone);
    AdvanceBy(100ms);
  }
  EXPECT_EQ(folder_->Extend(token, 5min, kLease0).outcome, LeaseOutcome::kClamped);
  AdvanceBy(200s - 1us);
  EXPECT_EQ(folder_->Extend(token, 30s, kLease0).outcome, LeaseOutcome::kClamped);
  AdvanceBy(1us);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kStale);
  EXPECT_THAT(LeaseAll(), ElementsAre("a:1"));
}

TEST_F(Delivery, ALeaseThatIsOverAtOnceIsGivenOncePerCall) {
  Open();
  Emit("a", 1);
  EXPECT_THAT(Lease(100, 0s), SizeIs(1));
  EXPECT_EQ(Lease(100, -1h).at(0).delivery.deliveries, 2);
}

TEST_F(Delivery, ACallSaysWhatTimeItIs) {
  Open();
  Emit("a", 1);
  Emit("b", 2);
  auto leases = folder_->Lease(2, 30s, LeaseTime(kT0 + 1h));
  ASSERT_THAT(leases, SizeIs(2));
  EXPECT_EQ(leases[0].delivery.until, LeaseTime(kT0 + 1h + 30s));
  EXPECT_EQ(leases[0].Extend(1min, LeaseTime(kT0 + 1h + 20s)),
            (Extension{LeaseOutcome::kDone, LeaseTime(kT0 + 1h + 80s)}));
  EXPECT_EQ(leases[1].Nack(10s, LeaseTime(kT0 + 1h + 25s)), LeaseOutcome::kDone);
  EXPECT_EQ(engine_->now(), kT0);
  EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 1h + 30s));  // early, never late
  EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 1h + 35s)));
  EXPECT_THAT(LeaseAll(), ElementsAre("b:2"));
}

TEST_F(Delivery, ExtendSaysWhenTheLeaseEnds) {
  Open({.leases = {.max_age = 5min}});
  Emit("a", 1);
  const LeaseToken token = LeaseOne(30s);
  const LeaseTime later = LeaseTime(kT0 + 10s);
  const LeaseTime end = LeaseTime(kT0 + 70s);
  EXPECT_EQ(folder_->Extend(token, 1min, later), (Extension{LeaseOutcome::kDone, end}));
  EXPECT_EQ(folder_->Extend(token, 1s, later), (Extension{LeaseOutcome::kDone, end}));
  EXPECT_EQ(folder_->Extend(token, 1h, later),
            (Extension{LeaseOutcome::kClamped, LeaseTime(kT0 + 5min)}));
  EXPECT_EQ(folder_->Extend({}, 1h, later), Extension{});
}

// The driver sleeps, and LeaseTime stands still, while a consumer works.
TEST_F(Delivery, NoLeaseAndNoDelayBeginsBeforeItsCall) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({}, {.partitions = 4, .axis = axis});
    Emit("a", 1);
    EngineTime now = kT0 + 90s;  // nobody has moved time meanwhile
    auto leases = folder_->Lease(1, 2s, LeaseTime(now));
    ASSERT_THAT(leases, SizeIs(1));
    EXPECT_EQ(leases[0].delivery.until, LeaseTime(now + 2s));
    now += 1s;
    EXPECT_EQ(leases[0].Nack(500ms, LeaseTime(now)), LeaseOutcome::kDone);
    EXPECT_THAT(folder_->Lease(1, 2s, LeaseTime(now + 500ms - 1us)), IsEmpty());
    EXPECT_THAT(folder_->Lease(1, 2s, LeaseTime(now + 500ms)), SizeIs(1));
  }
}

TEST_F(Delivery, ExtendNeverShortens) {
  Open();
  Emit("a", 1);
  const LeaseToken token = LeaseOne(30s);
  EXPECT_EQ(folder_->Extend(token, 1s, kLease0).outcome, LeaseOutcome::kDone);
  AdvanceBy(30s - 1us);
  EXPECT_EQ(folder_->Ack(token), LeaseOutcome::kDone);
}

// L9, nasty-cases 64.
TEST_F(Delivery, AfterSoManyDeliveriesItIsADeadLetterAndTheNextOfItsKeyGoesOn) {
  Open({.leases = {.max_deliveries = 3}});
  Emit("a", 1);
  Emit("a", 2);
  folder_->Nack(LeaseOne());
  LeaseOne();
  AdvanceBy(30s);
  const LeaseToken last = LeaseOne();
  EXPECT_EQ(folder_->Nack(last, 10min, kLease0), LeaseOutcome::kDone);
  const auto dead = Dead();
  ASSERT_THAT(ShowAll(dead), ElementsAre("a:1"));
  EXPECT_EQ(dead[0].death.token, last);
  EXPECT_EQ(dead[0].death.deliveries, 3);
  EXPECT_EQ(dead[0].death.first_leased, kLease0);
  EXPECT_EQ(dead[0].death.died, LeaseTime(kT0 + 30s));
  EXPECT_EQ(dead[0].death.why, DeadReason::kNacked);
  EXPECT_THAT(LeaseAll(), ElementsAre("a:2"));
  EXPECT_EQ(folder_->ledger().dead, 1);
}

TEST_F(Delivery, AScanOfDeadLettersComesToItsEndFromAnywhere) {
  Open({.leases = {.max_deliveries = 1}});
  for (const char* key : {"a", "b", "c"}) Emit(key, 1);
  for (auto& lease : Lease()) lease.Nack();
  ScanCursor cursor{.partition = -5, .place = 3};
  std::vector<DeadLetter<Values>> letters;
  for (int calls = 0; folder_->ScanDeadLetters(cursor, 0, letters); ++calls) ASSERT_LT(calls, 10);
  EXPECT_THAT(letters, SizeIs(3));
}

TEST_F(Delivery, ADeadLetterCanBeRetried) {
  Open({.leases = {.max_deliveries = 1}});
  Emit("a", 1);
  folder_->Nack(LeaseOne());
  const LeaseToken token = Dead().at(0).death.token;
  EXPECT_EQ(folder_->RetryDeadLetter(token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->RetryDeadLetter(token), LeaseOutcome::kStale);
  EXPECT_THAT(Dead(), IsEmpty());
  const auto again = Lease();
  ASSERT_THAT(ShowAll(again), ElementsAre("a:1"));
  EXPECT_EQ(again[0].delivery.deliveries, 1);
}

TEST_F(Delivery, ARetriedDeadLetterWaitsForItsKeyAndComesBeforeTheOthers) {
  Open({.leases = {.max_deliveries = 1}});
  Emit("a", 1);
  Emit("a", 2);
  Emit("a", 3);
  folder_->Nack(LeaseOne());
  auto held = Lease();
  ASSERT_THAT(ShowAll(held), ElementsAre("a:2"));
  folder_->RetryDeadLetter(Dead().at(0).death.token);
  EXPECT_THAT(LeaseAll(), IsEmpty());
  held[0].Ack();
  EXPECT_THAT(PopAll(), ElementsAre("a:1", "a:3"));
}

TEST_F(Delivery, ADeadLetterCanBeDropped) {
  Open({.leases = {.max_deliveries = 1}});
  Emit("a", 1);
  folder_->Nack(LeaseOne());
  const LeaseToken token = Dead().at(0).death.token;
  EXPECT_EQ(folder_->DropDeadLetter(token), LeaseOutcome::kDone);
  EXPECT_EQ(folder_->DropDeadLetter(token), LeaseOutcome::kStale);
  EXPECT_EQ(folder_->ledger().dropped, 1);
  EXPECT_EQ(folder_->sizes().bytes, 0);
}

TEST_F(Delivery, WithNoRoomForDeadLettersItIsTriedOn) {
  Open({.leases = {.max_deliveries = 1, .max_dead_letters = 1}}, {.partitions = 1});
  Emit("a", 1);
  Emit("b", 2);
  folder_->Nack(LeaseOne());
  folder_->Nack(LeaseOne(), 10s, kLease0);
  EXPECT_THAT(ShowAll(Dead()), ElementsAre("a:1"));
  EXPECT_THAT(LeaseAll(), IsEmpty());
  AdvanceBy(10s);
  EXPECT_EQ(Lease().at(0).delivery.deliveries, 2);
}

TEST_F(Delivery, WithNoRoomForDeadLettersTheOldestIsDroppedIfWanted) {
  Open({.leases = {.max_deliveries = 1,
                   .max_dead_letters = 1,
                   .on_dead_limit = OnDeadLimit::kDropOldest}},
       {.partitions = 1});
  Emit("a", 1);
  Emit("b", 2);
  folder_->Nack(LeaseOne());
  folder_->Nack(LeaseOne());
  EXPECT_THAT(ShowAll(Dead()), ElementsAre("b:2"));
  EXPECT_EQ(folder_->ledger().dropped, 1);
}

TEST_F(Delivery, SoManyKeysAreLentAtATime) {
  Open({.leases = {.max_leased = 2}}, {.partitions = 1});
  Emit("a", 1);
  Emit("b", 2);
  Emit("c", 3);
  Emit("a", 4);
  auto leases = Lease();
  ASSERT_THAT(ShowAll(leases), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(LeaseAll(), IsEmpty());
  leases[0].Ack();
  EXPECT_THAT(LeaseAll(), ElementsAre("c:3"));
}

TEST_F(Delivery, WhatCameBackComesInTheOrderOfItsReturn) {
  Open();
  for (const char* key : {"a", "b", "c", "d"}) Emit(key, 1);
  auto leases = Lease();
  ASSERT_THAT(leases, SizeIs(4));
  Emit("e", 1);
  leases[3].Nack(10s, kLease0);
  leases[2].Nack(20s, kLease0);
  AdvanceBy(15s);
  leases[1].Nack();
  AdvanceBy(20s);  // a's lease ran out at 30 s
  EXPECT_THAT(LeaseAll(), ElementsAre("d:1", "b:1", "c:1", "a:1", "e:1"));
}

TEST_F(Delivery, WhatWaitedForItsKeyHasItsOldPlaceInTheOrder) {
  for (const bool looked : {false, true}) {
    Open();
    for (const char* key : {"a", "b", "a", "c", "a"}) Emit(key, 1);
    const LeaseToken token = LeaseOne();
    if (looked) {
      auto all = Lease();
      EXPECT_THAT(ShowAll(all), ElementsAre("b:1", "c:1"));
      for (auto& lease : all) lease.Ack();
    }
    Emit("d", 1);
    folder_->Ack(token);
    const auto rest = looked ? std::vector<std::string>{"a:1", "a:1", "d:1"}
                             : std::vector<std::string>{"b:1", "a:1", "c:1", "a:1", "d:1"};
    EXPECT_EQ(PopAll(), rest);
  }
}

TEST_F(Delivery, ARetriedDeadLetterComesBeforeWhatIsReadyOfItsKey) {
  Open({.leases = {.max_deliveries = 1}});
  Emit("a", 1);
  folder_->Nack(LeaseOne());
  Emit("a", 2);
  Emit("a", 3);
  Emit("a", 4);
  const LeaseToken second = LeaseOne();
  EXPECT_THAT(LeaseAll(), IsEmpty());  // which puts the others into the line behind it
  folder_->Ack(second);
  folder_->RetryDeadLetter(Dead().at(0).death.token);
  EXPECT_THAT(PopAll(), ElementsAre("a:1", "a:3", "a:4"));
}

// More than a call goes through under one lock.
TEST_F(Delivery, ThousandsOfLeasesThatRanOutComeBackBeforeAnythingNew) {
  Open({}, {.partitions = 2});
  for (int i = 0; i < 5'000; ++i) Emit("key" + std::to_string(i), 1);
  ASSERT_THAT(Lease(5'000), SizeIs(5'000));
  Emit("new", 1);
  (void)engine_->AdvanceLeases(LeaseTime(kT0 + 30s), 0);  // nobody has looked
  const auto again = Lease(10'000);
  ASSERT_THAT(again, SizeIs(5'001));
  EXPECT_EQ(again.front().delivery.deliveries, 2);
  EXPECT_EQ(again.back().key, "new");
}

TEST_F(Delivery, ThousandsThatWaitForTheirKeyHideNothing) {
  Open({}, {.partitions = 2});
  Emit("a", 1);
  LeaseOne(1h);
  for (int i = 0; i < 5'000; ++i) Emit("a", 1);
  Emit("b", 2);
  EXPECT_THAT(LeaseAll(), ElementsAre("b:2"));
}

TEST_F(Delivery, AWorkerLeasesFromItsRangeOnly) {
  Open({}, {.partitions = 16});
  for (int i = 0; i < 100; ++i) Emit("key" + std::to_string(i), 0);
  size_t seen = 0;
  for (int worker = 0; worker < 3; ++worker) {
    const auto range = PartitionRange::ForWorker(worker, 3, 16);
    for (const auto& lease : folder_->Lease(1000, 1min, kLease0, range)) {
      EXPECT_TRUE(range.Contains(PartitionOf(lease.key, 16)));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 100);
}

// Neither clock moves the other, on either axis.
TEST_F(Delivery, LeasesRunOnAClockOfTheirOwn) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({}, {.partitions = 4, .axis = axis});
    Emit("a", 1);
    LeaseOne();
    engine_->Advance(kT0 + 24h);
    EXPECT_EQ(folder_->Fold("b", {2}, kT0 + 48h), FoldOutcome::kOpened);
    EXPECT_THAT(PopAll(), ElementsAre("b:2"));
    EXPECT_THAT(LeaseAll(), IsEmpty());
    EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 30s));
    const EngineTime before = engine_->now();
    EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 30s)));
    EXPECT_EQ(engine_->now(), before);
    EXPECT_EQ(engine_->NextLeaseDeadline(), std::nullopt);
    EXPECT_THAT(LeaseAll(), ElementsAre("a:1"));
  }
}

TEST_F(Delivery, NextLeaseDeadlineIsThatOfAllPartitions) {
  Open();
  for (int i = 0; i < 20; ++i) Emit("key" + std::to_string(i), i);
  for (Duration ttl = 60s; ttl > 40s; ttl -= 1s) LeaseOne(ttl);
  EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 41s));
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
  AdvanceBy(41s);
  EXPECT_EQ(engine_->NextLeaseDeadline(), LeaseTime(kT0 + 42s));
}

// --- Backlog

TEST_F(Delivery, AtTheBacklogsLimitEventsThatOpenGroupsAreRefusedAtOnce) {
  Open({.limits = {.max_backlog = 2}}, {.partitions = 1});
  EXPECT_EQ(Emit("a", 1), FoldOutcome::kOpened);
  EXPECT_EQ(Emit("b", 2), FoldOutcome::kOpened);
  EXPECT_EQ(Emit("c", 3), FoldOutcome::kOverloaded);
  auto lease = folder_->Lease(1, 1min, kLease0);
  EXPECT_EQ(Emit("c", 3), FoldOutcome::kOverloaded);
  lease[0].Ack();
  EXPECT_EQ(Emit("c", 3), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->ledger().overloaded, 2);
}

TEST_F(Delivery, AtTheBacklogsLimitTheOldestIsDroppedIfWanted) {
  Open({.limits = {.max_backlog = 2, .on_backlog = OnBacklog::kDropOldest}}, {.partitions = 1});
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Emit("k" + std::to_string(i), i), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->ledger().dropped, 3);
  EXPECT_THAT(PopAll(), ElementsAre("k4:4", "k5:5"));
}

TEST_F(Delivery, WhatIsLentIsNotDropped) {
  Open({.limits = {.max_backlog = 2, .on_backlog = OnBacklog::kDropOldest}}, {.partitions = 1});
  Emit("a", 1);
  const LeaseToken a = LeaseOne();
  Emit("a", 2);
  Emit("a", 3);
  EXPECT_EQ(folder_->Ack(a), LeaseOutcome::kDone);
  EXPECT_THAT(PopAll(), ElementsAre("a:3"));
}

}  // namespace
}  // namespace pleat::leasing
