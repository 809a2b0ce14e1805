// Watchers of live sets, on a clock that is moved by hand: what they are told, when, and what
// happens to one that stalls. tests/asio/consumer_test.cc tests what they share with consumers.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/use_future.hpp>
#include <pleat/asio_watcher.h>
#include <pleat/live_set.h>
#include <pleat/metrics.h>
#include <pleat/presence.h>

#include "tests/asio/fixtures.h"

namespace pleat {
namespace {

using testing::IsEmpty;

const WatchScope kAllSeries{.name = "", .is_prefix = true};

struct LiveSetService : Service {
  explicit LiveSetService(const LiveSetOptions& options = {.ttl = 30min},
                          const EngineOptions& engine_options = {.partitions = 4})
      : Service({}, {.quiet_period = 5min, .max_wait = 1h}, engine_options),
        live_set(*engine, "live_set", options) {}

  void Add(std::string_view series, std::string_view id, Duration ttl = Duration{0}) {
    live_set.Add(series, {.id = id, .ttl = ttl}, driver->now());
  }

  LiveSet<> live_set;
};

// What the handlers of a watcher were called with: changes as "series id cause count".
struct Told {
  int calls = 0;
  error_code error;
  std::vector<std::string> changes;

  void Add(const Change<NoPayload>& c) {
    changes.push_back(c.series + " " + c.id + " " + std::string(CauseName(c.cause)) + " " +
                      std::to_string(c.count));
  }
  auto One() {
    return [this](error_code e, const std::optional<Change<NoPayload>>& change) {
      ++calls;
      error = e;
      if (change) Add(*change);
    };
  }
  auto Many() {
    return [this](error_code e, const std::vector<Change<NoPayload>>& some) {
      ++calls;
      error = e;
      for (const auto& change : some) Add(change);
    };
  }
};

// A watcher that has seen the snapshot, and its members or series.
struct Watching {
  Watching(LiveSetService& service, const WatchScope& scope, const WatcherOptions& options = {})
      : watcher(*service.driver, service.live_set, scope, options) {
    Again(scope);
  }
  void Again(const WatchScope& scope) {
    live.clear();
    std::vector<SeriesCount> counts;
    std::vector<LiveMember<NoPayload>> members;
    scope.is_prefix ? watcher.Watch(counts) : watcher.Watch(members);
    for (const auto& each : counts) live.push_back(each.series);
    for (const auto& each : members) live.push_back(each.id);
  }
  // Takes all that there is now.
  void TakeAll(Service& service) {
    watcher.async_next_many(1'000'000, told.Many());
    service.Poll();
    watcher.cancel();
    service.Poll();
  }

  Watcher<LiveSet<>> watcher;
  std::vector<std::string> live;
  Told told;
};

// --- Expiry, by the driver alone

TEST(LiveSetDriver, SleepsUntilTheFirstDeadlineOfALiveSet) {
  LiveSetService service;
  service.Add("page", "ann");
  service.Add("page", "ben", 1500us);
  service.Poll();
  EXPECT_EQ(service.driver->stats().asleep_until, kNoon + 2ms);  // the next tick
}

// Nobody reads, and nothing else happens: the end is noted, on time, and who listens is told.
TEST(LiveSetDriver, EndsAMemberWithinATickWithoutTrafficOrReads) {
  struct Counter final : ChangeListener {
    void MayHaveChanges() noexcept override { ++told; }
    int told = 0;
  } listener;
  LiveSetService service;
  AnyLiveSet any = service.live_set.any();
  any.AddListener(listener, {.name = "page"});
  service.Add("page", "ann", 1500us);
  EXPECT_EQ(listener.told, 1);
  service.Pass(1499us);
  EXPECT_EQ(service.live_set.ledger().expired, 0u);
  service.Pass(1us);
  EXPECT_EQ(service.live_set.ledger().expired, 1u);
  EXPECT_EQ(listener.told, 2);
  any.RemoveListener(listener);
}

TEST(LiveSetDriver, OnEventTimeLooksAtTheWatermarkAtEachTick) {
  LiveSetService service({.ttl = 30min}, {.partitions = 4, .axis = Axis::kEvent});
  Watching all(service, kAllSeries);
  service.live_set.Add("page", {.id = "ann"}, kNoon);
  service.sums.Fold("key", 1, kNoon + 30min);  // of another collection
  EXPECT_EQ(service.live_set.ledger().expired, 0u);
  service.Pass(1ms);
  EXPECT_EQ(service.live_set.ledger().expired, 1u);
  all.TakeAll(service);
  EXPECT_THAT(all.told.changes, ElementsAre("page ann added 1", "page ann expired 0"));
  EXPECT_EQ(all.watcher.stats().lateness_us.count(), 0u);
}

// --- Operations

struct OneWatcher : testing::Test {
  LiveSetService service;
  Watching page{service, {.name = "page"}};
  Told& told = page.told;
};

TEST_F(OneWatcher, HandsOverAChangeButNotFromWithinTheCall) {
  service.Add("page", "ann");
  page.watcher.async_next(told.One());
  EXPECT_EQ(told.calls, 0);
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page ann added 1"));
}

TEST_F(OneWatcher, WaitsForTheNextChangeHoweverItComes) {
  for (int i = 0; i < 3; ++i) page.watcher.async_next(told.One());
  service.Poll();
  EXPECT_EQ(told.calls, 0);
  service.Add("page", "ann");
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page ann added 1"));
  service.Pass(30min - 1us);
  EXPECT_EQ(told.calls, 1);
  service.Pass(1us);
  service.live_set.Import("page", std::vector<KeyedEvent<LiveSetEvent<NoPayload>>>{
                                      {"", service.driver->now(), {.id = "ben"}}});
  service.Poll();
  EXPECT_THAT(told.changes,
              ElementsAre("page ann added 1", "page ann expired 0", "page  imported 1"));
}

TEST_F(OneWatcher, TakesManyButOneAtLeast) {
  page.watcher.async_next_many(2, told.Many());
  service.Poll();
  EXPECT_EQ(told.calls, 0);
  for (const char* id : {"ann", "ben", "cid"}) service.Add("page", id);
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page ann added 1", "page ben added 2"));
  page.watcher.async_next_many(2, told.Many());
  service.Poll();
  EXPECT_EQ(told.changes.back(), "page cid added 3");
}

TEST_F(OneWatcher, TakesAFuture) {
  auto future = page.watcher.async_next(boost::asio::use_future);
  service.Add("page", "ann");
  service.Poll();
  EXPECT_EQ(future.get()->id, "ann");
}

TEST_F(OneWatcher, ACancelledOperationHasTakenNothing) {
  cancellation_signal signal;
  Told other;
  page.watcher.async_next(boost::asio::bind_cancellation_slot(signal.slot(), told.One()));
  page.watcher.async_next(other.One());
  signal.emit(cancellation_type::total);
  service.Add("page", "ann");
  service.Poll();
  EXPECT_EQ(told.error, operation_aborted);
  EXPECT_THAT(told.changes, IsEmpty());
  EXPECT_THAT(other.changes, ElementsAre("page ann added 1"));
  EXPECT_EQ(page.watcher.stats().cancelled, 1u);
}

TEST_F(OneWatcher, KeepsHowLateEndsWereToldAndOnlyEnds) {
  service.Add("page", "ann");
  service.Pass(30min + 3ms);
  service.Add("page", "ben");
  page.TakeAll(service);
  const WatcherStats stats = page.watcher.stats();
  EXPECT_EQ(stats.delivered, 3u);
  EXPECT_EQ(stats.lateness_us.count(), 1u);
  EXPECT_EQ(stats.lateness_us.max(), 3000u);
}

// As it was measured on the clock of the driver, 3 ms behind the deadline.
TEST_F(OneWatcher, TheLatenessOfAnEndReachesTheMetricsOfItsLiveSet) {
  service.Add("page", "ann");
  service.Pass(30min + 3ms);
  page.TakeAll(service);
  const WatcherStats stats = page.watcher.stats();
  std::vector<ListedCollection> all = ListCollections(*service.engine);
  ASSERT_EQ(all.back().name, "live_set");
  all.back().lateness_us = &stats.lateness_us;
  const std::string text = WriteMetrics(all, MetricsFormat::kPrometheus);
  for (const char* line : {
           "pleat_changes_total{collection=\"live_set\",cause=\"expired\"} 1\n",
           "pleat_lateness_seconds_bucket{collection=\"live_set\",le=\"0.001\"} 0\n",
           "pleat_lateness_seconds_bucket{collection=\"live_set\",le=\"0.005\"} 1\n",
           "pleat_lateness_seconds_count{collection=\"live_set\"} 1\n",
       }) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

TEST(Watcher, TooManyThatWaitAreAnsweredOverloadedAtOnce) {
  LiveSetService service;
  Watching page(service, {.name = "page"}, {.max_waiters = 1});
  Told refused;
  page.watcher.async_next(page.told.One());
  page.watcher.async_next(refused.One());
  service.Poll();
  EXPECT_EQ(refused.error, AsioError::kOverloaded);
  EXPECT_EQ(page.told.calls, 0);
}

TEST_F(OneWatcher, IsClosedWithItsLiveSetAndWithItsDriver) {
  Watching other(service, {.name = "other"});
  page.watcher.async_next(told.One());
  service.live_set.Close();
  service.Poll();
  EXPECT_EQ(told.error, AsioError::kClosed);
  service.driver->Stop();
  other.watcher.async_next(other.told.One());
  service.Poll();
  EXPECT_EQ(other.told.error, AsioError::kClosed);
}

TEST_F(OneWatcher, MovedItKeepsWhatWaitsAndItsPlace) {
  service.Add("page", "ann");
  page.watcher.async_next(told.One());
  page.watcher.async_next(told.One());
  Watcher<LiveSet<>> moved = std::move(page.watcher);
  service.Add("page", "ben");
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page ann added 1", "page ben added 2"));
  page.watcher = std::move(moved);
}

// --- Scopes, snapshots and cursors

TEST_F(OneWatcher, HasNothingBetweenTheSnapshotAndTheChangesBehindIt) {
  service.Add("page", "ann");
  page.Again({.name = "page"});
  EXPECT_THAT(page.live, ElementsAre("ann"));
  service.Add("page", "ben");
  page.TakeAll(service);
  EXPECT_THAT(told.changes, ElementsAre("page ben added 2"));
}

TEST_F(OneWatcher, ToldOfItsScopeOnlyAndNotWokenForOthers) {
  Watching prefix(service, {.name = "pa", .is_prefix = true});
  page.watcher.async_next_many(10, told.Many());
  prefix.watcher.async_next_many(10, prefix.told.Many());
  service.Add("other", "ann");
  EXPECT_EQ(service.Poll(), 0u);
  service.Add("path", "ann");
  service.Add("page", "ann");
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page ann added 1"));
  EXPECT_THAT(prefix.told.changes, ElementsAre("path ann added 1", "page ann added 1"));
}

TEST_F(OneWatcher, ThatHasNotWatchedYetIsToldToDoSo) {
  Watcher fresh(*service.driver, service.live_set, {.name = "page"});
  fresh.async_next(told.One());
  service.Poll();
  EXPECT_EQ(told.error, AsioError::kResync);
}

TEST_F(OneWatcher, GoesOnFromAStoredCursorAsIfItHadStayed) {
  service.Add("page", "ann");
  page.watcher.async_next(told.One());
  service.Poll();
  const ChangeCursor stored = page.watcher.cursor();
  for (const char* id : {"ben", "cid"}) service.Add("page", id);
  page.TakeAll(service);
  Watcher restarted(*service.driver, service.live_set, {.name = "page"});
  restarted.GoOn(stored);
  Told again;
  restarted.async_next_many(10, again.Many());
  service.Poll();
  EXPECT_THAT(again.changes, ElementsAre("page ben added 2", "page cid added 3"));
}

// --- Stalling

struct SmallRing : testing::Test {
  LiveSetService service{{.ttl = 30min, .max_changes = 8}, {.partitions = 1}};
  void AddMany(std::string_view series, int n) {
    for (int i = 0; i < n; ++i) service.Add(series, std::to_string(i));
  }
};

TEST_F(SmallRing, OneThatStalledIsToldToStartOverAndWhereTheChangesBegin) {
  Watching page(service, {.name = "page"});
  AddMany("page", 20);
  page.watcher.async_next(page.told.One());
  service.Poll();
  EXPECT_EQ(page.told.error, AsioError::kResync);
  EXPECT_EQ(page.watcher.cursor().next, std::vector<uint64_t>{12});
  EXPECT_EQ(page.watcher.stats().resyncs, 1u);
  page.Again({.name = "page"});
  EXPECT_EQ(page.live.size(), 20u);
  service.Add("page", "zoe");
  page.TakeAll(service);
  EXPECT_THAT(page.told.changes, ElementsAre("page zoe added 21"));
}

TEST_F(SmallRing, AllOperationsThatWaitAreToldOfTheGap) {
  Watching page(service, {.name = "page"});
  for (int i = 0; i < 3; ++i) page.watcher.async_next(page.told.One());
  AddMany("page", 20);
  service.Poll();
  EXPECT_EQ(page.told.calls, 3);
  EXPECT_EQ(page.told.error, AsioError::kResync);
  EXPECT_THAT(page.told.changes, IsEmpty());
}

TEST_F(SmallRing, OneThatStallsCostsNobodyAnything) {
  Watching stalled(service, kAllSeries);
  Watching page(service, {.name = "page"});
  for (int i = 0; i < 100; ++i) {
    page.watcher.async_next(page.told.One());
    service.Add("page", std::to_string(i));
    EXPECT_EQ(service.Poll(), 2u);  // a look, and a handler
  }
  EXPECT_EQ(page.told.changes.size(), 100u);
  EXPECT_FALSE(page.told.error);
  EXPECT_EQ(stalled.watcher.stats().delivered, 0u);
}

// The others fill the ring many times.
TEST_F(SmallRing, OneOfAQuietScopeMissesNothing) {
  Watching quiet(service, {.name = "quiet"});
  Watching prefix(service, {.name = "qui", .is_prefix = true});
  for (int round = 0; round < 3; ++round) {
    for (Watching* each : {&quiet, &prefix}) each->watcher.async_next(each->told.One());
    AddMany("busy " + std::to_string(round), 100);
    EXPECT_EQ(service.Poll(), 0u);
    service.Add("quiet", "ann " + std::to_string(round));
    service.Poll();
  }
  for (Watching* each : {&quiet, &prefix}) {
    EXPECT_FALSE(each->told.error);
    EXPECT_THAT(each->told.changes,
                ElementsAre("quiet ann 0 added 1", "quiet ann 1 added 2", "quiet ann 2 added 3"));
  }
}

// A cursor says that all before it was told. So it moves with the changes of others, too.
TEST_F(SmallRing, ACursorIsGoodForAsLongAsTheRingHoldsWhatCameBehindIt) {
  Watching quiet(service, {.name = "quiet"});
  AddMany("busy", 100);
  quiet.TakeAll(service);
  const ChangeCursor stored = quiet.watcher.cursor();
  EXPECT_EQ(stored.next, std::vector<uint64_t>{100});
  AddMany("other", 7);
  service.Add("quiet", "ann");
  Watcher restarted(*service.driver, service.live_set, {.name = "quiet"});
  restarted.GoOn(stored);
  restarted.async_next(quiet.told.One());
  service.Poll();
  EXPECT_THAT(quiet.told.changes, ElementsAre("quiet ann added 1"));
}

// --- Above a rate, counts

struct Paced : testing::Test {
  LiveSetService service;
  Watching all{service, kAllSeries, {.max_changes = 3, .interval = 1s}};
  Told& told = all.told;
};

TEST_F(Paced, BelowTheRateEachChangeIsTold) {
  for (int i = 0; i < 10; ++i) {
    for (const char* id : {"ann", "ben", "cid"}) service.Add("page", id + std::to_string(i));
    all.TakeAll(service);
    EXPECT_EQ(told.changes.size(), 3u * static_cast<size_t>(i + 1));
    service.Pass(1s);
  }
  EXPECT_EQ(std::ranges::count_if(
                told.changes, [](const auto& c) { return c.find("added") != std::string::npos; }),
            30);
}

// Nothing else ever happens: the counts come when the driver's time has reached the end of the second.
TEST_F(Paced, AboveTheRateTheLatestCountOfEachSeriesFollowsAlsoIfTrafficStops) {
  all.watcher.async_next_many(100, told.Many());
  service.Poll();
  for (const char* id : {"1", "2", "3", "4", "5"}) service.Add("page", id);
  for (const char* id : {"1", "2"}) service.Add("path", id);
  service.Add("page", "6");
  service.live_set.Remove("path", "2");
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page 1 added 1", "page 2 added 2", "page 3 added 3"));
  all.watcher.async_next_many(100, told.Many());
  service.Pass(1s - 1us);
  EXPECT_EQ(told.changes.size(), 3u);
  service.Pass(1us);
  ASSERT_EQ(told.changes.size(), 5u);
  EXPECT_EQ(told.changes[3], "page  counted 6");
  EXPECT_EQ(told.changes[4], "path  counted 1");
  service.Add("page", "7");
  all.TakeAll(service);
  EXPECT_EQ(told.changes[5], "page 7 added 7");
}

TEST_F(Paced, ALaterIntervalTellsTheCountsOfTheOneBefore) {
  for (const char* id : {"1", "2", "3", "4", "5"}) service.Add("page", id);
  service.Pass(1s);
  service.Add("page", "6");
  all.TakeAll(service);
  EXPECT_THAT(told.changes, ElementsAre("page 1 added 1", "page 2 added 2", "page 3 added 3",
                                        "page  counted 5", "page 6 added 6"));
}

TEST_F(Paced, ItsCursorIsBeforeWhatWasNotCountedYet) {
  for (const char* id : {"1", "2", "3", "4", "5"}) service.Add("page", id);
  all.TakeAll(service);
  Watcher restarted(*service.driver, service.live_set, kAllSeries);
  restarted.GoOn(all.watcher.cursor());
  told.changes.clear();
  restarted.async_next_many(10, told.Many());
  service.Poll();
  EXPECT_THAT(told.changes, ElementsAre("page 4 added 4", "page 5 added 5"));
}

TEST(PacedWatcher, OnEventTimeTheCountsComeThoughTimeStandsStill) {
  LiveSetService service({.ttl = 30min}, {.partitions = 4, .axis = Axis::kEvent});
  Watching all(service, kAllSeries, {.max_changes = 1, .interval = 1s});
  for (const char* id : {"1", "2", "3"}) service.live_set.Add("page", {.id = id}, kNoon);
  all.TakeAll(service);
  EXPECT_THAT(all.told.changes, ElementsAre("page 1 added 1"));
  service.Pass(1s);
  all.TakeAll(service);
  EXPECT_THAT(all.told.changes, ElementsAre("page 1 added 1", "page  counted 3"));
}

// The rule depends on the changes alone: whoever takes them, and how many at a time, is told the
// same, and in the end the count of every series is right.
TEST(PacedWatcher, IsToldTheSameHoweverItTakesThem) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random()) % n; };
    LiveSetService service({.ttl = 3s}, {.partitions = static_cast<int>(1 + below(4))});
    const WatcherOptions options{.max_changes = below(6), .interval = 1s};
    Watching often(service, kAllSeries, options);
    Watching seldom(service, kAllSeries, options);
    for (int i = 0; i < 300; ++i) {
      service.Add("s" + std::to_string(below(5)), std::to_string(below(20)));
      if (below(3) == 0) service.Pass(Duration{below(1'000'000)});
      if (below(2) == 0) {
        often.watcher.async_next_many(1 + below(3), often.told.Many());
        service.Poll();
        often.watcher.cancel();
      }
      if (below(50) == 0) seldom.TakeAll(service);
    }
    service.Pass(10s);
    for (Watching* each : {&often, &seldom}) {
      for (int i = 0; i < 3; ++i) each->TakeAll(service);
    }
    EXPECT_EQ(often.told.changes, seldom.told.changes) << "seed " << seed;
    ASSERT_FALSE(often.told.changes.empty());
    EXPECT_TRUE(often.told.changes.back().ends_with(" 0"));  // all have expired
  }
}

// --- Presence

TEST(Watcher, TellsWhoIsAwayAndWhoHasLeft) {
  LiveSetService service;
  Presence<> readers(*service.engine, "readers", {.ttl = 75s, .grace = 30s});
  Watcher watcher(*service.driver, readers, {.name = "page"});
  std::vector<PresentUser<NoPayload>> users;
  readers.Enter("page", "ann", "tab 1", {}, service.driver->now());
  watcher.Watch(users);
  ASSERT_EQ(users.size(), 1u);
  EXPECT_EQ(users[0].id, "ann");
  Told told;
  for (int i = 0; i < 3; ++i) watcher.async_next(told.One());
  service.Poll();
  service.Pass(75s - 1us);
  EXPECT_THAT(told.changes, IsEmpty());
  service.Pass(1us);
  EXPECT_THAT(told.changes, ElementsAre("page ann away 1"));
  service.Pass(30s + 2ms);
  EXPECT_THAT(told.changes, ElementsAre("page ann away 1", "page ann left 0"));
  EXPECT_EQ(watcher.stats().lateness_us.count(), 1u);  // of the end
  EXPECT_EQ(watcher.stats().lateness_us.max(), 2000u);
  readers.Close();
  service.Poll();
  EXPECT_EQ(told.error, AsioError::kClosed);
}

TEST(PacedWatcher, ItsCountsOfAPresenceSayHowManyAreAway) {
  LiveSetService service;
  Presence<> readers(*service.engine, "readers", {.ttl = 75s, .grace = 30s});
  Watcher watcher(*service.driver, readers, {.name = "page"}, {.max_changes = 0});
  std::vector<PresentUser<NoPayload>> users;
  watcher.Watch(users);
  std::vector<Change<NoPayload>> told;
  const auto take = [&] {
    watcher.async_next_many(10, [&](error_code, const auto& some) {
      told.insert(told.end(), some.begin(), some.end());
    });
    service.Poll();
    watcher.cancel();
    service.Poll();
  };
  for (const char* user : {"ann", "ben"}) {
    readers.Enter("page", user, "tab 1", {}, service.driver->now());
  }
  take();
  EXPECT_THAT(told, IsEmpty());
  service.Pass(80s);
  take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].cause, Cause::kCounted);
  EXPECT_EQ(told[1].count, 2u);
  EXPECT_EQ(told[1].away, 2u);
}

}  // namespace
}  // namespace pleat
