// Reads of a presence: they change nothing, and see all that is due, also if nobody has visited
// it.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/presence/fixture.h"
#include "tests/support/allocations.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class PresenceReading : public PresenceTest {
 protected:
  // The users of "r", the away ones in brackets.
  std::vector<std::string> Users(const ListOptions& options = {}) {
    std::vector<std::string> lines;
    for (const Room::User& user : room().List("r", options)) lines.push_back(Line(user));
    return lines;
  }
  static std::string Line(const Room::User& user) {
    return user.away ? "(" + user.id + ")" : user.id;
  }
};

TEST_F(PresenceReading, AUserComesWithAllConnections) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 50s);
  Enter("ann", "tab", 20s);
  Advance(80s);
  const auto ann = Find("ann").value();
  EXPECT_FALSE(ann.away);
  EXPECT_EQ(ann.stamp, At(50s));
  EXPECT_EQ(ann.deadline, At(125s));
  ASSERT_EQ(ann.connections.size(), 3u);
  EXPECT_EQ(ann.connections[0].id, "phone");
  EXPECT_EQ(ann.connections[0].deadline, At(75s));  // overdue
  EXPECT_EQ(ann.connections[0].generation, Generation("ann", "phone"));
  EXPECT_EQ(ann.connections[1].id, "tab");
  EXPECT_EQ(ann.connections[1].stamp, At(20s));
  EXPECT_EQ(ann.connections[2].id, "desk");
}

TEST_F(PresenceReading, SeesWhatIsDueBeforeAnybodyVisits) {
  Enter("ann", "phone", 0s);
  Enter("ann", "desk", 40s);
  Enter("ben", "tab", 10s);
  ASSERT_TRUE(engine().Advance(At(86s), 0));  // time moves, and nobody is visited
  EXPECT_THAT(Counts(), ElementsAre(1, 1, 1));
  EXPECT_TRUE(Find("ben")->away);
  ASSERT_TRUE(engine().Advance(At(115s), 0));
  EXPECT_THAT(Counts(), ElementsAre(0, 1, 0));
  EXPECT_FALSE(Find("ben").has_value());
  EXPECT_EQ(Find("ann")->connections.size(), 1u);
  EXPECT_THAT(Users(), ElementsAre("(ann)"));
  EXPECT_EQ(room().TopSeries(1)[0].count, 1u);
  EXPECT_EQ(ledger().users, 2u);  // the ledger counts what was visited
  ASSERT_TRUE(engine().Advance(At(145s), 0));
  EXPECT_THAT(Users(), IsEmpty());
  EXPECT_THAT(room().TopSeries(1), IsEmpty());
  EXPECT_EQ(ledger().changes, 2u);
}

TEST_F(PresenceReading, MayAskForALaterInstant) {
  Enter("ann", "tab", 0s);
  EXPECT_THAT(Counts(At(74s)), ElementsAre(1, 0, 1));
  EXPECT_THAT(Counts(At(75s)), ElementsAre(0, 1, 0));
  EXPECT_THAT(Counts(At(105s)), ElementsAre(0, 0, 0));
  EXPECT_THAT(Users({.now = At(75s)}), ElementsAre("(ann)"));
  EXPECT_EQ(room().Find("r", "ann", At(80s))->deadline, At(105s));
  EXPECT_FALSE(room().Find("r", "ann", At(105s)).has_value());
  EXPECT_THAT(Counts(), ElementsAre(1, 0, 1));  // nothing has changed
  Advance(50s);
  EXPECT_THAT(Counts(At(0s)), ElementsAre(1, 0, 1));  // an earlier instant is now
}

TEST_F(PresenceReading, ListsInTheOrderOfTheLatestSignOfLife) {
  Enter("ann", "tab", 0s);
  Enter("ben", "tab", 10s);
  Enter("cid", "tab", 20s);
  Beat("ann", "tab", 30s);
  Advance(90s);
  EXPECT_THAT(Users(), ElementsAre("ann", "cid", "(ben)"));
  EXPECT_THAT(Users({.newest_first = false}), ElementsAre("(ben)", "cid", "ann"));
  EXPECT_THAT(Users({.since = At(10s)}), ElementsAre("ann", "cid"));
  EXPECT_THAT(Users({.limit = 1}), ElementsAre("ann"));
}

TEST_F(PresenceReading, ListsPageByPage) {
  for (int i = 0; i < 500; ++i) Enter(std::to_string(i), "tab", 1ms * (i / 2 * 200));
  Advance(100s);  // 252 are away
  EXPECT_THAT(Counts(), ElementsAre(248, 252, 248));
  for (const bool newest_first : {true, false}) {
    std::vector<Room::User> users;
    ListCursor cursor;
    for (bool more = true; more;) {
      std::vector<Room::User> page;
      more = room().List("r", {.newest_first = newest_first, .limit = 7}, cursor, page);
      EXPECT_LE(page.size(), 7u);
      users.insert(users.end(), page.begin(), page.end());
    }
    ASSERT_EQ(users.size(), 500u);
    for (int i = 0; i < 500; ++i) {
      const int expected = newest_first ? 499 - i : i;
      EXPECT_EQ(users[static_cast<size_t>(i)].id, std::to_string(expected));
      EXPECT_EQ(users[static_cast<size_t>(i)].away, expected < 252);
    }
  }
}

TEST_F(PresenceReading, SeriesAreScannedAndRanked) {
  Open({}, {.partitions = 4});
  for (int i = 0; i < 30; ++i) {
    for (int user = 0; user <= i % 3; ++user) {
      room().Enter("s" + std::to_string(i), std::to_string(user), "tab", "", At(0s));
    }
  }
  const auto top = room().TopSeries(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].series, "s2");
  EXPECT_EQ(top[2].series, "s8");
  EXPECT_EQ(top[2].count, 3u);
  std::vector<SeriesCount> all;
  ScanCursor cursor;
  while (room().Scan(cursor, 4, all)) {
  }
  EXPECT_EQ(all.size(), 30u);
}

TEST_F(PresenceReading, OfCountsAndBeatsAllocateNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "allocations cannot be counted here";
  Open({}, {.partitions = 4});
  std::vector<std::string> users;
  for (int i = 0; i < 1000; ++i) users.push_back("user " + std::to_string(i));
  std::vector<uint64_t> generations;
  for (const std::string& user : users) {
    generations.push_back(room().Enter("r", user, "tab", "", At(0s)).generation);
  }
  const size_t before = AllocationCount();
  for (int round = 1; round <= 3; ++round) {
    for (size_t i = 0; i < users.size(); ++i) {
      const size_t user = i * 7 % users.size();
      room().Beat("r", users[user], "tab", generations[user], At(round * 1s));
    }
    EXPECT_EQ(room().Count("r").here, 1000u);
  }
  EXPECT_EQ(AllocationCount(), before);
}

TEST_F(PresenceReading, OfNobodyIsEmpty) {
  EXPECT_THAT(Counts(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Users(), IsEmpty());
  EXPECT_FALSE(Find("ann").has_value());
  Enter("ann", "tab", 0s);
  EXPECT_FALSE(Find("ben").has_value());
  EXPECT_FALSE(room().Find("other", "ann").has_value());
}

}  // namespace
}  // namespace pleat::inline v0_1
