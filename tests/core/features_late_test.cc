// What becomes of late events and of events that were there before, one test a feature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST_F(Features, LateRejected) {
  const FolderOptions options{
      .quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 5s}};
  Open(options, {}, StartAndEndMarks());
  // Nothing is late before time has first moved.
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, -1000s}}), "opened folded");
  Advance(20s);
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] quiet -1000 0 10"));
  EXPECT_EQ(Fold({{"a", 3, 15s}, {"a", 4, 15s - 1us}, {"b", 5, 15s - 1us}}), "opened late late");
  // It closes nothing either.
  EXPECT_EQ(Fold({{"a", 6, 14s, {.ends = true}}, {"a", 7, 14s, {.starts = true}}}), "late late");
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(3)));
  EXPECT_EQ(Peek("b"), std::nullopt);
  EXPECT_EQ(Columns(), "events 7 opened 2 folded 1 late 4 closed 1 popped 1 open 1");

  // On event time the limit is measured from the watermark.
  Open(options, {.axis = Axis::kEvent, .watermark_delay = 3s});
  EXPECT_EQ(Fold({{"a", 1, 23s}, {"b", 2, 15s}, {"b", 3, 15s - 1us}}), "opened opened late");
  EXPECT_EQ(engine().now(), kT0 + 20s);
  EXPECT_EQ(Fold({{"a", 4, 24s}, {"b", 5, 15s}, {"b", 6, 16s}}), "folded late folded");

  // A limit of nothing still takes an event at the engine's time.
  Open({.quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 0s}},
       {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 1s}, {"a", 2, 1s}, {"a", 3, 1s - 1us}}), "opened folded late");
}

TEST_F(Features, LateFolded) {
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s,
          .max_wait = kForever,
          .late = {.allowed_lateness = 5s, .on_late = OnLate::kFold}},
         {.axis = axis}, StartAndEndMarks());
    Advance(20s);
    EXPECT_EQ(Fold({{"a", 1, 18s}, {"a", 2, 3s}, {"b", 3, 3s}}), "opened folded opened");
    EXPECT_THAT(Pop(), ElementsAre("b [3] quiet 3 3 13"));
    EXPECT_EQ(Columns(), "events 3 opened 2 folded 1 closed 1 popped 1 open 1 late_folded 2");
    // Like any other, its marks included; at the limit an event is not late.
    EXPECT_EQ(Fold({{"a", 4, 4s, {.starts = true}}, {"c", 5, 15s}, {"c", 6, 4s, {.ends = true}}}),
              "opened opened folded");
    EXPECT_THAT(Pop(), ElementsAre("a [1 2] start_mark 3 18 20", "a [4] quiet 4 4 14",
                                   "c [5 6] end_mark 4 15 20"));
    EXPECT_EQ(ledger().late_folded, 4u);
    EXPECT_EQ(ledger().late, 0u);
  }
}

TEST_F(Features, LateCorrected) {
  const FolderOptions options{.quiet_period = 10s,
                              .max_wait = kForever,
                              .late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect}};
  for (Axis axis : kBothAxes) {
    Open(options, {.axis = axis}, StartAndEndMarks());
    EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
    Advance(20s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
    EXPECT_EQ(Fold({{"a", 2, 3s}, {"b", 3, 3s}}), "corrected corrected");
    EXPECT_THAT(Pop(), ElementsAre("a [2] correction 3 3 20 corrects 0",
                                   "b [3] correction 3 3 20"));  // nothing of b was handed out

    // It touches no group, whatever it carries, and is not corrected itself.
    EXPECT_EQ(Fold({{"a", 4, 18s}, {"a", 5, 4s, {.starts = true, .ends = true}}, {"a", 6, 15s}}),
              "opened corrected folded");
    EXPECT_THAT(Peek("a"), Optional(ElementsAre(4, 6)));
    Advance(28s);
    EXPECT_THAT(Pop(), ElementsAre("a [5] correction 4 4 20 corrects 0", "a [4 6] quiet 15 18 28"));
    EXPECT_EQ(Fold({{"a", 7, 3s}}), "corrected");
    EXPECT_THAT(Pop(), ElementsAre("a [7] correction 3 3 28 corrects 4"));
    EXPECT_EQ(Columns(), "events 7 opened 2 folded 1 corrected 4 closed 2 popped 6");

    // Ten times allowed lateness and quiet period after 28 s it is forgotten.
    Advance(178s - 1us);
    EXPECT_EQ(Fold({{"a", 8, 3s}}), "corrected");
    EXPECT_THAT(Pop(), ElementsAre("a [8] correction 3 3 177999999us corrects 4"));
    Advance(178s + 1us);
    EXPECT_EQ(Fold({{"a", 9, 3s}}), "corrected");
    EXPECT_THAT(Pop(), ElementsAre("a [9] correction 3 3 178000001us"));
  }
}

TEST_F(Features, LateCorrectedNamesLeadingAndPartialEmissionsToo) {
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .edge = Edge::kBoth,
        .partial_every = 4s,
        .late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect}});
  Advance(20s);
  EXPECT_EQ(Fold({{"a", 1, 20s}, {"a", 2, 10s}, {"a", 3, 21s}, {"a", 4, 10s}}),
            "opened corrected folded corrected");
  EXPECT_THAT(Pop(),
              ElementsAre("a [1] leading 20 20 20 r1+", "a [2] correction 10 10 20 corrects 0",
                          "a [4] correction 10 10 20 corrects 0"));
  Advance(24s);
  // It need not be popped to be named; nor does a correction count as an emission of the group.
  EXPECT_EQ(Fold({{"a", 5, 10s}}), "corrected");
  EXPECT_THAT(Pop(),
              ElementsAre("a [1 3] partial 20 21 24 r2+", "a [5] correction 10 10 24 corrects 3"));
  Advance(31s);
  EXPECT_THAT(Pop(), ElementsAre("a [1 3] quiet 20 21 31 r3"));
}

TEST_F(Features, IdDuplicate) {
  const FolderOptions options{
      .quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 60s}};
  TickRules rules = Ids();
  rules.starts = StartAndEndMarks().starts;
  rules.ends = StartAndEndMarks().ends;
  Open(options, {}, rules);
  Advance(0s);
  // Each key has its own; no bytes are no id.
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}},
                  {"a", 1, 5s, {.id = "x"}},
                  {"b", 1, 5s, {.id = "x"}},
                  {"a", 1, 0s, {.id = ""}},
                  {"a", 1, 0s, {.id = ""}},
                  {"a", 1, 0s, {.id = {"x\0", 2}}}}),
            "opened duplicate opened folded folded folded");
  // It does not keep its group open, and does not come back when that is gone.
  Advance(10s);
  EXPECT_THAT(Pop(), ElementsAre("a [1 1 1 1] quiet 0 0 10"));
  EXPECT_EQ(Fold({{"a", 1, 11s, {.id = "x"}}}), "duplicate");
  EXPECT_EQ(Peek("a"), std::nullopt);
  // Its marks say nothing.
  EXPECT_EQ(
      Fold({{"b", 1, 11s, {.ends = true, .id = "x"}}, {"b", 1, 11s, {.starts = true, .id = "x"}}}),
      "duplicate duplicate");
  EXPECT_THAT(Peek("b"), Optional(ElementsAre(1)));
  EXPECT_EQ(Columns(), "events 9 opened 2 folded 3 duplicate 4 closed 1 popped 1 open 1");
  // Late comes first: nobody remembers for certain any more.
  Advance(61s);
  EXPECT_EQ(Fold({{"b", 1, 1s - 1us, {.id = "x"}}, {"b", 1, 1s, {.id = "x"}}}), "late duplicate");

  // On event time it says what time it is like any other event.
  Open(options, {.axis = Axis::kEvent}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}, {"a", 1, 30s, {.id = "x"}}}), "opened duplicate");
  EXPECT_EQ(engine().now(), kT0 + 30s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));

  // Only what was folded is remembered.
  FolderOptions one = options;
  one.limits.max_groups = 1;
  Open(one, {}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}, {"b", 2, 0s, {.id = "x"}}}), "opened over_limit");
  EXPECT_TRUE(Flush("a"));
  EXPECT_EQ(Fold({{"b", 2, 0s, {.id = "x"}}, {"a", 1, 0s, {.id = "x"}}}), "opened duplicate");

  // What was cancelled was folded.
  EXPECT_TRUE(Cancel("b"));
  EXPECT_EQ(Fold({{"b", 2, 0s, {.id = "x"}}}), "duplicate");
}

TEST_F(Features, IdConflict) {
  const FolderOptions options{
      .quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 60s}};
  for (Axis axis : kBothAxes) {
    Open(options, {.axis = axis}, Ids());
    EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}},
                    {"a", 2, 0s, {.id = "x"}},
                    {"a", 2, 5s, {.id = "x"}},    // the conflicting one was not remembered
                    {"a", 1, 5s, {.id = "x"}},    // and the first one was not forgotten
                    {"b", 2, 5s, {.id = "x"}}}),  // another key's
              "opened conflict conflict duplicate opened");
    Advance(10s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
    EXPECT_EQ(Fold({{"a", 2, 10s, {.id = "x"}}}), "conflict");
    EXPECT_EQ(Columns(), "events 6 opened 2 duplicate 1 conflict 3 closed 1 popped 1 open 1");
  }

  // Who does not say what the content is has no conflicts.
  TickRules rules;
  rules.id = Ids().id;
  Open(options, {}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}, {"a", 2, 0s, {.id = "x"}}}), "opened duplicate");
}

TEST_F(Features, IdForgottenWithItsStamp) {
  const FolderOptions options{
      .quiet_period = 10s, .max_wait = kForever, .late = {.allowed_lateness = 60s}};
  for (Axis axis : kBothAxes) {
    Open(options, {.axis = axis}, Ids());
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}, {"a", 2, -30s, {.id = "y"}}}), "opened folded");
    const size_t both = sizes().bytes;
    Advance(30s);
    EXPECT_EQ(Pop().size(), 1u);
    EXPECT_EQ(Fold({{"a", 2, 30s, {.id = "y"}}}), "duplicate");  // -30 s would still be taken
    Advance(30s + 1us);
    EXPECT_LT(sizes().bytes, both);
    EXPECT_EQ(Fold({{"a", 3, 30s, {.id = "y"}}, {"a", 1, 30s, {.id = "x"}}}), "opened duplicate");
    EXPECT_EQ(Fold({{"a", 2, 30s, {.id = "y"}}}), "conflict");  // with the new one

    // A duplicate does not make it live longer.
    Advance(60s);
    EXPECT_EQ(Fold({{"a", 1, 60s, {.id = "x"}}}), "duplicate");
    Advance(60s + 1us);
    EXPECT_EQ(Fold({{"a", 1, 60s, {.id = "x"}}}), "opened");
    // Then nothing is left, without anybody coming to look.
    for (int i = 0; i < 100 && engine().NextDeadline(); ++i)
      Advance(*engine().NextDeadline() - kT0);
    EXPECT_EQ(engine().NextDeadline(), std::nullopt);
    Pop();
    EXPECT_EQ(sizes(), Sizes{});
  }

  // A retry that is stamped anew is known for as long as the deduplication window says.
  FolderOptions longer = options;
  longer.late.deduplication_window = 1h;
  for (Axis axis : kBothAxes) {
    Open(longer, {.axis = axis}, Ids());
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}}), "opened");
    Advance(1h);
    EXPECT_EQ(Fold({{"a", 1, 1h, {.id = "x"}}}), "duplicate");
    Advance(1h + 1us);
    EXPECT_EQ(Fold({{"a", 1, 1h, {.id = "x"}}}), "opened");
  }

  // Before time has first moved nothing is.
  Open(options, {}, Ids());
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "x"}}, {"a", 1, 10'000s, {.id = "x"}}}), "opened duplicate");
}

}  // namespace
}  // namespace pleat
