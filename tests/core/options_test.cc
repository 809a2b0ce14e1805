// Options that change while a folder runs, and the list of an engine's collections. Random changes are
// compared with the model in tests/model.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/metrics.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/numbers.h"
#include "tests/support/share.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Tally {
  int64_t sum = 0;
  void Fold(const Number& number) noexcept { sum += number.value; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

class SetOptionsTest : public testing::Test {
 protected:
  void Open(const FolderOptions& options, const EngineOptions& engine = {.partitions = 1}) {
    engine_options_ = engine;
    engine_ = *Engine::Open(engine);
    folder_.emplace(*engine_, "totals", options, rules_);
  }
  void Fold(std::string_view key, int value, Duration after) {
    folder_->Fold(key, {value}, kT0 + after);
  }
  absl::Status Set(const std::function<void(FolderOptions&)>& change) {
    FolderOptions options = folder_->options();
    change(options);
    absl::Status status = folder_->SetOptions(options);
    CheckWhole(folder_->any());
    return status;
  }
  // Each as key, sum, reason and the seconds from the start to `closed`.
  std::vector<std::string> Pop(PartitionRange from = {}) {
    std::vector<std::string> out;
    for (const auto& e : folder_->Pop(1000, from)) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(e.closed - kT0).count();
      out.push_back(e.key + " " + std::to_string(e.state.sum) + " " +
                    std::string(ReasonName(e.reason)) + " " + std::to_string(seconds));
    }
    return out;
  }
  // A new engine goes on from a snapshot.
  absl::Status Restart(const FolderOptions& options) {
    StringSink sink;
    if (absl::Status taken = TakeSnapshot(*engine_, sink); !taken.ok()) return taken;
    StringSource source(sink.bytes);
    auto engine = *Engine::Open(engine_options_);
    Folder<Number, Tally> folder(*engine, "totals", options, rules_);
    absl::Status restored = RestoreSnapshot(*engine, source);
    engine_ = std::move(engine);
    folder_ = folder;
    return restored;
  }

  FoldRules<Number, Tally> rules_;
  EngineOptions engine_options_;
  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Number, Tally>> folder_;
};

// --- Periods

TEST_F(SetOptionsTest, ALongerQuietPeriodHoldsForOpenGroups) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold("a", 1, 0s);
  engine_->Advance(kT0 + 5s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 60s; }).ok());
  engine_->Advance(kT0 + 59s);
  EXPECT_THAT(Pop(), IsEmpty());
  engine_->Advance(kT0 + 60s);
  EXPECT_THAT(Pop(), ElementsAre("a 1 quiet 60"));
}

TEST_F(SetOptionsTest, AShorterQuietPeriodMovesDeadlinesToTheFront) {
  Open({.quiet_period = 1h, .max_wait = kForever});
  Fold("a", 1, 3s);
  Fold("b", 2, 1s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 10s; }).ok());
  EXPECT_EQ(engine_->NextDeadline(), kT0 + 11s);
  engine_->Advance(kT0 + 12s);
  EXPECT_THAT(Pop(), ElementsAre("b 2 quiet 11"));
  Fold("a", 3, 12s);
  engine_->Advance(kT0 + 1h);
  EXPECT_THAT(Pop(), ElementsAre("a 4 quiet 22"));
}

TEST_F(SetOptionsTest, GroupsThatNewPeriodsHaveEndedCloseAtOnceInTheirOrder) {
  Open({.quiet_period = 1h, .max_wait = 2h}, {.partitions = 7});
  for (const auto& [key, at] : {std::pair("a", 30s), {"b", 10s}, {"c", 20s}, {"d", 55s}}) {
    Fold(key, 1, at);
  }
  Fold("b", 1, 59s);
  engine_->Advance(kT0 + 60s);
  ASSERT_TRUE(Set([](FolderOptions& o) {
                o.quiet_period = 15s;
                o.max_wait = 45s;
              }).ok());
  // By their new deadlines, which are 35 s, 45 s and 55 s.
  EXPECT_THAT(Pop(), ElementsAre("c 1 quiet 60", "a 1 quiet 60", "b 2 max_wait 60"));
  engine_->Advance(kT0 + 70s);
  EXPECT_THAT(Pop(), ElementsAre("d 1 quiet 70"));
  EXPECT_TRUE(folder_->ledger().Balances());
}

TEST_F(SetOptionsTest, WhatWasDueBeforeClosedByTheOptionsOfBefore) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold("a", 1, 0s);
  EXPECT_TRUE(engine_->Advance(kT0 + 20s, 0));  // due, and no call has visited it
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 1h; }).ok());
  EXPECT_THAT(Pop(), ElementsAre("a 1 quiet 10"));
}

TEST_F(SetOptionsTest, AnOvertakenGroupKeepsItsDeadline) {
  for (const Duration quiet : {Duration(1s), Duration(1h)}) {
    Open({.quiet_period = 10s, .max_wait = kForever});
    engine_->Advance(kT0);
    Fold("a", 1, 0s);
    Fold("a", 2, 12s);  // the engine's time is still 0 s
    ASSERT_TRUE(Set([&](FolderOptions& o) { o.quiet_period = quiet; }).ok());
    engine_->Advance(kT0 + 9s);
    EXPECT_THAT(Pop(), IsEmpty());
    engine_->Advance(kT0 + 10s);
    EXPECT_THAT(Pop(), ElementsAre("a 1 quiet 10"));
  }
}

TEST_F(SetOptionsTest, WhatWaitsKeepsItsInstantAndItsOrder) {
  Open({.quiet_period = 10s, .max_wait = kForever}, {.partitions = 7});
  engine_->Advance(kT0 + 100s);
  Fold("overdue", 1, 1s);  // closes at once, by the event
  Fold("x", 1, 100s);
  Fold("x", 2, 112s);  // overtakes
  for (const auto& [key, at] : {std::pair("a", 103s), {"b", 101s}, {"c", 102s}}) Fold(key, 1, at);
  folder_->CloseAll();
  ASSERT_TRUE(Set([](FolderOptions& o) {
                o.quiet_period = 1h;
                o.max_wait = 1s;
              }).ok());
  EXPECT_THAT(Pop(), ElementsAre("overdue 1 quiet 11", "x 1 quiet 110", "b 1 end 100",
                                 "c 1 end 100", "a 1 end 100", "x 2 end 100"));
}

// The new deadline of the group is the instant of a partial that its events have passed.
TEST_F(SetOptionsTest, APartialThatWasPassedComesBeforeItsGroup) {
  for (const bool close_all : {true, false}) {
    Open({.quiet_period = 1h, .max_wait = 1h, .partial_every = 10s});
    engine_->Advance(kT0);
    for (const std::string_view key : {"a", "b", "c", "d"}) {
      Fold(key, 1, 0s);
      Fold(key, 2, 15s);
    }
    ASSERT_TRUE(Set([](FolderOptions& o) { o.max_wait = 10s; }).ok());
    if (close_all) {
      folder_->CloseAll();
      EXPECT_THAT(Pop(), ElementsAre("a 1 partial 10", "a 3 end 0", "b 1 partial 10", "b 3 end 0",
                                     "c 1 partial 10", "c 3 end 0", "d 1 partial 10", "d 3 end 0"));
    } else {
      engine_->Advance(kT0 + 10s);
      EXPECT_THAT(Pop(), ElementsAre("a 1 partial 10", "a 3 max_wait 10",  //
                                     "b 1 partial 10", "b 3 max_wait 10",  //
                                     "c 1 partial 10", "c 3 max_wait 10",  //
                                     "d 1 partial 10", "d 3 max_wait 10"));
    }
  }
}

TEST_F(SetOptionsTest, ALongerPeriodBringsPartialsAgain) {
  Open({.quiet_period = 20s, .max_wait = 15s, .partial_every = 10s});
  engine_->Advance(kT0);
  Fold("a", 1, 0s);
  Fold("a", 2, 12s);
  engine_->Advance(kT0 + 14s);
  EXPECT_THAT(Pop(), ElementsAre("a 1 partial 10"));
  ASSERT_TRUE(Set([](FolderOptions& o) { o.max_wait = 25s; }).ok());
  engine_->Advance(kT0 + 25s);
  EXPECT_THAT(Pop(), ElementsAre("a 3 partial 20", "a 3 max_wait 25"));
}

// One event closes two groups: a, whose next instant is 30 s, and b, whose next instant is 31 s, but
// whose deadline comes before that of a.
TEST_F(SetOptionsTest, GroupsThatALowerLimitClosesComeInTheOrderOfTheLimit) {
  Open({.quiet_period = 100s,
        .max_wait = kForever,
        .partial_every = 30s,
        .limits = {.on_limit = OnLimit::kEmitOldest}});
  engine_->Advance(kT0);
  for (const auto& [key, at] : {std::pair("a", 0s), {"b", 1s}, {"c", 2s}, {"a", 3s}}) {
    Fold(key, 1, at);
  }
  ASSERT_TRUE(Set([](FolderOptions& o) { o.limits.max_groups = 2; }).ok());
  Fold("d", 1, 3s);
  EXPECT_THAT(Pop(), ElementsAre("a 2 limit 0", "b 1 limit 0"));
  engine_->Advance(kT0 + 200s);
  EXPECT_THAT(Pop(),
              ElementsAre("c 1 partial 32", "d 1 partial 33", "c 1 quiet 102", "d 1 quiet 103"));
}

TEST_F(SetOptionsTest, AQuietPeriodOfAnEventsOwnStays) {
  rules_.quiet_period = [](std::string_view, const Number& number) {
    return number.value > 9 ? Duration(20s) : Duration(0);
  };
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold("own", 10, 0s);
  Fold("usual", 1, 0s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 15s; }).ok());
  engine_->Advance(kT0 + 1h);
  EXPECT_THAT(Pop(), ElementsAre("usual 1 quiet 15", "own 10 quiet 20"));
}

TEST_F(SetOptionsTest, AnAlarmHearsOfEarlierDeadlines) {
  struct Alarm final : EngineAlarm {
    void DeadlineIsEarlier(EngineTime deadline) noexcept override { earliest = deadline; }
    void LeaseDeadlineIsEarlier(LeaseTime) noexcept override {}
    std::optional<EngineTime> earliest;
  } alarm;
  Open({.quiet_period = 1h, .max_wait = kForever});
  Fold("a", 1, 0s);
  engine_->SetAlarm(alarm);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 10s; }).ok());
  EXPECT_EQ(alarm.earliest, kT0 + 10s);
  engine_->RemoveAlarm(alarm);
}

// --- Caps, limits, leases

TEST_F(SetOptionsTest, AGroupBeyondALowerCapClosesAtOnce) {
  Open({.quiet_period = 1h, .max_wait = kForever});
  engine_->Advance(kT0);
  for (int i = 0; i < 3; ++i) Fold("three", 1, Duration(i));
  Fold("one", 1, 0s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.max_events = 2; }).ok());
  EXPECT_THAT(Pop(), ElementsAre("three 3 max_events 0"));
  Fold("one", 1, 1s);
  EXPECT_THAT(Pop(), ElementsAre(HasSubstr("one 2 max_events")));
}

TEST_F(SetOptionsTest, ALimitBelowWhatIsThereHoldsForWhatComes) {
  Open({.quiet_period = 1h, .max_wait = kForever});
  for (const char* key : {"a", "b", "c"}) Fold(key, 1, 0s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.limits.max_groups = 2; }).ok());
  EXPECT_EQ(folder_->Fold("d", {1}, kT0), FoldOutcome::kOverLimit);
  EXPECT_EQ(folder_->Fold("a", {1}, kT0), FoldOutcome::kFolded);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.limits.on_limit = OnLimit::kEmitOldest; }).ok());
  EXPECT_EQ(folder_->Fold("d", {1}, kT0), FoldOutcome::kOpened);
  EXPECT_EQ(folder_->sizes().open_groups, 2u);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.limits.max_bytes = 300; }).ok());
  EXPECT_EQ(folder_->Fold("e", {1}, kT0), FoldOutcome::kOverLimit);
  EXPECT_EQ(Pop().size(), 3u);  // one more made room, which those that waited took
  ASSERT_TRUE(Set([](FolderOptions& o) { o.limits.max_backlog = 1; }).ok());
  folder_->CloseAll();
  EXPECT_EQ(folder_->Fold("e", {1}, kT0), FoldOutcome::kOverloaded);
}

TEST_F(SetOptionsTest, BytesThatWaitAreCountedWhenTheyBeginToMatter) {
  Open({.quiet_period = 1h, .max_wait = kForever});
  for (int i = 0; i < 100; ++i) Fold(std::to_string(i), 1, 0s);
  folder_->CloseAll();
  const size_t bytes = folder_->sizes().bytes;
  const auto limit = [&](bool count_ready) {
    return Set([&](FolderOptions& o) {
      o.limits.max_bytes = bytes;
      o.limits.count_ready = count_ready;
    });
  };
  ASSERT_TRUE(limit(true).ok());
  EXPECT_EQ(folder_->Fold("more", {1}, kT0), FoldOutcome::kOverLimit);
  ASSERT_TRUE(limit(false).ok());
  EXPECT_EQ(folder_->Fold("more", {1}, kT0), FoldOutcome::kOpened);
  EXPECT_EQ(Pop().size(), 100u);
  ASSERT_TRUE(limit(true).ok());
}

TEST_F(SetOptionsTest, LeaseBoundsHoldFromTheNextCallOn) {
  Open({.quiet_period = 10s, .max_wait = kForever, .leases = {.max_leased = 1}});
  for (const char* key : {"a", "b", "c"}) Fold(key, 1, 0s);
  folder_->CloseAll();
  const auto first = folder_->Lease(9, 1h, kLease0);
  ASSERT_EQ(first.size(), 1u);
  struct Listener final : EmissionListener {
    void MayHaveEmissions() noexcept override { ++calls; }
    int calls = 0;
  } listener;
  AnyFolder any = folder_->any();
  any.AddListener(listener, {});
  ASSERT_TRUE(Set([](FolderOptions& o) {
                o.leases.max_leased = 2;
                o.leases.max_age = 30s;
                o.leases.max_nack_delay = 5s;
                o.leases.max_deliveries = 1;
              }).ok());
  EXPECT_EQ(listener.calls, 1);
  any.RemoveListener(listener);
  const auto second = folder_->Lease(9, 1h, kLease0);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second.front().delivery.until, SaturatingAdd(kLease0, 30s));
  EXPECT_EQ(any.Extend(first.front().delivery.token, 2h, kLease0).until,
            SaturatingAdd(kLease0, 1h));
  EXPECT_EQ(any.Nack(first.front().delivery.token, 1h, kLease0), LeaseOutcome::kClamped);
  EXPECT_EQ(folder_->sizes().dead_letters, 1u);
}

TEST_F(SetOptionsTest, WhatWaitsBehindDeadLettersGoesOnOnceNothingShallWait) {
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .max_events = 1,
        .leases = {.max_deliveries = 1, .wait_behind_dead = true}});
  const auto wait = [&](bool waits) {
    return Set([waits](FolderOptions& o) { o.leases.wait_behind_dead = waits; });
  };
  const auto die = [&](const char* key) {
    const auto leases = folder_->Lease(1, 1h, kLease0);
    ASSERT_EQ(leases.size(), 1u);
    EXPECT_EQ(leases[0].key, key);
    folder_->Nack(leases[0].delivery.token);
  };
  Fold("a", 1, 0s);
  die("a");
  Fold("a", 2, 0s);
  EXPECT_EQ(Pop().size(), 0u);
  EXPECT_EQ(folder_->sizes().behind_dead, 1u);
  struct Listener final : EmissionListener {
    void MayHaveEmissions() noexcept override { ++calls; }
    int calls = 0;
  } listener;
  AnyFolder any = folder_->any();
  any.AddListener(listener, {});
  ASSERT_TRUE(wait(false).ok());
  EXPECT_EQ(listener.calls, 1);
  any.RemoveListener(listener);
  EXPECT_EQ(folder_->sizes().behind_dead, 0u);
  EXPECT_EQ(Pop().size(), 1u);
  // It holds from then on: the letters of before hold nothing.
  ASSERT_TRUE(wait(true).ok());
  Fold("a", 3, 0s);
  die("a");
  Fold("a", 4, 0s);
  EXPECT_EQ(Pop().size(), 0u);
  EXPECT_EQ(folder_->sizes().dead_letters, 2u);
  EXPECT_EQ(folder_->sizes().behind_dead, 1u);
}

// --- What cannot change

TEST_F(SetOptionsTest, WhatCannotChangeIsRefusedByName) {
  Open({.quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 1min}});
  Fold("a", 1, 0s);
  const auto expect = [&](absl::StatusCode code, std::string_view name,
                          const std::function<void(FolderOptions&)>& change) {
    const absl::Status status = Set([&](FolderOptions& o) {
      o.max_wait = 1s;  // which must not come to hold
      change(o);
    });
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(std::string(name)));
    EXPECT_EQ(folder_->options().max_wait, kForever);
  };
  const auto fixed = absl::StatusCode::kFailedPrecondition;
  expect(fixed, "quiet_floor:", [](FolderOptions& o) { o.quiet_floor = 1s; });
  expect(fixed, "edge:", [](FolderOptions& o) { o.edge = Edge::kBoth; });
  expect(fixed, "partial_every:", [](FolderOptions& o) { o.partial_every = 1s; });
  expect(absl::StatusCode::kInvalidArgument,
         "leading_events:", [](FolderOptions& o) { o.leading_events = 2; });
  expect(fixed, "late.on_late", [](FolderOptions& o) { o.late.on_late = OnLate::kCorrect; });
  expect(fixed, "measure.max_trace:", [](FolderOptions& o) { o.measure.max_trace = 5; });
  const auto range = absl::StatusCode::kInvalidArgument;
  expect(range, "quiet_period:", [](FolderOptions& o) { o.quiet_period = 0s; });
  expect(range, "leases.max_deliveries:", [](FolderOptions& o) { o.leases.max_deliveries = 0; });
  engine_->Advance(kT0 + 9s);
  EXPECT_THAT(Pop(), IsEmpty());
}

TEST_F(SetOptionsTest, ALearnedQuietPeriodAndRememberedIdsStayAsTheyAre) {
  Open({.quiet_period = 10s, .quiet_floor = 1s, .max_wait = kForever});
  EXPECT_THAT(Set([](FolderOptions& o) { o.quiet_period = 20s; }).message(),
              HasSubstr("quiet_period with quiet_floor"));
  EXPECT_TRUE(Set([](FolderOptions& o) { o.max_wait = 20s; }).ok());
  rules_.id = [](const Number&) { return std::string_view("id"); };
  Open({.quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 1min}});
  EXPECT_THAT(Set([](FolderOptions& o) { o.late.allowed_lateness = 2min; }).message(),
              HasSubstr("late.allowed_lateness with ids"));
  EXPECT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 20s; }).ok());
}

TEST_F(SetOptionsTest, AClosedFolderAndANestedCallAreRefused) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  absl::Status nested;
  auto& folder = *folder_;
  Fold("a", 1, 0s);
  AnyFolder any = folder.any();
  any.Peek("a", [&](const GroupInfo&, const void*) {
    nested = AnyFolder(any).SetOptions({.quiet_period = 1s, .max_wait = 1s});
  });
  EXPECT_EQ(nested.code(), absl::StatusCode::kFailedPrecondition);
  folder.Close();
  EXPECT_EQ(folder.SetOptions({.quiet_period = 1s, .max_wait = 1s}).code(),
            absl::StatusCode::kFailedPrecondition);
}

// --- Restarts

TEST_F(SetOptionsTest, ASnapshotHasTheOptionsOfItsCutAndDecidedDeadlines) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  engine_->Advance(kT0 + 100s);
  Fold("overdue", 1, 1s);
  Fold("a", 1, 100s);
  Fold("a", 2, 115s);
  ASSERT_TRUE(Set([](FolderOptions& o) { o.quiet_period = 20s; }).ok());
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());
  StringSource source(sink.bytes);
  const auto info = *ReadSnapshotInfo(source);
  EXPECT_THAT(info.collections.front().options,
              testing::Contains(testing::Pair("quiet_period", "20s")));
  const FolderOptions now = folder_->options();
  ASSERT_TRUE(Restart(now).ok());
  CheckWhole(folder_->any());
  engine_->Advance(kT0 + 111s);
  EXPECT_THAT(Pop(), ElementsAre("overdue 1 quiet 11", "a 1 quiet 110"));
  engine_->Advance(kT0 + 135s);
  EXPECT_THAT(Pop(), ElementsAre("a 2 quiet 135"));
}

// --- Several threads

// Each batch is folded by one set of options: with a max of one event every event of it closes its
// group, with none no event does.
TEST_F(SetOptionsTest, ABatchSeesOneSetOfOptions) {
  Open({.quiet_period = 1h, .max_wait = kForever}, {.partitions = 4});
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back(std::to_string(i));
  std::vector<KeyedEvent<Number>> batch;
  for (const std::string& key : keys) batch.push_back({key, kT0, {1}});
  std::atomic<bool> done = false;
  std::thread changes([&] {
    for (bool one = true; !done; one = !one) {
      FolderOptions options = folder_->options();
      options.max_events = one ? 1 : kNoEventCap;
      EXPECT_TRUE(folder_->SetOptions(options).ok());
    }
  });
  // The moment between two partitions of a batch is short.
  const uint64_t rounds = ShareOf({.whole = 20'000, .usual = 1'500, .sanitized = 300});
  for (uint64_t round = 0; round < rounds; ++round) {
    const FoldCounts counts = folder_->FoldBatch(batch);
    const size_t opened = counts[FoldOutcome::kOpened];
    EXPECT_TRUE(opened == 0 || opened == batch.size()) << opened;
  }
  done = true;
  changes.join();
  folder_->CloseAll();
  EXPECT_TRUE(folder_->ledger().Balances());
  CheckWhole(folder_->any());
}

// --- The list

TEST(ListCollections, NamesOptionsAndCountsOfEachKind) {
  auto engine = *Engine::Open({.partitions = 2});
  Folder<Number, Tally> b(*engine, "b", {.quiet_period = 1s, .max_wait = kForever});
  Folder<Number, Tally> a(*engine, "a", {.quiet_period = 2s, .max_wait = kForever});
  LiveSet<int> live_set(*engine, "w", {.ttl = 3s});
  Presence<> presence(*engine, "p", {.ttl = 4s});
  auto counter = *RollupCounter::Open(*engine, "c", {.windows = {1min}, .allowed_lateness = 5s});
  a.Fold("k", {1}, kT0);
  counter.Add("k", 1, kT0);
  const std::vector<ListedCollection> list = ListCollections(*engine);
  std::string names;
  for (const ListedCollection& each : list) names += each.kind + " " + each.name + ", ";
  EXPECT_EQ(names, "folder a, folder b, live_set w, presence p, rollup c, ");
  const auto option = [&](size_t place, std::string_view name) {
    for (const auto& [each, value] : list[place].options) {
      if (each == name) return value;
    }
    return std::string("none");
  };
  EXPECT_EQ(option(0, "quiet_period"), "2s");
  EXPECT_EQ(option(2, "ttl"), "3s");
  EXPECT_EQ(option(3, "ttl"), "4s");
  EXPECT_EQ(option(4, "windows"), "60s");
  const auto count = [&](size_t place, std::string_view name, std::string_view label) {
    for (const Statistic& each : list[place].statistics) {
      if (each.name == name && each.label.second == label) return each.value;
    }
    return -1.0;
  };
  EXPECT_EQ(count(0, "pleat_events", "opened"), 1);
  EXPECT_EQ(count(0, "pleat_open_groups", ""), 1);
  EXPECT_EQ(count(1, "pleat_open_groups", ""), 0);
  EXPECT_EQ(count(4, "pleat_events", "added"), 1);
  b.Close();
  EXPECT_EQ(ListCollections(*engine).size(), 4u);
  std::vector<ListedCollection> nested = list;
  a.any().Peek("k", [&](const GroupInfo&, const void*) { nested = ListCollections(*engine); });
  EXPECT_TRUE(nested.empty());
}

}  // namespace
}  // namespace pleat
