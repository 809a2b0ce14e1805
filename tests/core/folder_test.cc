// A folder by itself: its limits, its scans, its order, its memory. The features of groups are in
// features_*_test.cc, several threads at once in tests/threads.
#include <pleat/folder.h>

#include <atomic>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>

#include "tests/support/allocations.h"
#include "tests/support/numbers.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct Sum {
  int64_t sum = 0;
  void Fold(const Number& number) noexcept { sum += number.value; }
};

// An emission in one line: key, values, reason, and seconds since kT0 of first, last and closed.
std::string Show(const Emission<Values>& e) {
  std::string out = e.key + " [";
  for (int value : e.state.all) out += std::to_string(value) + " ";
  if (out.back() == ' ') out.pop_back();
  const auto seconds = [](EngineTime t) {
    return " " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(t - kT0).count());
  };
  return out + "] " + std::string(ReasonName(e.reason)) + seconds(e.first) + seconds(e.last) +
         seconds(e.closed);
}

class FolderFixture : public testing::Test {
 protected:
  void Open(const FolderOptions& options, const EngineOptions& engine = {}) {
    engine_ = *Engine::Open(engine);
    folder_ = *Folder<Number, Values>::Open(*engine_, "numbers", options);
  }
  FoldOutcome Fold(std::string_view key, int value, Duration after) {
    return folder_->Fold(key, {value}, kT0 + after);
  }
  std::vector<std::string> Pop(size_t max = 1000) {
    std::vector<std::string> out;
    for (const auto& emission : folder_->Pop(max)) out.push_back(Show(emission));
    return out;
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Number, Values>> folder_;
};

TEST_F(FolderFixture, EventsBeyondTheFutureLimitChangeNothing) {
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent, .future_limit = 1h});
  EXPECT_EQ(Fold("a", 1, 0s), FoldOutcome::kOpened);  // time has not moved yet: no limit applies
  EXPECT_EQ(Fold("a", 2, 1h + 1us), FoldOutcome::kFuture);
  EXPECT_EQ(engine_->now(), kT0);
  EXPECT_EQ(Fold("a", 2, 1h), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->ledger().future, 1u);
}

TEST_F(FolderFixture, OnArrivalTimeTheFutureLimitIsALeapYearUnlessToldOtherwise) {
  const FolderOptions options{.quiet_period = 10s, .max_wait = kForever};
  constexpr Duration kLeapYear = 366 * 24h;
  Open(options);
  engine_->Advance(kT0);
  EXPECT_EQ(Fold("a", 1, kLeapYear), FoldOutcome::kOpened);
  EXPECT_EQ(Fold("b", 1, kLeapYear + 1us), FoldOutcome::kFuture);
  EXPECT_EQ(folder_->Fold("b", {1}, kEndOfTime), FoldOutcome::kFuture);

  Open(options, {.future_limit = kForever});
  engine_->Advance(kT0);
  EXPECT_EQ(folder_->Fold("a", {1}, kEndOfTime), FoldOutcome::kOpened);

  Open(options, {.axis = Axis::kEvent});
  EXPECT_EQ(Fold("a", 1, 0s), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->Fold("b", {1}, kEndOfTime), FoldOutcome::kOpened);
}

TEST_F(FolderFixture, AScanByNothingAtATimeSeesAllThatIsOpen) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  for (const char* key : {"a", "b", "c"}) Fold(key, 1, 0s);
  ScanCursor cursor;
  std::vector<OpenGroup<Values>> groups;
  for (int calls = 0; folder_->Scan(cursor, 0, groups); ++calls) ASSERT_LT(calls, 10);
  EXPECT_EQ(groups.size(), 3u);
}

// Of few groups it takes 24.
TEST_F(FolderFixture, AScanInOrderTakesSixBytesForEachGroup) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted in this build";
  Open({.quiet_period = 10s, .max_wait = kForever});
  const auto bytes_of_a_scan = [&] {
    uint64_t seen = 0;
    const size_t before = AllocatedBytes();
    folder_->any().ScanInOrder([&](std::string_view, const GroupInfo&, const void*) { ++seen; });
    const size_t after = AllocatedBytes();
    EXPECT_EQ(seen, folder_->ledger().open);
    return after - before;
  };
  constexpr size_t kBeside = 1000;  // a number for each partition
  int groups = 0;
  for (; groups < 1'000; ++groups) Fold(std::to_string(groups), 1, 0s);
  EXPECT_LE(bytes_of_a_scan(), 1'000 * 24 + kBeside);
  for (; groups < 100'000; ++groups) Fold(std::to_string(groups), 1, 0s);
  EXPECT_LE(bytes_of_a_scan(), 768 * 1024 + kBeside);
  for (; groups < 300'000; ++groups) Fold(std::to_string(groups), 1, 0s);
  EXPECT_LE(bytes_of_a_scan(), 300'000 * 6 + kBeside);
}

TEST_F(FolderFixture, AScanFromBeforeTheFirstPartitionBeginsAtTheFirst) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  for (const char* key : {"a", "b", "c"}) Fold(key, 1, 0s);
  ScanCursor cursor{.partition = -1, .place = 77};
  std::vector<OpenGroup<Values>> groups;
  EXPECT_FALSE(folder_->Scan(cursor, 100, groups));
  EXPECT_EQ(groups.size(), 3u);
  cursor = {.partition = 1'000'000, .place = 77};
  EXPECT_FALSE(folder_->Scan(cursor, 100, groups));
  EXPECT_EQ(groups.size(), 3u);
}

TEST_F(FolderFixture, AnAdvanceWithoutABudgetMovesTimeAndEnds) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis});
    Fold("a", 1, 0s);
    for (int calls = 0; !engine_->Advance(kT0 + 10s, 0); ++calls) ASSERT_LT(calls, 10);
    EXPECT_EQ(engine_->now(), kT0 + 10s);
    EXPECT_EQ(folder_->sizes().open_groups, 1u);
    EXPECT_EQ(folder_->Lease(1, 1s, LeaseTime(kT0 + 10s)).size(), 1u);
    const LeaseTime later(kT0 + 20s);
    for (int calls = 0; !engine_->AdvanceLeases(later, 0); ++calls) ASSERT_LT(calls, 10);
    EXPECT_EQ(Pop().size(), 1u);
  }
}

TEST_F(FolderFixture, PoppingLateChangesNothing) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold("a", 1, 0s);
  engine_->Advance(kT0 + 100h);
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
}

TEST_F(FolderFixture, PopExpiredAdvancesAndPopsAtMostMax) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  for (int i = 0; i < 5; ++i) Fold("k" + std::to_string(i), i, i * 1s);
  EXPECT_EQ(folder_->PopExpired(kT0 + 12s, 2).size(), 2u);
  EXPECT_THAT(Pop(), ElementsAre("k2 [2] quiet 2 2 12"));
}

TEST_F(FolderFixture, PopEachMayCallTheEngine) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold("a", 1, 0s);
  engine_->Advance(kT0 + 10s);
  EXPECT_EQ(folder_->PopEach(10, [&](Emission<Values>&& e) { Fold(e.key, 2, 10s); }), 1u);
  EXPECT_EQ(folder_->sizes().open_groups, 1u);
}

TEST_F(FolderFixture, TheOrderIsTheSameForAnyNumberOfPartitions) {
  std::vector<std::string> expected;
  for (int partitions : {1, 2, 7, 64}) {
    Open({.quiet_period = 3s, .max_wait = 9s, .max_events = 4},
         {.partitions = partitions, .axis = Axis::kEvent});
    std::vector<std::string> order;
    for (int i = 0; i < 2000; ++i) {
      Fold("k" + std::to_string(i * i % 37), i, (i / 5) * 1s);
      if (i % 100 == 0) {
        for (auto& line : Pop()) order.push_back(std::move(line));
      }
    }
    folder_->CloseAll();
    for (auto& line : Pop(100'000)) order.push_back(std::move(line));
    if (expected.empty()) expected = order;
    EXPECT_EQ(order, expected) << partitions << " partitions";
  }
  EXPECT_GT(expected.size(), 500u);
}

TEST_F(FolderFixture, WhatIsForeverIsNotOverAtTheEndOfTime) {
  Open({.quiet_period = kForever, .max_wait = kForever});
  EXPECT_EQ(folder_->Fold("a", {1}, FromUnix(Duration::min())), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->Fold("b", {2}, kEndOfTime), FoldOutcome::kOpened);
  engine_->Advance(kEndOfTime);
  EXPECT_EQ(folder_->Fold("b", {3}, kEndOfTime), FoldOutcome::kFolded);
  EXPECT_THAT(folder_->Pop(10), testing::IsEmpty());
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
  folder_->CloseAll();
  EXPECT_EQ(folder_->Pop(10).size(), 2u);
}

TEST_F(FolderFixture, DeadlinesSaturateAtTheEndOfTime) {
  Open({.quiet_period = 1h, .max_wait = kForever});
  EXPECT_EQ(folder_->Fold("a", {1}, kEndOfTime), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->Fold("b", {2}, FromUnix(Duration::max())), FoldOutcome::kOpened);
  engine_->Advance(kEndOfTime - 1us);
  EXPECT_THAT(folder_->Pop(10), testing::IsEmpty());
  engine_->Advance(FromUnix(Duration::max()));
  EXPECT_EQ(folder_->Pop(10).size(), 2u);
}

TEST(Folder, IsNotOpenedInAnEngineThatIsGone) {
  auto engine = *Engine::Open({});
  const std::unique_ptr<Engine> handle = engine->Handle();
  engine.reset();
  const absl::Status status =
      Folder<Number, Sum>::Open(*handle, "f", {.quiet_period = 1s, .max_wait = 1s}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

// A temporary that owns its bytes would be gone before the batch is folded.
struct NamedString : std::string {};
static_assert(std::is_constructible_v<KeyView, const std::string&>);
static_assert(std::is_constructible_v<KeyView, std::pmr::string&>);
static_assert(std::is_constructible_v<KeyView, std::string_view>);
static_assert(std::is_constructible_v<KeyView, const char*>);
static_assert(!std::is_constructible_v<KeyView, std::string>);
static_assert(!std::is_constructible_v<KeyView, const std::string>);
static_assert(!std::is_constructible_v<KeyView, std::pmr::string>);
static_assert(!std::is_constructible_v<KeyView, NamedString>);

TEST(Folder, FoldingIntoAnOpenGroupAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted in this build";
  auto engine = *Engine::Open({.partitions = 4});
  Folder<Number, Sum> folder(*engine, "f", {.quiet_period = 1h, .max_wait = kForever});
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i)
    keys.push_back("a key longer than what is kept inline " + std::to_string(i));
  for (const std::string& key : keys) folder.Fold(key, {1}, kT0);
  const size_t before = AllocationCount();
  for (const std::string& key : keys) folder.Fold(key, {1}, kT0 + 1s);
  EXPECT_EQ(AllocationCount(), before);
}

// On event time the events of a batch carry the watermark, and other threads are at other times.
TEST(Folder, EveryPartitionHandsOutInOrderWhenThreadsFoldBatchesOnEventTime) {
  constexpr int kThreads = 3;
  constexpr int kBatches = 400;
  auto engine = *Engine::Open({.partitions = 4, .axis = Axis::kEvent, .watermark_delay = 20us});
  Folder<Number, Sum> folder(*engine, "f",
                             {.quiet_period = 50us, .max_wait = 500us, .max_events = 7});
  std::atomic<int64_t> clock{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<std::string> keys;
      for (int key = 0; key < 50; ++key) keys.push_back("key" + std::to_string(key));
      std::vector<KeyedEvent<Number>> batch;
      for (int i = 0; i < kBatches; ++i) {
        batch.clear();
        for (int k = 0; k < 100; ++k) {
          const int64_t tick = clock.fetch_add(1);
          batch.push_back(
              {keys[static_cast<size_t>(tick * 7) % keys.size()], kT0 + Duration{tick}, {1}});
        }
        folder.FoldBatch(batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  folder.CloseAll();
  int64_t events = 0;
  for (int partition = 0; partition < 4; ++partition) {
    EngineTime before = kBeginningOfTime;
    for (const Emission<Sum>& e : folder.Pop(SIZE_MAX, PartitionRange::One(partition))) {
      events += e.state.sum;
      if (e.reason != Reason::kMaxEvents) continue;  // the others may have closed in their past
      EXPECT_LE(before, e.closed);
      before = e.closed;
    }
  }
  EXPECT_EQ(events, kThreads * kBatches * 100);
}

}  // namespace
}  // namespace pleat
