// Counters whose windows follow a calendar.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "tests/rollup/fixture.h"
#include "tests/support/bytes.h"
#include "tests/support/uneven_calendar.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// A calendar by the edges of its windows of each length, in seconds after kT0.
class Edges {
 public:
  Edges(std::map<Duration, std::vector<int64_t>> edges) : edges_(std::move(edges)) {}

  std::pair<EngineTime, EngineTime> operator()(EngineTime at, Duration length) const {
    EngineTime start = kBeginningOfTime;
    for (const int64_t edge : edges_.at(length)) {
      const EngineTime end = kT0 + std::chrono::seconds(edge);
      if (at < end) return {start, end};
      start = end;
    }
    return {start, kNever};
  }

 private:
  std::map<Duration, std::vector<int64_t>> edges_;
};

RollupOptions By(const Edges& edges, std::vector<Duration> windows = {10s}) {
  return {.windows = std::move(windows),
          .calendar = edges,
          .calendar_name = "edges",
          .allowed_lateness = 1s};
}

class RollupCalendar : public RollupTest {
 protected:
  std::string Snapshot() {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(engine(), sink).ok());
    return sink.bytes;
  }
  absl::Status Restored(const std::string& bytes) {
    StringSource source(bytes);
    return RestoreSnapshot(engine(), source);
  }
};

TEST_F(RollupCalendar, WindowsOfAnyLengthCloseInTheOrderOfTheirEnds) {
  Open(By(Edges({{10s, {0, 8, 20, 29, 42}}})));
  for (const Duration at : {0s, 7s, 8s, 19s, 20s, 28s, 29s, 41s}) Add("k", at);
  Advance(60s);
  EXPECT_THAT(PopLines(), ElementsAre("k 0-8 2/2 final", "k 8-20 2/2 final", "k 20-29 2/2 final",
                                      "k 29-42 2/2 final"));
  EXPECT_EQ(FinalSum("k"), 8);
}

TEST_F(RollupCalendar, AWindowIsCutWhereItWouldReachBeyondALongerOne) {
  Open(By(Edges({{10s, {0, 10, 20, 30, 40}}, {30s, {0, 25, 60}}}), {10s, 30s}));
  for (const Duration at : {21s, 24s, 25s, 29s, 30s}) Add("k", at);
  Advance(100s);
  EXPECT_THAT(PopLines(), ElementsAre("k 20-25 2/2 final", "k 0-25 2/2 final", "k 25-30 2/2 final",
                                      "k 30-40 1/1 final", "k 25-60 3/3 final"));
}

TEST_F(RollupCalendar, LateEventsNameTheWindowsThatTheyCorrect) {
  RollupOptions options = By(Edges({{10s, {0, 8, 20}}}));
  options.on_late = OnLateAdd::kCorrect;
  Open(options);
  Add("k", 3s);
  Advance(12s);
  ASSERT_THAT(PopLines(), ElementsAre("k 0-8 1/1 final"));
  EXPECT_EQ(Add("k", 7s), AddOutcome::kCorrected);
  EXPECT_THAT(PopLines(), ElementsAre("k 0-8 1/1 correction"));
}

TEST_F(RollupCalendar, HistoryAndTopAskByTheInstant) {
  RollupOptions options = By(Edges({{10s, {0, 8, 20, 30}}}));
  options.retention = 1000s;
  Open(options);
  Add("a", 3s, 5);
  Add("b", 7s, 6);
  Add("a", 8s, 7);
  Advance(100s);
  const std::vector<CountedWindow> history = counter().History("a", kBeginningOfTime, kEndOfTime);
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(Show(history[0]), "0-8 5/1");
  EXPECT_EQ(Show(history[1]), "8-20 7/1");
  const std::vector<TopCount> top = counter().Top(2, At(5s));
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].key, "b");
}

// The data about a zone change, and the program starts again with the new ones.
TEST_F(RollupCalendar, AnOpenWindowKeepsTheEndWithWhichItOpened) {
  Open(By(Edges({{10s, {0, 10, 20, 30}}, {30s, {0, 30, 60}}}), {10s, 30s}));
  Add("k", 12s);
  const std::string before = Snapshot();
  // Later edges are an hour earlier now, as it were.
  Open(By(Edges({{10s, {0, 8, 16, 24, 32, 40}}, {30s, {0, 24, 48}}}), {10s, 30s}));
  ASSERT_TRUE(Restored(before).ok());
  Add("k", 18s);  // in the window that is open, though it would be in the next one
  Add("k", 21s);  // between what is open and what is to come
  Add("k", 25s);
  Add("k", 33s);
  CheckWhole(counter().any());
  const std::string amid = Snapshot();
  Advance(100s);
  const std::vector<std::string> lines = {"k 10-20 2/2 final", "k 20-24 1/1 final",
                                          "k 24-30 1/1 final", "k 0-30 4/4 final",
                                          "k 32-40 1/1 final", "k 30-48 1/1 final"};
  EXPECT_EQ(PopLines(), lines);
  // Once more, by the same calendar.
  Open(By(Edges({{10s, {0, 8, 16, 24, 32, 40}}, {30s, {0, 24, 48}}}), {10s, 30s}));
  ASSERT_TRUE(Restored(amid).ok());
  Advance(100s);
  EXPECT_EQ(PopLines(), lines);
}

TEST_F(RollupCalendar, WhatIsFinalStaysFinalWhenTheCalendarChanges) {
  RollupOptions options = By(Edges({{10s, {0, 10, 20, 30}}}));
  Open(options);
  Add("k", 12s);
  Advance(22s);
  ASSERT_EQ(FinalSum("k"), 1);
  const EngineTime as_of = counter().Eventual("k")->as_of;
  const std::string bytes = Snapshot();
  Open(By(Edges({{10s, {0, 5, 15, 25, 35}}})));
  ASSERT_TRUE(Restored(bytes).ok());
  EXPECT_EQ(counter().Eventual("k")->as_of, as_of);
  EXPECT_EQ(Add("k", 21s), AddOutcome::kAdded);
  Advance(50s);
  EXPECT_THAT(PopLines(), ElementsAre("k 10-20 1/1 final", "k 20-25 1/1 final"));
}

TEST_F(RollupCalendar, ASnapshotOfAnotherCalendarIsRefusedByName) {
  Open(By(Edges({{10s, {0, 10}}})));
  Add("k", 1s);
  const std::string by_calendar = Snapshot();
  RollupOptions other = By(Edges({{10s, {0, 10}}}));
  other.calendar_name = "Europe/Paris";
  Open(other);
  EXPECT_THAT(std::string(Restored(by_calendar).message()),
              HasSubstr("calendar is Europe/Paris, and edges in the snapshot"));
  Open({.windows = {10s}, .allowed_lateness = 1s});
  EXPECT_THAT(std::string(Restored(by_calendar).message()),
              HasSubstr("calendar is absent, and edges in the snapshot"));
}

TEST_F(RollupCalendar, AStoreOfAnotherCalendarIsRefusedByName) {
  RollupOptions options = By(Edges({{10s, {0, 10}}}));
  options.store = std::make_shared<MemoryCheckpointStore>();
  Open(options);
  options.calendar_name = "Europe/Paris";
  EXPECT_EQ(RollupCounter::Open(engine(), "other", options).status().message(),
            "calendar_name: the calendar is \"Europe/Paris\", and \"edges\" in the store");
  options.calendar = {};
  options.calendar_name = "";
  EXPECT_EQ(RollupCounter::Open(engine(), "other", options).status().message(),
            "calendar_name: the calendar is none, and \"edges\" in the store");
  options = By(Edges({{10s, {0, 10}}}));
  EXPECT_TRUE(RollupCounter::Open(engine(), "other", options).ok());
}

// A checkpoint that ends within a window is that of another calendar.
TEST_F(RollupCalendar, ACheckpointEndsWithAWindow) {
  auto store = std::make_shared<MemoryCheckpointStore>();
  RollupOptions options = By(Edges({{10s, {0, 8, 20}}}));
  options.store = store;
  Open(options);
  Add("k", 3s);
  Add("k", 9s);
  Advance(10s);
  EXPECT_EQ(counter().Publish().published, 1U);
  EXPECT_EQ(store->Load("k")->until, At(8s));
  ASSERT_TRUE(store->Publish("k", {.until = At(10s), .amount = {.count = 1, .sum = 1}}).ok());
  Advance(30s);
  EXPECT_EQ(counter().Publish().failed, 1U);
  EXPECT_EQ(ledger().store_errors, 1U);
}

TEST_F(RollupCalendar, ANameStandsWithACalendarAndOnlyWithOne) {
  Open({.windows = {10s}, .allowed_lateness = 1s});
  const auto refused = [&](const RollupOptions& options) {
    return std::string(RollupCounter::Open(engine(), "other", options).status().message());
  };
  RollupOptions options = By(Edges({{10s, {0, 10}}}));
  options.calendar_name = "";
  EXPECT_THAT(refused(options), HasSubstr("calendar_name: must be given with a calendar"));
  options = {.windows = {10s}, .calendar_name = "x", .allowed_lateness = 1s};
  EXPECT_THAT(refused(options), HasSubstr("calendar_name: must be given with a calendar"));
  // Names of resolutions need no common measure.
  options = By(Edges({{10s, {0}}, {13s, {0}}}), {10s, 13s});
  EXPECT_EQ(refused(options), "");
}

TEST(RollupCalendarDeathTest, AWindowElsewhereEndsTheProgram) {
  EXPECT_DEATH(
      {
        auto engine = *Engine::Open({.partitions = 1, .huge_pages = HugePages::kOff});
        RollupCounter counter(
            *engine, "counter",
            {.windows = {10s},
             .calendar = [](EngineTime at, Duration) { return std::pair(at - 2s, at - 1s); },
             .calendar_name = "wrong",
             .allowed_lateness = 1s});
        engine->Advance(kT0);
        counter.Add("k", 1, kT0);
      },
      "the calendar \"wrong\" gave a window that does not contain the instant");
}

// Windows that are over are forgotten, or else a counter would grow for as long as it runs. It still
// knows those that an emission shows.
TEST_F(RollupCalendar, WindowsThatAreOverTakeNoMemory) {
  RollupOptions options{.windows = {10s}, .allowed_lateness = 1s, .forget_after = Duration{0}};
  MakeUneven(options);
  Open(options);
  Add("first", 0s);
  Advance(100s);
  std::string early;
  for (int i = 1; i <= 2000; ++i) {
    Add("k", 100s + i * 10s);
    Advance(100s + i * 10s + 5s);
    if (i == 100) early = Snapshot();
    if (i > 20) (void)counter().Pop(1);
  }
  EXPECT_LT(Snapshot().size(), early.size() + 2000);
}

}  // namespace
}  // namespace pleat::inline v0_1
