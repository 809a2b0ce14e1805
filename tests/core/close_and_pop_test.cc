// CloseAndPop() hands out what CloseAll() and Pop() do, in the same order, of folders and of rollup
// counters, whatever is open and however the keys are spread.
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/drain.h>
#include <pleat/folder.h>
#include <pleat/rollup.h>

#include "tests/support/check_whole.h"
#include "tests/support/seeds.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using Said = std::vector<std::string>;

struct Hit {};
struct Hits {
  uint64_t count = 0;
  void Fold(const Hit&) noexcept { ++count; }
};

std::string SaidOf(const ClosedGroup& group) {
  const auto seconds = [](EngineTime t) { return " " + std::to_string((t - kT0) / 1s); };
  std::string said = std::string(group.key) + " " + std::string(ReasonName(group.reason)) + " x" +
                     std::to_string(group.count) + seconds(group.first) + seconds(group.last) +
                     seconds(group.closed) + " #" + std::to_string(group.revision) + " " +
                     std::to_string(group.id.partition) + "." + std::to_string(group.id.generation);
  if (group.corrects) said += " corrects " + std::to_string(group.corrects->generation);
  return said;
}

// What the collection hands out.
Said Popped(AnyCollection collection) {
  Said said;
  collection.Pop(SIZE_MAX, {}, [&](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) said.push_back(SaidOf(group));
  });
  return said;
}
Said ClosedThenPopped(AnyCollection collection) {
  collection.CloseAll();
  return Popped(std::move(collection));
}
Said ClosedAndPopped(const AnyCollection& collection) {
  Said said;
  const size_t size = CloseAndPop(collection, [&](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) said.push_back(SaidOf(group));
  });
  EXPECT_EQ(size, said.size());
  return said;
}

// One engine of two that live alike.
template <class Collection>
struct Twin {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Collection> collection;
};

class CloseAndPopTest : public testing::Test {
 protected:
  void Draw(uint64_t seed) {
    random_.seed(seed);
    const int choices[] = {1, 2, 7};
    partitions_ = choices[Below(3)];
    axis_ = Below(2) == 0 ? Axis::kArrival : Axis::kEvent;
  }
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::unique_ptr<Engine> NewEngine() const {
    return *Engine::Open({.partitions = partitions_, .axis = axis_});
  }
  Duration Seconds(uint64_t n) { return std::chrono::seconds(Below(n)); }

  std::mt19937_64 random_;
  int partitions_ = 1;
  Axis axis_ = Axis::kArrival;
};

TEST_F(CloseAndPopTest, OfAFolderIsCloseAllAndPop) {
  ForEachSeed(1, 300, [this](uint64_t seed) {
    Draw(seed);
    FolderOptions options{.quiet_period = 5s + Seconds(100), .max_wait = 50s + Seconds(100)};
    options.edge = Below(3) == 0 ? Edge::kBoth : Edge::kTrailing;
    if (Below(2) == 0) options.partial_every = 1s + Seconds(30);
    if (Below(3) == 0) options.late = {.allowed_lateness = 20s, .on_late = OnLate::kCorrect};
    if (Below(3) == 0) options.max_events = 2 + Below(5);
    Twin<Folder<Hit, Hits>> twins[2];
    for (auto& [engine, folder] : twins) {
      engine = NewEngine();
      folder = std::make_unique<Folder<Hit, Hits>>(*engine, "hits", options);
    }
    EngineTime now = kT0;
    for (int rounds = 0; rounds < 3; ++rounds) {
      for (int i = 0; i < 300; ++i) {
        now += Seconds(2);
        const EngineTime at = now - Seconds(3);
        const std::string key = "k" + std::to_string(Below(80));
        const bool advances = Below(20) == 0;
        for (auto& [engine, folder] : twins) {
          folder->Fold(key, {}, at);
          if (advances) (void)engine->Advance(now, Below(2));
        }
      }
      EXPECT_EQ(ClosedAndPopped(twins[0].collection->any()),
                ClosedThenPopped(twins[1].collection->any()));
      EXPECT_EQ(twins[0].collection->ledger(), twins[1].collection->ledger());
      EXPECT_EQ(twins[0].collection->ledger().open, 0u);
      CheckWhole(twins[0].collection->any());
    }
  });
}

TEST_F(CloseAndPopTest, OfARollupIsCloseAllAndPop) {
  ForEachSeed(1, 300, [this](uint64_t seed) {
    Draw(seed);
    RollupOptions options{.windows = {10s}, .allowed_lateness = Seconds(30)};
    if (Below(2) == 0) options.windows = {10s, 30s, 60s};
    if (Below(3) == 0) options.on_late = OnLateAdd::kCorrect;
    if (Below(3) == 0) options.retention = Seconds(100);
    if (Below(3) == 0) options.forget_after = 500s + Seconds(200);
    if (Below(4) == 0) options.clears = true;
    Twin<RollupCounter> twins[2];
    for (auto& [engine, counter] : twins) {
      engine = NewEngine();
      counter = std::make_unique<RollupCounter>(*engine, "counter", options);
    }
    EngineTime now = kT0;
    for (int rounds = 0; rounds < 3; ++rounds) {
      for (int i = 0; i < 200; ++i) {
        now += Seconds(2);
        const EngineTime at = now - Seconds(30);
        const std::string key = "k" + std::to_string(Below(80));
        const bool advances = Below(20) == 0;
        for (auto& [engine, counter] : twins) {
          counter->Add(key, 1, at);
          if (advances) (void)engine->Advance(now, 0);
        }
      }
      EXPECT_EQ(ClosedAndPopped(twins[0].collection->any()),
                ClosedThenPopped(twins[1].collection->any()));
      EXPECT_EQ(twins[0].collection->ledger(), twins[1].collection->ledger());
      EXPECT_EQ(twins[0].collection->ledger().open, 0u);
      CheckWhole(twins[0].collection->any());
    }
    // What has ended is final later, and handed out no more.
    for (auto& [engine, counter] : twins) engine->Advance(now + 24h);
    EXPECT_EQ(Popped(twins[0].collection->any()), Popped(twins[1].collection->any()));
    EXPECT_EQ(twins[0].collection->ledger().pending, 0u);
  });
}

// Only what waited before, and what is due, goes out before the open groups: in order.
TEST_F(CloseAndPopTest, ComesBehindWhatWaitsAndWhatIsDue) {
  const auto engine = *Engine::Open({});
  Folder<Hit, Hits> folder(*engine, "hits", {.quiet_period = 10s, .max_wait = 1h});
  for (const auto& [key, at] : {std::pair("waits", 0s), {"due", 5s}, {"open", 12s}}) {
    folder.Fold(key, {}, kT0 + at);
  }
  engine->Advance(kT0 + 10s);
  ASSERT_TRUE(engine->Advance(kT0 + 16s, 0));
  std::vector<std::string> keys;
  CloseAndPop(folder.any(), [&](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) keys.emplace_back(group.key);
  });
  EXPECT_THAT(keys, testing::ElementsAre("waits", "due", "open"));
}

// How many groups a small backlog gets, and how many were dropped.
using Kept = std::pair<size_t, uint64_t>;

// Whatever the limit is, beside the number of those that are closed at a time.
TEST_F(CloseAndPopTest, DropsNothingWhereCloseAllDropsTheOldest) {
  for (const int partitions : {1, 3}) {
    for (const size_t limit : {3u, 30u, 90u, 300u}) {
      Kept kept[2];
      for (const bool at_once : {false, true}) {
        const auto engine = *Engine::Open({.partitions = partitions});
        const LimitOptions limits{.max_backlog = limit, .on_backlog = OnBacklog::kDropOldest};
        Folder<Hit, Hits> folder(*engine, "hits",
                                 {.quiet_period = 10s, .max_wait = 1h, .limits = limits});
        for (int i = 0; i < 1'000; ++i) folder.Fold("k" + std::to_string(i), {}, kT0);
        const Said said = at_once ? ClosedAndPopped(folder.any()) : ClosedThenPopped(folder.any());
        kept[at_once] = {said.size(), folder.ledger().dropped};
        // From now on the limit holds again.
        for (int i = 0; i < 1'000; ++i) folder.Fold("k" + std::to_string(i), {}, kT0);
        EXPECT_EQ(ClosedThenPopped(folder.any()).size(), limit);
      }
      EXPECT_EQ(kept[false], Kept(limit, 1'000 - limit)) << partitions;
      EXPECT_EQ(kept[true], Kept(1'000, 0)) << partitions << " partitions, limit " << limit;
    }
  }
}

// CloseAll() cuts partials while there is room for them.
TEST_F(CloseAndPopTest, CutsAllPartialsThatAreDue) {
  for (const size_t limit : {3u, 30u, 90u, 300u}) {
    const auto engine = *Engine::Open({.partitions = 1});
    Folder<Hit, Hits> folder(*engine, "hits",
                             {.quiet_period = 100s,
                              .max_wait = 1h,
                              .partial_every = 10s,
                              .limits = {.max_backlog = limit}});
    for (int i = 0; i < 200; ++i) folder.Fold("k" + std::to_string(i), {}, kT0);
    ASSERT_TRUE(engine->Advance(kT0 + 10s, 0));
    EXPECT_EQ(ClosedAndPopped(folder.any()).size(), 400u) << limit;
    EXPECT_EQ(folder.ledger().partial, 200u) << limit;
  }
}

TEST_F(CloseAndPopTest, FromInsideACallDoesNothing) {
  const auto engine = *Engine::Open({});
  Folder<Hit, Hits> folder(*engine, "hits", {.quiet_period = 10s, .max_wait = 1h});
  folder.Fold("key", {}, kT0);
  size_t inside = 1;
  const auto none = [](std::span<const ClosedGroup>) {};
  CloseAndPop(folder.any(),
              [&](std::span<const ClosedGroup>) { inside = CloseAndPop(folder.any(), none); });
  EXPECT_EQ(inside, 0u);
  EXPECT_EQ(folder.ledger().popped, 1u);
}

// A window that was ended stays until it is final, and takes no more than before.
TEST_F(CloseAndPopTest, WhatHasEndedTakesNoMoreMemoryThanBefore) {
  const auto engine = *Engine::Open({});
  RollupCounter counter(*engine, "counter", {.windows = {1min}, .allowed_lateness = 1h});
  for (int i = 0; i < 10'000; ++i) counter.Add("key" + std::to_string(i), 1, kT0);
  const size_t before = counter.sizes().bytes;
  EXPECT_EQ(CloseAndPop(counter.any(), [](std::span<const ClosedGroup>) {}), 10'000u);
  EXPECT_LE(counter.sizes().bytes, before);
  EXPECT_EQ(counter.Accurate("key7").amount.count, 1u);
}

}  // namespace
}  // namespace pleat
