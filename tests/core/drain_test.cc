// An orderly end without a clock and without threads: what a drain waits for, and what it says.
#include <pleat/drain.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>

#include "tests/core/key_counter.h"
#include "tests/support/numbers.h"

namespace pleat::draining {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Numbers = Folder<Number, Values>;

class Draining : public testing::Test {
 protected:
  Draining() { engine_->Advance(kT0); }

  static LeaseTime After(Duration d) { return LeaseTime(kT0 + d); }
  FoldOutcome Fold(std::string_view key) { return numbers_.Fold(key, {1}, kT0); }
  std::vector<std::string> PopAll() {
    std::vector<std::string> keys;
    for (const auto& emission : numbers_.Pop(100)) keys.push_back(emission.key);
    return keys;
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  Numbers numbers_{
      *engine_, "numbers", {.quiet_period = 1h, .max_wait = 24h, .leases = {.max_deliveries = 2}}};
};

class DrainListener final : public EmissionListener {
 public:
  void MayHaveEmissions() noexcept override {}
  void MayBeDrained() noexcept override { told = true; }
  bool told = false;
};

TEST_F(Draining, ClosesWhatIsOpenAndWaitsUntilItIsPopped) {
  Fold("a");
  Fold("b");
  Drain drain(*engine_, After(0s));
  EXPECT_EQ(Fold("c"), FoldOutcome::kStopped);
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  EXPECT_EQ(numbers_.Pop(1).size(), 1u);
  EXPECT_EQ(drain.Look(After(24h)), DrainState::kWaiting);  // no timeout
  const Drained left = drain.left();
  EXPECT_EQ(left.left.ready_emissions, 1u);
  ASSERT_THAT(left.collections, SizeIs(1));
  EXPECT_EQ(left.collections[0].collection, "numbers");
  EXPECT_EQ(numbers_.Pop(1).size(), 1u);
  EXPECT_EQ(drain.Look(After(24h)), DrainState::kDrained);
  EXPECT_EQ(drain.left().state, DrainState::kDrained);
  EXPECT_THAT(drain.left().collections, IsEmpty());
}

TEST_F(Draining, AnEngineWithoutEmissionsIsDrainedAtOnce) {
  LiveSet<> readers(*engine_, "readers", {.ttl = 1h});
  readers.Add("page", {.id = "ann"}, kT0);
  Drain drain(*engine_, After(0s), {.timeout = 0s});
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kDrained);
  EXPECT_EQ(readers.Count("page"), 1u);
}

TEST_F(Draining, WaitsForAcksAndTakesBackLeasesThatRanOut) {
  Fold("a");
  Drain drain(*engine_, After(0s), {.timeout = 10min});
  ASSERT_THAT(numbers_.Lease(1, 30s, After(0s)), SizeIs(1));
  EXPECT_EQ(drain.Look(After(29s)), DrainState::kWaiting);
  EXPECT_EQ(drain.left().left.unacked_emissions, 1u);
  EXPECT_EQ(drain.Look(After(30s)), DrainState::kWaiting);  // nobody has leased it again
  auto leases = numbers_.Lease(1, 30s, After(31s));
  ASSERT_THAT(leases, SizeIs(1));
  leases[0].Ack();
  EXPECT_EQ(drain.Look(After(32s)), DrainState::kDrained);
}

// Nobody but the drain moves LeaseTime here.
TEST_F(Draining, ADeadLetterIsNotWaitedForAndIsToldOf) {
  Fold("a");
  Drain drain(*engine_, After(0s));
  numbers_.Lease(1, 30s, After(0s))[0].Nack();
  ASSERT_THAT(numbers_.Lease(1, 30s, After(0s)), SizeIs(1));
  EXPECT_EQ(drain.Look(After(30s - 1us)), DrainState::kWaiting);
  EXPECT_EQ(drain.Look(After(30s)), DrainState::kDrained);
  ASSERT_THAT(drain.left().collections, SizeIs(1));
  EXPECT_EQ(drain.left().collections[0].sizes.dead_letters, 1u);
  EXPECT_EQ(drain.left().left.dead_letters, 1u);
}

// Whether a consumer has passed over them or not.
TEST_F(Draining, WhatWaitsBehindADeadLetterIsNotWaitedForAndIsToldOf) {
  for (const bool passed_over : {false, true}) {
    SCOPED_TRACE(passed_over);
    Numbers strict(*engine_, passed_over ? "passed over" : "strict",
                   {.quiet_period = 1h,
                    .max_wait = 24h,
                    .max_events = 1,
                    .leases = {.max_deliveries = 1, .wait_behind_dead = true}});
    Drain drain(strict.any(), After(0s));
    EXPECT_EQ(drain.Look(After(0s)), DrainState::kDrained);
    for (int i = 0; i < 3000; ++i) strict.Fold("a", {1}, kT0);
    auto leases = strict.Lease(1, 30s, After(0s));
    EXPECT_THAT(strict.Lease(passed_over ? 1 : 0, 30s, After(0s)), IsEmpty());
    Drain later(strict.any(), After(0s));
    EXPECT_EQ(later.Look(After(0s)), DrainState::kWaiting);
    ASSERT_THAT(leases, SizeIs(1));
    DrainListener listener;
    later.AddListener(listener);
    leases[0].Nack();
    EXPECT_TRUE(listener.told);
    later.RemoveListener(listener);
    EXPECT_EQ(later.Look(After(0s)), DrainState::kDrained);
    EXPECT_EQ(later.left().left.dead_letters, 1u);
    EXPECT_EQ(later.left().left.behind_dead, 2999u);
    EXPECT_EQ(later.left().left.ready_emissions, 2999u);
  }
}

TEST_F(Draining, EndsAtItsDeadlineAndSaysWhatIsLeft) {
  Fold("a");
  Fold("b");
  Drain drain(*engine_, After(0s), {.timeout = 10s});
  EXPECT_EQ(drain.deadline(), After(10s));
  ASSERT_THAT(numbers_.Lease(1, 30s, After(0s)), SizeIs(1));
  EXPECT_EQ(drain.Look(After(10s - 1us)), DrainState::kWaiting);
  EXPECT_EQ(drain.Look(After(10s)), DrainState::kTimedOut);
  EXPECT_EQ(drain.left().left.ready_emissions, 1u);
  EXPECT_EQ(drain.left().left.unacked_emissions, 1u);
  EXPECT_EQ(PopAll().size(), 1u);
  EXPECT_EQ(drain.Look(After(11s)), DrainState::kTimedOut);  // it stays so
}

TEST_F(Draining, AtItsDeadlineItMayBeDrainedAllTheSame) {
  Fold("a");
  Drain drain(*engine_, After(0s), {.timeout = 10s});
  EXPECT_THAT(PopAll(), ElementsAre("a"));
  EXPECT_EQ(drain.Look(After(1h)), DrainState::kDrained);
}

TEST_F(Draining, KeepsWhatIsOpenIfAsked) {
  Fold("open");
  Fold("closed");
  numbers_.Flush("closed");
  Drain drain(*engine_, After(0s), {.keep_open = true});
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  EXPECT_THAT(PopAll(), ElementsAre("closed"));
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kDrained);
  EXPECT_EQ(Fold("open"), FoldOutcome::kStopped);
  EXPECT_EQ(drain.left().left.open_groups, 1u);
  EXPECT_THAT(drain.left().collections, SizeIs(1));
  EXPECT_TRUE(numbers_.Peek("open"));
}

// As where the emissions of one folder are the events of the next.
TEST_F(Draining, OneCollectionAtATimeAndTheOthersGoOn) {
  Numbers sums(*engine_, "sums", {.quiet_period = 1h, .max_wait = 24h});
  Fold("a");
  sums.Fold("s", {1}, kT0);
  Drain first(numbers_.any(), After(0s));
  for (const auto& emission : numbers_.Pop(100)) {
    EXPECT_EQ(sums.Fold(emission.key, {1}, kT0), FoldOutcome::kOpened);
  }
  EXPECT_EQ(first.Look(After(0s)), DrainState::kDrained);
  EXPECT_EQ(sums.sizes().open_groups, 2u);
  Drain second(sums.any(), After(0s));
  EXPECT_EQ(second.Look(After(0s)), DrainState::kWaiting);
  EXPECT_EQ(second.left().left.ready_emissions, 2u);
}

TEST_F(Draining, AllKindsOfCollections) {
  RollupCounter plays(*engine_, "plays", {.windows = {1min}, .allowed_lateness = 10s});
  KeyCounter visits(*engine_, "visits", 1h);  // which only time closes
  plays.Add("title", 1, kT0);
  visits.Count("home", kT0);
  Fold("a");
  Drain drain(*engine_, After(0s), {.timeout = 1h});
  EXPECT_THAT(PopAll(), ElementsAre("a"));
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  const auto windows = plays.Pop(100);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].reason, Reason::kEnd);
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kDrained);
  ASSERT_THAT(drain.left().collections, SizeIs(1));
  EXPECT_EQ(drain.left().collections[0].collection, "visits");
}

TEST_F(Draining, IsClosedWithACollectionThatHadSomethingLeft) {
  Numbers other(*engine_, "other", {.quiet_period = 1h, .max_wait = 24h});
  Fold("a");
  other.Fold("o", {1}, kT0);
  Drain drain(*engine_, After(0s));
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  other.Close();
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);  // for the other one
  PopAll();
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kClosed);
}

TEST_F(Draining, IsDrainedIfACollectionIsClosedBehindItsLastEmission) {
  Numbers other(*engine_, "other", {.quiet_period = 1h, .max_wait = 24h});
  Fold("a");
  Drain drain(*engine_, After(0s));
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  other.Close();
  PopAll();
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kDrained);
}

TEST_F(Draining, OutlivesItsEngine) {
  Fold("a");
  const auto handle = engine_->Handle();
  Drain drain(*engine_, After(0s));
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kWaiting);
  engine_.reset();
  EXPECT_EQ(drain.Look(After(0s)), DrainState::kClosed);
  EXPECT_EQ(drain.left().left, Sizes{});
  Drain late(*handle, After(0s));
  EXPECT_EQ(late.Look(After(0s)), DrainState::kClosed);
  Drain of_one(numbers_.any(), After(0s));
  EXPECT_EQ(of_one.Look(After(0s)), DrainState::kClosed);
}

TEST_F(Draining, FromInsideAFoldFunctionItDoesNothing) {
  static Engine* engine = nullptr;
  static DrainState state = DrainState::kWaiting;
  struct Careless {
    void Fold(const Number&) noexcept {
      Drain drain(*engine, kLease0);
      state = drain.Look(kLease0);
    }
  };
  engine = engine_.get();
  Folder<Number, Careless> careless(*engine_, "careless", {.quiet_period = 1h, .max_wait = 24h});
  careless.Fold("a", {1}, kT0);
  EXPECT_EQ(state, DrainState::kClosed);
  EXPECT_EQ(Fold("a"), FoldOutcome::kOpened);  // it was not stopped
}

// Drawn calls of all kinds: whenever the last emission is popped, acked or dead, the listener hears
// it; what waits behind a dead letter does not count. The counts are the reference: nobody tells them.
TEST_F(Draining, AListenerHearsOfTheLastEmissionWhateverBecameOfIt) {
  int drained = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
    const auto engine = *Engine::Open({.partitions = 2});
    engine->Advance(kT0);
    Numbers numbers(*engine, "numbers",
                    {.quiet_period = 10s,
                     .max_wait = 24h,
                     .leases = {.max_deliveries = 2, .wait_behind_dead = seed % 2 == 0}});
    AnyCollection any = numbers.any();
    DrainListener listener;
    any.AddListener(listener, {});
    std::vector<LeaseToken> tokens;
    Duration passed{0};
    const auto undelivered = [&] {
      const Sizes sizes = numbers.sizes();
      return sizes.ready_emissions + sizes.unacked_emissions - sizes.behind_dead;
    };
    for (int step = 0; step < 400; ++step) {
      const size_t before = undelivered();
      listener.told = false;
      const LeaseToken token =
          tokens.empty() ? LeaseToken{} : tokens[draw(static_cast<unsigned>(tokens.size()))];
      switch (draw(11)) {
        case 0: numbers.Fold(std::to_string(draw(4)), {1}, kT0 + passed); break;
        case 1: numbers.Flush(std::to_string(draw(4))); break;
        case 2: static_cast<void>(numbers.Pop(draw(3))); break;
        case 3:
          static_cast<void>(numbers.Pop(9, PartitionRange::One(static_cast<int>(draw(2)))));
          break;
        case 4:
          for (auto& lease : numbers.Lease(draw(3), 5s, LeaseTime(kT0 + passed))) {
            tokens.push_back(lease.delivery.token);
          }
          break;
        case 5: numbers.Ack(token); break;
        case 6: numbers.Nack(token); break;
        case 7:
          passed += 3s;
          engine->Advance(kT0 + passed);
          EXPECT_TRUE(engine->AdvanceLeases(LeaseTime(kT0 + passed)));
          break;
        case 8: numbers.EndLeases(); break;
        case 9:
          draw(2) == 0 ? numbers.RetryDeadLetter(token) : numbers.DropDeadLetter(token);
          break;
        default: numbers.CloseAll(); break;
      }
      if (before == 0 || undelivered() > 0) continue;
      EXPECT_TRUE(listener.told) << "step " << step;
      ++drained;
    }
    any.RemoveListener(listener);
  }
  EXPECT_GT(drained, 400);
}

}  // namespace
}  // namespace pleat::draining
