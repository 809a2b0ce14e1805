// A collection of another kind than a folder: see key_counter.h.
#include "tests/core/key_counter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/metrics.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class AnotherKind : public testing::Test {
 protected:
  static std::unique_ptr<Engine> NewEngine(int partitions) {
    return *Engine::Open({.partitions = partitions});
  }
  std::vector<std::string> Pop() {
    std::vector<std::string> out;
    for (auto& each : counter_.Pop(100)) out.push_back(each.key + "=" + std::to_string(each.state));
    counter_.CheckWhole();
    return out;
  }

  const EngineTime noon_ = FromUnix(1'700'000'000s - 1'700'000'000s % 86'400s + 12h);
  const std::unique_ptr<Engine> engine_ = NewEngine(4);
  KeyCounter counter_{*engine_, "visits", 1h, {.max_deliveries = 2}};
};

TEST_F(AnotherKind, EmitsEachKeysCountAtTheEndOfItsWindow) {
  engine_->Advance(noon_ + 1min);
  EXPECT_EQ(counter_.Count("home", noon_ + 1min), FoldOutcome::kOpened);
  EXPECT_EQ(counter_.Count("home", noon_ + 2min), FoldOutcome::kFolded);
  EXPECT_EQ(counter_.Count("about", noon_ + 3min), FoldOutcome::kOpened);
  EXPECT_EQ(engine_->NextDeadline(), noon_ + 1h);
  EXPECT_THAT(Pop(), ElementsAre());
  engine_->Advance(noon_ + 1h);
  EXPECT_THAT(Pop(), ElementsAre("home=2", "about=1"));
  EXPECT_TRUE(counter_.ledger().Balances());
}

TEST_F(AnotherKind, BeginsAWindowWhileTheLastOneOfTheKeyIsDue) {
  const auto engine = *Engine::Open({.partitions = 1, .axis = Axis::kEvent});
  KeyCounter counter(*engine, "visits", 1h);
  counter.Count("home", noon_);
  EXPECT_EQ(counter.Count("home", noon_ + 90min), FoldOutcome::kOpened);
  EXPECT_EQ(counter.ledger().open, 2u);
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*engine, sink).ok());

  const auto other_engine = *Engine::Open({.partitions = 1, .axis = Axis::kEvent});
  KeyCounter other(*other_engine, "visits", 1h);
  StringSource source(sink.bytes);
  ASSERT_TRUE(RestoreSnapshot(*other_engine, source).ok());
  for (KeyCounter* each : {&counter, &other}) {
    EXPECT_EQ(each->Count("home", noon_ + 91min), FoldOutcome::kFolded);
    EXPECT_EQ(each->Count("about", noon_ + 2h), FoldOutcome::kOpened);
    each->CheckWhole();
    std::vector<uint64_t> counts;
    for (auto& popped : each->Pop(10)) counts.push_back(popped.state);
    EXPECT_THAT(counts, ElementsAre(1, 2));
    EXPECT_TRUE(each->ledger().Balances());
  }
}

TEST_F(AnotherKind, NamesTheOptionThatIsOutOfRange) {
  const auto why = [&](Duration every, LeaseOptions leases) {
    return std::string(KeyCounter::Open(*engine_, "other", every, leases).status().message());
  };
  EXPECT_EQ(why(0s, {}), "every: must be above zero");
  EXPECT_THAT(why(1h, {.max_deliveries = 0}), HasSubstr("leases.max_deliveries"));
  EXPECT_EQ(why(1h, {}), "");
}

TEST_F(AnotherKind, TakesBatchesAsItTakesSingleEvents) {
  engine_->Advance(noon_);
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key" + std::to_string(i % 37));
  std::vector<KeyedEvent<char>> events;
  for (const std::string& key : keys) events.push_back({key, noon_, 0});
  const FoldCounts counts = counter_.CountBatch(events);
  EXPECT_EQ(counts[FoldOutcome::kOpened], 37u);
  EXPECT_EQ(counts[FoldOutcome::kFolded], 963u);

  const auto other_engine = NewEngine(1);
  KeyCounter other(*other_engine, "visits", 1h);
  other_engine->Advance(noon_);
  for (const std::string& key : keys) other.Count(key, noon_);
  engine_->Advance(noon_ + 1h);
  other_engine->Advance(noon_ + 1h);
  std::vector<std::string> singles;
  for (auto& each : other.Pop(100)) {
    singles.push_back(each.key + "=" + std::to_string(each.state));
  }
  EXPECT_EQ(Pop(), singles);
}

TEST_F(AnotherKind, LendsAndBuriesDeadLetters) {
  counter_.Count("home", noon_);
  engine_->Advance(noon_ + 2h);
  const LeaseTime now(noon_);
  ASSERT_EQ(counter_.Lease(10, 30s, now).size(), 1u);
  EXPECT_EQ(counter_.Lease(10, 30s, now).size(), 0u);
  auto again = counter_.Lease(10, 30s, LeaseTime(noon_ + 30s));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].state, 1u);
  EXPECT_EQ(again[0].Nack(), LeaseOutcome::kDone);
  ScanCursor cursor;
  std::vector<DeadLetter<uint64_t>> letters;
  counter_.ScanDeadLetters(cursor, 10, letters);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(counter_.DropDeadLetter(letters[0].death.token), LeaseOutcome::kDone);
  EXPECT_TRUE(counter_.ledger().Balances());
  counter_.CheckWhole();
}

TEST_F(AnotherKind, GoesOnAfterARestart) {
  for (const char* key : {"lent", "waits"}) counter_.Count(key, noon_);
  engine_->Advance(noon_ + 1h);
  const LeaseTime now(noon_);
  auto lent = counter_.Lease(1, 30s, now);
  ASSERT_EQ(lent.size(), 1u);
  counter_.Count("counts", noon_ + 1h);
  counter_.Count("counts", noon_ + 1h);
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());

  const auto engine = NewEngine(4);
  KeyCounter counter(*engine, "visits", 1h, {.max_deliveries = 2});
  StringSource source(sink.bytes);
  ASSERT_TRUE(RestoreSnapshot(*engine, source).ok());
  counter.CheckWhole();
  EXPECT_EQ(counter.ledger(), counter_.ledger());
  EXPECT_EQ(counter.Count("counts", noon_ + 1h), FoldOutcome::kFolded);
  engine->Advance(noon_ + 2h);
  EXPECT_EQ(counter.Ack(lent[0].delivery.token), LeaseOutcome::kDone);
  std::vector<std::string> left;
  for (auto& each : counter.Pop(100)) left.push_back(each.key + "=" + std::to_string(each.state));
  EXPECT_THAT(left, ElementsAre("waits=1", "counts=3"));
  EXPECT_TRUE(counter.ledger().Balances());
}

TEST_F(AnotherKind, WithOtherWindowsIsNotWhatWasSaved) {
  counter_.Count("home", noon_);
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());
  const auto engine = NewEngine(4);
  KeyCounter counter(*engine, "visits", 2h, {.max_deliveries = 2});
  StringSource source(sink.bytes);
  EXPECT_THAT(std::string(RestoreSnapshot(*engine, source).message()), HasSubstr("every"));
}

TEST_F(AnotherKind, SharesAnEngineAndItsNamesWithFolders) {
  struct Visits {
    int sum = 0;
    void Fold(const int& value) noexcept { sum += value; }
  };
  const FolderOptions options{.quiet_period = 5min, .max_wait = 1h};
  EXPECT_EQ((Folder<int, Visits>::Open(*engine_, "visits", options).status().code()),
            absl::StatusCode::kAlreadyExists);
  Folder<int, Visits> folder(*engine_, "sums", options);
  folder.Fold("a", 1, noon_);
  counter_.Count("a", noon_);
  engine_->Advance(noon_ + 1h);
  EXPECT_EQ(folder.Pop(10).size(), 1u);
  EXPECT_EQ(Pop().size(), 1u);
  EXPECT_FALSE(counter_.any().closed());
}

// docs/own-kind.md: what needs no kind.
struct Largest {
  int64_t value = INT64_MIN;
  void Fold(int64_t seen) noexcept { value = std::max(value, seen); }
};
TEST_F(AnotherKind, IsNotNeededForTheLargestValueInEachMinute) {
  Folder<int64_t, Largest> largest(
      *engine_, "largest",
      {.quiet_period = kForever, .max_wait = kForever, .closing = {.every = 1min}});
  for (const int64_t value : {3, 8, 5}) largest.Fold("a", value, noon_ + value * 1s);
  engine_->Advance(noon_ + 1min);
  largest.Fold("a", 4, noon_ + 1min);
  const auto popped = largest.Pop(10);
  ASSERT_EQ(popped.size(), 1u);
  EXPECT_EQ(popped[0].state.value, 8);
  EXPECT_EQ(popped[0].closed, noon_ + 1min);
}

TEST_F(AnotherKind, StandsInTheListAndInTheMetrics) {
  counter_.Count("home", noon_);
  counter_.Count("home", noon_);
  const std::vector<ListedCollection> all = ListCollections(*engine_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "visits");
  EXPECT_EQ(all[0].kind, "key counter");
  EXPECT_THAT(all[0].options, ElementsAre(testing::Pair("every", "3600s")));
  const std::string metrics = WriteMetrics(all, MetricsFormat::kPrometheus);
  for (const char* line : {"pleat_events_total{collection=\"visits\",outcome=\"opened\"} 1\n",
                           "pleat_events_total{collection=\"visits\",outcome=\"folded\"} 1\n",
                           "pleat_ready_emissions{collection=\"visits\"} 0\n",
                           "pleat_open_groups{collection=\"visits\"} 1\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

}  // namespace
}  // namespace pleat
