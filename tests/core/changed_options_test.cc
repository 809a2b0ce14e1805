// A restart with other options: what may change is as if SetOptions() had been called at the cut, by an
// engine that runs on; what may not is refused with both values. Random restarts are compared with
// the models in tests/model.
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "engine/core/option_table.h"
#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/numbers.h"
#include "tests/support/source_dir.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct SumState {
  int64_t sum = 0;
  void Fold(const Number& number) noexcept { sum += number.value; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

// Kinds as the page calls them.
const std::map<std::string, std::string> kKindNames = {
    {"folder", "folder"}, {"live set", "live_set"}, {"presence", "presence"}, {"rollup", "rollup"}};

std::string SnapshotOf(Engine& engine) {
  StringSink sink;
  EXPECT_TRUE(TakeSnapshot(engine, sink).ok());
  return sink.bytes;
}

// A folder in an engine of its own.
struct FolderLife {
  using Options = FolderOptions;

  explicit FolderLife(const FolderOptions& options, const FoldRules<Number, SumState>& rules = {})
      : engine(*Engine::Open({.partitions = 3, .internals = {.hash_key = {{1, 2}}}})),
        folder(*engine, "sums", options, rules) {}

  absl::Status Restore(const std::string& snapshot) {
    StringSource source(snapshot);
    auto restore = Restore::Begin(*engine, source, {.skip_numbers = 0});
    if (!restore.ok()) return restore.status();
    changed = (*restore)->info().collections.front().changed;
    return (*restore)->Finish();
  }
  // Some groups, one of them due and one ended.
  void Fill() {
    for (const auto& [key, at] : {std::pair("a", 0s), {"b", 10s}, {"c", 20s}, {"a", 25s}}) {
      folder.Fold(key, {1}, kT0 + at);
    }
    folder.Flush("b");
    engine->Advance(kT0 + 30s);
  }

  std::unique_ptr<Engine> engine;
  Folder<Number, SumState> folder;
  std::vector<std::pair<std::string, std::string>> changed;
};

constexpr FolderOptions kBefore{.quiet_period = 60s, .max_wait = 1h};

// The restored engine is the one that ran on, to the byte.
void ExpectAsSetAtTheCut(const FolderOptions& before, const FolderOptions& now) {
  FolderLife lasting(before);
  lasting.Fill();
  const std::string cut = SnapshotOf(*lasting.engine);
  ASSERT_TRUE(lasting.folder.SetOptions(now).ok());
  FolderLife restarted(now);
  const absl::Status restored = restarted.Restore(cut);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_FALSE(restarted.changed.empty());
  EXPECT_TRUE(SnapshotOf(*restarted.engine) == SnapshotOf(*lasting.engine));
  CheckWhole(restarted.folder.any());
  EXPECT_EQ(restarted.folder.ledger(), lasting.folder.ledger());
  for (FolderLife* const each : {&lasting, &restarted}) {
    each->folder.Fold("a", {5}, kT0 + 31s);
    each->folder.Fold("d", {7}, kT0 + 1s);
    each->engine->Advance(kT0 + 2h);
  }
  EXPECT_TRUE(SnapshotOf(*restarted.engine) == SnapshotOf(*lasting.engine));
}

TEST(ChangedOptions, OfAFolderAreThoseOfSetOptionsAtTheCut) {
  const std::vector<std::function<void(FolderOptions&)>> changes = {
      [](FolderOptions& o) { o.quiet_period = 90s; },
      [](FolderOptions& o) { o.quiet_period = 7s; },
      [](FolderOptions& o) { o.quiet_period = kForever; },
      [](FolderOptions& o) { o.max_wait = 20s; },
      [](FolderOptions& o) { o.max_wait = kForever; },
      [](FolderOptions& o) { o.max_events = 2; },
      [](FolderOptions& o) { o.max_group_bytes = 1; },
      [](FolderOptions& o) { o.late = {.allowed_lateness = 5s}; },
      [](FolderOptions& o) { o.late = {.allowed_lateness = 5s, .on_late = OnLate::kFold}; },
      [](FolderOptions& o) { o.measure.gap_stats = true; },
      [](FolderOptions& o) {
        o.quiet_period = 8s;
        o.measure = {.gap_stats = true, .max_ghosts = 5};
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    FolderOptions now = kBefore;
    changes[i](now);
    ExpectAsSetAtTheCut(kBefore, now);
    ExpectAsSetAtTheCut(now, kBefore);
  }
}

TEST(ChangedOptions, AreToldWithTheValueThatHoldsNow) {
  FolderLife before({.quiet_period = 60s, .max_wait = 1h, .late = {.allowed_lateness = 5s}});
  before.Fill();
  FolderLife after({.quiet_period = 2min,
                    .max_wait = kForever,
                    .late = {.allowed_lateness = 5s, .on_late = OnLate::kFold}});
  ASSERT_TRUE(after.Restore(SnapshotOf(*before.engine)).ok());
  EXPECT_THAT(after.changed, ElementsAre(Pair("quiet_period", "120s"), Pair("max_wait", "forever"),
                                         Pair("late.on_late", "kFold")));
  FolderLife same(after.folder.options());
  ASSERT_TRUE(same.Restore(SnapshotOf(*after.engine)).ok());
  EXPECT_TRUE(same.changed.empty());
}

TEST(ChangedOptions, OfWhichOneCannotChangeAreRefusedWithBothValues) {
  const auto refusal = [](const FolderOptions& then, const FolderOptions& now,
                          const FoldRules<Number, SumState>& rules = {}) {
    FolderLife before(then, rules);
    before.Fill();
    FolderLife after(now, rules);
    const absl::Status status = after.Restore(SnapshotOf(*before.engine));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    // The engine is as it was, and its books are made by its own options.
    after.folder.Fold("a", {1}, kT0);
    const Duration quiet = now.quiet_floor == 0s ? now.quiet_period : now.quiet_floor;
    EXPECT_LE(after.engine->NextDeadline(), kT0 + now.quiet_period);
    EXPECT_GE(after.engine->NextDeadline(), kT0 + quiet);
    return std::string(status.message());
  };
  FolderOptions both = kBefore;
  both.quiet_period = 90s;
  both.edge = Edge::kBoth;
  EXPECT_EQ(refusal(kBefore, both), "\"sums\": edge is kBoth, and kTrailing in the snapshot");
  const FolderOptions learns{.quiet_period = 60s, .quiet_floor = 5s, .max_wait = 1h};
  FolderOptions learns_more = learns;
  learns_more.quiet_period = 90s;
  EXPECT_EQ(refusal(learns, learns_more),
            "\"sums\": quiet_period with quiet_floor is 90s, and 60s in the snapshot");
  FoldRules<Number, SumState> ids;
  ids.id = [](const Number&) { return std::string_view("id"); };
  FolderOptions late = kBefore;
  late.late.allowed_lateness = 1min;
  FolderOptions later = late;
  later.late.allowed_lateness = 2min;
  EXPECT_EQ(refusal(late, later, ids),
            "\"sums\": late.allowed_lateness with ids is 120s, and 60s in the snapshot");
  FolderOptions corrects = late;
  corrects.late.on_late = OnLate::kCorrect;
  EXPECT_EQ(refusal(late, corrects),
            "\"sums\": late.on_late from or to kCorrect is kCorrect, and kReject in the snapshot");
}

TEST(ChangedOptions, ThatWereTakenOverAreForgottenWithARestoreThatFails) {
  FolderLife before(kBefore);
  before.Fill();
  std::string snapshot = SnapshotOf(*before.engine);
  snapshot.resize(snapshot.size() - 20);  // the head is whole
  FolderOptions now = kBefore;
  now.quiet_period = 5s;
  FolderLife after(now);
  EXPECT_EQ(after.Restore(snapshot).code(), absl::StatusCode::kDataLoss);
  after.folder.Fold("a", {1}, kT0);
  EXPECT_EQ(after.engine->NextDeadline(), kT0 + 5s);
}

// --- Measuring

TEST(ChangedOptions, MeasuringBeginsEmptyWithTheGroupsThatAreOpen) {
  FolderLife life(kBefore);
  life.Fill();  // "a" and "c" are open
  FolderOptions now = kBefore;
  now.measure.gap_stats = true;
  const std::string cut = SnapshotOf(*life.engine);
  FolderLife restarted(now);
  ASSERT_TRUE(restarted.Restore(cut).ok());
  ASSERT_TRUE(life.folder.SetOptions(now).ok());
  for (FolderLife* const each : {&life, &restarted}) {
    EXPECT_EQ(each->folder.gap_stats()->events, 0u);
    EXPECT_EQ(each->folder.gap_stats()->open_peak, 2u);
    each->folder.Fold("a", {1}, kT0 + 35s);  // 10 s behind the last one, which came before
    each->folder.Fold("d", {1}, kT0 + 36s);
    const auto stats = each->folder.gap_stats();
    EXPECT_EQ(stats->events, 2u);
    EXPECT_EQ(stats->gaps.count(), 1u);
    EXPECT_EQ(stats->open_peak, 3u);
    each->engine->Advance(kT0 + 2h);
    EXPECT_EQ(each->folder.gap_stats()->spans.count(), 3u);
    // Another restart goes on.
    FolderLife again(now);
    ASSERT_TRUE(again.Restore(SnapshotOf(*each->engine)).ok());
    EXPECT_EQ(again.folder.gap_stats()->events, 2u);
    EXPECT_EQ(again.folder.gap_stats()->open_peak, 3u);
  }
}

TEST(ChangedOptions, MeasuringEndsAndBeginsAnewWhileAFolderRuns) {
  FolderOptions on = kBefore;
  on.measure.gap_stats = true;
  FolderLife life(on);
  life.Fill();
  EXPECT_EQ(life.folder.gap_stats()->events, 4u);
  ASSERT_TRUE(life.folder.SetOptions(kBefore).ok());
  EXPECT_EQ(life.folder.gap_stats(), nullptr);
  life.folder.Fold("e", {1}, kT0 + 31s);
  ASSERT_TRUE(life.folder.SetOptions(on).ok());
  EXPECT_EQ(life.folder.gap_stats()->events, 0u);
  EXPECT_EQ(life.folder.gap_stats()->open_peak, 3u);
  life.folder.Fold("e", {1}, kT0 + 33s);
  EXPECT_EQ(life.folder.gap_stats()->events, 1u);
  EXPECT_EQ(life.folder.gap_stats()->gaps.max(), 2'000'000u);
}

TEST(ChangedOptions, FewerGhostsForgetTheKeysThatWentFirst) {
  FolderOptions many = kBefore;
  many.quiet_period = 10s;
  many.measure = {.gap_stats = true, .max_ghosts = 30};
  FolderLife life(many);
  for (const char* const key : {"a", "b", "c", "d"}) life.folder.Fold(key, {1}, kT0);
  life.engine->Advance(kT0 + 30s);
  EXPECT_EQ(life.folder.gap_stats()->known_to, kForever);
  FolderOptions none = many;
  none.measure.max_ghosts = 0;
  ASSERT_TRUE(life.folder.SetOptions(none).ok());
  EXPECT_EQ(life.folder.gap_stats()->known_to, 30s);
  life.folder.Fold("a", {1}, kT0 + 40s);
  EXPECT_EQ(life.folder.gap_stats()->gaps.count(), 0u);
}

// --- Live sets and presence

// A collection in an engine of its own, which takes snapshots and is restored.
template <class Collection, class Options>
struct FeedLife {
  explicit FeedLife(const Options& options)
      : engine(*Engine::Open({.partitions = 3, .internals = {.hash_key = {{1, 2}}}})),
        feed(*engine, "feed", options) {}
  absl::Status Restore(const std::string& snapshot) {
    StringSource source(snapshot);
    return RestoreSnapshot(*engine, source, {.skip_numbers = 0});
  }

  std::unique_ptr<Engine> engine;
  Collection feed;
};

template <class Life, class Options, class Fill>
void ExpectFeedAsSetAtTheCut(const Options& before, const Options& now, const Fill& fill) {
  Life lasting(before);
  fill(lasting);
  const std::string cut = SnapshotOf(*lasting.engine);
  ASSERT_TRUE(lasting.feed.SetOptions(now).ok());
  Life restarted(now);
  const absl::Status restored = restarted.Restore(cut);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_TRUE(SnapshotOf(*restarted.engine) == SnapshotOf(*lasting.engine));
  EXPECT_EQ(restarted.feed.ledger(), lasting.feed.ledger());
  restarted.feed.any().CheckWhole();
  for (Life* const each : {&lasting, &restarted}) each->engine->Advance(kT0 + 2h);
  EXPECT_TRUE(SnapshotOf(*restarted.engine) == SnapshotOf(*lasting.engine));
}

using LiveSetLife = FeedLife<LiveSet<int>, LiveSetOptions>;

void FillLiveSet(LiveSetLife& life) {
  for (const char* const series : {"r", "s", "t", "u"}) {
    life.feed.Add(series, {.id = "old", .payload = 1}, kT0);
    life.feed.Add(series, {.id = "new", .payload = 1}, kT0 + 50s);
    life.feed.Add(series, {.id = "own", .ttl = 5min, .payload = 1}, kT0 + 1s);
  }
  life.feed.SetTtl("u", 10min);
  life.feed.Remove("t", "gone");
  life.engine->Advance(kT0 + 70s);  // "old" of the others is retained
}

TEST(ChangedOptions, OfALiveSetAreThoseOfSetOptionsAtTheCut) {
  const LiveSetOptions before{.ttl = 1min, .retention = 1h};
  for (const LiveSetOptions& now :
       {LiveSetOptions{.ttl = 2min, .retention = 1h}, LiveSetOptions{.ttl = 10s, .retention = 1h},
        LiveSetOptions{.ttl = 1min, .retention = 65s}, LiveSetOptions{.ttl = 10s},
        LiveSetOptions{.ttl = 2min}, LiveSetOptions{.ttl = kForever},
        LiveSetOptions{.ttl = 1min, .retention = 1h, .refresh = Refresh::kFirst}}) {
    ExpectFeedAsSetAtTheCut<LiveSetLife>(before, now, FillLiveSet);
    ExpectFeedAsSetAtTheCut<LiveSetLife>(now, before, FillLiveSet);
  }
}

std::vector<std::string> ChangesOf(LiveSetLife& life, ChangeCursor& cursor) {
  std::vector<Change<int>> read;
  life.feed.Read({.is_prefix = true}, cursor, 100, read);
  std::vector<std::string> out;
  for (const auto& each : read) {
    out.push_back(std::string(CauseName(each.cause)) + " " + each.series + " " + each.id + " " +
                  std::to_string(each.count));
  }
  return out;
}

TEST(ChangedOptions, OfALiveSetEndAndRestoreMembersInTheOrderOfTheirStamps) {
  LiveSetLife life({.ttl = 1min, .retention = 1h});
  std::vector<SeriesCount> none;
  ChangeCursor cursor = life.feed.Watch({.is_prefix = true}, none);
  for (const auto& [series, at] : {std::pair("s", 3s), {"r", 2s}, {"t", 1s}, {"r", 4s}}) {
    life.feed.Add(series, {.id = at == 4s ? "b" : "a", .payload = 1}, kT0 + at);
  }
  life.feed.SetTtl("t", 10min);
  ChangesOf(life, cursor);
  life.engine->Advance(kT0 + 30s);
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 27s, .retention = 1h}).ok());
  EXPECT_THAT(ChangesOf(life, cursor), ElementsAre("ttl_changed r a 1", "ttl_changed s a 0"));
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 2min, .retention = 1h}).ok());
  EXPECT_THAT(ChangesOf(life, cursor), ElementsAre("restored r a 2", "restored s a 1"));
  EXPECT_EQ(life.feed.options().ttl, 2min);
  EXPECT_EQ(life.feed.Find("t", "a")->deadline, kT0 + 1s + 10min) << "the TTL of its own stays";
  life.feed.any().CheckWhole();
}

TEST(ChangedOptions, ATtlOfASeriesOwnStaysItsOwnUntilItIsGivenBack) {
  LiveSetLife life({.ttl = 1min});
  life.feed.Add("s", {.id = "a", .payload = 1}, kT0);
  life.feed.SetTtl("s", 2min);
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 2min}).ok());
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 3min}).ok());
  EXPECT_EQ(life.feed.Find("s", "a")->deadline, kT0 + 2min);
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 2min}).ok());
  EXPECT_EQ(life.feed.SetTtl("s", 2min), LiveSetControl::kDone);
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 4min}).ok());
  EXPECT_EQ(life.feed.Find("s", "a")->deadline, kT0 + 4min);
}

using PresenceLife = FeedLife<Presence<int>, PresenceOptions>;

void FillPresence(PresenceLife& life) {
  for (const char* const series : {"r", "s", "t"}) {
    life.feed.Enter(series, "ann", "phone", 1, kT0);
    life.feed.Enter(series, "ann", "tab", 1, kT0 + 5s);
    life.feed.Enter(series, "ben", "tab", 2, kT0 + 60s);
  }
  life.engine->Advance(kT0 + 70s);  // ann is away
}

TEST(ChangedOptions, OfAPresenceAreThoseOfSetOptionsAtTheCut) {
  const PresenceOptions before{.ttl = 1min, .grace = 30s};
  for (const PresenceOptions& now :
       {PresenceOptions{.ttl = 2min, .grace = 30s}, PresenceOptions{.ttl = 5s, .grace = 30s},
        PresenceOptions{.ttl = 5s, .grace = 2s}, PresenceOptions{.ttl = 1min, .grace = 0s},
        PresenceOptions{.ttl = 67s, .grace = 0s}, PresenceOptions{.ttl = kForever}}) {
    ExpectFeedAsSetAtTheCut<PresenceLife>(before, now, FillPresence);
    ExpectFeedAsSetAtTheCut<PresenceLife>(now, before, FillPresence);
  }
}

TEST(ChangedOptions, OfAPresenceBringBackWhoIsHereAndEndWhoIsGone) {
  PresenceLife life({.ttl = 1min, .grace = 30s});
  FillPresence(life);
  EXPECT_EQ(life.feed.Count("s"), (PresenceCounts{.here = 1, .away = 1, .connections = 1}));
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 68s, .grace = 30s}).ok());
  EXPECT_EQ(life.feed.Count("s"), (PresenceCounts{.here = 2, .away = 0, .connections = 2}));
  ASSERT_TRUE(life.feed.SetOptions({.ttl = 5s, .grace = 10s}).ok());
  EXPECT_EQ(life.feed.Count("s"), (PresenceCounts{.here = 0, .away = 1, .connections = 0}));
  EXPECT_FALSE(life.feed.Find("s", "ann"));
  EXPECT_TRUE(life.feed.Find("s", "ben")->away);
  EXPECT_TRUE(life.feed.ledger().Balances());
  life.feed.any().CheckWhole();
}

TEST(ChangedOptions, OfAFeedThatAreOutOfRangeOrFixedChangeNothing) {
  LiveSetLife live({.ttl = 1min});
  EXPECT_EQ(live.feed.SetOptions({.ttl = 0s}).code(), absl::StatusCode::kInvalidArgument);
  const absl::Status fixed = live.feed.SetOptions({.ttl = 5s, .max_changes = 7});
  EXPECT_EQ(fixed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(fixed.message()), testing::StartsWith("max_changes:"));
  EXPECT_EQ(live.feed.options().ttl, 1min);
  live.feed.Close();
  EXPECT_EQ(live.feed.SetOptions({.ttl = 5s}).code(), absl::StatusCode::kFailedPrecondition);
  PresenceLife presence({.ttl = 1min});
  EXPECT_EQ(presence.feed.SetOptions({.grace = -1s}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(presence.feed.SetOptions({.ttl = 5s, .max_changes = 7}).message()),
              testing::StartsWith("max_changes:"));
  EXPECT_EQ(presence.feed.options().ttl, 1min);
}

// --- Rollup counters

struct RollupLife {
  explicit RollupLife(const RollupOptions& options)
      : engine(*Engine::Open({.partitions = 3, .internals = {.hash_key = {{1, 2}}}})),
        counter(*engine, "counts", options) {}
  absl::Status Restore(const std::string& snapshot) {
    StringSource source(snapshot);
    return RestoreSnapshot(*engine, source, {.skip_numbers = 0});
  }
  // Windows of each minute, of which the last is open. Emissions are taken: the windows of those that
  // wait are saved in the order of their places, which a restart may change.
  void Fill() {
    for (const char* const key : {"a", "b", "c", "d"}) {
      for (int minute = 0; minute < 5; ++minute) counter.Add(key, 1, kT0 + minute * 1min);
    }
    engine->Advance(kT0 + 4min + 30s);
    std::ignore = counter.Pop(100);
  }
  size_t kept() const { return counter.History("a", kT0, kT0 + 1h).size(); }

  std::unique_ptr<Engine> engine;
  RollupCounter counter;
};

RollupOptions RollupWith(Duration retention, OnLateAdd on_late = OnLateAdd::kReject) {
  return {.windows = {1min, 2min},
          .allowed_lateness = 10s,
          .on_late = on_late,
          .retention = retention,
          .forget_after = 2h};
}

TEST(ChangedOptions, OfARollupAreThoseOfSetOptionsAtTheCut) {
  const RollupOptions before = RollupWith(2min);
  const std::vector<std::function<void(RollupOptions&)>> changes = {
      [](RollupOptions& o) { o.on_late = OnLateAdd::kClamp; },
      [](RollupOptions& o) { o.retention = 0s; },
      [](RollupOptions& o) { o.retention = 70s; },
      [](RollupOptions& o) { o.retention = 90min; },
      [](RollupOptions& o) { o.forget_after = 2min; },
      [](RollupOptions& o) { o.forget_after = 3h; },
      [](RollupOptions& o) { o.forget_after = kForever; },
      [](RollupOptions& o) { o.retention = o.forget_after = 0s; },
      [](RollupOptions& o) { o.retention = o.forget_after = kForever; },
      [](RollupOptions& o) {
        o.retention = 1h;
        o.forget_after = kForever;
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    RollupOptions now = before;
    changes[i](now);
    for (const auto& [then, later] : {std::pair(before, now), std::pair(now, before)}) {
      RollupLife lasting(then);
      lasting.Fill();
      const std::string cut = SnapshotOf(*lasting.engine);
      ASSERT_TRUE(lasting.counter.SetOptions(later).ok());
      RollupLife restarted(later);
      const absl::Status restored = restarted.Restore(cut);
      ASSERT_TRUE(restored.ok()) << restored;
      // A window that has ended may be stored with its counter or beside it; a restart decides anew.
      RollupLife a(later);
      RollupLife b(later);
      ASSERT_TRUE(a.Restore(SnapshotOf(*lasting.engine)).ok());
      ASSERT_TRUE(b.Restore(SnapshotOf(*restarted.engine)).ok());
      EXPECT_TRUE(SnapshotOf(*a.engine) == SnapshotOf(*b.engine));
      EXPECT_EQ(restarted.counter.sizes(), lasting.counter.sizes());
      for (RollupLife* const each : {&lasting, &restarted}) {
        CheckWhole(each->counter.any());
        each->counter.Add("a", 1, kT0 + 4min);  // late
        each->engine->Advance(kT0 + 20min);
        CheckWhole(each->counter.any());
      }
      EXPECT_EQ(restarted.counter.ledger(), lasting.counter.ledger());
      EXPECT_EQ(restarted.counter.sizes(), lasting.counter.sizes());
      EXPECT_EQ(restarted.kept(), lasting.kept());
      RollupLife again(later);
      EXPECT_TRUE(again.Restore(SnapshotOf(*lasting.engine)).ok());
      lasting.engine->Advance(kT0 + 5h);
      EXPECT_EQ(lasting.counter.sizes().keys, later.forget_after == kForever ? 4u : 0u);
    }
  }
}

TEST(ChangedOptions, OfARollupThatItsWindowsMeanSomethingByAreRefused) {
  const RollupOptions before = RollupWith(2min);
  RollupLife life(before);
  life.Fill();
  const std::string cut = SnapshotOf(*life.engine);
  const auto refused = [&](const std::function<void(RollupOptions&)>& change) {
    RollupOptions now = before;
    change(now);
    const absl::Status set = life.counter.SetOptions(now);
    EXPECT_EQ(set.code(), absl::StatusCode::kFailedPrecondition);
    RollupLife after(now);
    const absl::Status restored = after.Restore(cut);
    EXPECT_EQ(restored.code(), absl::StatusCode::kFailedPrecondition);
    const std::string name(set.message().substr(0, set.message().find(':')));
    EXPECT_THAT(std::string(restored.message()), HasSubstr("\"counts\": " + name + " is "));
    return std::string(restored.message());
  };
  EXPECT_EQ(refused([](RollupOptions& o) { o.windows = {1min}; }),
            "\"counts\": windows is 60s, and 60s; 120s in the snapshot");
  EXPECT_EQ(refused([](RollupOptions& o) { o.allowed_lateness = 20s; }),
            "\"counts\": allowed_lateness is 20s, and 10s in the snapshot");
  refused([](RollupOptions& o) { o.margin = 20s; });
  refused([](RollupOptions& o) { o.deduplication_window = 1h; });
  refused([](RollupOptions& o) { o.clears = true; });
  EXPECT_EQ(refused([](RollupOptions& o) { o.on_late = OnLateAdd::kCorrect; }),
            "\"counts\": on_late from or to kCorrect is kCorrect, and kReject in the snapshot");
  EXPECT_EQ(life.counter.options().allowed_lateness, 10s);
}

// --- The table

TEST(OptionTable, NamesTheValuesOfEnums) {
  EXPECT_EQ(ValueInWords("folder", "late.on_late", "0"), "kReject");
  EXPECT_EQ(ValueInWords("folder", "edge", "2"), "kBoth");
  EXPECT_EQ(ValueInWords("folder", "edge", "3"), "3");
  EXPECT_EQ(ValueInWords("folder", "max_events", "2"), "2");
  EXPECT_EQ(ValueInWords("live_set", "refresh", "1"), "kFirst");
  EXPECT_EQ(ValueInWords("rollup", "on_late", "1"), "kClamp");
  EXPECT_EQ(ValueInWords("folder", "key", "0"), "0");
}

// A row of the page: "| folder | `quiet_period` | at any time | ... |".
TEST(OptionTable, IsTheOneOfThePageOnDurability) {
  std::set<std::string> of_page;
  std::ifstream page(SourceDir() + "/docs/durability.md");
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) {
      const size_t begin = cell.find_first_not_of(' ');
      if (begin != cell.npos)
        cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
    }
    if (cells.size() < 4 || !kKindNames.contains(cells[0])) continue;
    std::istringstream options(cells[1]);
    for (std::string option; std::getline(options, option, '`');) {
      if (option.empty() || option == ", ") continue;
      of_page.insert(kKindNames.at(cells[0]) + " " + option + ": " + cells[2]);
    }
  }
  std::set<std::string> of_code;
  for (const OptionRow& row : OptionTable()) {
    constexpr std::string_view kWhen[] = {"never", "over a restart", "at any time"};
    of_code.insert(std::string(row.kind) + " " + std::string(row.option) + ": " +
                   std::string(kWhen[static_cast<size_t>(row.may_change)]));
  }
  EXPECT_EQ(of_page, of_code);
}

}  // namespace
}  // namespace pleat
