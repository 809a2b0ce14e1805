// Emissions of a rollup counter on their way out: popped, lent, acked, given back, dead. The rules
// of leases are those of a folder (tests/core/lease_stories_test.cc); here is that they hold for
// windows.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using enum AddOutcome;

class RollupDelivery : public RollupTest {
 protected:
  std::vector<Leased<CountedWindow>> Lease(size_t max = 100, Duration ttl = 30s) {
    return counter().Lease(max, ttl, kLease0);
  }
  // Windows of "a" and "b" that wait.
  void Finalize(int windows) {
    for (int i = 0; i < windows; ++i) {
      Add("a", i * 10s, i);
      Add("b", i * 10s, i);
    }
    Advance(1h);
  }
};

TEST_F(RollupDelivery, APopTakesForGood) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Finalize(2);
  EXPECT_EQ(sizes().ready, 4u);
  EXPECT_THAT(Lines(counter().Pop(3)),
              ElementsAre("a 0-10 0/1 final", "b 0-10 0/1 final", "a 10-20 1/1 final"));
  EXPECT_THAT(PopLines(), ElementsAre("b 10-20 1/1 final"));
  EXPECT_THAT(PopAll(), IsEmpty());
  EXPECT_EQ(sizes().ready, 0u);
  EXPECT_EQ(counter().any().ledger().popped, 4u);
}

TEST_F(RollupDelivery, PoppingUpToAnInstantMovesTimeThere) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s);
  EXPECT_THAT(counter().PopExpired(At(15s) - 1us, 10), IsEmpty());
  EXPECT_THAT(Lines(counter().PopExpired(At(15s), 10)), ElementsAre("a 0-10 1/1 final"));
}

TEST_F(RollupDelivery, ALeaseLendsUntilItIsAcked) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Finalize(1);
  auto leases = Lease();
  ASSERT_THAT(Lines(leases), ElementsAre("a 0-10 0/1 final", "b 0-10 0/1 final"));
  EXPECT_EQ(leases[0].Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(leases[0].Ack(), LeaseOutcome::kDone);
  EXPECT_EQ(leases[1].Nack(), LeaseOutcome::kDone);
  auto again = Lease();
  ASSERT_THAT(Lines(again), ElementsAre("b 0-10 0/1 final"));
  EXPECT_EQ(again[0].id, leases[1].id);
  EXPECT_EQ(again[0].state, leases[1].state);
  EXPECT_EQ(again[0].delivery.deliveries, 2u);
  EXPECT_EQ(again[0].Ack(), LeaseOutcome::kDone);
  EXPECT_THAT(PopAll(), IsEmpty());
}

TEST_F(RollupDelivery, ALeaseThatRanOutIsLentAgain) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Finalize(1);
  auto leases = Lease(1);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(engine().NextLeaseDeadline(), LeaseTime(kT0 + 30s));
  EXPECT_TRUE(engine().AdvanceLeases(LeaseTime(kT0 + 30s)));
  EXPECT_EQ(leases[0].Ack(), LeaseOutcome::kStale);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 0/1 final", "b 0-10 0/1 final"));
}

TEST_F(RollupDelivery, WhileAWindowIsLentLaterOnesOfItsKeyWait) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Finalize(2);
  auto leases = Lease(1);
  ASSERT_THAT(Lines(leases), ElementsAre("a 0-10 0/1 final"));
  EXPECT_THAT(PopLines(), ElementsAre("b 0-10 0/1 final", "b 10-20 1/1 final"));
  leases[0].Ack();
  EXPECT_THAT(PopLines(), ElementsAre("a 10-20 1/1 final"));
}

TEST_F(RollupDelivery, ACorrectionWaitsForTheWindowItCorrects) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .on_late = OnLateAdd::kCorrect});
  Add("a", 3s);
  Advance(20s);
  auto leases = Lease();
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(Add("a", 4s, 7), kCorrected);
  EXPECT_THAT(PopAll(), IsEmpty());
  leases[0].Ack();
  const auto out = PopAll();
  EXPECT_THAT(Lines(out), ElementsAre("a 0-10 7/1 correction"));
  EXPECT_EQ(out[0].corrects, leases[0].id);
}

// So that who keeps the latest window of a key never goes back.
TEST_F(RollupDelivery, LaterWindowsOfAKeyWaitBehindItsDeadLetterIfTheyShall) {
  Open({.windows = {10s},
        .allowed_lateness = 5s,
        .leases = {.max_deliveries = 1, .wait_behind_dead = true}});
  Finalize(3);
  auto leases = Lease(1);
  ASSERT_THAT(Lines(leases), ElementsAre("a 0-10 0/1 final"));
  leases[0].Nack();
  EXPECT_THAT(PopLines(),
              ElementsAre("b 0-10 0/1 final", "b 10-20 1/1 final", "b 20-30 2/1 final"));
  EXPECT_EQ(counter().any().sizes().behind_dead, 2u);
  EXPECT_EQ(counter().RetryDeadLetter(leases[0].delivery.token), LeaseOutcome::kDone);
  leases = Lease();
  ASSERT_THAT(Lines(leases), ElementsAre("a 0-10 0/1 final"));
  leases[0].Nack();
  EXPECT_EQ(counter().deaths(), 2u);
  EXPECT_EQ(counter().DropDeadLetter(leases[0].delivery.token), LeaseOutcome::kDone);
  EXPECT_THAT(PopLines(), ElementsAre("a 10-20 1/1 final", "a 20-30 2/1 final"));
}

TEST_F(RollupDelivery, AfterTheLastDeliveryAWindowIsADeadLetter) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .leases = {.max_deliveries = 2}});
  Finalize(1);
  for (int i = 0; i < 2; ++i) {
    for (auto& lease : Lease()) lease.Nack();
  }
  EXPECT_THAT(Lease(), IsEmpty());
  ScanCursor cursor;
  std::vector<DeadLetter<CountedWindow>> letters;
  while (counter().ScanDeadLetters(cursor, 10, letters)) {
  }
  ASSERT_THAT(Lines(letters), ElementsAre("a 0-10 0/1 final", "b 0-10 0/1 final"));
  EXPECT_EQ(letters[0].death.why, DeadReason::kNacked);
  EXPECT_EQ(counter().RetryDeadLetter(letters[0].death.token), LeaseOutcome::kDone);
  EXPECT_EQ(counter().DropDeadLetter(letters[1].death.token), LeaseOutcome::kDone);
  EXPECT_THAT(PopLines(), ElementsAre("a 0-10 0/1 final"));
}

TEST_F(RollupDelivery, WhatIsLentCountsAsBacklog) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .limits = {.max_backlog = 2}});
  Finalize(1);
  EXPECT_EQ(Add("c", 1h), kOverLimit);
  auto leases = Lease();
  EXPECT_EQ(Add("c", 1h), kOverLimit);
  leases[0].Ack();
  EXPECT_EQ(Add("c", 1h), kAdded);
}

TEST_F(RollupDelivery, AWorkerTakesFromItsRangeOnly) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, {.partitions = 8});
  for (int i = 0; i < 100; ++i) Add("key " + std::to_string(i), 3s);
  Advance(1h);
  size_t seen = 0;
  for (int worker = 0; worker < 3; ++worker) {
    const auto range = PartitionRange::ForWorker(worker, 3, 8);
    for (auto& lease : counter().Lease(worker == 0 ? 3 : 0, 1min, kLease0, range)) {
      EXPECT_TRUE(range.Contains(PartitionOf(lease.key, 8)));
      EXPECT_EQ(static_cast<int>(lease.id.partition), PartitionOf(lease.key, 8));
      lease.Ack();
      ++seen;
    }
    for (const Counted& e : counter().Pop(1000, range)) {
      EXPECT_TRUE(range.Contains(PartitionOf(e.key, 8)));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 100u);
}

TEST_F(RollupDelivery, OverPartitionsWindowsComeInTheOrderOfTheirEnds) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, {.partitions = 8});
  for (int i = 0; i < 100; ++i) Add("key " + std::to_string(i % 13), i * 37 % 100 * 1s);
  Advance(1h);
  EngineTime last = kBeginningOfTime;
  for (const Counted& e : PopAll()) {
    EXPECT_GE(e.state.end, last);
    last = e.state.end;
  }
  EXPECT_EQ(last, At(100s));
}

// The counter is there as long as it counts, whatever becomes of its emissions.
TEST_F(RollupDelivery, AValueDoesNotDependOnWhoTookTheWindows) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Finalize(3);
  EXPECT_EQ(Sum("a"), 3);
  auto leases = Lease(1);
  (void)PopAll();
  EXPECT_EQ(Sum("a"), 3);
  leases[0].Ack();
  EXPECT_EQ(Sum("a"), 3);
  EXPECT_EQ(FinalSum("b"), 3);
}

TEST_F(RollupDelivery, WhatWaitsOutlivesItsCounter) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 0s});
  Finalize(1);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(PopAll().size(), 2u);
  EXPECT_EQ(sizes().bytes, 0u);
}

class CountingListener final : public EmissionListener {
 public:
  void MayHaveEmissions() noexcept override { ++calls; }
  int calls = 0;
};

TEST_F(RollupDelivery, AListenerIsToldOfEachWindow) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  CountingListener listener;
  AnyCollection any = counter().any();
  any.AddListener(listener, {});
  Add("a", 3s);
  Add("b", 13s);
  EXPECT_EQ(listener.calls, 0);
  Advance(15s);
  EXPECT_EQ(listener.calls, 1);
  counter().CloseAll();
  EXPECT_EQ(listener.calls, 2);
  any.RemoveListener(listener);
}

}  // namespace
}  // namespace pleat::inline v0_1
