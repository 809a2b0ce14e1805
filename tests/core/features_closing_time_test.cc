// Closing times: of a grid, of a calendar, stated by events, and set by calls. What they promise is in
// docs/semantics.md, Closing times.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/snapshot.h>

#include "tests/core/features.h"
#include "tests/support/bytes.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// kT0 is 20 s past a full minute.
constexpr ClosingOptions kMinutesSinceT0{.every = 1min, .phase = 20s};

FolderOptions OnlyBy(const ClosingOptions& closing) {
  return {.quiet_period = kForever, .max_wait = kForever, .closing = closing};
}

TEST_F(Features, ClosesAtTheNextInstantOfTheGrid) {
  for (Axis axis : kBothAxes) {
    Open(OnlyBy(kMinutesSinceT0), {.axis = axis});
    Advance(0s);
    // Groups of many keys close together, in the order of their opening; an event at the instant
    // itself is one of the next group.
    EXPECT_EQ(Fold({{"b", 1, 1s}, {"a", 2, 30s}, {"b", 3, 59s}, {"b", 4, 60s}, {"a", 5, 61s}}),
              "opened opened folded opened opened");
    Advance(60s);
    EXPECT_THAT(Pop(), ElementsAre("b [1 3] closing_time 1 59 60", "a [2] closing_time 30 30 60"));
    Advance(100h);  // nobody looked for long, which does not show
    EXPECT_THAT(Pop(), ElementsAre("b [4] closing_time 60 60 120", "a [5] closing_time 61 61 120"));
  }
  // It is the opening that counts, whatever older stamps have folded since.
  Open(OnlyBy(kMinutesSinceT0), {.axis = Axis::kEvent, .watermark_delay = 30s});
  EXPECT_EQ(Fold({{"a", 1, 61s}, {"a", 2, 59s}}), "opened folded");
  Advance(120s);
  EXPECT_THAT(Pop(), ElementsAre("a [1 2] closing_time 59 61 120"));
}

TEST_F(Features, TheGridOfClosingTimesGoesBackBefore1970) {
  const EngineTime long_ago = EngineTime{} - 90s;
  auto engine = *Engine::Open({.axis = Axis::kEvent});
  Folder<Tick, Values> folder(*engine, "old", OnlyBy({.every = 60s, .phase = 50s}));
  folder.Fold("a", {1}, long_ago);
  engine->Advance(EngineTime{});
  const auto emissions = folder.Pop(10);
  ASSERT_EQ(emissions.size(), 1u);
  EXPECT_EQ(emissions[0].closed, EngineTime{} - 70s);
}

TEST_F(Features, AtOneInstantQuietGoesBeforeMaxWaitAndThatBeforeTheClosingTime) {
  for (Axis axis : kBothAxes) {
    FolderOptions options = OnlyBy(kMinutesSinceT0);
    options.quiet_period = 30s;
    Open(options, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 30s}, {"b", 2, 31s}, {"c", 3, 29s}}), "opened opened opened");
    Advance(1h);
    EXPECT_THAT(Pop(), ElementsAre("c [3] quiet 29 29 59", "a [1] quiet 30 30 60",
                                   "b [2] closing_time 31 31 60"));
    options.quiet_period = kForever;
    options.max_wait = 30s;
    Open(options, {.axis = axis});
    EXPECT_EQ(Fold({{"a", 1, 30s}, {"b", 2, 31s}}), "opened opened");
    Advance(1h);
    EXPECT_THAT(Pop(), ElementsAre("a [1] max_wait 30 30 60", "b [2] closing_time 31 31 60"));
  }
}

TEST_F(Features, ClosesByACalendar) {
  TickRules rules;
  rules.closing_time = [](EngineTime opened) {  // at 10 s, at 100 s, and then never
    return opened < kT0 + 10s ? kT0 + 10s : opened < kT0 + 100s ? kT0 + 100s : kNever;
  };
  for (Axis axis : kBothAxes) {
    Open(OnlyBy({}), {.axis = axis}, rules);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"a", 2, 10s}, {"a", 3, 100s}, {"a", 4, 10h}}),
              "opened opened opened folded");
    Advance(11h);
    EXPECT_THAT(Pop(), ElementsAre("a [1] closing_time 0 0 10", "a [2] closing_time 10 10 100"));
    CloseAll();
    EXPECT_THAT(Pop(), ElementsAre("a [3 4] end 100 36000 39600"));
  }
}

TickRules CloseAt() {
  TickRules rules;
  rules.close_at = [](std::string_view, const Tick& tick) { return tick.marks.close_at; };
  return rules;
}

// The marks of an event that states its group's closing time.
Marks At(Duration after) { return {.close_at = kT0 + after}; }

TEST_F(Features, AnEventStatesWhenItsGroupCloses) {
  for (Axis axis : kBothAxes) {
    Open(OnlyBy({}), {.axis = axis}, CloseAt());
    Advance(0s);
    // The last one holds, earlier or later; an event that states none changes nothing.
    EXPECT_EQ(Fold({{"a", 1, 0s, At(50s)}, {"a", 2, 1s, At(20s)}, {"a", 3, 2s}}),
              "opened folded folded");
    EXPECT_EQ(Fold({{"b", 4, 2s, At(10s)}, {"b", 5, 3s, At(30s)}, {"c", 6, 3s}}),
              "opened folded opened");
    Advance(20s - 1us);
    EXPECT_THAT(Pop(), IsEmpty());
    Advance(25s);
    EXPECT_THAT(Pop(), ElementsAre("a [1 2 3] closing_time 0 2 20"));
    Advance(1h);
    EXPECT_THAT(Pop(), ElementsAre("b [4 5] closing_time 2 3 30"));
    CloseAll();
    EXPECT_THAT(Pop(), ElementsAre("c [6] end 3 3 3600"));
  }
}

TEST_F(Features, AStatedTimeThatIsPastClosesTheGroupBehindItsEvent) {
  for (Axis axis : kBothAxes) {
    Open(OnlyBy({}), {.axis = axis}, CloseAt());
    Advance(100s);
    EXPECT_EQ(Fold({{"a", 1, 100s, At(300s)}, {"a", 2, 100s, At(50s)}, {"b", 3, 100s, At(100s)}}),
              "opened folded opened");
    EXPECT_THAT(Pop(),
                ElementsAre("a [1 2] closing_time 100 100 100", "b [3] closing_time 100 100 100"));
    EXPECT_THAT(Peek("a"), testing::Eq(std::nullopt));
  }
  // On arrival time an event whose stamp is ahead is past only when time gets to its stamp.
  Open(OnlyBy({}), {}, CloseAt());
  Advance(100s);
  EXPECT_EQ(Fold({{"a", 1, 110s, At(105s)}, {"a", 2, 110s}}), "opened opened");
  EXPECT_THAT(Pop(), IsEmpty());
  Advance(110s);
  EXPECT_THAT(Pop(), ElementsAre("a [1] closing_time 110 110 110"));
}

TEST_F(Features, AStatedTimeAndTheGridTheEarlierOneHolds) {
  Open(OnlyBy(kMinutesSinceT0), {.axis = Axis::kEvent}, CloseAt());
  EXPECT_EQ(Fold({{"a", 1, 0s, At(30s)}, {"b", 2, 1s, At(30s)}, {"b", 3, 2s, At(5min)}}),
            "opened opened folded");
  Advance(1h);
  EXPECT_THAT(Pop(), ElementsAre("a [1] closing_time 0 0 30", "b [2 3] closing_time 1 2 60"));
}

TEST_F(Features, DeadlineIsSetByACall) {
  for (Axis axis : kBothAxes) {
    FolderOptions options = OnlyBy({.settable = true});
    options.quiet_period = 100s;
    Open(options, {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 0s}, {"c", 3, 0s}, {"d", 4, 0s}}),
              "opened opened opened opened");
    EXPECT_EQ(SetDeadline("nobody", 10s), ControlOutcome::kNoGroup);
    EXPECT_EQ(SetDeadline("a", 50s), ControlOutcome::kDone);
    EXPECT_EQ(SetDeadline("a", 20s), ControlOutcome::kDone);  // an earlier one
    EXPECT_EQ(SetDeadline("b", 20s), ControlOutcome::kDone);
    EXPECT_EQ(SetDeadline("b", 30s), ControlOutcome::kDone);  // a later one
    EXPECT_EQ(SetDeadline("c", 20s), ControlOutcome::kDone);
    EXPECT_EQ(SetDeadline("c", kNever - kT0), ControlOutcome::kDone);  // taken back
    EXPECT_EQ(SetDeadline("d", -5s), ControlOutcome::kDone);           // past: now
    EXPECT_THAT(Pop(), ElementsAre("d [4] closing_time 0 0 0"));
    EXPECT_EQ(SetDeadline("d", 5s), ControlOutcome::kNoGroup);
    EXPECT_EQ(Fold({{"a", 5, 19s}, {"a", 6, 20s}}), "folded opened");
    Advance(10min);
    EXPECT_THAT(Pop(), ElementsAre("a [1 5] closing_time 0 19 20", "b [2] closing_time 0 0 30",
                                   "c [3] quiet 0 0 100", "a [6] quiet 20 20 120"));
  }
}

TEST_F(Features, DeadlineThatMovesEarlierTakesNoFurtherMemoryOfTheLimit) {
  Open(OnlyBy({.settable = true}));
  Advance(0s);
  EXPECT_EQ(Fold({{"a key that is too long to lie inline", 1, 0s}}), "opened");
  const size_t bytes = sizes().bytes;
  for (int i = 1000; i > 0; --i) {
    SetDeadline("a key that is too long to lie inline", i * 1s);
    ASSERT_EQ(sizes().bytes, bytes);
  }
  Advance(1s);
  EXPECT_THAT(Pop(), ElementsAre("a key that is too long to lie inline [1] closing_time 0 0 1"));
}

TEST_F(Features, PartialsStopAtAnEarlierDeadlineAndGoOnToALaterOne) {
  for (Axis axis : kBothAxes) {
    FolderOptions options = OnlyBy({.settable = true});
    options.partial_every = 10s;
    Open(options, {.axis = axis});
    Advance(0s);
    EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 0s}}), "opened opened");
    SetDeadline("a", 10s);
    SetDeadline("b", 10s);
    SetDeadline("b", 15s);
    Advance(20s);
    EXPECT_THAT(Pop(), ElementsAre("a [1] closing_time 0 0 10", "b [2] partial 0 0 10 r1+",
                                   "b [2] closing_time 0 0 15 r2"));
  }
}

// So many that no order of equals comes right by chance.
TEST_F(Features, APartialThatWasPassedComesBeforeItsGroupWhoseDeadlineIsSetThere) {
  FolderOptions options = OnlyBy({.settable = true});
  options.partial_every = 10s;
  for (const bool close_all : {true, false}) {
    Open(options);
    Advance(0s);
    std::vector<std::string> expected;
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(i);
      EXPECT_EQ(Fold({{key, 1, 0s}, {key, 2, 15s}}), "opened folded");
      SetDeadline(key, 10s);
      expected.push_back(key + " [1] partial 0 0 10 r1+");
      expected.push_back(key +
                         (close_all ? " [1 2] end 0 15 0 r2" : " [1 2] closing_time 0 15 10 r2"));
    }
    if (close_all) {
      CloseAll();
    } else {
      Advance(10s);
    }
    EXPECT_THAT(Pop(), ElementsAreArray(expected));
  }
}

TEST(ClosingTimes, DeadlineOfAFolderThatHasNoneToSetIsRefused) {
  auto engine = *Engine::Open({});
  Folder<Tick, Values> fixed(*engine, "fixed", OnlyBy(kMinutesSinceT0));
  fixed.Fold("a", {1}, kT0);
  EXPECT_EQ(fixed.SetDeadline("a", kT0 + 1s), ControlOutcome::kNotSettable);
  Folder<Tick, Values> settable(*engine, "settable", OnlyBy({.settable = true}));
  EXPECT_EQ(settable.SetDeadline("a", kT0 + 1s), ControlOutcome::kNoGroup);
  settable.Fold("a", {1}, kT0);
  EXPECT_EQ(settable.SetDeadline("a", kT0 + 1s), ControlOutcome::kDone);
  settable.Close();
  EXPECT_EQ(settable.SetDeadline("a", kT0 + 1s), ControlOutcome::kClosed);
}

TEST(ClosingOptions, OutOfRangeIsNamed) {
  auto engine = *Engine::Open({});
  const auto why = [&](const ClosingOptions& closing) {
    const auto opened = Folder<Tick, Values>::Open(*engine, "f", OnlyBy(closing));
    return std::string(opened.status().message());
  };
  EXPECT_THAT(why({.every = 0s}), HasSubstr("closing.every: must be above zero"));
  EXPECT_THAT(why({.every = -1s}), HasSubstr("closing.every"));
  EXPECT_THAT(why({.every = 1h, .phase = 1h}), HasSubstr("closing.phase"));
  EXPECT_THAT(why({.every = 1h, .phase = -1us}), HasSubstr("closing.phase"));
  EXPECT_THAT(why({.phase = 1h}), HasSubstr("closing.phase"));
  EXPECT_EQ(why({.every = 1h, .phase = 59min}), "");
}

struct Count {
  int64_t events = 0;
  void Fold(const int&) noexcept { ++events; }
  template <class F>
  void Stored(F& f) {
    f(events);
  }
};

// Deadlines and the counts of emissions by reason.
TEST(ClosingTimes, SurviveASnapshot) {
  const FolderOptions options = OnlyBy({.every = 24h, .settable = true});
  StringSink snapshot;
  {
    auto engine = *Engine::Open({});
    Folder<int, Count> folder(*engine, "counts", options);
    for (const char* key : {"a", "b", "c"}) folder.Fold(key, 1, kT0);
    folder.SetDeadline("a", kT0 + 1s);
    folder.SetDeadline("b", kT0 + 9s);
    engine->Advance(kT0 + 2s);
    ASSERT_TRUE(TakeSnapshot(*engine, snapshot).ok());
  }
  auto engine = *Engine::Open({});
  Folder<int, Count> folder(*engine, "counts", options);
  StringSource source(snapshot.bytes);
  ASSERT_TRUE(RestoreSnapshot(*engine, source, {.skip_numbers = 0}).ok());
  EXPECT_EQ(folder.ledger().emissions[IndexOf(Reason::kClosingTime)], 1u);
  EXPECT_TRUE(folder.ledger().Balances());
  folder.SetDeadline("c", kT0 + 8s);
  engine->Advance(kT0 + 10s);
  std::vector<std::string> keys;
  for (const auto& emission : folder.Pop(10)) {
    EXPECT_EQ(emission.reason, Reason::kClosingTime);
    keys.push_back(emission.key);
  }
  EXPECT_THAT(keys, ElementsAre("a", "c", "b"));

  auto other = *Engine::Open({});
  Folder<int, Count> plain(*other, "counts", OnlyBy({.every = 12h, .settable = true}));
  StringSource again(snapshot.bytes);
  const absl::Status restored = RestoreSnapshot(*other, again, {.skip_numbers = 0});
  EXPECT_THAT(std::string(restored.message()), HasSubstr("closing.every"));
}

}  // namespace
}  // namespace pleat
