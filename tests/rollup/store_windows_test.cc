// A store that instances with other windows share, as in a deploy that changes them one by one: a
// checkpoint continues a counter where one of its own windows ends, and nowhere else. And the keys
// under which a store has checkpoints.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "engine/table/spelled_key.h"
#include "tests/rollup/fixture.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

// An instance of a deploy, with its own engine. All get the same events.
struct Instance {
  Instance(const std::shared_ptr<CheckpointStore>& store, std::vector<Duration> windows,
           std::function<std::pair<EngineTime, EngineTime>(EngineTime, Duration)> calendar = {})
      : engine(*Engine::Open({.partitions = 1, .huge_pages = HugePages::kOff})),
        counter(*engine, "counter",
                {.windows = std::move(windows),
                 .calendar = calendar,
                 .calendar_name = calendar ? "days" : "",
                 .allowed_lateness = Duration{0},
                 .store = store}) {
    engine->Advance(kT0);
  }
  Publication PublishAt(Duration now) {
    engine->Advance(kT0 + now);
    return counter.Publish();
  }
  int64_t Sum() const { return counter.Accurate("a").amount.sum; }

  std::unique_ptr<Engine> engine;
  RollupCounter counter;
};

class OtherWindows : public testing::Test {
 protected:
  // One event a second, of 1, stamped up to `end`.
  static void AddUntil(Instance& instance, int end) {
    for (int i = 0; i < end; ++i) instance.counter.Add("a", 1, kT0 + std::chrono::seconds(i));
  }
  Checkpoint Kept() const { return *store_->Load("a"); }

  std::shared_ptr<MemoryCheckpointStore> store_ = std::make_shared<MemoryCheckpointStore>();
};

TEST_F(OtherWindows, ACoarserInstanceWaitsForACheckpointAtAnEndOfItsOwn) {
  Instance fine(store_, {10s});
  Instance coarse(store_, {50s});
  AddUntil(fine, 100);
  AddUntil(coarse, 100);
  EXPECT_EQ(fine.PublishAt(70s).published, 1u);
  ASSERT_EQ(Kept().until, kT0 + 70s);

  // Of the window [50, 100) the checkpoint has a part: neither with nor without it the sum is right.
  EXPECT_EQ(coarse.PublishAt(70s).failed, 1u);
  EXPECT_EQ(coarse.counter.ledger().store_errors, 1u);
  EXPECT_EQ(coarse.Sum(), 100);
  EXPECT_FALSE(coarse.counter.Accurate("a").loaded);
  EXPECT_EQ(Kept().until, kT0 + 70s) << "it has offered nothing";

  EXPECT_EQ(fine.PublishAt(100s).published, 1u);
  EXPECT_EQ(coarse.PublishAt(100s).failed, 0u);
  EXPECT_EQ(coarse.counter.ledger().store_errors, 1u);
  EXPECT_EQ(coarse.Sum(), 100);
  EXPECT_TRUE(coarse.counter.Accurate("a").loaded);
}

TEST_F(OtherWindows, AFinerInstanceContinuesFromEveryCheckpointOfACoarserOne) {
  Instance fine(store_, {10s});
  Instance coarse(store_, {50s});
  AddUntil(coarse, 100);
  for (int i = 50; i < 100; ++i) fine.counter.Add("a", 1, kT0 + std::chrono::seconds(i));
  EXPECT_EQ(coarse.PublishAt(70s).published, 1u);
  ASSERT_EQ(Kept().until, kT0 + 50s);
  EXPECT_EQ(fine.PublishAt(70s).published, 1u);
  EXPECT_EQ(fine.counter.ledger().store_errors, 0u);
  EXPECT_EQ(fine.Sum(), 100);
  EXPECT_EQ(Kept().until, kT0 + 70s);
  EXPECT_EQ(Kept().amount.sum, 70);
}

// 10 s and 25 s have an end in common every 50 s.
TEST_F(OtherWindows, InstancesOfWhichNoneIsFinerMeetWhereBothHaveAnEnd) {
  Instance tens(store_, {10s});
  Instance others(store_, {25s});
  AddUntil(tens, 100);
  AddUntil(others, 100);
  EXPECT_EQ(tens.PublishAt(20s).published, 1u);
  EXPECT_EQ(others.PublishAt(20s).failed, 1u);
  EXPECT_EQ(tens.PublishAt(50s).published, 1u);
  EXPECT_EQ(others.PublishAt(76s).published, 1u);
  EXPECT_EQ(Kept().until, kT0 + 75s);
  EXPECT_EQ(Kept().amount.sum, 75);
  EXPECT_EQ(tens.PublishAt(80s).failed, 1u);
  EXPECT_EQ(others.PublishAt(100s).published, 1u);
  EXPECT_EQ(tens.PublishAt(100s).failed, 0u);
  EXPECT_EQ(tens.Sum(), 100);
  EXPECT_EQ(others.Sum(), 100);
  EXPECT_EQ(tens.counter.ledger().store_errors, 1u);
  EXPECT_EQ(others.counter.ledger().store_errors, 1u);
}

TEST_F(OtherWindows, TheFirstResolutionSaysWhichEndsCount) {
  Instance one(store_, {10s, 50s});
  AddUntil(one, 100);
  // An end of the first resolution that lies within a window of the second one.
  ASSERT_TRUE(store_->Publish("a", {kT0 + 70s, {.count = 70, .sum = 70, .real = 70}}).ok());
  EXPECT_EQ(one.PublishAt(80s).failed, 0u);
  EXPECT_EQ(one.counter.ledger().store_errors, 0u);
  EXPECT_EQ(one.Sum(), 100);
  EXPECT_EQ(Kept().until, kT0 + 80s);
}

// Windows up to 1970 and to the end of time have ends as others do, and nothing has an end elsewhere.
TEST_F(OtherWindows, AnyInstantMayComeFromAStore) {
  const auto published = [](EngineTime until) {
    auto store = std::make_shared<MemoryCheckpointStore>();
    EXPECT_TRUE(store->Publish("a", {until, {.count = 5, .sum = 5, .real = 5}}).ok());
    Instance one(store, {10s});
    one.counter.Add("a", 1, kT0);
    const size_t failed = one.counter.Publish().failed;
    EXPECT_EQ(failed, one.counter.ledger().store_errors);
    return one.counter.Accurate("a").loaded;
  };
  EXPECT_TRUE(published(EngineTime{}));
  EXPECT_TRUE(published(EngineTime{-10s}));
  EXPECT_FALSE(published(EngineTime{-11s}));
  EXPECT_FALSE(published(kT0 + 1us));
  EXPECT_FALSE(published(kT0 - 1us));
  EXPECT_TRUE(published(kNever));
  EXPECT_FALSE(published(kEndOfTime));
  EXPECT_FALSE(published(kNever + 1us));
  EXPECT_FALSE(published(EngineTime::max()));
}

// A calendar with an edge at each of these seconds.
auto Days(std::vector<int64_t> edges) {
  return [edges = std::move(edges)](EngineTime at, Duration) {
    EngineTime start = kBeginningOfTime;
    for (const int64_t edge : edges) {
      const EngineTime end = kT0 + std::chrono::seconds(edge);
      if (at < end) return std::pair(start, end);
      start = end;
    }
    return std::pair(start, kNever);
  };
}

TEST_F(OtherWindows, OfTheSameCalendarWithOtherDataTheEndsAreTold) {
  Instance old_data(store_, {10s}, Days({0, 10, 20, 30, 40}));
  Instance new_data(store_, {10s}, Days({0, 10, 21, 30, 40}));
  AddUntil(old_data, 40);
  AddUntil(new_data, 40);
  EXPECT_EQ(old_data.PublishAt(20s).published, 1u);
  EXPECT_EQ(new_data.PublishAt(20s).failed, 1u);
  EXPECT_EQ(new_data.counter.ledger().store_errors, 1u);
  EXPECT_EQ(new_data.Sum(), 40);
  EXPECT_EQ(new_data.PublishAt(29s).failed, 1u);
  EXPECT_EQ(old_data.PublishAt(30s).published, 1u);
  EXPECT_EQ(new_data.PublishAt(30s).failed, 0u);
  EXPECT_EQ(new_data.Sum(), 40);
}

// The restart brings data by which the end of the checkpoint lies within a day.
TEST_F(OtherWindows, NoWindowReachesOverACheckpointThatACounterHas) {
  const Checkpoint kept{kT0 + 20s, {.count = 20, .sum = 20, .real = 20}};
  ASSERT_TRUE(store_->Publish("a", kept).ok());
  StringSink snapshot;
  {
    Instance before(store_, {10s}, Days({0, 10, 20, 30, 40}));
    before.counter.Add("a", 1, kT0 + 31s);
    EXPECT_EQ(before.counter.Publish().failed, 0u);
    ASSERT_EQ(before.Sum(), 21);
    ASSERT_TRUE(TakeSnapshot(*before.engine, snapshot).ok());
  }
  auto engine = *Engine::Open({.partitions = 1, .huge_pages = HugePages::kOff});
  RollupCounter restored(*engine, "counter",
                         {.windows = {10s},
                          .calendar = Days({0, 10, 25, 35}),
                          .calendar_name = "days",
                          .allowed_lateness = Duration{0},
                          .store = store_});
  StringSource source(snapshot.bytes);
  ASSERT_TRUE(RestoreSnapshot(*engine, source).ok());
  restored.Add("a", 100, kT0 + 22s);  // in [20, 25), not in [10, 25)
  EXPECT_EQ(restored.Accurate("a").amount.sum, 121);
  CheckWhole(restored.any());
  engine->Advance(kT0 + 26s);
  EXPECT_EQ(restored.Publish().published, 1u);
  EXPECT_EQ(Kept().until, kT0 + 25s);
  EXPECT_EQ(Kept().amount.sum, 120);
}

// Counts its calls, and may be unable to answer.
class ListedStore final : public CheckpointStore {
 public:
  absl::StatusOr<Checkpoint> Load(std::string_view key) override {
    ++loads;
    return kept.Load(key);
  }
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& offer) override {
    return kept.Publish(key, offer);
  }
  void PublishBatch(std::span<const std::string_view> keys, std::span<const Checkpoint> offers,
                    std::span<absl::StatusOr<Checkpoint>> answers) override {
    batches.push_back(keys.size());
    if (answers_batches) kept.PublishBatch(keys, offers, answers);
  }
  absl::Status List(std::string& cursor, size_t max, SeeCheckpoint see) override {
    if (during_list) std::exchange(during_list, nullptr)();
    if (!list.ok()) return std::exchange(list, absl::OkStatus());
    return kept.List(cursor, max, see);
  }
  void Keep(std::string_view key, Duration until, int64_t sum) {
    const Amount amount{.count = 1, .sum = sum, .real = static_cast<double>(sum)};
    EXPECT_TRUE(kept.Publish(key, {kT0 + until, amount}).ok());
  }

  MemoryCheckpointStore kept;
  int loads = 0;
  std::vector<size_t> batches;
  bool answers_batches = true;
  absl::Status list;
  std::function<void()> during_list = nullptr;
};

class KeysOfAStore : public RollupTest {
 protected:
  void OpenWith(RollupOptions options = {}) {
    options.windows = {10s};
    options.allowed_lateness = Duration{0};
    options.store = store_;
    Open(options);
  }
  // In parts of `max`. Returns how many there were.
  int LoadAll(size_t max = 1024) {
    std::string cursor;
    int parts = 0;
    do {
      ++parts;
      EXPECT_EQ(counter().LoadCheckpoints(cursor, max), absl::OkStatus());
    } while (!cursor.empty() && parts < 100);
    return parts;
  }
  absl::StatusCode Refused(size_t max = 1024) {
    std::string cursor = ">0";
    const absl::StatusCode code = counter().LoadCheckpoints(cursor, max).code();
    EXPECT_EQ(cursor, ">0") << "as it was";
    return code;
  }
  void KeepTen() {
    for (int i = 0; i < 10; ++i) store_->Keep(std::to_string(i), 10s, 100 + i);
  }

  std::shared_ptr<ListedStore> store_ = std::make_shared<ListedStore>();
};

TEST_F(KeysOfAStore, AnEngineThatBeginsEmptyHasAllCountersWithoutAnEvent) {
  KeepTen();
  store_->Keep("", 20s, 7);
  OpenWith();
  EXPECT_EQ(LoadAll(3), 4);
  for (int i = 0; i < 10; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_EQ(FinalSum(key), 100 + i);
    EXPECT_EQ(Sum(key), 100 + i);
    EXPECT_TRUE(Accurate(key).loaded);
  }
  EXPECT_EQ(counter().Eventual("")->as_of, At(20s));
  EXPECT_EQ(sizes().keys, 11u);
  EXPECT_EQ(sizes().unpublished, 0u);
  EXPECT_FALSE(counter().Publish().more);
  EXPECT_EQ(store_->loads, 0) << "the list had the checkpoints";
  EXPECT_EQ(LoadAll(), 1) << "once more changes nothing";
  EXPECT_EQ(sizes().keys, 11u);
}

TEST_F(KeysOfAStore, WithoutKeysTheListIsOver) {
  OpenWith();
  EXPECT_EQ(LoadAll(1), 1);
  EXPECT_EQ(sizes().keys, 0u);
}

TEST_F(KeysOfAStore, EventsComeBeforeMeanwhileAndLater) {
  KeepTen();
  OpenWith();
  Add("1", 12s, 1);
  Add("new", 12s, 1);
  store_->during_list = [&] { Add("2", 12s, 1); };
  EXPECT_EQ(LoadAll(), 1);
  Add("3", 12s, 1);
  Add("3", 8s, 1'000);  // the checkpoint has it
  EXPECT_FALSE(Accurate("1").loaded);
  EXPECT_FALSE(Accurate("2").loaded);
  EXPECT_EQ(Sum("3"), 104);
  EXPECT_FALSE(counter().Publish().more);
  EXPECT_EQ(store_->loads, 3);
  EXPECT_EQ(Sum("1"), 102);
  EXPECT_EQ(Sum("2"), 103);
  EXPECT_EQ(Sum("new"), 1);
  Advance(20s);
  EXPECT_EQ(counter().Publish().published, 4u);
  EXPECT_EQ(store_->kept.Load("3")->amount.sum, 104);
}

TEST_F(KeysOfAStore, AtALimitTheSamePartMayBeLoadedAgain) {
  KeepTen();
  OpenWith({.limits = {.max_keys = 4}});
  EXPECT_EQ(Refused(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(sizes().keys, 4u);
  EXPECT_EQ(Sum("4"), 104);
  EXPECT_EQ(Sum("9"), 0);
  OpenWith({.limits = {.max_keys = 10}});
  EXPECT_EQ(LoadAll(), 1);
  EXPECT_EQ(Sum("9"), 109);
}

TEST_F(KeysOfAStore, AnErrorOfTheListLeavesTheCursor) {
  KeepTen();
  OpenWith();
  store_->list = absl::UnavailableError("away");
  EXPECT_EQ(Refused(), absl::StatusCode::kUnavailable);
  store_->list = absl::UnimplementedError("cannot");
  EXPECT_EQ(Refused(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(Refused(0), absl::StatusCode::kInvalidArgument);
  engine().Stop();
  EXPECT_EQ(Refused(), absl::StatusCode::kFailedPrecondition);
  Open({.windows = {10s}, .allowed_lateness = Duration{0}});
  EXPECT_EQ(Refused(), absl::StatusCode::kFailedPrecondition) << "without a store";
}

TEST_F(KeysOfAStore, AListedCheckpointThatEndsWithinAWindowIsCountedAndAskedForAgain) {
  store_->Keep("a", 15s, 7);
  OpenWith();
  EXPECT_EQ(LoadAll(), 1);
  EXPECT_EQ(ledger().store_errors, 1u);
  EXPECT_EQ(Sum("a"), 0);
  EXPECT_FALSE(Accurate("a").loaded);
  EXPECT_EQ(sizes().unpublished, 1u);
  store_->Keep("a", 20s, 8);
  EXPECT_FALSE(counter().Publish().more);
  EXPECT_EQ(Sum("a"), 8);
}

// As an engine that had counted on would have forgotten it.
TEST_F(KeysOfAStore, ACounterWithoutEventsIsForgottenByTheEndOfItsCheckpoint) {
  store_->Keep("old", 10s, 1);
  store_->Keep("young", 40s, 2);
  OpenWith({.forget_after = 100s});
  Advance(110s);
  EXPECT_EQ(LoadAll(), 1);
  EXPECT_EQ(sizes().keys, 1u) << "the old one is over";
  for (const Duration at : {111s, 120s, 139s}) {
    Advance(at);
    EXPECT_EQ(FinalSum("young"), 2);
  }
  Advance(140s);
  EXPECT_FALSE(counter().Eventual("young").has_value());
  Advance(141s);
  EXPECT_EQ(sizes().keys, 0u);
  EXPECT_EQ(ledger().forgotten, 1u);
}

TEST_F(KeysOfAStore, ASnapshotHasTheCountersThatWereLoaded) {
  KeepTen();
  OpenWith({.forget_after = 100s});
  EXPECT_EQ(LoadAll(), 1);
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(engine(), sink).ok());
  OpenWith({.forget_after = 100s});
  StringSource source(sink.bytes);
  ASSERT_TRUE(RestoreSnapshot(engine(), source).ok());
  EXPECT_EQ(FinalSum("3"), 103);
  EXPECT_TRUE(Accurate("3").loaded);
  CheckWhole(counter().any());
  Advance(110s);
  EXPECT_FALSE(counter().Eventual("3").has_value());
}

TEST_F(KeysOfAStore, AStoreIsOfferedManyCheckpointsInOneStep) {
  OpenWith();
  for (int i = 0; i < 5'000; ++i) Add(std::to_string(i), 3s, 1);
  Advance(10s);
  EXPECT_EQ(counter().Publish().published, 5'000u);
  EXPECT_EQ(store_->batches, (std::vector<size_t>{3'840, 1'160}));
  EXPECT_EQ(store_->kept.size(), 5'000u);
}

TEST_F(KeysOfAStore, AnOfferWithoutAnAnswerHasFailed) {
  OpenWith();
  Add("a", 3s, 1);
  Add("b", 3s, 1);
  Advance(10s);
  store_->answers_batches = false;
  const Publication done = counter().Publish();
  EXPECT_EQ(done.failed, 2u);
  EXPECT_TRUE(done.more);
  EXPECT_EQ(ledger().store_errors, 2u);
  store_->answers_batches = true;
  EXPECT_EQ(counter().Publish().published, 2u);
}

// 1.50 and 1.5 are one key: the store hears of it by one text, whichever instance comes first.
TEST_F(OtherWindows, AKeyOfTwoSpellingsHasOneCheckpoint) {
  const auto spelled = [](std::string_view shown) {
    const SpelledKey key{"a key of some length: 1.5", shown};
    std::string bytes(key.bytes(), '\0');
    key.Write(bytes.data());
    return bytes;
  };
  {
    Instance first(store_, {10s});
    first.counter.Add(spelled("1.50"), 7, kT0);
    EXPECT_EQ(first.PublishAt(10s).published, 1u);
  }
  EXPECT_EQ(store_->Load("a key of some length: 1.5")->amount.sum, 7);
  Instance next(store_, {10s});
  next.counter.Add(spelled("1.500"), 1, kT0 + 15s);
  EXPECT_EQ(next.PublishAt(20s).published, 1u);
  EXPECT_EQ(next.counter.Accurate("a key of some length: 1.5").amount.sum, 8);
  EXPECT_EQ(store_->size(), 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
