// What happens at a limit on groups, bytes or the length of a key, one test a policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Optional;

// A key of a thousand bytes.
std::string LongKey(int i) {
  std::string key = std::to_string(i);
  key.resize(1000, '.');
  return key;
}

TEST_F(Features, LimitOnGroupsRefuses) {
  Open({.quiet_period = 10s, .max_wait = kForever, .limits = {.max_groups = 2}});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 5s}, {"c", 3, 6s}, {"a", 4, 6s}}),
            "opened opened over_limit folded");
  // Without a trace.
  const Sizes before = sizes();
  const auto deadline = engine().NextDeadline();
  EXPECT_EQ(Fold({{"c", 3, 6s}, {"c", 3, 3s}}), "over_limit over_limit");
  EXPECT_EQ(Peek("c"), std::nullopt);
  EXPECT_EQ(sizes(), before);
  EXPECT_EQ(engine().NextDeadline(), deadline);

  // What has closed makes room, popped or not; so does what is dropped.
  Advance(15s);
  EXPECT_EQ(Fold({{"c", 3, 15s}}), "opened");
  EXPECT_TRUE(Cancel("c"));
  // A group that is overtaken counts until time gets to its deadline.
  EXPECT_EQ(Fold({{"a", 5, 20s}, {"d", 6, 20s}}), "opened over_limit");
  Advance(16s);
  EXPECT_EQ(Fold({{"d", 6, 20s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("b [2] quiet 5 5 15", "a [1 4] quiet 0 6 16"));
  EXPECT_EQ(ledger().over_limit, 4u);
  EXPECT_EQ(ledger().over_byte_limit, 0u);
}

TEST_F(Features, LimitOnGroupsRefusesEverythingThatAnEventWouldHaveDone) {
  const TickRules rules = StartAndEndMarks();
  // It overtakes nothing.
  Open({.quiet_period = 10s, .max_wait = kForever, .limits = {.max_groups = 1}}, {}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 15s}, {"a", 3, 15s, {.starts = true}}, {"a", 4, 5s}}),
            "opened over_limit over_limit folded");
  EXPECT_THAT(Peek("a"), Optional(ElementsAre(1, 4)));
  // A start mark makes the room that it needs, in its own group.
  EXPECT_EQ(Fold({{"a", 5, 6s, {.starts = true}}, {"b", 6, 6s, {.starts = true}}}),
            "opened over_limit");
  EXPECT_THAT(Pop(), ElementsAre("a [1 4] start_mark 0 5 unmoved"));

  // It cuts no partial.
  Open({.quiet_period = 60s,
        .max_wait = kForever,
        .partial_every = 40s,
        .limits = {.max_groups = 1}});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 60s}, {"a", 3, 39s}}), "opened over_limit folded");
  Advance(40s);
  EXPECT_THAT(Pop(), ElementsAre("a [1 3] partial 0 39 40 r1+"));

  // Neither a group of one event nor a leading edge goes past it.
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .edge = Edge::kLeading,
        .limits = {.max_groups = 1}},
       {}, rules);
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 0s, {.ends = true}}}), "opened over_limit");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+"));

  // On event time a refused event still moves the watermark.
  Open({.quiet_period = 10s, .max_wait = kForever, .limits = {.max_groups = 1}},
       {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 9s}, {"b", 3, 10s}}), "opened over_limit opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
}

TEST_F(Features, LimitOnGroupsEmitsOldest) {
  const FolderOptions two{.quiet_period = 10s,
                          .max_wait = kForever,
                          .limits = {.max_groups = 2, .on_limit = OnLimit::kEmitOldest}};
  Open(two);
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 5s}, {"c", 3, 6s}}), "opened opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] limit 0 0 0"));
  // The one that would close next, not the one that opened first; of two the one that did.
  EXPECT_EQ(Fold({{"b", 4, 7s}, {"d", 5, 7s}, {"e", 6, 8s}}), "folded opened opened");
  EXPECT_THAT(Pop(), ElementsAre("c [3] limit 6 6 0", "b [2 4] limit 5 7 0"));
  EXPECT_EQ(sizes().open_groups, 2u);
  EXPECT_EQ(ledger().over_limit, 0u);

  // Overtaken ones among them, which have closed already, at their deadline.
  Open(two);
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 15s}, {"b", 3, 14s}}), "opened opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] quiet 0 0 10"));
  EXPECT_EQ(Fold({{"c", 4, 17s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("b [3] limit 14 14 0"));

  // What would be handed out next as a partial counts as well.
  Open({.quiet_period = 100s,
        .max_wait = kForever,
        .partial_every = 30s,
        .limits = {.max_groups = 2, .on_limit = OnLimit::kEmitOldest}},
       {}, OwnQuietPeriods());
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 1s, {.quiet = 40s}}, {"c", 3, 2s}}),
            "opened opened opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] limit 0 0 0"));

  // Its grid counts for a group that has not changed, too: a's next is at 60 s, b's at 70 s.
  Open({.quiet_period = 100s,
        .max_wait = kForever,
        .partial_every = 30s,
        .limits = {.max_groups = 2, .on_limit = OnLimit::kEmitOldest}},
       {}, OwnQuietPeriods());
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.quiet = 500s}}, {"b", 2, 10s}}), "opened opened");
  Advance(45s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 30 r1+", "b [2] partial 10 10 40 r1+"));
  EXPECT_EQ(Fold({{"c", 3, 45s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] limit 0 0 45 r2"));
  // b's next is at 100 s by now, c's at 105 s.
  Advance(80s);
  EXPECT_THAT(Pop(), ElementsAre("c [3] partial 45 45 75 r1+"));
  EXPECT_EQ(Fold({{"d", 4, 80s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("b [2] limit 10 10 80 r2"));

  // The next one from now on counts, however long ago the last one was: a's is at 120 s, b's at 110 s.
  Open({.quiet_period = 500s,
        .max_wait = kForever,
        .partial_every = 30s,
        .limits = {.max_groups = 2, .on_limit = OnLimit::kEmitOldest}});
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s}}), "opened");
  Advance(50s);
  EXPECT_EQ(Fold({{"b", 2, 50s}}), "opened");
  Advance(100s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 30 r1+", "b [2] partial 50 50 80 r1+"));
  EXPECT_EQ(Fold({{"c", 3, 100s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("b [2] limit 50 50 100 r2"));

  // A partial that would come at the deadline or later does not count: b's grid is at 62 s, a's deadline at 112 s.
  FolderOptions partials = two;
  partials.quiet_period = 60s;
  partials.partial_every = 50s;
  Open(partials);
  Advance(12s);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 12s}}), "opened opened");
  Advance(52s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 50 r1+"));
  EXPECT_EQ(Fold({{"a", 3, 52s}, {"c", 4, 52s}}), "folded opened");
  EXPECT_THAT(Pop(), ElementsAre("b [2] limit 12 12 52"));

  // An overtaken group comes out with its partials.
  partials.partial_every = 40s;
  Open(partials);
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 60s}}), "opened opened");
  EXPECT_EQ(ledger().open, 2u);
  EXPECT_EQ(Fold({{"b", 3, 60s}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] partial 0 0 40 r1+", "a [1] quiet 0 0 60 r2"));
}

TEST_F(Features, LimitOnGroupsEmitsOldestOnlyForWhatNeedsRoom) {
  FolderOptions one{.quiet_period = 10s,
                    .max_wait = kForever,
                    .late = {.allowed_lateness = 5s},
                    .limits = {.max_groups = 1, .on_limit = OnLimit::kEmitOldest}};
  TickRules rules = StartAndEndMarks();
  rules.id = Ids().id;
  Open(one, {.axis = Axis::kEvent}, rules);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "1"}},
                  {"a", 1, 1s, {.id = "1"}},
                  {"b", 1, -5s, {.id = "1"}},
                  {"a", 2, 1s, {.id = "2"}},
                  {"a", 3, 2s, {.starts = true, .id = "3"}}}),
            "opened duplicate late folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] start_mark 0 1 2"));
  // First what made room, then what the event closed itself.
  EXPECT_EQ(Fold({{"b", 4, 3s, {.ends = true, .id = "4"}}}), "opened");
  EXPECT_THAT(Pop(), ElementsAre("a [3] limit 2 2 3", "b [4] end_mark 3 3 3"));

  // A leading edge has said it already.
  one.edge = Edge::kLeading;
  Open(one, {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 0s}, {"b", 3, 1s}}), "opened folded opened");
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "b [3] leading 1 1 1 r1+"));
  EXPECT_EQ(Columns(), "events 3 opened 2 folded 1 closed 1 silent 1 partial 2 popped 2 open 1");
}

constexpr size_t kMiB = size_t{1} << 20;

TEST_F(Features, LimitOnBytesRefuses) {
  Open({.quiet_period = 10s, .max_wait = kForever, .limits = {.max_bytes = kMiB}});
  int groups = 0;
  while (groups < 2000 && Fold({{LongKey(groups), 1, 0s}}) == "opened") {
    ++groups;
    EXPECT_LE(sizes().bytes, kMiB);
  }
  EXPECT_THAT(groups, AllOf(Ge(500), Le(1048)));

  // Without a trace.
  const Sizes before = sizes();
  EXPECT_EQ(Fold({{LongKey(groups), 1, 0s}, {LongKey(groups + 1), 1, 0s}}),
            "over_limit over_limit");
  EXPECT_EQ(Peek(LongKey(groups)), std::nullopt);
  EXPECT_EQ(sizes(), before);

  // An open group whose state can grow has its end too; that of others stays as it is.
  std::vector<int> taken = {1};
  while (taken.size() < 10'000 && Fold({{LongKey(0), 2, 1s}}) == "folded") taken.push_back(2);
  EXPECT_LT(taken.size(), 10'000u);
  EXPECT_THAT(Peek(LongKey(0)), Optional(taken));
  EXPECT_LE(sizes().bytes, kMiB);

  // What has closed holds its bytes until it is popped.
  Advance(1min);
  EXPECT_EQ(Fold({{LongKey(groups), 1, 1min}}), "over_limit");
  EXPECT_EQ(Pop().size(), static_cast<size_t>(groups));
  EXPECT_EQ(Fold({{LongKey(groups), 1, 1min}}), "opened");
}

// Owns nothing, so an open group of it never needs room.
struct TickCount {
  int64_t count = 0;
  void Fold(const Tick&) noexcept { ++count; }
};

TEST_F(Features, LimitOnBytesRefusesNothingThatNeedsNoBytes) {
  auto engine = *Engine::Open({.partitions = 1});
  Folder<Tick, TickCount> folder(
      *engine, "f", {.quiet_period = 10s, .max_wait = kForever, .limits = {.max_bytes = kMiB}});
  int groups = 0;
  while (groups < 2000 && folder.Fold(LongKey(groups), {1}, kT0) == FoldOutcome::kOpened) ++groups;
  EXPECT_LT(groups, 1048);
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(folder.Fold(LongKey(0), {1}, kT0), FoldOutcome::kFolded);
  EXPECT_LE(folder.sizes().bytes, kMiB);
}

TEST_F(Features, LimitOnBytesRefusesNewIds) {
  FoldRules<Tick, TickCount> rules;
  rules.id = [](const Tick& tick) { return tick.marks.id; };
  auto engine = *Engine::Open({.partitions = 1});
  Folder<Tick, TickCount> folder(*engine, "f",
                                 {.quiet_period = 1h,
                                  .max_wait = kForever,
                                  .late = {.allowed_lateness = 1min},
                                  .limits = {.max_bytes = kMiB}},
                                 std::move(rules));
  size_t ids = 0;
  const auto fold = [&](size_t id, Duration after) {
    const std::string name = LongKey(static_cast<int>(id));
    return folder.Fold("a", {1, {.id = name}}, kT0 + after);
  };
  FoldOutcome outcome = fold(0, 0s);
  EXPECT_EQ(outcome, FoldOutcome::kOpened);
  do {
    outcome = fold(++ids, 0s);
    EXPECT_LE(folder.sizes().bytes, kMiB);
  } while (outcome == FoldOutcome::kFolded && ids < 1'000'000);
  EXPECT_EQ(outcome, FoldOutcome::kOverLimit);
  EXPECT_EQ(folder.ledger().over_limit, 1u);
  EXPECT_EQ(folder.Peek("a")->count, ids);
  EXPECT_EQ(fold(0, 0s), FoldOutcome::kDuplicate);
  EXPECT_EQ(fold(ids, 0s), FoldOutcome::kOverLimit);  // a refused one is not remembered

  engine->Advance(kT0 + 1min + 1us);
  EXPECT_EQ(fold(ids, 1min), FoldOutcome::kFolded);
}

TEST_F(Features, LimitOnBytesEmitsOldest) {
  Open({.quiet_period = 1h,
        .max_wait = kForever,
        .limits = {.max_bytes = kMiB, .on_limit = OnLimit::kEmitOldest}});
  Advance(0s);
  // Who pops is never refused, and gets the oldest first.
  int next = 0;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(Fold({{LongKey(i), i, i * 1ms}}), "opened");
    for (const std::string& line : Pop()) {
      EXPECT_THAT(line, HasSubstr("[" + std::to_string(next) + "] limit"));
      ++next;
    }
    EXPECT_LE(sizes().bytes, kMiB / 8 * 7 + 2000);
  }
  EXPECT_EQ(next + static_cast<int>(sizes().open_groups), 3000);
  EXPECT_THAT(sizes().open_groups, AllOf(Ge(400u), Le(950u)));

  // Who does not pop is, in the end.
  int i = 3000;
  while (i < 6000 && Fold({{LongKey(i), i, i * 1ms}}) == "opened") ++i;
  EXPECT_LT(i, 6000);
  EXPECT_LE(sizes().bytes, kMiB);
  EXPECT_EQ(ledger().over_limit, 1u);
  EXPECT_GT(Pop().size(), 0u);
  EXPECT_EQ(Fold({{LongKey(i), i, i * 1ms}}), "opened");
}

// Grows by what the event says.
struct Heavy {
  size_t bytes = 0;
  void Fold(const Tick& tick) noexcept { bytes += static_cast<size_t>(tick.value); }
  size_t HeapBytes() const noexcept { return bytes; }
};

TEST_F(Features, LimitOnBytesEmitsTheOneGroupThatHoldsThemAll) {
  auto engine = *Engine::Open({.partitions = 1});
  Folder<Tick, Heavy> folder(*engine, "f",
                             {.quiet_period = 1h,
                              .max_wait = kForever,
                              .limits = {.max_bytes = kMiB, .on_limit = OnLimit::kEmitOldest}});
  engine->Advance(kT0);
  size_t popped_bytes = 0;
  size_t limited = 0;
  for (int i = 0; i < 1000; ++i) {
    const FoldOutcome outcome = folder.Fold("a", {10'000}, kT0 + i * 1ms);
    ASSERT_THAT(outcome, testing::AnyOf(FoldOutcome::kOpened, FoldOutcome::kFolded));
    EXPECT_LE(folder.sizes().bytes, kMiB);
    for (const auto& emission : folder.Pop(10)) {
      EXPECT_EQ(emission.reason, Reason::kLimit);
      popped_bytes += emission.state.bytes;
      ++limited;
    }
  }
  EXPECT_EQ(popped_bytes + folder.Peek("a")->state.bytes, 10'000'000u);
  EXPECT_THAT(limited, AllOf(Ge(9u), Le(25u)));
}

TEST_F(Features, LimitOnBytesEmitsForTheEventThatNeedsTheRoom) {
  auto engine = *Engine::Open({.partitions = 1});
  Folder<Tick, Heavy> folder(*engine, "f",
                             {.quiet_period = 1h,
                              .max_wait = kForever,
                              .limits = {.max_bytes = kMiB, .on_limit = OnLimit::kEmitOldest}});
  engine->Advance(kT0);
  // How much a group grows by is not known before, so that it can leave no room by itself.
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(folder.Fold("a", {600'000}, kT0), FoldOutcome::kOpened);
    EXPECT_EQ(folder.Pop(10).size(), i == 0 ? 0u : 1u);
    ASSERT_EQ(folder.Fold("a", {600'000}, kT0), FoldOutcome::kFolded);
  }
  // That is so for who pops.
  EXPECT_EQ(folder.Fold("a", {1}, kT0), FoldOutcome::kOpened);
  EXPECT_EQ(folder.Fold("b", {1}, kT0), FoldOutcome::kOverLimit);
  EXPECT_EQ(folder.ledger().over_byte_limit, 1u);
  EXPECT_EQ(folder.Pop(10).size(), 1u);
  EXPECT_EQ(folder.Fold("b", {1}, kT0), FoldOutcome::kOpened);

  // Nor is there room for a single one.
  Folder<Tick, Heavy> small(*engine, "g",
                            {.quiet_period = 1h,
                             .max_wait = kForever,
                             .limits = {.max_bytes = 100, .on_limit = OnLimit::kEmitOldest}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(small.Fold(LongKey(i), {1}, kT0), FoldOutcome::kOpened);
    EXPECT_EQ(small.Pop(10).size(), i == 0 ? 0u : 1u);
  }
}

TEST_F(Features, LimitOnBytesEmitsOldestForCorrections) {
  Open({.quiet_period = 1h,
        .max_wait = kForever,
        .late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect},
        .limits = {.max_bytes = kMiB, .on_limit = OnLimit::kEmitOldest}});
  Advance(100s);
  for (int i = 0; i < 800; ++i) {
    ASSERT_EQ(Fold({{LongKey(i), i, 100s}}), "opened");
    Pop();
  }
  for (int i = 0; i < 800; ++i) {
    ASSERT_EQ(Fold({{LongKey(i), i, 0s}}), "corrected");
    Pop();
  }
}

TEST_F(Features, LimitOnBytesEmitsOldestButKeepsIds) {
  TickRules rules;
  rules.id = Ids().id;
  Open({.quiet_period = 1h,
        .max_wait = kForever,
        .late = {.allowed_lateness = 1min},
        .limits = {.max_bytes = kMiB / 8, .on_limit = OnLimit::kEmitOldest}},
       {}, rules);
  int ids = 0;
  const auto fold = [&] {
    const std::string name = std::to_string(ids++);
    const std::string outcome = Fold({{"a", 1, 0s, {.id = name}}});
    Pop();
    return outcome;
  };
  while (ids < 100'000 && fold() != "over_limit") {
  }
  // Up to there they had all but the room of a group.
  EXPECT_THAT(ids, AllOf(Ge(2'500), Le(3'000)));
  EXPECT_EQ(fold(), "over_limit");
}

TEST_F(Features, LimitOnBytesLeavesOutWhatWaits) {
  for (const OnLimit on_limit : {OnLimit::kRefuse, OnLimit::kEmitOldest}) {
    Open({.quiet_period = 10s,
          .max_wait = kForever,
          .limits = {.max_bytes = kMiB, .on_limit = on_limit, .count_ready = false}});
    // Whether somebody looked or popped does not matter.
    for (int i = 0; i < 3'000; ++i) {
      ASSERT_EQ(Fold({{LongKey(i), i, i * 10s}}), "opened");
      if (i % 1'000 < 300) Advance(i * 10s);
      if (i % 1'000 == 200) Pop();
    }
    // What is open counts as ever.
    std::string last;
    for (int i = 0; i < 2'000 && last != "over_limit"; ++i) {
      last = Fold({{LongKey(3'000 + i), i, 30'000s}});
    }
    EXPECT_EQ(last, on_limit == OnLimit::kRefuse ? "over_limit" : "opened");
    EXPECT_EQ(ledger().over_byte_limit, on_limit == OnLimit::kRefuse ? 1u : 0u);
  }
}

TEST_F(Features, LimitOnBytesRefusesCorrections) {
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect},
        .limits = {.max_bytes = kMiB}});
  Advance(100s);
  int late = 0;
  while (late < 2000 && Fold({{LongKey(late), 1, 0s}}) == "corrected") ++late;
  EXPECT_THAT(late, AllOf(Ge(300), Le(1048)));
  EXPECT_LE(sizes().bytes, kMiB);
  EXPECT_EQ(Fold({{LongKey(late), 1, 0s}}), "over_limit");
  EXPECT_EQ(ledger().corrected, static_cast<uint64_t>(late));
  EXPECT_EQ(ledger().over_limit, 2u);
  EXPECT_EQ(Pop().size(), static_cast<size_t>(late));
  EXPECT_EQ(Fold({{LongKey(late), 1, 0s}}), "corrected");
}

TEST_F(Features, KeyTooLong) {
  EXPECT_EQ(kKeyBytesMax, size_t{64} << 10);
  const std::string longest(kKeyBytesMax, 'k');
  const std::string too_long(kKeyBytesMax + 1, 'k');
  for (Axis axis : kBothAxes) {
    Open({.quiet_period = 10s, .max_wait = kForever}, {.axis = axis, .future_limit = 1h});
    Advance(0s);
    EXPECT_EQ(Fold({{longest, 1, 0s}, {too_long, 2, 0s}, {"", 3, 0s}, {{"\0", 1}, 4, 0s}}),
              "opened over_limit opened opened");
    // It is turned away before anything else is looked at.
    EXPECT_EQ(Fold({{too_long, 5, 20s}, {too_long, 6, 10h}}), "over_limit over_limit");
    EXPECT_EQ(engine().now(), kT0);
    EXPECT_EQ(Peek(too_long), std::nullopt);
    EXPECT_FALSE(Flush(too_long));
    EXPECT_FALSE(Cancel(too_long));
    EXPECT_TRUE(Cancel(longest));
    EXPECT_EQ(Columns(), "events 6 opened 3 over_limit 3 cancelled 1 open 2");
  }
}

}  // namespace
}  // namespace pleat
