// The changes of a presence: what they say, their order, and who reads them.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/detail/change_pacer.h>

#include "tests/presence/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(PresenceTest, AChangeSaysAllAboutItsUser) {
  Enter("ann", "tab", 5s, "busy");
  Advance(300s);
  const auto changes = Read();
  ASSERT_THAT(changes, SizeIs(3));
  for (const Change<std::string>& change : changes) {
    EXPECT_EQ(change.series, "r");
    EXPECT_EQ(change.id, "ann");
    EXPECT_EQ(change.payload, "busy");
    EXPECT_EQ(change.stamp, At(5s));
  }
  EXPECT_EQ(changes[0].at, At(0s));  // the engine's time
  EXPECT_EQ(changes[0].deadline, At(80s));
  EXPECT_EQ(changes[1].at, At(80s));
  EXPECT_EQ(changes[1].deadline, At(110s));
  EXPECT_EQ(changes[2].at, At(110s));
  EXPECT_EQ(changes[2].deadline, At(110s));
  EXPECT_FALSE(IsEnd(changes[1].cause));
  EXPECT_TRUE(IsEnd(changes[2].cause));
  EXPECT_EQ(ledger().changes, 3u);
}

TEST_F(PresenceTest, ThoseWhoGoAtOneInstantCountDownInTheOrderOfTheirCalls) {
  for (const char* user : {"cid", "ann", "ben"}) Enter(user, "tab", 0s);
  Changes();
  Advance(105s);
  EXPECT_THAT(Changes(), ElementsAre("75 cid away 3 1", "75 ann away 3 2", "75 ben away 3 3",
                                     "105 cid left 2 2", "105 ann left 1 1", "105 ben left 0 0"));
}

// Ann's latest connection decides, also after a Leave() has made that an older one.
TEST_F(PresenceTest, TimeTakesUsersInTheOrderOfTheCallsThatSetTheirStamps) {
  Enter("ann", "phone", 0s);
  Enter("ben", "tab", 0s);
  Enter("ann", "desk", 0s);
  Enter("cid", "tab", 0s);
  Enter("cid", "desk", 0s);
  Leave("cid", "desk", 0s);
  Changes();
  Advance(75s);
  EXPECT_THAT(Changes(), ElementsAre("75 ben away 3 1", "75 ann away 3 2", "75 cid away 3 3"));
}

TEST_F(PresenceTest, BeatsAndFurtherConnectionsMakeNoChange) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 1s);
  Beat("ann", "phone", 2s);
  Leave("ann", "desk", 3s);
  Enter("ann", "phone", 4s);
  EXPECT_THAT(Changes(), ElementsAre("0 ann added 1 0"));
}

TEST_F(PresenceTest, ASnapshotOfUsersAndTheChangesBehindItHaveNothingBetween) {
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 50s);
  ASSERT_TRUE(engine().Advance(At(80s), 0));  // time moves, and nobody is visited
  std::vector<Room::User> users;
  ChangeCursor cursor = room().Watch("r", users);
  ASSERT_THAT(users, SizeIs(2));
  EXPECT_EQ(users[0].id, "ann");
  EXPECT_TRUE(users[0].away);
  EXPECT_EQ(users[1].id, "ben");
  std::vector<Change<std::string>> changes;
  EXPECT_EQ(room().Read({.name = "r"}, cursor, 10, changes), ReadChanges::kAll);
  EXPECT_THAT(changes, IsEmpty());
  Leave("ben", "tab", 80s);
  EXPECT_EQ(room().Read({.name = "r"}, cursor, 10, changes), ReadChanges::kAll);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].count, 1u);
  EXPECT_EQ(changes[0].away, 1u);
}

TEST_F(PresenceTest, ASnapshotOfSeriesCountsUsersHereOrAway) {
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 50s);
  room().Enter("other", "cid", "tab", "", At(0s));
  Advance(80s);
  std::vector<SeriesCount> counts;
  room().Watch({.name = "r", .is_prefix = true}, counts);
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].series, "r");
  EXPECT_EQ(counts[0].count, 2u);
}

TEST_F(PresenceTest, WhoIsNotBehindMissesNothingHoweverFewChangesAreKept) {
  Open({.max_changes = 4});
  std::vector<SeriesCount> snapshot;
  ChangeCursor cursor = room().Watch({.is_prefix = true}, snapshot);
  std::vector<Change<std::string>> changes;
  const auto read = [&] {
    ReadChanges done = ReadChanges::kMore;
    while (done == ReadChanges::kMore) {
      done = room().Read({.is_prefix = true}, cursor, 3, changes);
    }
    EXPECT_EQ(done, ReadChanges::kAll);
  };
  for (int i = 0; i < 100; ++i) {
    const std::string user = std::to_string(i);
    Enter(user, "tab", 1s * (i % 7));
    Enter(user, "desk", 1s * (i % 5));
    read();
  }
  ASSERT_TRUE(engine().Advance(At(1h), 0));
  read();
  EXPECT_THAT(changes, SizeIs(300));
  EXPECT_TRUE(std::ranges::is_sorted(changes, {}, &ChangeInfo::at));
  ledger();
}

TEST_F(PresenceTest, ListenersAreToldOnTimeAndOfTheClose) {
  struct Counter final : ChangeListener {
    void MayHaveChanges() noexcept override { ++told; }
    int told = 0;
  } listener;
  AnyPresence any = room().any();
  any.AddListener(listener, {.name = "r"});
  Enter("ann", "tab", 0s);
  room().Enter("other", "ann", "tab", "", At(0s));
  EXPECT_EQ(listener.told, 1);
  Advance(75s);
  EXPECT_EQ(listener.told, 2);
  Advance(105s);
  EXPECT_EQ(listener.told, 3);
  room().Close();
  EXPECT_EQ(listener.told, 4);
  any.RemoveListener(listener);
}

// A presence may be watched by what knows nothing of presence.
TEST_F(PresenceTest, IsAFeed) {
  AnyFeed feed = room().any();
  ChangeCursor cursor = feed.Watch({.is_prefix = true}, [](std::string_view, size_t) {});
  Enter("ann", "tab", 0s);
  std::vector<std::string> ids;
  EXPECT_EQ(feed.Read({.is_prefix = true}, cursor, 10,
                      [&](const AnyChange& change) { ids.emplace_back(change.id); }),
            ReadChanges::kAll);
  EXPECT_THAT(ids, ElementsAre("ann"));
  EXPECT_FALSE(feed.closed());
  feed.Close();
  EXPECT_EQ(feed.Read({.is_prefix = true}, cursor, 10, [](const AnyChange&) {}),
            ReadChanges::kClosed);
}

// A Watcher that gets too many changes is told the latest count of each series.
TEST_F(PresenceTest, ACountInsteadOfChangesSaysHowManyAreAway) {
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 50s);
  Advance(80s);
  ChangePacer<Change<std::string>> pacer(/*max=*/0, 1min);
  for (Change<std::string>& change : Read()) pacer.Add(std::move(change));
  pacer.TellCounts();
  Change<std::string> count;
  while (pacer.ready() > 0) count = pacer.Take();
  EXPECT_EQ(count.cause, Cause::kCounted);
  EXPECT_EQ(count.count, 2u);
  EXPECT_EQ(count.away, 1u);
}

}  // namespace
}  // namespace pleat::inline v0_1
