// The changes of a live set: their order, their counts, and readers that come late, stall or
// forge.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/live_set.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

const WatchScope kEverything{.name = "", .is_prefix = true};

struct Changes : testing::Test {
  explicit Changes(int partitions = 4)
      : engine(*Engine::Open({.partitions = partitions})), live_set(*engine, "w", {.ttl = 30min}) {}

  // What there is to read, as "series id cause count".
  std::vector<std::string> Read(const WatchScope& scope, ChangeCursor& cursor,
                                ReadChanges expected = ReadChanges::kAll) {
    std::vector<Change<NoPayload>> changes;
    EXPECT_EQ(live_set.Read(scope, cursor, 1000, changes), expected);
    return Lines(changes);
  }
  static std::vector<std::string> Lines(const std::vector<Change<NoPayload>>& changes) {
    std::vector<std::string> lines;
    for (const auto& c : changes) {
      lines.push_back(c.series + " " + c.id + " " + std::string(CauseName(c.cause)) + " " +
                      std::to_string(c.count));
    }
    return lines;
  }

  ChangeCursor WatchAll() {
    std::vector<SeriesCount> snapshot;
    return live_set.Watch(kEverything, snapshot);
  }

  std::unique_ptr<Engine> engine;
  LiveSet<> live_set;
};

TEST_F(Changes, ThoseThatEndAtOneInstantShowHowManyAreLeft) {
  ChangeCursor cursor = WatchAll();
  for (const char* id : {"cid", "ann", "ben"}) live_set.Add("p", {.id = id}, kT0);
  EXPECT_THAT(Read(kEverything, cursor),
              ElementsAre("p cid added 1", "p ann added 2", "p ben added 3"));
  engine->Advance(kT0 + 30min);
  EXPECT_THAT(Read(kEverything, cursor),
              ElementsAre("p cid expired 2", "p ann expired 1", "p ben expired 0"));
}

TEST_F(Changes, AtOneDeadlineMembersGoByTheEventsThatSetTheirStamps) {
  ChangeCursor cursor = WatchAll();
  live_set.Add("p", {.id = "own", .ttl = 10min}, kT0 + 20min);
  live_set.Add("q", {.id = "other"}, kT0);
  live_set.Add("p", {.id = "plain"}, kT0);
  Read(kEverything, cursor);
  engine->Advance(kT0 + 30min);
  EXPECT_THAT(Read(kEverything, cursor),
              ElementsAre("p own expired 1", "q other expired 0", "p plain expired 0"));
}

TEST_F(Changes, AtADeadlineTheEndComesBeforeTheEvent) {
  ChangeCursor cursor = WatchAll();
  live_set.Add("p", {.id = "ann"}, kT0);
  engine->Advance(kT0 + 30min);
  live_set.Add("p", {.id = "ann"}, kT0 + 30min);
  EXPECT_THAT(Read(kEverything, cursor),
              ElementsAre("p ann added 1", "p ann expired 0", "p ann added 1"));
}

// Members of other series and partitions that are due come out in the order of their deadlines.
TEST_F(Changes, OfAllSeriesComeInTheOrderOfTime) {
  ChangeCursor cursor = WatchAll();
  for (int i = 0; i < 20; ++i) {
    live_set.Add("series " + std::to_string(i), {.id = "ann"}, kT0 + Duration(20 - i));
  }
  Read(kEverything, cursor);
  engine->Advance(kT0 + 31min);
  std::vector<Change<NoPayload>> changes;
  live_set.Read(kEverything, cursor, 1000, changes);
  std::vector<std::string> series;
  for (const auto& change : changes) series.push_back(change.series);
  std::vector<std::string> expected;
  for (int i = 20; i-- > 0;) expected.push_back("series " + std::to_string(i));
  EXPECT_EQ(series, expected);
}

TEST_F(Changes, ASnapshotAndTheChangesBehindItHaveNothingBetween) {
  live_set.Add("p", {.id = "ann"}, kT0);
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor cursor = live_set.Watch("p", members);
  ASSERT_EQ(members.size(), 1);
  EXPECT_EQ(members[0].id, "ann");
  EXPECT_EQ(members[0].deadline, kT0 + 30min);
  live_set.Add("p", {.id = "ben"}, kT0 + 1s);
  EXPECT_THAT(Read({.name = "p"}, cursor), ElementsAre("p ben added 2"));
}

TEST_F(Changes, ThatLedToASnapshotDoNotComeBehindIt) {
  ChangeCursor first = WatchAll();
  for (const char* id : {"ann", "ben"}) live_set.Add("p", {.id = id}, kT0);
  (void)engine->Advance(kT0 + 30min, 0);  // time moves; nobody has ended them yet
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor second = live_set.Watch("p", members);
  EXPECT_THAT(members, IsEmpty());
  EXPECT_THAT(Read({.name = "p"}, second), IsEmpty());
  EXPECT_THAT(Read(kEverything, first),
              ElementsAre("p ann added 1", "p ben added 2", "p ann expired 1", "p ben expired 0"));
}

TEST_F(Changes, OfEndsByACallShowHowManyAreLeft) {
  ChangeCursor cursor = WatchAll();
  for (const char* id : {"ann", "ben", "cy"}) live_set.Add("p", {.id = id}, kT0);
  Read(kEverything, cursor);
  live_set.Remove("p", "ann");
  live_set.Clear("p");
  EXPECT_THAT(Read(kEverything, cursor),
              ElementsAre("p ann unpublished 2", "p ben cleared 1", "p cy cleared 0"));
}

TEST_F(Changes, OfALongerTtlAreThoseWhoAreLiveAgainOneByOne) {
  LiveSet<> kept(*engine, "kept", {.ttl = 10min, .retention = 60min});
  engine->Advance(kT0);
  kept.Add("p", {.id = "ann"}, kT0);
  kept.Add("p", {.id = "ben"}, kT0 + 10min);
  kept.Add("p", {.id = "cy"}, kT0 + 20min);
  kept.Add("p", {.id = "dan"}, kT0 + 30min);
  engine->Advance(kT0 + 40min);
  std::vector<SeriesCount> live;
  ChangeCursor cursor = kept.Watch(kEverything, live);
  EXPECT_THAT(live, IsEmpty());
  kept.SetTtl("p", 30min);  // the first two would have ended by now
  std::vector<Change<NoPayload>> changes;
  EXPECT_EQ(kept.Read(kEverything, cursor, 100, changes), ReadChanges::kAll);
  EXPECT_THAT(Lines(changes), ElementsAre("p cy restored 1", "p dan restored 2"));
}

TEST_F(Changes, WhoIsNotBehindMissesNothingHoweverManyEndAtOnce) {
  // Some 50 members of each of 20 series, in four partitions that keep ten changes each.
  for (const size_t max : {size_t{3}, size_t{1000}}) {
    const LiveSetOptions options{.ttl = 30min, .max_changes = 40};
    const EngineTime begin = std::max(engine->now(), kT0);
    LiveSet<> small(*engine, "small " + std::to_string(max), options);
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
      const std::string id = std::to_string(i);
      small.Add(std::to_string(random() % 20), {.id = id}, begin + random() % 100 * 1s);
    }
    std::vector<SeriesCount> snapshot;
    ChangeCursor cursor = small.Watch(kEverything, snapshot);
    ASSERT_TRUE(engine->Advance(begin + 60min, 0));  // time moves, and ends nobody

    std::vector<Change<NoPayload>> changes;
    for (ReadChanges read = ReadChanges::kMore; read == ReadChanges::kMore;) {
      const size_t before = changes.size();
      read = small.Read(kEverything, cursor, max, changes);
      ASSERT_NE(read, ReadChanges::kResync);
      ASSERT_LE(changes.size(), before + max);
    }
    EXPECT_EQ(changes.size(), 1000u);
    EXPECT_TRUE(std::ranges::is_sorted(changes, {}, &ChangeInfo::at));
  }
}

TEST_F(Changes, WhoHasFallenBehindTheRingIsToldToStartOver) {
  LiveSet<> small(*engine, "small", {.ttl = 30min, .max_changes = 4 * 2});
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor cursor = small.Watch("p", members);
  for (const char* id : {"a", "b", "c"}) small.Add("p", {.id = id}, kT0);
  std::vector<Change<NoPayload>> changes;
  EXPECT_EQ(small.Read({.name = "p"}, cursor, 100, changes), ReadChanges::kResync);
  EXPECT_THAT(changes, IsEmpty());
  EXPECT_EQ(small.Read({.name = "p"}, cursor, 100, changes), ReadChanges::kAll);
  EXPECT_EQ(changes.size(), 2);
}

// It has no changes, so none of them are gone, whatever the ring has lost.
TEST_F(Changes, WhoWatchesANameThatIsTooLongMissesNothing) {
  LiveSet<> small(*engine, "small", {.ttl = 30min, .max_changes = 4 * 2});
  for (const char* id : {"a", "b", "c"}) small.Add("p", {.id = id}, kT0);
  const std::string name(64 * 1024 + 1, 'p');
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor cursor = small.Watch(name, members);
  for (const char* id : {"d", "e", "f"}) small.Add("p", {.id = id}, kT0);
  std::vector<Change<NoPayload>> changes;
  EXPECT_EQ(small.Read({.name = name}, cursor, 100, changes), ReadChanges::kAll);
  cursor = {};
  EXPECT_EQ(small.Read({.name = name}, cursor, 100, changes), ReadChanges::kResync);
  EXPECT_EQ(small.Read({.name = name}, cursor, 100, changes), ReadChanges::kAll);
  EXPECT_THAT(changes, IsEmpty());
}

TEST_F(Changes, AWatcherOfBeforeARestoreHasItRefused) {
  live_set.Add("p", {.id = "a"}, kT0);
  StringSink snapshot;
  ASSERT_TRUE(TakeSnapshot(*engine, snapshot).ok());
  const std::unique_ptr<Engine> other = *Engine::Open({.partitions = 4});
  LiveSet<> restored(*other, "w", {.ttl = 30min});
  std::vector<SeriesCount> none;
  ChangeCursor cursor = restored.Watch(kEverything, none);
  StringSource source(snapshot.bytes);
  EXPECT_EQ(RestoreSnapshot(*other, source).code(), absl::StatusCode::kFailedPrecondition);
}

// The ring holds few changes, and those of other series fill it many times.
TEST_F(Changes, AListenerOfAQuietSeriesMissesNothingHoweverMuchTheOthersHave) {
  struct Silent final : ChangeListener {
    void MayHaveChanges() noexcept override {}
  } listener;
  auto one = *Engine::Open({.partitions = 1});
  LiveSet<> small(*one, "small", {.ttl = 30min, .max_changes = 4});
  AnyLiveSet any = small.any();
  any.AddListener(listener, {.name = "quiet"});
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor cursor = small.Watch("quiet", members);
  std::vector<Change<NoPayload>> changes;
  EngineTime at = kT0;
  const auto let_others_talk = [&] {
    for (int i = 0; i < 100; ++i) small.Add("busy", {.id = "ann"}, at += Duration(1));
  };
  let_others_talk();
  small.Add("quiet", {.id = "ann"}, kT0);
  EXPECT_EQ(small.Read({.name = "quiet"}, cursor, 100, changes), ReadChanges::kAll);
  EXPECT_EQ(changes.size(), 1);
  small.Add("quiet", {.id = "ben"}, kT0);
  let_others_talk();
  EXPECT_EQ(small.Read({.name = "quiet"}, cursor, 100, changes), ReadChanges::kResync);
  any.RemoveListener(listener);
}

// The same for a prefix, and for a reader that has not read for long.
TEST_F(Changes, AListenerOfAQuietPrefixIsToldToStartOverOnlyIfChangesOfThePrefixAreGone) {
  struct Silent final : ChangeListener {
    void MayHaveChanges() noexcept override {}
  } listener;
  auto one = *Engine::Open({.partitions = 1});
  LiveSet<> small(*one, "small", {.ttl = 30min, .max_changes = 4});
  const WatchScope quiet{.name = "qui", .is_prefix = true};
  AnyLiveSet any = small.any();
  any.AddListener(listener, quiet);
  std::vector<SeriesCount> snapshot;
  ChangeCursor cursor = small.Watch(quiet, snapshot);
  std::vector<Change<NoPayload>> changes;
  int added = 0;
  const auto add = [&](const char* series, int members) {
    for (int i = 0; i < members; ++i) {
      const std::string id = std::to_string(added++);
      small.Add(series, {.id = id}, kT0);
    }
  };
  add("busy", 100);
  add("quiet", 1);
  add("quick", 1);
  add("busy", 2);
  EXPECT_EQ(small.Read(quiet, cursor, 100, changes), ReadChanges::kAll);
  EXPECT_EQ(changes.size(), 2);
  add("quiet", 1);
  add("busy", 4);
  EXPECT_EQ(small.Read(quiet, cursor, 100, changes), ReadChanges::kResync);
  EXPECT_EQ(small.Read(quiet, cursor, 100, changes), ReadChanges::kAll);
  any.RemoveListener(listener);
}

TEST_F(Changes, ACursorThatHasReadAllIsBehindTheChangesOfOthersToo) {
  std::vector<LiveMember<NoPayload>> members;
  ChangeCursor cursor = live_set.Watch("p", members);
  const auto others = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string id = std::to_string(i);
      live_set.Add("other", {.id = id}, kT0);
    }
  };
  others(0, 10);
  live_set.Add("p", {.id = "ann"}, kT0);
  Read({.name = "p"}, cursor);
  ChangeCursor all = WatchAll();
  const auto home = static_cast<size_t>(PartitionOf("p", 4));
  EXPECT_EQ(cursor.next[home], all.next[home]);
  others(10, 20);
  Read({.name = "p"}, cursor);
  all = WatchAll();
  EXPECT_EQ(cursor.next[home], all.next[home]);
}

// Also if there are those of other partitions at the same instant.
TEST_F(Changes, ThoseOfOneCallStandTogether) {
  LiveSet<> replacing(*engine, "replacing", {.ttl = 30min, .refresh = Refresh::kReplace});
  for (const size_t max : {size_t{1}, size_t{1000}}) {
    std::vector<SeriesCount> snapshot;
    ChangeCursor cursor = replacing.Watch(kEverything, snapshot);
    std::vector<std::string> expected;
    for (int i = 0; i < 8; ++i) {
      const std::string series = "s" + std::to_string(i);
      for (const char* id : {"ann", "ben"}) {
        replacing.Add(series, {.id = id}, kT0);
        replacing.Add(series, {.id = id}, kT0 + 1s);
        for (const char* cause : {"added", "replaced", "added"}) expected.push_back(series + cause);
      }
    }
    for (int i = 0; i < 8; ++i) {
      const std::string series = "s" + std::to_string(i);
      EXPECT_EQ(replacing.Clear(series), 2u);
      for (int end = 0; end < 2; ++end) expected.push_back(series + "cleared");
    }
    std::vector<Change<NoPayload>> changes;
    while (replacing.Read(kEverything, cursor, max, changes) == ReadChanges::kMore) {
    }
    std::vector<std::string> told;
    for (const auto& c : changes) told.push_back(c.series + std::string(CauseName(c.cause)));
    EXPECT_EQ(told, expected);
  }
}

TEST_F(Changes, AForgedCursorIsToldToStartOver) {
  WatchAll();
  live_set.Add("p", {.id = "ann"}, kT0);
  for (ChangeCursor forged : {ChangeCursor{}, ChangeCursor{.next = {1, 2}},
                              ChangeCursor{.next = std::vector<uint64_t>(4, UINT64_MAX)}}) {
    EXPECT_THAT(Read(kEverything, forged, ReadChanges::kResync), IsEmpty());
    EXPECT_THAT(Read(kEverything, forged), ElementsAre("p ann added 1"));
  }
}

TEST_F(Changes, ListenersAreToldOfTheirScopeUntilTheyAreRemoved) {
  struct Counter final : ChangeListener {
    void MayHaveChanges() noexcept override { ++told; }
    int told = 0;
  } of_p, of_prefix;
  AnyLiveSet any = live_set.any();
  any.AddListener(of_p, {.name = "p"});
  any.AddListener(of_prefix, {.name = "p", .is_prefix = true});
  live_set.Add("p", {.id = "ann"}, kT0);
  live_set.Add("page", {.id = "ann"}, kT0);
  live_set.Add("q", {.id = "ann"}, kT0);
  EXPECT_EQ(of_p.told, 1);
  EXPECT_EQ(of_prefix.told, 2);
  engine->Advance(kT0 + 30min);  // nobody reads, and both are told
  EXPECT_EQ(of_p.told, 2);
  EXPECT_EQ(of_prefix.told, 4);
  any.RemoveListener(of_p);
  live_set.Add("p", {.id = "ann"}, kT0 + 30min);
  EXPECT_EQ(of_p.told, 2);
  EXPECT_EQ(of_prefix.told, 5);
  live_set.Close();
  EXPECT_EQ(of_prefix.told, 6);
  any.RemoveListener(of_prefix);
}

// Readers of one series, of which some listen and so find its changes by links, see what a reader of
// all series sees of it. They read now and then, a few changes at a time.
TEST_F(Changes, OfOneSeriesAreThoseOfAllThatAreItsOwn) {
  constexpr int kSeries = 5;
  struct Silent final : ChangeListener {
    void MayHaveChanges() noexcept override {}
  } listeners[kSeries];
  std::mt19937 random(17);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random()) % n; };
  struct Reader {
    std::string series;
    ChangeCursor cursor;
    std::vector<uint64_t> seen;
  };
  std::vector<Reader> readers;
  ChangeCursor all = WatchAll();
  AnyLiveSet any = live_set.any();
  for (int i = 0; i < kSeries; ++i) {
    const std::string name = "s" + std::to_string(i);
    std::vector<LiveMember<NoPayload>> members;
    readers.push_back({name, live_set.Watch(name, members), {}});
    if (i % 2 == 0) any.AddListener(listeners[i], {.name = readers.back().series});
  }
  std::vector<std::vector<uint64_t>> expected(kSeries);
  EngineTime now = kT0;
  for (int round = 0; round < 500; ++round) {
    now += Duration(below(1000)) * 1000;
    const std::string id = std::to_string(below(10));
    const uint32_t series = below(kSeries);
    if (below(10) == 0) {
      live_set.Remove("s" + std::to_string(series), id, {.at = now});
    } else {
      live_set.Add("s" + std::to_string(series), {.id = id, .ttl = Duration(below(2) * 900'000)},
                   now);
    }
    if (below(4) == 0) engine->Advance(now);
    Reader& reader = readers[below(kSeries)];
    std::vector<Change<NoPayload>> changes;
    live_set.Read({.name = reader.series}, reader.cursor, 1 + below(5), changes);
    for (const auto& c : changes) reader.seen.push_back(c.change.number);
    changes.clear();
    live_set.Read(kEverything, all, 1000, changes);
    for (const auto& c : changes) {
      expected[static_cast<size_t>(c.series[1] - '0')].push_back(c.change.number);
    }
  }
  for (int i = 0; i < kSeries; ++i) {
    Reader& reader = readers[static_cast<size_t>(i)];
    std::vector<Change<NoPayload>> changes;
    EXPECT_EQ(live_set.Read({.name = reader.series}, reader.cursor, 1000, changes),
              ReadChanges::kAll);
    for (const auto& c : changes) reader.seen.push_back(c.change.number);
    EXPECT_THAT(reader.seen, ElementsAreArray(expected[static_cast<size_t>(i)])) << reader.series;
    any.RemoveListener(listeners[i]);
  }
}

}  // namespace
}  // namespace pleat
