// What the reads of a live set say, and that they change nothing: one story a rule.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/fixture.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> Said(const std::vector<SeriesCount>& all) {
  std::vector<std::string> out;
  for (const SeriesCount& one : all) out.push_back(one.series + " " + std::to_string(one.count));
  return out;
}

template <class Member>
std::vector<std::string> IdsOf(const std::vector<Member>& members) {
  std::vector<std::string> out;
  for (const Member& member : members) out.push_back(member.id);
  return out;
}

TEST_F(LiveSetTest, AReadSeesALaterInstantAndMovesNothing) {
  Open({.ttl = 10s});
  Add("ann", 0s);
  Add("ben", 5s);
  EXPECT_EQ(live_set().Count("s", At(10s - 1us)), 2u);
  EXPECT_EQ(live_set().Count("s", At(10s)), 1u);
  EXPECT_EQ(live_set().Count("s", At(15s)), 0u);
  EXPECT_EQ(live_set().Count("s", At(-1h)), 2u);  // an earlier one counts as the engine's time
  EXPECT_EQ(live_set().Find("s", "ann", At(10s)), std::nullopt);
  EXPECT_FALSE(live_set().Contains("s", "ann", At(10s)));
  EXPECT_THAT(Ids(At(10s)), ElementsAre("ben"));
  EXPECT_EQ(live_set().Rank("s", "ben", At(10s)), 0u);
  EXPECT_EQ(engine().now(), kT0);
  EXPECT_EQ(Count(), 2u);
  EXPECT_EQ(ledger().expired, 0u);
}

TEST_F(LiveSetTest, ReadsAreExactBeforeAnythingIsSwept) {
  Open({.ttl = 10s});
  for (const Duration at : {0s, 1s, 2s, 3s}) Add(std::to_string(at.count()), at);
  ASSERT_TRUE(engine().Advance(At(12s), 0));  // only moves time
  EXPECT_EQ(ledger().live, 4u);
  EXPECT_EQ(Count(), 1u);
  EXPECT_EQ(live_set().CountSince("s", kBeginningOfTime), 1u);
  EXPECT_EQ(Ids().size(), 1u);
  EXPECT_EQ(live_set().Rank("s", Ids().front()), 0u);
  EXPECT_EQ(Said(live_set().TopSeries(1)), std::vector<std::string>{"s 1"});
}

TEST_F(LiveSetTest, ASubRangeIsOpenAtItsBeginning) {
  Open({.ttl = 60s});
  for (const Duration at : {0s, 1s, 2s, 2s, 3s}) {
    Add(std::to_string(at.count()) + std::to_string(ledger().events), at);
  }
  EXPECT_EQ(live_set().CountSince("s", At(2s)), 1u);
  EXPECT_EQ(live_set().CountSince("s", At(2s - 1us)), 3u);
  EXPECT_EQ(live_set().CountSince("s", At(3s)), 0u);
  EXPECT_EQ(live_set().CountSince("s", At(-1s)), 5u);
}

TEST_F(LiveSetTest, RangesThatMeetAddUp) {
  Open({.ttl = 60s});
  for (int i = 0; i < 10; ++i) Add(std::to_string(i), std::chrono::seconds(i / 2));
  EXPECT_EQ(live_set().CountBetween("s", At(1s), At(3s)), 4u);
  EXPECT_EQ(live_set().CountBetween("s", At(0s), At(1s)), 2u);
  EXPECT_EQ(live_set().CountBetween("s", At(3s), At(9s)), 4u);
  EXPECT_EQ(live_set().CountBetween("s", At(3s), At(3s)), 0u);
  EXPECT_EQ(live_set().CountBetween("s", At(4s), At(3s)), 0u);
}

// Of a series of any form, with stamps on both sides of 1970.
TEST_F(LiveSetTest, ARangeMayBeginAndEndBeyondAllStamps) {
  Open({.ttl = kForever}, OnEventTime());
  for (const Duration unit : {1us, Duration{10h * 365 * 24}}) {
    const std::string series = std::to_string(unit.count());
    for (int i = 0; i < 300; ++i) {
      AddTo(series, std::to_string(i), unit * i - kT0.time_since_epoch() - unit * 150);
      const size_t all = live_set().Count(series);
      ASSERT_EQ(live_set().CountBetween(series, EngineTime::min(), EngineTime::max()), all);
      ASSERT_EQ(live_set().CountBetween(series, EngineTime::min(), EngineTime::min()), 0u);
      ASSERT_EQ(live_set().CountBetween(series, EngineTime::max(), EngineTime::max()), 0u);
      ASSERT_EQ(live_set().CountSince(series, EngineTime::min()), all);
      ASSERT_EQ(live_set().CountSince(series, EngineTime::max()), 0u);
    }
    const auto count_listed = [&](EngineTime since) {
      return IdsOf(live_set().List(series, {.since = since, .limit = SIZE_MAX})).size();
    };
    EXPECT_EQ(count_listed(EngineTime::min()), 300u);
    EXPECT_EQ(count_listed(EngineTime::max()), 0u);
  }
}

TEST_F(LiveSetTest, SubRangesLeaveOutWhatIsDueOfMembersWithTheirOwnTtl) {
  Open({.ttl = 60s});
  Add("ann", 0s, {.ttl = 5s});
  Add("ben", 1s, {.ttl = 100s});
  Add("cy", 2s);
  EXPECT_EQ(live_set().CountSince("s", At(-1s), At(5s)), 2u);
  EXPECT_EQ(live_set().CountSince("s", At(-1s), At(62s)), 1u);
  EXPECT_EQ(live_set().CountBetween("s", At(0s), At(1s), At(5s)), 0u);
}

TEST_F(LiveSetTest, MembersStandInTheOrderOfStampsAndThenOfEvents) {
  Open({.ttl = 60s});
  Add("late", 5s);
  Add("ann", 1s);
  Add("ben", 1s);
  Add("cy", 0s);
  EXPECT_THAT(Ids(), ElementsAre("cy", "ann", "ben", "late"));
  Add("cy", 1s);  // behind those that had this stamp before
  EXPECT_THAT(Ids(), ElementsAre("ann", "ben", "cy", "late"));
  EXPECT_THAT(IdsOf(live_set().List("s")), ElementsAre("late", "cy", "ben", "ann"));
  EXPECT_EQ(live_set().Rank("s", "cy"), 2u);
  EXPECT_EQ(live_set().Rank("s", "nobody"), std::nullopt);
}

TEST_F(LiveSetTest, AListComesInPages) {
  Open({.ttl = 60s});
  for (int i = 0; i < 7; ++i) Add(std::to_string(i), std::chrono::seconds(i / 3));
  for (const bool newest_first : {false, true}) {
    const ListOptions options{.newest_first = newest_first, .limit = 2};
    ListCursor cursor;
    std::vector<Numbers::Member> paged;
    while (live_set().List("s", options, cursor, paged)) {
    }
    EXPECT_EQ(IdsOf(paged), IdsOf(live_set().List("s", {.newest_first = newest_first})));
    EXPECT_EQ(paged.size(), 7u);
  }
}

TEST_F(LiveSetTest, AListGoesOnWhereItStoodWhenMembersComeAndGo) {
  Open({.ttl = 60s});
  for (int i = 0; i < 4; ++i) Add(std::to_string(i), std::chrono::seconds(i));
  const ListOptions options{.newest_first = false, .limit = 2};
  ListCursor cursor;
  std::vector<Numbers::Member> paged;
  EXPECT_TRUE(live_set().List("s", options, cursor, paged));
  Remove("1", 1s);  // which was seen last
  Add("new", 4s);
  while (live_set().List("s", options, cursor, paged)) {
  }
  EXPECT_THAT(IdsOf(paged), ElementsAre("0", "1", "2", "3", "new"));
}

TEST_F(LiveSetTest, AListBeginsBehindAnInstant) {
  Open({.ttl = 60s});
  for (int i = 0; i < 4; ++i) Add(std::to_string(i), std::chrono::seconds(i));
  EXPECT_THAT(IdsOf(live_set().List("s", {.since = At(1s)})), ElementsAre("3", "2"));
  EXPECT_THAT(IdsOf(live_set().List("s", {.newest_first = false, .since = At(1s), .limit = 1})),
              ElementsAre("2"));
  EXPECT_THAT(IdsOf(live_set().List("s", {.since = At(3s)})), IsEmpty());
}

TEST_F(LiveSetTest, AMemberIsShownWithAllItHas) {
  Open({.ttl = 60s});
  Add("ann", 1s, {.ttl = 5s, .version = 3, .payload = 7});
  const Numbers::Member ann = *Find("ann");
  EXPECT_EQ(ann.id, "ann");
  EXPECT_EQ(ann.payload, 7);
  EXPECT_EQ(ann.stamp, At(1s));
  EXPECT_EQ(ann.deadline, At(6s));
  EXPECT_EQ(ann.version, 3u);
  EXPECT_EQ(Find("ben"), std::nullopt);
}

TEST_F(LiveSetTest, OfEqualCountsTheSeriesThatBecameNonEmptyEarlierIsFirst) {
  Open({.ttl = 10s}, {.partitions = 4});
  Advance(0s);
  for (const char* const name : {"zoe", "amy", "kim", "bob"}) AddTo(name, "x", 0s);
  AddTo("kim", "y", 0s);
  EXPECT_THAT(Said(live_set().TopSeries(9)), ElementsAre("kim 2", "zoe 1", "amy 1", "bob 1"));
  EXPECT_THAT(Said(live_set().TopSeries(2)), ElementsAre("kim 2", "zoe 1"));
  EXPECT_THAT(live_set().TopSeries(0), IsEmpty());
  // It was empty in between.
  live_set().Clear("zoe");
  AddTo("zoe", "x", 1s);
  EXPECT_THAT(Said(live_set().TopSeries(9)), ElementsAre("kim 2", "amy 1", "bob 1", "zoe 1"));
  EXPECT_THAT(Said(live_set().TopSeries(9, At(10s))), ElementsAre("zoe 1"));
}

TEST_F(LiveSetTest, TheOrderOfEqualCountsIsThatOfAllPartitions) {
  const auto engine = Engine::Open({.partitions = 16}).value();
  LiveSet<> live_set(*engine, "live_set", {.ttl = 10s});
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    live_set.Add(name, {.id = "x"}, kT0);
    expected.push_back(name + " 1");
    ASSERT_EQ(Said(live_set.TopSeries(100)), expected);
  }
}

TEST_F(LiveSetTest, AScanCountsMembersFromTheBeginningOfTime) {
  const auto engine = Engine::Open({.partitions = 1}).value();
  LiveSet<> live_set(*engine, "live_set", {.ttl = 10s});
  live_set.Add("s", {.id = "ann"}, kBeginningOfTime);
  EXPECT_EQ(live_set.Count("s"), 1u);
  std::vector<SeriesCount> seen;
  ScanCursor cursor;
  live_set.Scan(cursor, 9, seen);
  EXPECT_THAT(Said(seen), ElementsAre("s 1"));
}

TEST_F(LiveSetTest, AScanSeesEachSeriesThatHasMembersOnce) {
  Open({.ttl = 10s}, {.partitions = 4});
  live_set().SetTtl("empty", 1s);
  for (const char* const name : {"zoe", "amy", "kim"}) AddTo(name, "x", 0s);
  AddTo("kim", "y", 0s);
  std::vector<SeriesCount> seen;
  ScanCursor cursor;
  while (live_set().Scan(cursor, 1, seen)) {
  }
  EXPECT_THAT(Said(seen), UnorderedElementsAre("zoe 1", "amy 1", "kim 2"));
}

TEST_F(LiveSetTest, ManySeriesAreCountedAtOnce) {
  Open({.ttl = 10s}, {.partitions = 4});
  AddTo("a", "x", 0s);
  AddTo("b", "x", 5s);
  const std::vector<KeyView> names = {"b", "nobody", "a"};
  std::vector<size_t> counts(3);
  live_set().CountMany(names, counts);
  EXPECT_THAT(counts, ElementsAre(1, 0, 1));
  live_set().CountMany(names, counts, At(10s));
  EXPECT_THAT(counts, ElementsAre(1, 0, 0));
}

}  // namespace
}  // namespace pleat::inline v0_1
