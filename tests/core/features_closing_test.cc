// Every way to close a group, one test a feature; what they promise is in docs/semantics.md.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

TEST_F(Features, QuietPeriodAndMaxWait) {
  for (Axis axis : kBothAxes) {
    // An event at the very deadline comes after it.
    Open({.quiet_period = 10s, .max_wait = 25s}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 10s - 1us}, {"a", 3, 20s - 1us}}),
              "opened folded opened");
    Advance(30s - 1us);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet 0 9999999us 19999999us",
                                   "a [3] quiet 19999999us 19999999us 29999999us"));

    Open({.quiet_period = 10s, .max_wait = 25s}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 9s}, {"a", 3, 18s}, {"a", 4, 25s - 1us}, {"a", 5, 25s}}),
              "opened folded folded folded opened");
    Advance(1min);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2 3 4] max_wait 0 24999999us 25", "a [5] quiet 25 25 35"));

    // Both deadlines at once.
    Open({.quiet_period = 10s, .max_wait = 15s}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 5s}, {"b", 3, 0s}, {"b", 4, 5s + 1us}}),
              "opened folded opened folded");
    Advance(100h);  // nobody looked for long, which does not show
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet 0 5 15", "b [3 4] max_wait 0 5000001us 15"));

    // The max wait runs from the event that opened, though an older one came after.
    Open({.quiet_period = 100s, .max_wait = 12s}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 10s}, {"a", 2, 5s}}), "opened folded");
    Advance(22s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(22s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] max_wait 5 10 22"));
  }
}

// On arrival time: so one wrong stamp costs its key one emission.
TEST_F(Features, AnEventTooOldForItsGroupClosesItAndOpensTheNext) {
  Open({.quiet_period = 10s, .max_wait = 25s});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 1s}, {"a", 2, 100h}, {"a", 3, 2s}, {"a", 4, 3s}}),
            "opened opened opened folded");
  EXPECT_THAT(Pop(), ElementsAre("a [2] max_wait 360000 360000 0"));
  Advance(13s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 1 1 11", "a [3 4] quiet 2 3 13"));

  // Older than the event that opened by more than the max wait, whatever has folded since.
  Open({.quiet_period = 100s, .max_wait = 25s});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 50s}, {"a", 2, 60s}, {"a", 3, 25s}, {"a", 4, 25s - 1us}}),
            "opened folded folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2 3] max_wait 25 60 0"));
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(4)));
  CloseAll();
  EXPECT_THAT(Pop(), ElementsAre("a [4] end 24999999us 24999999us 0"));

  // It needs no room for another group, and what closes is not refused.
  Open({.quiet_period = 100s, .max_wait = 25s, .edge = Edge::kBoth, .limits = {.max_groups = 1}},
       {.partitions = 1});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 50s}, {"a", 2, 60s}, {"a", 3, 1s}, {"b", 4, 2s}}),
            "opened folded opened over_limit");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 50 50 0 r1+", "a [1 2] max_wait 50 60 0 r2",
                                 "a [3] leading 1 1 0 r1+"));

  // Without a max wait nothing is too old, and on event time it is only out of order.
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = axis == Axis::kEvent ? 25s : kForever}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 100h}, {"a", 2, 0s}}), "opened folded");
    CloseAll();
    EXPECT_THAT(Pop(), SizeIs(1));
  }
}

TEST_F(Features, AWrongStampBeforeTimeHasMovedSilencesItsKeyOnce) {
  Open({.quiet_period = 1h, .max_wait = 24h});
  EXPECT_EQ(Fold({{"a", 0, kEndOfTime - kT0}}), "opened");
  for (int hour = 1; hour <= 48; ++hour) {
    EXPECT_EQ(Fold({{"a", hour, hour * 2h}}), "opened");
    Advance(hour * 2h);
  }
  EXPECT_THAT(Pop(), SizeIs(1 + 47));
}

TEST_F(Features, MaxEvents) {
  Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 2});
  Advance(1s);
  EXPECT_EQ(Fold({{"a", 1, 2s}, {"a", 2, 3s}, {"a", 3, 4s}}), "opened folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] max_events 2 3 1"));
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(3)));

  Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 2}, {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 2s}, {"a", 2, 3s}, {"a", 3, 4s}}), "opened folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] max_events 2 3 3"));

  // The engine's time may not have moved yet.
  Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 2});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}}), "opened folded");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] max_events 0 0 unmoved"));

  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 1}, {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 0s}, {"a", 3, 0s}}), "opened opened opened");
    EXPECT_THAT(Pop(), ElementsAre("a [1] max_events 0 0 0", "b [2] max_events 0 0 0",
                                   "a [3] max_events 0 0 0"));

    // An event at the deadline is not the second of the group that is due.
    Open({.quiet_period = 10s, .max_wait = kForever, .max_events = 2}, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 10s}}), "opened opened");
    Advance(20s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10", "a [2] quiet 10 10 20"));
  }
}

TEST_F(Features, MaxGroupBytes) {
  const size_t two = sizeof(Values) + 2 * sizeof(int);
  // It closes when it weighs as much, or when the next event makes it heavier.
  for (size_t cap : {two, two - 1, two - 3}) {
    Open({.quiet_period = 10s, .max_wait = kForever, .max_group_bytes = cap},
         {.axis = Axis::kEvent});
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 1s}, {"a", 3, 2s}}), "opened folded opened");
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] max_bytes 0 1 1"));
  }
  Open({.quiet_period = 10s, .max_wait = kForever, .max_group_bytes = two + 1},
       {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 1s}}), "opened folded");
  EXPECT_THAT(Pop(), IsEmpty());

  // A first event may be too heavy by itself.
  Open({.quiet_period = 10s, .max_wait = kForever, .max_group_bytes = 1});
  Advance(5s);
  EXPECT_EQ(Fold({{"a", 1, 6s}, {"a", 2, 7s}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] max_bytes 6 6 5", "a [2] max_bytes 7 7 5"));
}

TEST_F(Features, EndMark) {
  const TickRules rules = StartAndEndMarks();
  Open({.quiet_period = 10s, .max_wait = kForever}, {}, rules);
  Advance(1s);
  EXPECT_EQ(Fold({{"a", 1, 2s}, {"a", 2, 3s, {.ends = true}}, {"a", 3, 4s}}),
            "opened folded opened");
  EXPECT_EQ(Fold({{"b", 4, 2s, {.ends = true}}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] end_mark 2 3 1", "b [4] end_mark 2 2 1"));
  Advance(14s);
  EXPECT_THAT(Pop(), ElementsAre("a [3] quiet 4 4 14"));

  // At the deadline of the open group: time closes that one, the mark the next.
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 10s, {.ends = true}}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10", "a [2] end_mark 10 10 10"));

  // On arrival time the older group has to wait for its deadline, and the younger one does not.
  Open({.quiet_period = 10s, .max_wait = kForever}, {}, rules);
  Advance(5s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 10s, {.ends = true}}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [2] end_mark 10 10 5"));
  Advance(10s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));

  // An older event may be the last one.
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent, .watermark_delay = 10s},
       rules);
  EXPECT_EQ(Fold({{"a", 1, 20s}, {"a", 2, 15s, {.ends = true}}}), "opened folded");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] end_mark 15 20 10"));
}

TEST_F(Features, StartMark) {
  const TickRules rules = StartAndEndMarks();
  const Marks start{.starts = true};
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s, start}, {"a", 2, 1s}, {"a", 3, 2s, start}}), "opened folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] start_mark 0 1 2"));
  Advance(12s);
  EXPECT_THAT(Pop(), ElementsAre("a [3] quiet 2 2 12"));

  // Both marks on one event: the group before it, then its own.
  EXPECT_EQ(Fold({{"a", 4, 13s}, {"a", 5, 14s, {.starts = true, .ends = true}}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [4] start_mark 13 13 14", "a [5] end_mark 14 14 14"));

  // At the deadline time was first.
  EXPECT_EQ(Fold({{"a", 6, 20s}, {"a", 7, 30s, start}}), "opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [6] quiet 20 20 30"));

  // An older event may start the next group, whose deadline is its own.
  EXPECT_EQ(Fold({{"a", 8, 25s, start}}), "opened");
  Advance(35s);
  EXPECT_THAT(Pop(), ElementsAre("a [7] start_mark 30 30 30", "a [8] quiet 25 25 35"));

  // On arrival time a group that is overtaken by the event has closed by time, when time gets there.
  Open({.quiet_period = 10s, .max_wait = kForever}, {}, rules);
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 15s, start}}), "opened opened");
  EXPECT_THAT(Pop(), IsEmpty());
  Advance(10s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
}

TEST_F(Features, Condition) {
  TickRules rules;
  rules.condition = [](const Values& values) {
    return std::accumulate(values.all.begin(), values.all.end(), 0) >= 100;
  };
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    Advance(3s);
    EXPECT_EQ(Fold({{"a", 40, 0s}, {"b", 50, 1s}, {"a", 59, 1s}, {"a", 1, 2s}, {"a", 99, 3s}}),
              "opened opened folded folded opened");
    EXPECT_THAT(Pop(), ElementsAre("a [40 59 1] condition 0 2 3"));
    // It may hold at once, and is about one group, not about the key.
    EXPECT_EQ(Fold({{"c", 100, 3s}, {"c", 99, 3s}}), "opened opened");
    EXPECT_THAT(Pop(), ElementsAre("c [100] condition 3 3 3"));
    Advance(13s);
    EXPECT_THAT(Pop(),
                ElementsAre("b [50] quiet 1 1 11", "a [99] quiet 3 3 13", "c [99] quiet 3 3 13"));
  }
}

TEST_F(Features, OfSeveralReasonsAtOnceTheFirstWins) {
  // An event that is opened overdue, with everything else that can close a group on top.
  for (int left_out = 0; left_out < 5; ++left_out) {
    FolderOptions options{.quiet_period = 10s, .max_wait = kForever};
    TickRules rules;
    if (left_out < 1) rules.ends = [](const Tick&) { return true; };
    if (left_out < 2) rules.condition = [](const Values&) { return true; };
    if (left_out < 3) options.max_events = 1;
    if (left_out < 4) options.max_group_bytes = 1;
    Open(options, {}, rules);
    Advance(60s);
    EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
    const char* expected[] = {"a [1] end_mark 0 0 60", "a [1] condition 0 0 60",
                              "a [1] max_events 0 0 60", "a [1] max_bytes 0 0 60",
                              "a [1] quiet 0 0 10"};
    EXPECT_THAT(Pop(), ElementsAre(expected[left_out]));
  }
}

TEST_F(Features, QuietPeriodPerEvent) {
  const TickRules rules = OwnQuietPeriods();
  for (Axis axis : kBothAxes) {
    // An event without one of its own has the folder's, and makes no deadline earlier.
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"a", 1, 0s, {.quiet = 60s}}, {"a", 2, 5s}}), "opened folded");
    Advance(60s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    EXPECT_EQ(Fold({{"a", 3, 60s - 1us, {.quiet = 2us}}, {"a", 4, 60s + 1us}}), "folded opened");
    Advance(61s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2 3] quiet 0 59999999us 60000001us"));

    // A shorter one than the folder's.
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"b", 1, 0s, {.quiet = 3s}}, {"b", 2, 2s, {.quiet = 1s}}, {"b", 3, 3s}}),
              "opened folded opened");
    Advance(13s);
    EXPECT_THAT(Pop(), ElementsAre("b [1 2] quiet 0 2 3", "b [3] quiet 3 3 13"));

    // An older event can ask for the latest deadline.
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"c", 1, 10s}, {"c", 2, 5s, {.quiet = 30s}}}), "opened folded");
    Advance(35s);
    EXPECT_THAT(Pop(), ElementsAre("c [1 2] quiet 5 10 35"));

    // The max wait counts all the same; at one instant the reason is quiet.
    Open({.quiet_period = 10s, .max_wait = 20s}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"d", 1, 0s, {.quiet = 60s}}, {"e", 2, 0s, {.quiet = 20s}}}), "opened opened");
    Advance(20s);
    EXPECT_THAT(Pop(), ElementsAre("d [1] max_wait 0 0 20", "e [2] quiet 0 0 20"));

    // Whether a group is opened overdue depends on its event too.
    EXPECT_EQ(Fold({{"f", 1, 8s}, {"g", 2, 8s, {.quiet = 13s}}}), "opened opened");
    EXPECT_THAT(Pop(), ElementsAre("f [1] quiet 8 8 18"));
    Advance(21s);
    EXPECT_THAT(Pop(), ElementsAre("g [2] quiet 8 8 21"));

    // One that lasts for ever.
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"h", 1, 0s, {.quiet = kForever}}, {"h", 2, 1s}}), "opened folded");
    Advance(10'000h);
    EXPECT_THAT(Pop(), IsEmpty());
    EXPECT_THAT(Peek("h"), Optional(ElementsAre(1, 2)));
  }
}

TEST_F(Features, QuietPeriodPerKeyClass) {
  TickRules rules;
  rules.quiet_period = [](std::string_view key, const Tick&) -> Duration {
    return key.starts_with("slow:") ? 60s : key.starts_with("fast:") ? 1s : 0s;
  };
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"slow:a", 1, 0s}, {"a", 2, 0s}, {"fast:a", 3, 0s}}), "opened opened opened");
    EXPECT_EQ(Fold({{"slow:a", 4, 1s}, {"a", 5, 1s}, {"fast:a", 6, 1s}}), "folded folded opened");
    Advance(61s);
    EXPECT_THAT(Pop(), ElementsAre("fast:a [3] quiet 0 0 1", "fast:a [6] quiet 1 1 2",
                                   "a [2 5] quiet 0 1 11", "slow:a [1 4] quiet 0 1 61"));
  }
}

// Keys that come back after 30 s, over and over: when 16 have come, that is worth waiting for.
TEST_F(Features, QuietPeriodThatAdapts) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 100s, .quiet_floor = 10s, .max_wait = kForever}, {.axis = axis});
    for (int i = 0; i < 20; ++i) {
      const Duration at = i * 200s;
      const std::string key = "k" + std::to_string(i);
      Advance(at);
      EXPECT_EQ(Fold({{key, 1, at}}), "opened");
      Advance(at + 30s);
      EXPECT_EQ(Fold({{key, 2, at + 30s}}), i < 15 ? "opened" : "folded") << i;
      // What comes behind the second event never folds, so that it does not wait for more.
      Advance(at + 190s);
      const std::string t = std::to_string(i * 200);
      const auto after = [i](int seconds) { return std::to_string(i * 200 + seconds); };
      if (i < 15) {
        EXPECT_THAT(Pop(), ElementsAre(key + " [1] quiet " + t + " " + t + " " + after(10),
                                       key + " [2] quiet " + after(30) + " " + after(30) + " " +
                                           after(40)));
      } else {
        EXPECT_THAT(Pop(),
                    ElementsAre(key + " [1 2] quiet " + t + " " + after(30) + " " + after(40)));
      }
    }
  }
}

TEST_F(Features, QuietPeriodThatAdaptsPerKeyClass) {
  TickRules rules;
  rules.key_class = [](std::string_view key, const Tick&) -> uint32_t {
    return key.starts_with("back:") ? 1 : 2;
  };
  Open({.quiet_period = 100s, .quiet_floor = 10s, .max_wait = kForever}, {.axis = Axis::kEvent},
       rules);
  for (int i = 0; i < 20; ++i) {
    const Duration at = i * 200s;
    const std::string back = "back:" + std::to_string(i);
    const std::string gone = "gone:" + std::to_string(i);
    Fold({{back, 1, at}, {gone, 1, at}, {back, 2, at + 30s}});
  }
  Fold({{"back:x", 1, 5000s}, {"gone:x", 2, 5000s}});
  Pop();
  Advance(6000s);
  EXPECT_THAT(Pop(),
              ElementsAre("gone:x [2] quiet 5000 5000 5010", "back:x [1] quiet 5000 5000 5035"));
}

// One that the event brings along counts, and the key is learned from all the same.
TEST_F(Features, QuietPeriodOfTheEventsOwnGoesBeforeALearnedOne) {
  Open({.quiet_period = 100s, .quiet_floor = 10s, .max_wait = kForever}, {}, OwnQuietPeriods());
  EXPECT_EQ(Fold({{"a", 1, 0s, {.quiet = 500s}}, {"b", 2, 0s}}), "opened opened");
  Advance(600s);
  EXPECT_THAT(Pop(), ElementsAre("b [2] quiet 0 0 10", "a [1] quiet 0 0 500"));
}

// Keys that come and go leave something behind until the ceiling.
TEST_F(Features, QuietPeriodThatAdaptsForgetsKeysThatDoNotComeBack) {
  Open({.quiet_period = 100s, .quiet_floor = 10s, .max_wait = kForever}, {.axis = Axis::kEvent});
  for (int i = 0; i < 1000; ++i) Fold({{"k" + std::to_string(i), 1, 0s}});
  Advance(99s);
  Pop();
  EXPECT_GT(sizes().bytes, 0u);
  Advance(101s);
  Pop();
  EXPECT_EQ(sizes().bytes, 0u);
}

TEST_F(Features, Flush) {
  Open({.quiet_period = 10s, .max_wait = kForever});
  Advance(3s);
  Fold({{"a", 1, 3s}, {"b", 1, 3s}});
  EXPECT_TRUE(Flush("b"));
  EXPECT_TRUE(Flush("a"));
  EXPECT_FALSE(Flush("a"));
  EXPECT_FALSE(Flush("no such key"));
  EXPECT_THAT(Pop(), ElementsAre("b [1] flush 3 3 3", "a [1] flush 3 3 3"));

  // The deadline of the flushed group is none of the next one's.
  EXPECT_EQ(Fold({{"a", 2, 4s}}), "opened");
  Advance(13s);
  EXPECT_THAT(Pop(), IsEmpty());
  // What is due has closed, whether or not anybody has visited it.
  AdvanceOnly(14s);
  EXPECT_FALSE(Flush("a"));
  EXPECT_THAT(Pop(), ElementsAre("a [2] quiet 4 4 14"));

  // Of an overtaken group and its successor it closes the successor.
  EXPECT_EQ(Fold({{"a", 3, 14s}, {"a", 4, 30s}}), "opened opened");
  EXPECT_TRUE(Flush("a"));
  EXPECT_FALSE(Flush("a"));
  EXPECT_THAT(Pop(), ElementsAre("a [4] flush 30 30 14"));
  Advance(24s);
  EXPECT_THAT(Pop(), ElementsAre("a [3] quiet 14 14 24"));

  // Among what events close it has its place in the order of input.
  Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = Axis::kEvent}, StartAndEndMarks());
  Fold({{"a", 1, 1s}, {"x", 2, 2s, {.ends = true}}});
  EXPECT_TRUE(Flush("a"));
  Fold({{"y", 3, 2s, {.ends = true}}});
  EXPECT_THAT(Pop(),
              ElementsAre("x [2] end_mark 2 2 2", "a [1] flush 1 1 2", "y [3] end_mark 2 2 2"));
}

TEST_F(Features, Cancel) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis});
    Fold({{"a", 1, 0s}, {"b", 2, 0s}});
    EXPECT_TRUE(Cancel("a"));
    EXPECT_FALSE(Cancel("a"));
    EXPECT_FALSE(Cancel("no such key"));
    EXPECT_EQ(Peek("a"), std::nullopt);

    EXPECT_EQ(Fold({{"a", 3, 5s}}), "opened");
    Advance(10s);
    EXPECT_THAT(Pop(), ElementsAre("b [2] quiet 0 0 10"));
    AdvanceOnly(15s);
    EXPECT_FALSE(Cancel("a"));  // too late
    EXPECT_THAT(Pop(), ElementsAre("a [3] quiet 5 5 15"));
    EXPECT_EQ(Columns(), "events 3 opened 3 closed 2 cancelled 1 popped 2");
  }
}

}  // namespace
}  // namespace pleat
