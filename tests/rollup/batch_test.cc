// AddBatch() answers and does what Add() would, event by event.
#include <pleat/batch.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rollup/fixture.h"
#include "tests/support/seeds.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using enum AddOutcome;

using CounterBatch = std::vector<KeyedEvent<CounterEvent>>;

TEST_F(RollupTest, ABatchAnswersForEachOfItsEvents) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, {.partitions = 4});
  Advance(20s);
  const CounterBatch batch = {{"a", At(20s), {.delta = 7, .id = "id"}},
                              {"b", At(21s), {.delta = 1}},
                              {"a", At(22s), {.delta = 7, .id = "id"}},
                              {"a", At(22s), {.delta = 8, .id = "id"}},
                              {"a", At(3s), {}},
                              {"b", At(22s), {}}};
  std::vector<AddOutcome> outcomes(batch.size());
  const RollupCounts results = counter().AddBatch(batch, outcomes);
  EXPECT_THAT(outcomes, ElementsAre(kAdded, kAdded, kDuplicate, kConflict, kLate, kAdded));
  EXPECT_EQ(results[kAdded], 3u);
  EXPECT_EQ(results[kDuplicate], 1u);
  EXPECT_EQ(results[kConflict], 1u);
  EXPECT_EQ(results[kLate], 1u);
  EXPECT_EQ(Sum("a"), 7);
  EXPECT_EQ(Sum("b"), 2);
}

TEST_F(RollupTest, ABatchOfNothingDoesNothing) {
  Open({.windows = {10s}, .allowed_lateness = 5s});
  EXPECT_EQ(counter().AddBatch({}), RollupCounts{});
  EXPECT_EQ(ledger().events, 0u);
}

TEST_F(RollupTest, ABatchForARangeLeavesOtherPartitionsAlone) {
  Open({.windows = {10s}, .allowed_lateness = 5s}, {.partitions = 4});
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("key " + std::to_string(i));
  CounterBatch batch;
  for (const std::string& key : keys) batch.push_back({key, At(3s), {}});
  std::vector<AddOutcome> outcomes(batch.size());
  uint64_t added = 0;
  for (int worker = 0; worker < 3; ++worker) {
    const auto range = PartitionRange::ForWorker(worker, 3, 4);
    added += counter().AddBatch(batch, outcomes, range)[kAdded];
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(outcomes[i], range.Contains(PartitionOf(keys[i], 4)) ? kAdded : kElsewhere);
    }
    EXPECT_EQ(ledger().events, added);
  }
  EXPECT_EQ(added, 40u);
  EXPECT_EQ(counter().AddBatch(batch, outcomes, {2, 2})[kElsewhere], 40u);
  EXPECT_THAT(outcomes, Each(kElsewhere));
}

TEST_F(RollupTest, AnEventOfABatchMayForgetTheCounterOfTheNext) {
  Open({.windows = {10s}, .allowed_lateness = 5s, .forget_after = 0s}, OnEventTime());
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back(std::to_string(i));
  for (const std::string& name : names) Add(name, 3s);
  CounterBatch batch = {{"s", At(60s), {}}};
  for (const std::string& name : names) batch.push_back({name, At(60s), {}});
  EXPECT_EQ(counter().AddBatch(batch)[kAdded], 101u);
  EXPECT_EQ(ledger().forgotten, 100u);
  EXPECT_EQ(ledger().keys_opened, 201u);
  EXPECT_EQ(Sum("17"), 1);
}

// Random events, in batches of all sizes beside one by one.
class RollupBatch : public RollupTest {
 protected:
  struct Event {
    std::string key;
    Duration at;
    Delta delta;
    std::string id;
  };

  void RunEpisode(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t end) { return random() % end; };
    const RollupOptions options{
        .windows = below(2) == 0 ? std::vector<Duration>{10s} : std::vector<Duration>{10s, 30s},
        .allowed_lateness = 10s,
        .margin = below(2) * 5s,
        .on_late = static_cast<OnLateAdd>(below(3)),
        .deduplication_window = 20s + below(2) * 60s,
        .retention = below(2) * 20s,
        .forget_after = below(2) == 0 ? kForever : Duration{20s},
        .limits = {.max_keys = 8 + below(2) * 100, .max_bytes = 4'000 + below(2) * 1'000'000}};
    EngineOptions engine{.partitions = below(2) == 0 ? 1 : 4,
                         .axis = static_cast<Axis>(below(2)),
                         .future_limit = Duration{1min}};
    if (engine.axis == Axis::kEvent) engine.watermark_delay = below(2) * 5s;
    // The order in which partitions meet a batch decides what time each was told of.
    if (engine.axis == Axis::kEvent) engine.partitions = 1;
    Draw(random);
    const auto single = Run(options, engine, 1, random());
    const auto batched = Run(options, engine, 1 + below(100), random());
    EXPECT_EQ(single.outcomes, batched.outcomes);
    EXPECT_EQ(single.emissions, batched.emissions);
    EXPECT_EQ(single.ledger, batched.ledger);
    for (const AddOutcome outcome : single.outcomes) seen_.Add(outcome);
  }

  void Draw(std::mt19937_64& random) {
    events_.clear();
    Duration clock{0};
    for (int i = 0; i < 300; ++i) {
      const auto below = [&](uint64_t end) { return random() % end; };
      if (below(4) == 0) clock += below(5) * 1s;
      events_.push_back({.key = std::string(1, static_cast<char>('a' + below(12))),
                         .at = clock + below(20) * 1s - (below(4) == 0 ? 60s : 10s),
                         .delta = static_cast<int>(below(3)),
                         .id = below(2) == 0 ? "" : std::to_string(below(40))});
    }
    clock_ = clock;
  }

  struct Result {
    std::vector<AddOutcome> outcomes;
    std::vector<std::string> emissions;
    RollupLedger ledger;
  };
  // In pieces of up to `piece`, between which nothing moves time but at every hundredth event.
  Result Run(const RollupOptions& options, const EngineOptions& engine, size_t piece,
             uint64_t seed) {
    std::mt19937_64 random(seed);
    Open(options, engine);
    Result result;
    for (size_t done = 0; done < events_.size();) {
      const size_t size = std::min({1 + random() % piece, 100 - done % 100, events_.size() - done});
      Offer(done, piece == 1 ? 0 : size, result.outcomes);
      done += piece == 1 ? 1 : size;
      if (done % 100 == 0) Advance(clock_ * static_cast<int>(done) / 300);
    }
    Advance(1h);
    result.emissions = PopLines();
    result.ledger = ledger();
    return result;
  }
  // A size of zero: one event by Add().
  void Offer(size_t first, size_t size, std::vector<AddOutcome>& outcomes) {
    const Event& one = events_[first];
    if (size == 0) return outcomes.push_back(Add(one.key, one.at, one.delta, one.id));
    CounterBatch batch;
    for (size_t i = first; i < first + size; ++i) {
      const Event& event = events_[i];
      batch.push_back({event.key, At(event.at), {.delta = event.delta, .id = event.id}});
    }
    outcomes.resize(first + size);
    const RollupCounts results = counter().AddBatch(batch, std::span(outcomes).subspan(first));
    RollupCounts counted;
    for (size_t i = first; i < first + size; ++i) counted.Add(outcomes[i]);
    EXPECT_EQ(results, counted);
  }

  std::vector<Event> events_;
  Duration clock_{0};
  RollupCounts seen_;
};

TEST_F(RollupBatch, DoesWhatItsEventsWouldOneByOne) {
  if (!ForEachSeed(1, 200, [&](uint64_t seed) { RunEpisode(seed); })) return;
  for (const AddOutcome outcome :
       {kAdded, kDuplicate, kConflict, kLate, kLateUnknown, kClamped, kCorrected, kOverLimit}) {
    EXPECT_GT(seen_[outcome], 0u) << static_cast<int>(outcome);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
