// What is handed out, when, and what it says of itself, one test a feature.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST_F(Features, TrailingEdge) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kTrailing}, {.axis = axis});
    Fold({{"a", 1, 0s}, {"a", 2, 9s}, {"a", 3, 18s}});
    Advance(28s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(28s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2 3] quiet 0 18 28"));
    EXPECT_EQ(Columns(), "events 3 opened 1 folded 2 closed 1 popped 1");
  }
}

TEST_F(Features, LeadingEdge) {
  Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kLeading});
  Advance(1s);
  EXPECT_EQ(Fold({{"a", 1, 2s}, {"a", 2, 3s}, {"a", 3, 12s}}), "opened folded folded");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 2 2 1 r1+"));  // the first event alone, and at once
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(1, 2, 3)));
  Advance(22s);  // what is held back keeps the key busy, and then goes
  EXPECT_EQ(Peek("a"), std::nullopt);
  EXPECT_THAT(Pop(), IsEmpty());
  EXPECT_EQ(Fold({{"a", 4, 22s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a [4] leading 22 22 22 r1+"));
  EXPECT_EQ(Columns(), "events 4 opened 2 folded 2 closed 1 silent 1 partial 2 popped 2 open 1");

  // Silence whatever closes the group.
  Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kLeading}, {.axis = Axis::kEvent},
       StartAndEndMarks());
  EXPECT_EQ(Fold({{"a", 1, 0s},
                  {"a", 2, 1s, {.ends = true}},
                  {"a", 3, 1s},
                  {"a", 4, 2s, {.starts = true}}}),
            "opened folded opened opened");
  EXPECT_TRUE(Flush("a"));
  EXPECT_EQ(Fold({{"a", 5, 2s}}), "opened");
  CloseAll();
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "a [3] leading 1 1 1 r1+",
                                 "a [4] leading 2 2 2 r1+", "a [5] leading 2 2 2 r1+"));
  EXPECT_EQ(Columns(), "events 5 opened 4 folded 1 closed 4 silent 4 partial 4 popped 4");

  // An event that opens and closes at once: at its cap, or overdue.
  Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 1, .edge = Edge::kLeading});
  Advance(60s);
  EXPECT_EQ(Fold({{"a", 1, 60s}, {"a", 2, 61s}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 60 60 60 r1+", "a [2] leading 61 61 60 r1+"));
  Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kLeading});
  Advance(60s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 60 r1+", "a [2] leading 0 0 60 r1+"));
  EXPECT_EQ(Columns(), "events 2 opened 2 closed 2 silent 2 partial 2 popped 2");

  // A group that is overtaken does not hold the next one's first event back.
  Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kLeading});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 15s}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "a [2] leading 15 15 0 r1+"));
  Advance(25s);
  EXPECT_THAT(Pop(), IsEmpty());
}

TEST_F(Features, BothEdges) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kBoth}, {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
    EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+"));
    EXPECT_EQ(Fold({{"a", 2, 5s}}), "folded");
    Advance(15s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet 0 5 15 r2"));

    // Nothing has followed: nothing more to say.
    Advance(20s);
    EXPECT_EQ(Fold({{"b", 3, 20s}}), "opened");
    Advance(30s);
    EXPECT_THAT(Pop(), ElementsAre("b [3] leading 20 20 20 r1+"));

    // Dropped in between.
    EXPECT_EQ(Fold({{"c", 4, 30s}, {"c", 5, 30s}}), "opened folded");
    EXPECT_TRUE(Cancel("c"));
    Advance(1min);
    EXPECT_THAT(Pop(), ElementsAre("c [4] leading 30 30 30 r1+"));
    EXPECT_EQ(Columns(),
              "events 5 opened 3 folded 2 closed 2 cancelled 1 silent 1 partial 3 popped 4");

    Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 2, .edge = Edge::kBoth},
         {.axis = axis}, StartAndEndMarks());
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}, {"b", 3, 0s, {.ends = true}}}),
              "opened folded opened");
    EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "a [1 2] max_events 0 0 0 r2",
                                   "b [3] leading 0 0 0 r1+"));
    Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 1, .edge = Edge::kBoth},
         {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}}), "opened opened");
    EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "a [2] leading 0 0 0 r1+"));
  }
}

TEST_F(Features, SeveralLeadingEvents) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kBoth, .leading_events = 2},
         {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 1s}, {"a", 3, 2s}, {"b", 4, 2s}, {"b", 5, 3s}}),
              "opened folded folded opened folded");
    Advance(3s);
    EXPECT_EQ(Pop().size(), 4u);
    Advance(20s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2 3] quiet 0 2 12 r3"));
    EXPECT_EQ(Columns(), "events 5 opened 2 folded 3 closed 2 silent 1 partial 4 popped 5");
  }
}

// An event that would be handed out at once is refused where one that opens a group is.
TEST_F(Features, LeadingEventsNeedRoomInTheBacklog) {
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .edge = Edge::kBoth,
        .leading_events = 2,
        .limits = {.max_backlog = 1}});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}}), "opened overloaded");
  Pop();
  EXPECT_EQ(Fold({{"a", 2, 0s}, {"a", 3, 0s}}), "folded folded");
}

TEST_F(Features, PartialEvery) {
  for (Axis axis : kBothAxes) {
    const EngineOptions engine{.axis = axis};
    Open({.quiet_period = 10s, .max_wait = kForever, .partial_every = 4s}, engine);
    EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
    Advance(4s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(4s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 4 r1+"));
    EXPECT_THAT(Peek("a"), Optional(ElementsAre(1)));
    Advance(8s);  // nothing new, nothing said
    EXPECT_THAT(Pop(), IsEmpty());
    EXPECT_EQ(Fold({{"a", 2, 9s}}), "folded");
    Advance(12s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] partial 0 9 12 r2+"));
    Advance(19s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(19s);  // it is handed out when it closes, though nothing is new
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet 0 9 19 r3"));

    // No partial at the deadline itself, nor after it.
    Open({.quiet_period = 8s, .max_wait = kForever, .partial_every = 4s}, engine);
    Fold({{"a", 1, 0s}});
    Advance(8s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 4 r1+", "a [1] quiet 0 0 8 r2"));
    Open({.quiet_period = 8s, .max_wait = kForever, .partial_every = 8s}, engine);
    Fold({{"a", 1, 0s}});
    Advance(24s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 8"));
    Open({.quiet_period = 10s, .max_wait = 12s, .partial_every = 4s}, engine);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 3s}, {"a", 3, 6s}, {"a", 4, 9s}, {"a", 5, 11s}}),
              "opened folded folded folded folded");
    Advance(12s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] partial 0 3 4 r1+", "a [1 2 3] partial 0 6 8 r2+",
                                   "a [1 2 3 4 5] max_wait 0 11 12 r3"));

    // An event at the instant comes after it.
    Open({.quiet_period = 10s, .max_wait = kForever, .partial_every = 4s}, engine);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 4s}}), "opened folded");
    Advance(14s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 4 r1+", "a [1 2] partial 0 4 8 r2+",
                                   "a [1 2] quiet 0 4 14 r3"));
  }
}

TEST_F(Features, PartialEveryKeepsToItsGrid) {
  for (Axis axis : kBothAxes) {
    const EngineOptions engine{.axis = axis};
    // Through idle time.
    Open({.quiet_period = 100s, .max_wait = kForever, .partial_every = 10s}, engine);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 55s}}), "opened folded");
    Advance(60s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 10 r1+", "a [1 2] partial 0 55 60 r2+"));

    // Through a group that is overtaken before anybody has moved time.
    Open({.quiet_period = 10s, .max_wait = kForever, .partial_every = 4s}, engine);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 5s}, {"a", 3, 20s}}), "opened folded opened");
    if (axis == Axis::kArrival) {
      EXPECT_THAT(Pop(), IsEmpty());
    }
    Advance(30s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 4 r1+", "a [1 2] partial 0 5 8 r2+",
                                   "a [1 2] quiet 0 5 15 r3", "a [3] partial 20 20 24 r1+",
                                   "a [3] quiet 20 20 30 r2"));

    // It starts where the group opened, also in the past, and whatever older event comes later.
    Open({.quiet_period = 100s, .max_wait = kForever, .partial_every = 10s}, engine);
    Advance(23s);
    EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
    Advance(30s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(30s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 30 r1+"));
    EXPECT_EQ(Fold({{"a", 2, -5s}}), "folded");
    Advance(40s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] partial -5 0 40 r2+"));
  }

  // On arrival time a partial is what had come before its instant, and is handed out when time gets there.
  Open({.quiet_period = 10s, .max_wait = kForever, .partial_every = 4s});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 5s}}), "opened folded");
  EXPECT_THAT(Pop(), IsEmpty());
  Advance(4s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 4 r1+"));

  // An older event that comes after it does not change it any more.
  Open({.quiet_period = 60s, .max_wait = kForever, .partial_every = 20s});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 50s}, {"a", 3, 10s}}), "opened folded folded");
  EXPECT_THAT(Pop(), IsEmpty());
  Advance(60s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 20 r1+", "a [1 2 3] partial 0 50 60 r2+"));
}

TEST_F(Features, OnEventTimeTheWatermarkActsAndNotTheStamp) {
  const EngineOptions late{.axis = Axis::kEvent, .watermark_delay = 30s};
  Open({.quiet_period = 60s, .max_wait = kForever}, late);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 80s}}), "opened folded");
  EXPECT_EQ(engine().now(), kT0 + 50s);
  Fold({{"b", 3, 169s}});
  EXPECT_THAT(Pop(), IsEmpty());
  Fold({{"b", 4, 170s}});
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet 0 80 140"));
  CloseAll();
  EXPECT_THAT(Pop(), ElementsAre("b [3 4] end 169 170 140"));

  Open({.quiet_period = 60s, .max_wait = kForever, .partial_every = 20s}, late);
  Fold({{"a", 1, 0s}, {"a", 2, 45s}, {"a", 3, 51s}});
  CloseAll();
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] partial 0 45 20 r1+", "a [1 2 3] end 0 51 21 r2"));
}

TEST_F(Features, CloseAllHandsOutWhatWaitsForItsInstant) {
  Open({.quiet_period = 60s, .max_wait = kForever, .partial_every = 40s});
  Advance(0s);
  EXPECT_EQ(Fold({{"b", 1, 0s}, {"a", 2, 1s}, {"a", 3, 50s}, {"b", 4, 60s}}),
            "opened opened folded opened");
  CloseAll();
  EXPECT_THAT(Pop(),
              ElementsAre("b [1] partial 0 0 40 r1+", "a [2] partial 1 1 41 r1+",
                          "b [1] quiet 0 0 60 r2", "a [2 3] end 1 50 0 r2", "b [4] end 60 60 0"));
}

TEST_F(Features, PartialEveryHasItsPlaceInTheOrder) {
  TickRules rules = StartAndEndMarks();
  rules.quiet_period = OwnQuietPeriods().quiet_period;
  Open({.quiet_period = 10s, .max_wait = kForever, .partial_every = 4s}, {.axis = Axis::kEvent},
       rules);
  // All at one instant: what time brings about by opening, then what an event does.
  EXPECT_EQ(
      Fold({{"b", 1, 0s}, {"c", 2, 0s, {.quiet = 4s}}, {"a", 3, 0s}, {"d", 4, 4s, {.ends = true}}}),
      "opened opened opened opened");
  EXPECT_THAT(Pop(), ElementsAre("b [1] partial 0 0 4 r1+", "c [2] quiet 0 0 4",
                                 "a [3] partial 0 0 4 r1+", "d [4] end_mark 4 4 4"));
}

TEST_F(Features, TheEmissionsOfOneEventHaveTheirOrder) {
  Open({.quiet_period = 60s,
        .max_wait = kForever,
        .edge = Edge::kBoth,
        .limits = {.max_groups = 1, .on_limit = OnLimit::kEmitOldest}},
       {}, StartAndEndMarks());
  Advance(0s);
  Fold({{"a", 1, 0s}, {"a", 2, 0s}});
  Pop();
  Fold({{"b", 3, 0s, {.starts = true}}, {"b", 4, 0s}});
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] limit 0 0 0 r2", "b [3] leading 0 0 0 r1+"));
  Fold({{"b", 5, 0s, {.starts = true}}});
  EXPECT_THAT(Pop(), ElementsAre("b [3 4] start_mark 0 0 0 r2", "b [5] leading 0 0 0 r1+"));
}

TEST_F(Features, PartialAndRevision) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kBoth, .partial_every = 4s},
         {.axis = axis});
    Advance(0s);
    Fold({{"a", 1, 0s}});
    EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+"));
    Advance(4s);  // the leading one has said it all
    EXPECT_THAT(Pop(), IsEmpty());
    Fold({{"a", 2, 5s}});
    Advance(8s);
    Fold({{"a", 3, 9s}});
    Advance(19s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] partial 0 5 8 r2+", "a [1 2 3] partial 0 9 12 r3+",
                                   "a [1 2 3] quiet 0 9 19 r4"));
    // The next group of the key counts from 1 again.
    Advance(20s);
    Fold({{"a", 4, 20s}});
    Advance(30s);
    EXPECT_THAT(Pop(), ElementsAre("a [4] leading 20 20 20 r1+"));
  }
}

TEST_F(Features, GenerationAndId) {
  // Each partition has one count, of leading, partial and closed emissions together, and silence has
  // none: Pop() of the fixture expects that of every story. It is the order of popping, not of
  // closing: an overtaken group comes out behind a younger one.
  auto arrival = *Engine::Open({.partitions = 1});
  Folder<Tick, Values> capped(*arrival, "f",
                              {.quiet_period = 10s, .max_wait = kForever, .max_events = 2});
  capped.Fold("a", {1}, kT0);
  capped.Fold("a", {2}, kT0 + 15s);
  capped.Fold("a", {3}, kT0 + 15s);
  arrival->Advance(kT0 + 10s);
  const auto emissions = capped.Pop(10);
  ASSERT_EQ(emissions.size(), 2u);
  EXPECT_EQ(emissions[0].reason, Reason::kMaxEvents);
  EXPECT_EQ(emissions[0].id, (EmissionId{0, 0}));
  EXPECT_EQ(emissions[1].reason, Reason::kQuiet);
  EXPECT_EQ(emissions[1].id, (EmissionId{0, 1}));
}

TEST_F(Features, CountFirstLastClosedReason) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis});
    Fold({{"a", 1, 5s}, {"a", 1, 3s}, {"a", 1, 9s}, {"a", 1, 9s}});
    Advance(1h);  // closed is the deadline, not when time got there
    EXPECT_THAT(Pop(), ElementsAre("a [1 1 1 1] quiet 3 9 19"));
  }

  // `closed` is the engine's time for what a call closed.
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent, .watermark_delay = 2s});
  Fold({{"a", 1, 5s}, {"b", 2, 6s}, {"d", 3, 5s}, {"c", 4, 5s}});
  EXPECT_TRUE(Flush("a"));
  CloseAll();  // by deadline, then by opening
  EXPECT_THAT(Pop(), ElementsAre("a [1] flush 5 5 4", "d [3] end 5 5 4", "c [4] end 5 5 4",
                                 "b [2] end 6 6 4"));

  std::set<std::string_view> names;
  for (size_t i = 1; i <= kReasons; ++i) names.insert(ReasonName(static_cast<Reason>(i)));
  EXPECT_EQ(names.size(), kReasons);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST_F(Features, Peek) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .edge = Edge::kBoth, .partial_every = 4s},
         {.axis = axis});
    EXPECT_EQ(Peek("a"), std::nullopt);
    Fold({{"a", 1, 2s}, {"a", 2, 1s}});
    EXPECT_THAT(Peek("a"), Optional(ElementsAre(1, 2)));
    const auto group = folder().Peek("a");
    EXPECT_EQ(group->key, "a");
    EXPECT_EQ(group->count, 2u);
    EXPECT_EQ(group->first, kT0 + 1s);
    EXPECT_EQ(group->last, kT0 + 2s);

    Advance(6s);  // a partial takes nothing away, and a look changes nothing
    EXPECT_THAT(Peek("a"), Optional(ElementsAre(1, 2)));
    EXPECT_THAT(Peek("a"), Optional(ElementsAre(1, 2)));
    AdvanceOnly(12s);  // due, though nobody has visited it
    EXPECT_EQ(Peek("a"), std::nullopt);
  }

  // Of an overtaken group and its successor it sees the successor.
  Open({.quiet_period = 10s, .max_wait = kForever});
  Fold({{"a", 1, 0s}, {"a", 2, 15s}});
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(2)));
}

using Groups = std::map<std::string, std::vector<int>>;

// All that a scan in steps of `max` sees, each once; `between` runs between two calls.
template <class Between>
Groups ScanAll(const Folder<Tick, Values>& folder, size_t max, Between between) {
  Groups seen;
  ScanCursor cursor;
  for (bool more = true; more;) {
    std::vector<OpenGroup<Values>> step;
    more = folder.Scan(cursor, max, step);
    EXPECT_LE(step.size(), max);
    for (auto& group : step) {
      EXPECT_EQ(group.count, group.state.all.size());
      EXPECT_TRUE(seen.emplace(group.key, group.state.all).second) << group.key;
    }
    between();
  }
  return seen;
}

TEST_F(Features, Scan) {
  for (int partitions : {1, 7}) {
    auto engine = *Engine::Open({.partitions = partitions});
    Folder<Tick, Values> folder(*engine, "f", {.quiet_period = 10s, .max_wait = kForever});
    const auto nothing = [] {};
    EXPECT_THAT(ScanAll(folder, 10, nothing), IsEmpty());

    Groups expected;
    for (int i = 0; i < 300; ++i) {
      const std::string key = "k" + std::to_string(i);
      folder.Fold(key, {i}, kT0);
      folder.Fold(key, {-i}, kT0 + 1s);
      expected[key] = {i, -i};
    }
    for (size_t max : {1u, 3u, 299u, 300u, 1000u}) {
      EXPECT_EQ(ScanAll(folder, max, nothing), expected) << "in steps of " << max;
    }

    // While others come and go, what stays is seen, and nothing twice.
    int step = 0;
    const Groups seen = ScanAll(folder, 7, [&] {
      folder.Fold("new " + std::to_string(step), {0}, kT0 + 2s);
      folder.Cancel("new " + std::to_string(step / 2));
      ++step;
    });
    for (const auto& [key, values] : expected) EXPECT_EQ(seen.at(key), values);

    // What is due has closed, visited or not; a scan changes nothing.
    const Ledger before = folder.ledger();
    ScanAll(folder, 5, nothing);
    EXPECT_EQ(folder.ledger(), before);
    folder.Fold("late comer", {1}, kT0 + 9s);
    (void)engine->Advance(kT0 + 12s, 0);
    EXPECT_THAT(ScanAll(folder, 5, nothing), ElementsAre(testing::Key("late comer")));
  }
}

}  // namespace
}  // namespace pleat
