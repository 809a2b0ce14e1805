// Calls on folders that are closed, on engines that are gone, and for a range of partitions. Calls
// from inside a call are in tests/threads/reentrance_test.cc.
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/folder.h>

#include "tests/support/numbers.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

// The answers of a folder that is closed, or whose engine is gone. `lease` is one of its own.
void ExpectClosed(Folder<Number, Values> folder, Leased<Values>& lease) {
  EXPECT_TRUE(folder.any().closed());
  EXPECT_EQ(folder.Fold("a", {1}, kT0), FoldOutcome::kStopped);
  const std::vector<KeyedEvent<Number>> events(10, {.key = "a", .at = kT0, .event = {1}});
  EXPECT_EQ(folder.FoldBatch(events)[FoldOutcome::kStopped], 10);
  EXPECT_EQ(lease.Ack(), LeaseOutcome::kClosed);
  EXPECT_THAT(folder.Pop(10), IsEmpty());
  EXPECT_THAT(folder.Lease(10, 1s, LeaseTime(kT0)), IsEmpty());
  EXPECT_FALSE(folder.Flush("b"));
  EXPECT_FALSE(folder.Cancel("b"));
  EXPECT_FALSE(folder.Peek("b"));
  ScanCursor cursor;
  std::vector<OpenGroup<Values>> groups;
  EXPECT_FALSE(folder.Scan(cursor, 10, groups));
  EXPECT_THAT(groups, IsEmpty());
  folder.CloseAll();
  folder.Close();
  EXPECT_EQ(folder.ledger(), Ledger{});
}

// C9.
TEST(Closing, WhatIsCalledAfterTheEngineIsGoneSaysSo) {
  auto engine = *Engine::Open({.partitions = 2});
  Folder<Number, Values> folder(*engine, "n",
                                {.quiet_period = 1s, .max_wait = kForever, .max_events = 2});
  for (int i = 0; i < 2; ++i) folder.Fold("a", {i}, kT0);
  folder.Fold("b", {1}, kT0);
  auto lease = folder.Lease(1, 1min, LeaseTime(kT0));
  ASSERT_THAT(lease, SizeIs(1));
  EXPECT_FALSE(folder.any().closed());
  engine.reset();
  ExpectClosed(folder, lease[0]);
}

// What the engine answers when it is gone, while the engine goes on.
TEST(Closing, WhatIsCalledOnAClosedFolderSaysSo) {
  auto engine = *Engine::Open({.partitions = 2});
  const FolderOptions options = {.quiet_period = 1s, .max_wait = kForever, .max_events = 2};
  Folder<Number, Values> folder(*engine, "n", options);
  Folder<Number, Values> other(*engine, "other", options);
  for (int i = 0; i < 2; ++i) folder.Fold("a", {i}, kT0);
  folder.Fold("b", {1}, kT0);
  other.Fold("a", {1}, kT0 + 1min);
  auto lease = folder.Lease(1, 1min, LeaseTime(kT0));
  ASSERT_THAT(lease, SizeIs(1));
  const auto handle = folder;
  EXPECT_FALSE(handle.any().closed());

  folder.Close();
  EXPECT_TRUE(handle.any().closed());
  EXPECT_FALSE(other.any().closed());
  ExpectClosed(folder, lease[0]);

  EXPECT_EQ(engine->NextDeadline(), kT0 + 1min + 1s);  // the other's alone
  engine->Advance(kT0 + 1h);
  EXPECT_THAT(other.Pop(10), SizeIs(1));
}

TEST(Closing, TheNameOfAClosedFolderCanBeUsedAgain) {
  auto engine = *Engine::Open({.partitions = 2});
  const FolderOptions options = {.quiet_period = 1s, .max_wait = kForever};
  Folder<Number, Values> first(*engine, "n", options);
  first.Fold("a", {1}, kT0);
  EXPECT_FALSE((Folder<Number, Values>::Open(*engine, "n", options)).ok());
  first.Close();
  Folder<Number, Values> second(*engine, "n", options);
  EXPECT_EQ(second.Fold("a", {2}, kT0), FoldOutcome::kOpened);
  first.Close();  // that of the first one
  EXPECT_EQ(second.Fold("a", {3}, kT0), FoldOutcome::kFolded);
  EXPECT_EQ(first.Fold("a", {4}, kT0), FoldOutcome::kStopped);
  engine.reset();
  second.Close();
}

TEST(Closing, AClosedFolderMovesNoTime) {
  const FolderOptions options = {.quiet_period = 1s, .max_wait = kForever};
  auto by_event = *Engine::Open({.partitions = 4, .axis = Axis::kEvent});
  Folder<Number, Values> left(*by_event, "n", options);
  left.Close();
  const std::vector<KeyedEvent<Number>> events = {
      {"a", kT0, {1}}, {"b", kT0, {2}}, {"c", kT0, {3}}};
  left.FoldBatch(events, {}, PartitionRange::One(0));
  EXPECT_EQ(by_event->now(), kBeginningOfTime);

  auto on_arrival = *Engine::Open({.partitions = 4});
  Folder<Number, Values> gone(*on_arrival, "n", options);
  gone.Close();
  EXPECT_THAT(gone.Lease(1, 1s, LeaseTime(kT0)), IsEmpty());
  EXPECT_EQ(on_arrival->now(), kBeginningOfTime);
}

// What a folder has said it owns lives as long as somebody may use it.
TEST(Closing, RulesOfAClosedFolderGoWithItsLastHandle) {
  auto engine = *Engine::Open({.partitions = 2});
  auto rule = std::make_shared<int>(7);
  FoldRules<Number, Values> rules;
  rules.ends = [rule](const Number&) { return *rule == 0; };
  std::optional<Folder<Number, Values>> folder = *Folder<Number, Values>::Open(
      *engine, "n", {.quiet_period = 1s, .max_wait = kForever}, std::move(rules));
  rules = {};
  folder->Fold("a", {1}, kT0);
  folder->Close();
  EXPECT_EQ(rule.use_count(), 2);
  folder.reset();
  EXPECT_EQ(rule.use_count(), 1);
}

TEST(Closing, FoldersAreOpenedAndClosedWhileOthersUseThem) {
  auto engine = *Engine::Open({.partitions = 4});
  const FolderOptions options = {.quiet_period = 1s, .max_wait = kForever, .max_events = 2};
  for (int round = 0; round < 30; ++round) {
    Folder<Number, Values> folder(*engine, "n", options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&engine, folder]() mutable {
        const std::vector<KeyedEvent<Number>> events(20, {.key = "x", .at = kT0, .event = {1}});
        for (int i = 0;
             folder.Fold("k" + std::to_string(i % 50), {i}, kT0) != FoldOutcome::kStopped; ++i) {
          folder.FoldBatch(events);
          for (auto& lease : folder.Lease(3, 1min, LeaseTime(kT0))) lease.Ack();
          (void)folder.Pop(3);
          engine->Advance(kT0 + Duration(i));
        }
      });
    }
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([folder]() mutable {
        while (folder.ledger().popped < 20 && !folder.any().closed()) std::this_thread::yield();
        folder.Close();
        EXPECT_EQ(folder.Fold("k", {1}, kT0), FoldOutcome::kStopped);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(folder.sizes(), Sizes{});
  }
}

// --- Ranges

TEST(PartitionRanges, CoverEveryPartitionOnceForAnyNumberOfWorkers) {
  for (int partitions = 1; partitions <= 40; ++partitions) {
    for (int n = 1; n <= 60; ++n) {
      int next = 0;
      for (int i = 0; i < n; ++i) {
        const auto range = PartitionRange::ForWorker(i, n, partitions);
        EXPECT_EQ(range.begin, next);
        const int size = range.end - range.begin;
        EXPECT_GE(size, partitions / n);
        EXPECT_LE(size, partitions / n + 1);
        EXPECT_EQ(range.empty(), size == 0);
        next = range.end;
      }
      EXPECT_EQ(next, partitions);
    }
  }
}

TEST(PartitionRanges, ABatchIsFoldedInTheRangeOnly) {
  auto engine = *Engine::Open({.partitions = 8});
  Folder<Number, Values> folder(*engine, "n", {.quiet_period = 1s, .max_wait = kForever});
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key" + std::to_string(i % 100));
  std::vector<KeyedEvent<Number>> events;
  for (const std::string& key : keys) events.push_back({.key = key, .at = kT0, .event = {1}});
  uint64_t folded = 0;
  for (int worker = 0; worker < 3; ++worker) {
    const auto range = PartitionRange::ForWorker(worker, 3, 8);
    std::vector<FoldOutcome> outcomes(events.size());
    const FoldCounts counts = folder.FoldBatch(events, outcomes, range);
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(outcomes[i] != FoldOutcome::kElsewhere,
                range.Contains(PartitionOf(events[i].key, 8)));
    }
    EXPECT_EQ(counts[FoldOutcome::kOpened] + counts[FoldOutcome::kFolded] +
                  counts[FoldOutcome::kElsewhere],
              events.size());
    folded += counts[FoldOutcome::kOpened] + counts[FoldOutcome::kFolded];
  }
  EXPECT_EQ(folded, events.size());
  EXPECT_EQ(folder.ledger().events, events.size());
  EXPECT_EQ(folder.ledger().opened, 100);
}

TEST(PartitionRanges, AnEventElsewhereMovesTimeAndNothingElse) {
  auto engine = *Engine::Open({.partitions = 2, .axis = Axis::kEvent});
  Folder<Number, Values> folder(*engine, "n", {.quiet_period = 1s, .max_wait = kForever});
  const std::vector<KeyedEvent<Number>> events = {{"a", kT0, {1}}};
  const auto other = PartitionRange::One(1 - PartitionOf("a", 2));
  EXPECT_EQ(folder.FoldBatch(events, {}, other)[FoldOutcome::kElsewhere], 1);
  EXPECT_EQ(engine->now(), kT0);
  EXPECT_EQ(folder.ledger(), Ledger{});
}

}  // namespace
}  // namespace pleat
