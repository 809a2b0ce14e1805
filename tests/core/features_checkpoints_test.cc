// What a rollup counter does with a store of checkpoints, one test a feature.
#include <array>
#include <memory>
#include <string>

#include <absl/status/status.h>
#include <gtest/gtest.h>
#include <pleat/rollup_values.h>

#include "tests/core/features_counters.h"
#include "tests/support/temporary_directory.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

TEST_F(CounterFeatures, ANewInstanceGoesOnFromTheStore) {
  const auto store = std::make_shared<MemoryCheckpointStore>();
  const RollupOptions options{.windows = {1min}, .allowed_lateness = 10s, .store = store};
  sides_.clear();
  AddSide(options, Axis::kArrival, false, 1);
  Add({{"a", 1, 0s}, {"a", 2, 60s}});
  Advance(70s);
  EXPECT_EQ(counter().Publish().published, 1u);
  EXPECT_EQ(store->Load("a")->until, kNoon + 60s);
  EXPECT_EQ(store->Load("a")->amount.sum, 1);
  EXPECT_EQ(counter().Publish().published, 0u);  // nothing is new

  // The first one is lost. The next one gets the events from the checkpoint on.
  sides_.clear();
  AddSide(options, Axis::kArrival, false, 1);
  Add({{"a", 2, 60s}, {"a", 4, 65s}});
  EXPECT_FALSE(counter().Accurate("a").loaded);
  counter().Publish();
  EXPECT_TRUE(counter().Accurate("a").loaded);
  EXPECT_EQ(Sum("a"), 7);
  Advance(130s);
  counter().Publish();
  EXPECT_EQ(store->Load("a")->until, kNoon + 120s);
  EXPECT_EQ(store->Load("a")->amount.sum, 7);
}

TEST_F(CounterFeatures, EnginesThatShareAStoreAgree) {
  const auto store = std::make_shared<MemoryCheckpointStore>();
  const RollupOptions options{
      .windows = {1min}, .allowed_lateness = 10s, .margin = 5s, .store = store};
  sides_.clear();
  AddSide(options, Axis::kArrival, false, 1);
  AddSide(options, Axis::kArrival, true, 3);
  RollupCounter& other = *sides_[1].counter;
  const std::array<Given, 3> events = {Given{"a", 1, 0s}, {"a", 2, 59s}, {"a", 4, 60s}};
  for (Side& side : sides_) EXPECT_EQ(AddTo(side, events), "added added added");

  // The clock of the one is ahead by the margin: it publishes what is late in the other by then.
  sides_[0].engine->Advance(kNoon + 75s);
  sides_[1].engine->Advance(kNoon + 70s);
  EXPECT_EQ(counter().Publish().published, 1u);
  EXPECT_EQ(other.Add("a", 8, kNoon + 59s), AddOutcome::kLate);
  EXPECT_EQ(other.Publish().failed, 0u);
  EXPECT_EQ(other.Accurate("a").amount.sum, 7);

  // Whoever publishes later and knows less changes nothing.
  sides_[1].engine->Advance(kNoon + 200s);
  EXPECT_EQ(other.Publish().published, 1u);
  const Checkpoint kept = *store->Load("a");
  sides_[0].engine->Advance(kNoon + 135s);
  EXPECT_EQ(counter().Publish().published, 0u);
  EXPECT_EQ(*store->Load("a"), kept);
  EXPECT_EQ(kept.amount.sum, 7);
}

// Answers with an error until it is well again.
class SickStore final : public CheckpointStore {
 public:
  absl::StatusOr<Checkpoint> Load(std::string_view key) override {
    if (sick) return absl::UnavailableError("sick");
    return well_.Load(key);
  }
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& c) override {
    if (sick) return absl::UnavailableError("sick");
    return well_.Publish(key, c);
  }
  bool sick = true;

 private:
  MemoryCheckpointStore well_;
};

TEST_F(CounterFeatures, AStoreThatFailsLeavesTheCounterWhereItWas) {
  const auto store = std::make_shared<SickStore>();
  sides_.clear();
  AddSide({.windows = {1min}, .allowed_lateness = 10s, .store = store}, Axis::kArrival, false, 1);
  Add({{"a", 1, 0s}});
  Advance(70s);
  const Publication failed = counter().Publish();
  EXPECT_EQ(failed.failed, 1u);
  EXPECT_TRUE(failed.more);
  EXPECT_EQ(ledger().store_errors, 1u);
  EXPECT_EQ(counter().sizes().unpublished, 1u);
  Advance(1h);
  store->sick = false;
  EXPECT_EQ(counter().Publish().published, 1u);
  EXPECT_EQ(store->Load("a")->amount.sum, 1);
  EXPECT_EQ(counter().sizes().unpublished, 0u);
}

TEST_F(CounterFeatures, AStoreInADirectoryBringsAllCountersBack) {
  const TemporaryDirectory directory;
  const auto open = [&] {
    sides_.clear();  // with the store that has the directory
    AddSide({.windows = {1min},
             .allowed_lateness = 10s,
             .store = OpenCheckpointDirectory(directory / "plays").value()},
            Axis::kArrival, false, 2);
  };
  open();
  Add({{"a", 1, 0s}, {"b", 2, 10s}, {"c", 4, 20s}});
  Advance(70s);
  EXPECT_EQ(counter().Publish().published, 3u);

  open();
  std::string cursor;
  do {
    ASSERT_TRUE(counter().LoadCheckpoints(cursor, 2).ok());
  } while (!cursor.empty());
  EXPECT_EQ(counter().Eventual("a")->amount.sum, 1);
  EXPECT_EQ(counter().Eventual("c")->as_of, kNoon + 60s);
  Add({{"b", 8, 65s}});
  EXPECT_EQ(Sum("b"), 10);
  EXPECT_TRUE(counter().Accurate("b").loaded);
  EXPECT_EQ(counter().sizes().keys, 3u);
}

}  // namespace
}  // namespace pleat
