// Checkpoints of a rollup counter, and stores that answer what they should not: one story a rule of
// docs/counters.md.
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum AddOutcome;

// Keeps checkpoints, and answers otherwise when it is told to.
class ToldStore final : public CheckpointStore {
 public:
  absl::StatusOr<Checkpoint> Load(std::string_view key) override {
    ++loads;
    if (during_load) std::exchange(during_load, nullptr)();
    if (load) return *std::exchange(load, std::nullopt);
    return kept.Load(key);
  }
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override {
    published.push_back(checkpoint);
    if (during_publish) std::exchange(during_publish, nullptr)();
    if (publish) return *std::exchange(publish, std::nullopt);
    return kept.Publish(key, checkpoint);
  }

  MemoryCheckpointStore kept;
  int loads = 0;
  std::vector<Checkpoint> published;  // that it was asked to keep

  // The next answers, and what happens before them.
  std::optional<absl::StatusOr<Checkpoint>> load = std::nullopt;
  std::optional<absl::StatusOr<Checkpoint>> publish = std::nullopt;
  std::function<void()> during_load = nullptr;
  std::function<void()> during_publish = nullptr;
};

absl::Status Away() { return absl::UnavailableError("away"); }

class RollupStore : public RollupTest {
 protected:
  static Checkpoint Until(Duration end, uint64_t count, int64_t sum) {
    return {At(end), {.count = count, .sum = sum, .real = static_cast<double>(sum)}};
  }
  void OpenShared(Duration allowed_lateness = 5s, Duration forget_after = kForever) {
    Open({.windows = {10s},
          .allowed_lateness = allowed_lateness,
          .forget_after = forget_after,
          .clears = true,
          .store = store_});
  }
  ToldStore& store() { return *store_; }
  Checkpoint Kept(std::string_view key = "a") { return *store_->kept.Load(key); }

  static std::string Show(const Publication& done) {
    return std::to_string(done.published) + " published, " + std::to_string(done.failed) +
           " failed" + (done.more ? ", more" : "");
  }
  std::string Publish(size_t max = SIZE_MAX) { return Show(counter().Publish(max)); }

  std::shared_ptr<ToldStore> store_ = std::make_shared<ToldStore>();
};

// What is published.

TEST_F(RollupStore, WhatIsFinalIsPublishedOnce) {
  OpenShared();
  Add("a", 3s, 7);
  Add("a", 13s, 8);
  EXPECT_EQ(Publish(), "0 published, 0 failed");  // but it has been loaded
  EXPECT_EQ(store().loads, 1);
  Advance(15s);
  EXPECT_EQ(sizes().unpublished, 1u);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(10s, 1, 7));
  EXPECT_EQ(sizes().unpublished, 0u);
  EXPECT_EQ(Publish(), "0 published, 0 failed");
  Advance(1h);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept().amount, Until(20s, 2, 15).amount);
  EXPECT_EQ(Kept().until, counter().Eventual("a")->as_of);
  EXPECT_EQ(ledger().published, 2u);
}

// A store keeps a sum as an integer or as a double. The counter itself knows more.
TEST_F(RollupStore, PublishingDoesNotChangeAValue) {
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  const std::vector<std::vector<Delta>> series = {
      {kMax, kMax, -kMax}, {INT64_MAX, 1, 0.5, -7}, {kOdd, 0.25, -kOdd}, {0.1, 0.2, 1e16, -1e16}};
  for (const std::vector<Delta>& deltas : series) {
    store_ = std::make_shared<ToldStore>();
    OpenShared();
    for (const Delta& delta : deltas) {
      Add("published", 3s, delta);
      Add("not", 3s, delta);
    }
    Advance(15s);
    counter().Publish(1);
    ASSERT_EQ(store().published.size(), 1u);
    EXPECT_EQ(Accurate("published").amount, Accurate("not").amount);
    for (auto delta = deltas.rbegin(); delta != deltas.rend(); ++delta) {
      Add("published", 13s, *delta);
      Add("not", 13s, *delta);
    }
    Advance(25s);
    EXPECT_EQ(counter().Eventual("published")->amount, counter().Eventual("not")->amount);
  }
}

TEST_F(RollupStore, AnotherInstanceKnowsThatASumIsSaturated) {
  OpenShared();
  for (const Delta delta : {Delta(1e308), Delta(1e308)}) Add("a", 3s, delta);
  Advance(15s);
  Publish();
  OpenShared();
  Add("a", 3s);
  Publish();
  EXPECT_TRUE(Accurate("a").amount.saturated);
}

TEST_F(RollupStore, WhereThereIsNoneNothingIsPublished) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  Add("a", 3s, 7);
  Advance(15s);
  EXPECT_EQ(Publish(), "0 published, 0 failed");
  EXPECT_TRUE(Accurate("a").loaded);
  EXPECT_EQ(sizes().unpublished, 0u);
}

TEST_F(RollupStore, WithoutACallTheStoreIsNotReached) {
  OpenShared();
  Add("a", 3s, 7);
  Advance(1h);
  (void)counter().AddAndGet("a", 1, At(1h));
  (void)Accurate("a");
  (void)PopAll();
  EXPECT_EQ(store().loads, 0);
  EXPECT_THAT(store().published, IsEmpty());
}

TEST_F(RollupStore, ACallBringsSoManyCountersIntoLine) {
  OpenShared();
  for (int i = 0; i < 10; ++i) Add(std::to_string(i), 3s);
  Advance(15s);
  EXPECT_EQ(Publish(4), "4 published, 0 failed, more");
  EXPECT_EQ(sizes().unpublished, 6u);
  EXPECT_EQ(Publish(4), "4 published, 0 failed, more");
  EXPECT_EQ(Publish(4), "2 published, 0 failed");
  EXPECT_EQ(store().kept.size(), 10u);
}

TEST_F(RollupStore, WindowsWaitForTheirPublicationWhateverTheRetention) {
  OpenShared();
  for (int i = 0; i < 5; ++i) {
    Add("a", i * 10s, 1 << i);
    Advance(i * 10s + 15s);
    store().load = Away();
    EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  }
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(50s, 5, 31));
}

TEST_F(RollupStore, AClearIsPublishedToo) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  Clear("a", 13s);
  Add("a", 14s, 2);
  Add("a", 23s, 4);
  Advance(25s);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(20s, 1, 2));
  Advance(35s);
  Publish();
  EXPECT_EQ(Kept(), Until(30s, 2, 6));
}

// Going on from a checkpoint.

TEST_F(RollupStore, ANewCounterGoesOnFromTheCheckpoint) {
  ASSERT_TRUE(store().kept.Publish("a", Until(100s, 4, 40)).ok());
  OpenShared();
  Advance(110s);
  EXPECT_EQ(Add("a", 112s, 1), kAdded);
  EXPECT_FALSE(Accurate("a").loaded);
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(sizes().unpublished, 1u);
  EXPECT_EQ(Publish(), "0 published, 0 failed");
  EXPECT_TRUE(Accurate("a").loaded);
  EXPECT_EQ(Accurate("a").amount, (Amount{.count = 5, .sum = 41, .real = 41}));
  EXPECT_EQ(FinalSum("a"), 40);
  Advance(125s);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(120s, 5, 41));
}

TEST_F(RollupStore, WhatTheCheckpointHasIsNotCountedTwice) {
  ASSERT_TRUE(store().kept.Publish("a", Until(100s, 4, 40)).ok());
  OpenShared(/*allowed_lateness=*/30s);
  Add("a", 85s, 1);  // replayed
  Add("a", 95s, 2);  // likewise
  Add("a", 105s, 4);
  Advance(120s);  // the first window is final, the others are open
  EXPECT_EQ(Sum("a"), 7);
  Publish();
  EXPECT_EQ(Sum("a"), 44);
  EXPECT_EQ(FinalSum("a"), 40);
  EXPECT_EQ(counter().Eventual("a")->as_of, At(100s));
  EXPECT_EQ(Accurate("a").checkpoint, At(100s));
  Advance(200s);
  Publish();
  EXPECT_EQ(Kept().amount, Until(0s, 5, 44).amount);
}

TEST_F(RollupStore, AReferenceReadsTheCheckpoint) {
  ASSERT_TRUE(store().kept.Publish("a", Until(100s, 4, 40)).ok());
  OpenShared();
  const CounterRef ref = counter().Ref("a");
  EXPECT_EQ(ref.Eventual().amount, Amount{});
  Publish();
  EXPECT_EQ(ref.Eventual().amount, Until(100s, 4, 40).amount);
  EXPECT_EQ(ref.Eventual().as_of, At(100s));
}

TEST_F(RollupStore, ACounterThatWasForgottenComesBackWithItsValue) {
  OpenShared(/*allowed_lateness=*/5s, /*forget_after=*/10s);
  Add("a", 3s, 7);
  Publish();
  Advance(15s);
  Publish();
  Advance(25s);
  EXPECT_EQ(Kept(), Until(10s, 1, 7));
  EXPECT_EQ(sizes().keys, 0u);
  Add("a", 26s, 1);
  EXPECT_EQ(Sum("a"), 1);
  Publish();
  EXPECT_EQ(Sum("a"), 8);
  Advance(35s);
  Publish();
  EXPECT_EQ(Kept(), Until(30s, 2, 8));
}

TEST_F(RollupStore, NoCounterIsForgottenBeforeTheStoreHasIt) {
  OpenShared(/*allowed_lateness=*/5s, /*forget_after=*/0s);
  Add("a", 3s, 7);
  Publish();
  Advance(15s);
  Publish();
  Advance(16s);
  EXPECT_EQ(Kept(), Until(10s, 1, 7));
  EXPECT_EQ(sizes().keys, 0u);
  Add("a", 16s, 1);
  EXPECT_EQ(Sum("a"), 1);
  Publish();
  EXPECT_EQ(Sum("a"), 8);
  Advance(25s);
  Publish();
  EXPECT_EQ(Kept(), Until(20s, 2, 8));
}

// Time moves while the store works, and nobody has visited the window that is due by then.
TEST_F(RollupStore, NoCounterIsForgottenBeforeAWindowThatIsDueIsVisited) {
  OpenShared(/*allowed_lateness=*/5s, /*forget_after=*/0s);
  Add("a", 3s, 7);
  Advance(15s);
  store().during_load = [&] { Add("a", 16s, 1); };
  store().during_publish = [&] { MoveTime(25s); };
  Publish();
  store().during_load = store().during_publish = nullptr;
  EXPECT_EQ(Kept(), Until(10s, 1, 7));
  EXPECT_EQ(sizes().keys, 1u);
  Advance(26s);
  Publish();
  EXPECT_EQ(Kept(), Until(20s, 2, 8));
}

// The same of kept windows. So many other counters are held that no visit has looked at these since
// they were released.
TEST_F(RollupStore, NoCounterIsForgottenBeforeItsKeptWindowsAreVisited) {
  Open({.windows = {10s},
        .allowed_lateness = 0s,
        .retention = 20s,
        .forget_after = 40s,
        .store = store_});
  std::vector<CounterRef> refs;
  for (int i = 0; i < 1000; ++i) refs.push_back(counter().Ref("key " + std::to_string(i)));
  for (int i = 0; i < 1000; i += 200) Add("key " + std::to_string(i), 1s);
  Advance(10s);
  store().during_publish = [&] {
    refs.clear();
    MoveTime(100s);
  };
  Publish();
  EXPECT_EQ(Kept("key 800").amount.count, 1u);
  CheckWhole(counter().any());
  for (int i = 0; i < 20; ++i) Advance(100s + i * 1s);
  EXPECT_EQ(sizes().keys, 0u);
}

// Nothing waits for a store.
TEST_F(RollupStore, WhileAStoreTakesItsTimeEventsGoOn) {
  OpenShared();
  Add("a", 3s, 1);
  store().during_load = [&] {
    EXPECT_EQ(Add("a", 13s, 2), kAdded);
    Advance(15s);
    EXPECT_EQ(Sum("a"), 3);
  };
  store().during_publish = [&] {
    EXPECT_EQ(Add("a", 14s, 4), kAdded);
    EXPECT_EQ(Sum("a"), 7);
    Advance(25s);
  };
  Publish();
  Publish();
  EXPECT_EQ(Kept(), Until(20s, 3, 7));
  EXPECT_EQ(Sum("a"), 7);
}

TEST_F(RollupStore, ACounterMayBeClosedWhileAStoreTakesItsTime) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().during_publish = [&] { counter().Close(); };
  (void)counter().Publish();
  EXPECT_EQ(Add("a", 15s), kStopped);
}

// What a store should not answer: the counter stays where it is, says so, and tries again.

TEST_F(RollupStore, AfterAnErrorOfALoadItTriesAgain) {
  ASSERT_TRUE(store().kept.Publish("a", Until(0s, 4, 40)).ok());
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().load = Away();
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_errors, 1u);
  EXPECT_FALSE(Accurate("a").loaded);
  EXPECT_EQ(sizes().unpublished, 1u);
  EXPECT_THAT(store().published, IsEmpty());
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(10s, 5, 41));
}

// As of an instance with other windows, in a deploy that changes them: 15 s is no end of 10 s.
TEST_F(RollupStore, ACheckpointThatEndsWithinAWindowIsAnError) {
  OpenShared();
  Add("a", 3s, 1);
  Add("a", 12s, 10);
  Add("a", 17s, 100);
  Advance(25s);
  store().load = Until(15s, 1, 100'000);
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_errors, 1u);
  EXPECT_EQ(Sum("a"), 111);
  store().publish = Until(25s, 1, 100'000);
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_errors, 2u);
  EXPECT_EQ(Sum("a"), 111);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(20s, 3, 111));
}

TEST_F(RollupStore, AfterAnErrorOfAPublicationItTriesAgain) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().publish = Away();
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_errors, 1u);
  EXPECT_EQ(ledger().published, 0u);
  EXPECT_EQ(sizes().unpublished, 1u);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(10s, 1, 1));
}

TEST_F(RollupStore, AnErrorOfAPublicationThatWasKeptDoesNoHarm) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().during_publish = [&] { ASSERT_TRUE(store().kept.Publish("a", Until(10s, 1, 1)).ok()); };
  store().publish = Away();
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  const Publication again = counter().Publish();
  EXPECT_EQ(again.failed, 0u);
  EXPECT_FALSE(again.more);
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(Kept(), Until(10s, 1, 1));
  EXPECT_EQ(ledger().store_conflicts, 0u);
  EXPECT_EQ(ledger().store_behind, 0u);
}

TEST_F(RollupStore, AStoreThatKeepsASmallerCheckpointIsBehind) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().publish = Checkpoint{};
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_behind, 1u);
  EXPECT_EQ(ledger().published, 0u);
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
}

TEST_F(RollupStore, AStoreThatHasLostItsCheckpointIsBehind) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  Add("a", 13s, 2);
  Advance(25s);
  store().load = Checkpoint{};
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_behind, 1u);
  EXPECT_EQ(Sum("a"), 3);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
  EXPECT_EQ(Kept(), Until(20s, 2, 3));
}

TEST_F(RollupStore, AnotherAmountForAnEqualCheckpointIsAConflict) {
  OpenShared();
  Add("a", 3s, 1);
  Advance(15s);
  store().publish = Until(10s, 9, 99);
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");
  EXPECT_EQ(ledger().store_conflicts, 1u);
  EXPECT_EQ(Sum("a"), 1);
  EXPECT_EQ(FinalSum("a"), 1);
  EXPECT_EQ(Publish(), "1 published, 0 failed");
}

TEST_F(RollupStore, OfEqualCheckpointsAllThatIsExactIsCompared) {
  for (const Amount& other :
       {Amount{.count = 2, .sum = 1, .real = 1}, Amount{.count = 1, .sum = 2, .real = 1},
        Amount{.count = 1, .sum = 1, .real = 1, .integer = false},
        Amount{.count = 1, .sum = 1, .real = 1, .saturated = true}}) {
    OpenShared();
    Add("a", 3s, 1);
    Advance(15s);
    store().publish = Checkpoint{At(10s), other};
    EXPECT_EQ(Publish(), "0 published, 1 failed, more");
    EXPECT_EQ(ledger().store_conflicts, 1u);
  }
}

TEST_F(RollupStore, ALargerCheckpointIsTaken) {
  OpenShared(/*allowed_lateness=*/30s);
  Add("a", 3s, 1);
  Add("a", 13s, 2);
  Add("a", 23s, 4);
  Advance(40s);
  store().publish = Until(20s, 7, 70);  // somebody was faster
  (void)counter().Publish();
  EXPECT_EQ(Sum("a"), 74);
  EXPECT_EQ(FinalSum("a"), 70);
  EXPECT_EQ(counter().Eventual("a")->as_of, At(20s));
  EXPECT_EQ(ledger().store_conflicts + ledger().store_behind + ledger().store_errors, 0u);
}

TEST_F(RollupStore, ACheckpointThatWasTakenIsNotGivenUp) {
  OpenShared();
  Add("a", 3s, 1);
  store().load = Until(100s, 4, 40);
  Publish();
  EXPECT_EQ(Sum("a"), 40);
  Advance(120s);
  Add("a", 121s, 2);
  Advance(135s);
  EXPECT_EQ(Publish(), "0 published, 1 failed, more");  // the store says that it has none
  EXPECT_EQ(ledger().store_behind, 1u);
  EXPECT_EQ(Sum("a"), 42);
}

// Two hosts at the edge of the margin: the fast one publishes at the very instant at which the slow
// one has just taken, or just refuses, the last event of the window.
TEST_F(RollupStore, AtTheMarginTheSlowestClockIsStillInTime) {
  for (const Duration apart : {Duration{2s}, Duration{2s + 1us}}) {
    const auto shared = std::make_shared<MemoryCheckpointStore>();
    const RollupOptions options{
        .windows = {10s}, .allowed_lateness = 5s, .margin = 2s, .store = shared};
    std::vector<std::unique_ptr<Engine>> engines;
    std::vector<RollupCounter> counters;
    for (int i = 0; i < 2; ++i) {
      engines.push_back(Engine::Open({.partitions = 1}).value());
      counters.push_back(RollupCounter::Open(*engines.back(), "plays", options).value());
    }
    counters[0].Add("a", 1, At(3s));
    counters[1].Add("a", 1, At(3s));
    engines[0]->Advance(At(17s));  // its window is final now
    EXPECT_EQ(counters[0].Publish().published, 1u);
    ASSERT_EQ(shared->Load("a")->until, At(10s));
    engines[1]->Advance(At(17s) - apart);
    const AddOutcome outcome = counters[1].Add("a", 1, At(10s) - 1us);
    EXPECT_EQ(outcome, apart == 2s ? kLate : kAdded);  // kAdded: behind the checkpoint
  }
}

// The store in memory.

TEST(MemoryStore, KeepsTheLargerCheckpoint) {
  MemoryCheckpointStore store;
  const Checkpoint first{kT0 + 10s, {.count = 1, .sum = 1, .real = 1}};
  const Checkpoint second{kT0 + 20s, {.count = 2, .sum = 2, .real = 2}};
  const Checkpoint other{kT0 + 20s, {.count = 9, .sum = 9, .real = 9}};
  EXPECT_EQ(*store.Load("a"), Checkpoint{});
  EXPECT_EQ(*store.Publish("a", second), second);
  EXPECT_EQ(*store.Publish("a", first), second);
  EXPECT_EQ(*store.Publish("a", other), second);  // of equal ones the first
  EXPECT_EQ(*store.Load("a"), second);
  EXPECT_EQ(*store.Load("b"), Checkpoint{});
  EXPECT_EQ(*store.Publish("b", first), first);
  EXPECT_EQ(store.size(), 2u);
}

}  // namespace
}  // namespace pleat::inline v0_1
