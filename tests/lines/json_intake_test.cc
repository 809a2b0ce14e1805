// An intake of lines as a program meets it. json_intake_property_test.cc has drawn cases.
#include <pleat/json_intake.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>
#include <pleat/snapshot.h>

#include "tests/lines/json_harness.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

// Users' steps: folded by user, counted by the minute.
constexpr const char* kFold =
    "--key user --time at --time-unit s --quiet 10s --max-wait 1h --merge 'steps=count()' "
    "--no-meta";
constexpr const char* kCount =
    "--key user --time at --time-unit s --window 60s --allowed-lateness 0";

struct World {
  explicit World(const std::string& more = "", const std::string& fold_more = "",
                 const std::string& count_more = "")
      : fold(SpecFrom<FoldSpec>(kFold + more + fold_more)),
        count(SpecFrom<RollupSpec>(kCount + more + count_more)),
        engine(*Engine::Open(EngineOptionsFor(fold.event))),
        intake(*JsonIntake::Open(*engine, fold.event)),
        folder(*JsonFolder::Open(*intake, "visits", fold)),
        counter(*JsonRollup::Open(*intake, "minutes", count)) {}

  // Notes "collection: reason <- line".
  auto Telling() {
    return [this](const UnusualLine& line, std::string_view collection) {
      told.push_back(std::string(collection) + ": " + WordFor(line.result) + " <- " +
                     std::string(line.text));
      indices.push_back(line.index);
      return told.size() < most_told;
    };
  }
  static std::string WordFor(const LineResult& result) {
    if (result.kind == LineResult::Kind::kControl) return "control";
    return result.kind == LineResult::Kind::kInvalid ? std::string(result.reason) : "outcome";
  }

  void Push(const std::string& lines) {
    const PaddedLine text(lines);
    EXPECT_TRUE(intake->Push(text.view(), kBeginningOfTime, Telling()));
  }
  void TakeWaiting() { EXPECT_TRUE(intake->TakeWaiting(Telling())); }

  std::string Visits() {
    std::string out;
    folder->CloseAll();
    folder->Pop(SIZE_MAX, out);
    return out;
  }
  std::string Minutes() {
    std::string out;
    counter->CloseAll();
    counter->Pop(SIZE_MAX, [&](std::string_view lines) { out += lines; });
    return out;
  }

  std::string Snapshot() {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine, sink).ok());
    return sink.bytes;
  }
  absl::Status Restore(std::string_view snapshot) {
    StringSource source(snapshot);
    return RestoreSnapshot(*engine, source, {.skip_numbers = 0});
  }

  const FoldSpec fold;
  const RollupSpec count;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<JsonIntake> intake;
  std::unique_ptr<JsonFolder> folder;
  std::unique_ptr<JsonRollup> counter;
  std::vector<std::string> told;
  std::vector<int64_t> indices;
  size_t most_told = SIZE_MAX;
};

std::string Line(const std::string& user, int at, const std::string& more = "") {
  return "{\"user\":\"" + user + "\",\"at\":" + std::to_string(at) + more + "}\n";
}

TEST(JsonIntake, ASecondCollectionIsNotLate) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += Line("ann", i);
  World world;
  world.Push(text);
  EXPECT_EQ(world.folder->ledger().late, 0u);
  EXPECT_EQ(world.counter->ledger().late, 0u);
  EXPECT_EQ(world.counter->ledger().added, 1000u);

  // Without an intake: the first has moved time.
  const auto engine = *Engine::Open(EngineOptionsFor(world.fold.event));
  const auto folder = *JsonFolder::Open(*engine, "visits", world.fold);
  const auto counter = *JsonRollup::Open(*engine, "minutes", world.count);
  const PaddedLine padded(text);
  folder->FoldLines(padded.view(), kBeginningOfTime, PassUnusualLine);
  JsonLines lines(counter->plan());
  lines.Read(padded.view());
  counter->Add(lines, SIZE_MAX, kBeginningOfTime, PassUnusualLine);
  EXPECT_GT(counter->ledger().late, 900u);
}

TEST(JsonIntake, LinesWaitForAllCollections) {
  World world(" --reorder 30s");
  world.Push(Line("ann", 100) + Line("ann", 75) + Line("bob", 80) + Line("ann", 85));
  EXPECT_EQ(world.intake->counts().waiting, 4u);
  EXPECT_EQ(world.intake->next_waiting(), FromUnix(75s));
  EXPECT_EQ(world.folder->counts().lines, 0u);
  world.Push(Line("ann", 110));
  EXPECT_EQ(world.intake->counts().waiting, 3u);
  EXPECT_EQ(world.folder->counts().events, 2u);
  world.TakeWaiting();
  EXPECT_EQ(world.intake->counts().waiting, 0u);
  EXPECT_EQ(world.Visits(),
            "{\"user\":\"ann\",\"steps\":1}\n{\"user\":\"bob\",\"steps\":1}\n"
            "{\"user\":\"ann\",\"steps\":1}\n{\"user\":\"ann\",\"steps\":1}\n"
            "{\"user\":\"ann\",\"steps\":1}\n");
  EXPECT_EQ(world.counter->ledger().added, 5u);
  EXPECT_THAT(world.told, ElementsAre());
  EXPECT_EQ(world.folder->stamps().out_of_order, 3u);  // as they came
}

TEST(JsonIntake, TimeMovesToNowWhereTheInputIsIdle) {
  World world(" --reorder 30s");
  world.Push(Line("ann", 100));
  EXPECT_TRUE(world.intake->Advance(FromUnix(99s), world.Telling()));
  EXPECT_EQ(world.intake->counts().waiting, 1u);
  EXPECT_TRUE(world.intake->Advance(FromUnix(100s), world.Telling()));
  EXPECT_EQ(world.intake->counts().waiting, 0u);
  EXPECT_EQ(world.engine->now(), FromUnix(100s));
}

TEST(JsonIntake, EachCollectionReadsALineByItsOwnSpec) {
  World world("", " --where kind=step", " --value n");
  const std::string step = Line("ann", 1, ",\"kind\":\"step\",\"n\":3");
  const std::string no_step = Line("ann", 2, ",\"kind\":\"rest\",\"n\":4");
  const std::string no_number = Line("ann", 3, ",\"kind\":\"step\"");
  world.Push(step + no_step + "\n" + no_number + "nonsense\n");
  EXPECT_EQ(world.folder->counts().events, 2u);
  EXPECT_EQ(world.folder->counts().excluded, 1u);
  EXPECT_EQ(world.folder->counts().invalid, 1u);
  EXPECT_EQ(world.folder->counts().lines, 4u);
  EXPECT_EQ(world.counter->counts().events, 3u);
  EXPECT_EQ(world.intake->counts().events, 3u);  // the lines that a collection takes
  EXPECT_THAT(world.told, ElementsAre(HasSubstr("visits: "), HasSubstr("minutes: ")));
  EXPECT_THAT(world.indices, ElementsAre(4, 4));  // blank lines count there
}

// By the order of lines, of one line by that of the collections.
TEST(JsonIntake, UnusualLinesAreToldInOrder) {
  World world("", " --flush-when over=true");
  world.Push(Line("ann", 200) + Line("ann", 1) + "nonsense\n" + Line("ann", 200, ",\"over\":true") +
             Line("bob", 2));
  EXPECT_THAT(world.told,
              ElementsAre("minutes: outcome <- {\"user\":\"ann\",\"at\":1}", HasSubstr("visits: "),
                          HasSubstr("minutes: "),
                          "visits: control <- {\"user\":\"ann\",\"at\":200,\"over\":true}",
                          "minutes: outcome <- {\"user\":\"bob\",\"at\":2}"));
  EXPECT_THAT(world.indices, ElementsAre(1, 2, 2, 3, 4));
}

TEST(JsonIntake, NothingIsTakenBehindAnInvalidLineThatStops) {
  World world;
  world.most_told = 1;
  world.Push(Line("ann", 1) + "nonsense\n" + Line("ann", 2));
  EXPECT_EQ(world.told.size(), 1u);
  EXPECT_EQ(world.folder->counts().events, 1u);
  EXPECT_EQ(world.counter->counts().events, 1u);
  world.most_told = SIZE_MAX;
  world.Push(Line("ann", 3));
  EXPECT_EQ(world.folder->counts().events, 2u);
}

TEST(JsonIntake, ALineThatHasWaitedIsToldByItsDistance) {
  World world(" --reorder 30s", " --max-groups 1 --on-limit refuse");
  world.Push(Line("ann", 100) + Line("bob", 101));
  world.Push(Line("ann", 102) + Line("ann", 103));
  world.TakeWaiting();
  EXPECT_THAT(world.told, ElementsAre("visits: outcome <- {\"user\":\"bob\",\"at\":101}"));
  EXPECT_THAT(world.indices, ElementsAre(-3));
}

// A control line has its turn like an event: groups that end before it are not its own.
TEST(JsonIntake, AControlLineHasItsTurn) {
  for (const char* bound : {"", " --reorder 30s"}) {
    World world(bound, " --flush-when over=true");
    world.Push(Line("ann", 100) + Line("ann", 101, ",\"over\":true") + Line("ann", 102));
    world.TakeWaiting();
    EXPECT_EQ(world.Visits(), "{\"user\":\"ann\",\"steps\":1}\n{\"user\":\"ann\",\"steps\":1}\n");
    EXPECT_EQ(world.folder->counts().control, 1u);
    EXPECT_EQ(world.counter->ledger().added, 3u);  // there the line is an event
  }
}

TEST(JsonIntake, ALineBeyondTheFutureLimitChangesNothing) {
  for (const char* bound : {"", " --reorder 30s"}) {
    World world(std::string(bound) + " --future-limit 1h", " --flush-when over=true");
    world.Push(Line("ann", 100) + Line("ann", 999999) + Line("ann", 999999, ",\"over\":true"));
    EXPECT_THAT(world.told, ElementsAre(HasSubstr("visits: event time is ahead"),
                                        HasSubstr("minutes: event time is ahead"),
                                        HasSubstr("visits: event time is ahead"),
                                        HasSubstr("minutes: event time is ahead")));
    world.TakeWaiting();
    EXPECT_EQ(world.engine->now(), FromUnix(100s));
    EXPECT_EQ(world.folder->counts().invalid, 2u);
    EXPECT_EQ(world.folder->counts().control, 0u);
    EXPECT_EQ(world.folder->sizes().open_groups, 1u);
    EXPECT_EQ(world.folder->stamps().newest, FromUnix(100s));
  }
}

// Also one that is invalid only by the future limit.
TEST(JsonIntake, NothingIsTakenBehindALineBeyondTheFutureLimitThatStops) {
  for (const char* bound : {"", " --reorder 30s"}) {
    World world(std::string(bound) + " --future-limit 1h");
    world.most_told = 1;
    world.Push(Line("ann", 100) + Line("ann", 999999) + Line("ann", 101));
    world.most_told = SIZE_MAX;
    world.TakeWaiting();
    EXPECT_EQ(world.folder->counts().events, 1u);
    EXPECT_EQ(world.counter->counts().events, 1u);
  }
}

// Else lines that wait, or that the source repeats after a restart, would be late.
TEST(JsonIntake, AControlLineDoesNothingOnceTheEngineWasStopped) {
  for (const char* bound : {"", " --reorder 30s"}) {
    World world(bound, " --flush-when over=true");
    world.Push(Line("ann", 100) + Line("ann", 101));
    const EngineTime before = world.engine->now();
    const size_t open = world.folder->sizes().open_groups;
    world.engine->Stop();
    world.Push(Line("ann", 500, ",\"over\":true"));
    EXPECT_EQ(world.engine->now(), before);
    EXPECT_EQ(world.folder->sizes().open_groups, open);
    EXPECT_EQ(world.folder->counts().control, 0u);
    EXPECT_EQ(world.told.size(), 2u);  // each collection answers kStopped
  }
}

// --- What is refused

TEST(JsonIntake, SpecsThatDisagreeAreRefusedByName) {
  World world(" --reorder 30s");
  const std::vector<std::pair<std::string, std::string>> others = {
      {"time", "--time when --time-unit s --reorder 30s"},
      {"time-unit", "--time at --time-unit ms --reorder 30s"},
      {"time-zone", "--time at --time-unit s --reorder 30s --time-zone +01:00"},
      {"reorder", "--time at --time-unit s --reorder 31s"},
      {"reorder", "--time at --time-unit s"},
      {"future-limit", "--time at --time-unit s --reorder 30s --future-limit 1h"}};
  for (const auto& [option, options] : others) {
    const auto spec = SpecFrom<FoldSpec>("--key user --quiet 10s --max-wait 1h " + options);
    const auto opened = JsonFolder::Open(*world.intake, "other", spec);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status()));
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr("--" + option + ": "));
  }
  world.Push(Line("ann", 1));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(JsonFolder::Open(*world.intake, "other", world.fold).status()));
}

TEST(JsonIntake, AnEngineHasOneIntake) {
  World world(" --reorder 30s");
  EXPECT_TRUE(absl::IsAlreadyExists(JsonIntake::Open(*world.engine, world.fold.event).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(JsonFolder::Open(*world.engine, "other", world.fold).status()));
}

using JsonIntakeDeathTest = testing::Test;

TEST(JsonIntakeDeathTest, LinesOfAFedCollectionComeByTheIntake) {
  World world;
  const PaddedLine line(Line("ann", 1));
  EXPECT_DEATH(world.folder->FoldLine(line.view(), kBeginningOfTime), "come by Push");
  EXPECT_DEATH(world.folder->FoldLines(line.view(), kBeginningOfTime, PassUnusualLine),
               "come by Push");
  EXPECT_DEATH(world.counter->Advance(FromUnix(1s), PassUnusualLine), "come by Push");
}

TEST(JsonIntakeDeathTest, AnIntakeIsNotCalledFromAFunctionThatItCalls) {
  World world;
  world.intake->SetOnTaken([&] { world.TakeWaiting(); });
  EXPECT_DEATH(world.Push(Line("ann", 1)), "a JsonIntake was called from a function");
  world.intake->SetOnTaken([&] { world.intake->SetOnTaken(nullptr); });
  EXPECT_DEATH(world.Push(Line("ann", 1)), "from a function that the JsonIntake calls");
}

TEST(JsonIntakeDeathTest, AnIntakeHasACollection) {
  const auto spec = SpecFrom<FoldSpec>(kFold);
  const auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  const auto intake = *JsonIntake::Open(*engine, spec.event);
  const PaddedLine line(Line("ann", 1));
  const auto pass = [](const UnusualLine&, std::string_view) { return true; };
  EXPECT_DEATH(intake->Push(line.view(), kBeginningOfTime, pass), "has no collection");
}

// --- Without an event time

TEST(JsonIntake, OnArrivalTimeLinesAreStampedByTheCaller) {
  const auto fold = SpecFrom<FoldSpec>("--key user --quiet 10s --max-wait 1h --merge 'n=count()'");
  const auto engine = *Engine::Open(EngineOptionsFor(fold.event));
  const auto intake = *JsonIntake::Open(*engine, fold.event);
  const auto folder = *JsonFolder::Open(*intake, "visits", fold);
  const PaddedLine line("{\"user\":\"ann\"}\n");
  const auto pass = [](const UnusualLine&, std::string_view) { return true; };
  EXPECT_TRUE(intake->Push(line.view(), FromUnix(5s), pass));
  engine->Advance(FromUnix(16s));
  std::string out;
  EXPECT_EQ(folder->Pop(10, out), 1u);
  EXPECT_THAT(out, HasSubstr("\"first\":\"1970-01-01T00:00:05.000000Z\""));
}

TEST(JsonIntake, LinesOfALogComeEachAtItsTime) {
  const auto fold = SpecFrom<FoldSpec>("--key user --quiet 10s --flush-when end=true");
  const auto engine = *Engine::Open(EngineOptionsFor(fold.event));
  const auto intake = *JsonIntake::Open(*engine, fold.event);
  const auto folder = *JsonFolder::Open(*intake, "visits", fold);
  const std::string long_line(20'000, 'x');  // the lines behind it are a piece of their own
  const PaddedLine text("{\"user\":\"ann\"}\n\n" + long_line +
                        "\n{\"user\":\"ann\"}\n{\"user\":\"bob\"}\n"
                        "{\"user\":\"bob\",\"end\":true}");
  const std::vector<EngineTime> arrivals = {FromUnix(5s),  FromUnix(6s),  FromUnix(7s),
                                            FromUnix(14s), FromUnix(24s), FromUnix(31s)};
  std::vector<int64_t> unusual;
  EXPECT_TRUE(intake->Push(text.view(), arrivals, [&](const UnusualLine& line, std::string_view) {
    unusual.push_back(line.index);
    return true;
  }));
  EXPECT_EQ(engine->now(), FromUnix(31s));
  engine->Advance(FromUnix(31s));
  EXPECT_THAT(unusual, ElementsAre(2, 5));  // invalid, and a flush
  std::string out;
  EXPECT_EQ(folder->Pop(10, out), 2u);
  EXPECT_THAT(out, HasSubstr("\"user\":\"ann\",\"_fold\":{\"count\":2,\"first\":"
                             "\"1970-01-01T00:00:05.000000Z\",\"last\":"
                             "\"1970-01-01T00:00:14.000000Z\",\"closed\":"
                             "\"1970-01-01T00:00:24.000000Z\""));
  EXPECT_THAT(out, HasSubstr("\"closed\":\"1970-01-01T00:00:31.000000Z\",\"reason\":\"flush\""));
}

// --- Restarts

TEST(JsonIntake, ASnapshotHasTheLinesThatWait) {
  World before(" --reorder 30s", " --flush-when over=true");
  before.Push(Line("ann", 100) + Line("ann", 101, ",\"over\":true") + Line("bob", 90));
  const std::string snapshot = before.Snapshot();

  World after(" --reorder 30s", " --flush-when over=true");
  ASSERT_TRUE(after.Restore(snapshot).ok());
  EXPECT_EQ(after.intake->counts().waiting, 3u);
  EXPECT_EQ(after.Snapshot(), snapshot);
  for (World* world : {&before, &after}) {
    world->Push(Line("ann", 102));
    world->TakeWaiting();
  }
  EXPECT_EQ(after.Visits(), before.Visits());
  EXPECT_EQ(after.Minutes(), before.Minutes());
  EXPECT_EQ(after.folder->counts().control, 1u);

  World other(" --reorder 31s", " --flush-when over=true");
  EXPECT_THAT(std::string(other.Restore(snapshot).message()), HasSubstr("reorder"));
  World alone(" --reorder 30s", " --flush-when over=true");
  ASSERT_TRUE(alone.Restore(snapshot).ok());
  alone.Push(Line("ann", 103));
  EXPECT_FALSE(alone.Restore(snapshot).ok());  // it has been used
}

// A collection that is new at a restart acts on lines that have waited since before.
TEST(JsonIntake, ANewCollectionActsOnLinesThatWait) {
  World before(" --reorder 30s");
  before.Push(Line("ann", 100) + Line("ann", 101, ",\"over\":true") + Line("ann", 102));
  World after(" --reorder 30s");
  const auto flushed =
      SpecFrom<FoldSpec>(std::string(kFold) + " --reorder 30s --flush-when over=true");
  const auto third = *JsonFolder::Open(*after.intake, "flushed", flushed);
  ASSERT_TRUE(after.Restore(before.Snapshot()).ok());
  after.TakeWaiting();
  EXPECT_EQ(third->counts().control, 1u);
  EXPECT_EQ(third->counts().events, 3u);
  EXPECT_THAT(after.told,
              ElementsAre("flushed: control <- {\"user\":\"ann\",\"at\":101,\"over\":true}"));
}

TEST(JsonIntake, LinesThatWaitElsewhereAreRefusedByName) {
  World fed(" --reorder 30s");
  fed.Push(Line("ann", 100));
  const auto engine = *Engine::Open(EngineOptionsFor(fed.fold.event));
  const auto folder = *JsonFolder::Open(*engine, "visits", fed.fold);
  const std::string snapshot = fed.Snapshot();
  StringSource source(snapshot);
  const std::vector<std::string> others = {"minutes"};
  const absl::Status refused =
      RestoreSnapshot(*engine, source, {.skip_numbers = 0, .drop = others});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("place of lines that wait"));
}

// A snapshot amid lines has the act of a control line for one collection, and its event for another,
// or neither.
TEST(JsonIntake, ASnapshotHasALineForAllCollectionsOrForNone) {
  for (const char* bound : {"", " --reorder 2s"}) {
    World world(bound, " --flush-when over=true", " --where over=true");
    std::vector<std::string> snapshots;
    std::atomic<bool> ended = false;
    std::thread taker([&] {
      while (!ended.load()) {
        if (snapshots.size() < 50) snapshots.push_back(world.Snapshot());
        std::this_thread::yield();
      }
    });
    for (int i = 0; i < 200; ++i) {
      std::string text;
      for (int j = 0; j < 10; ++j) {
        const int at = 10 * i + j;
        text += Line("ann", at) + Line("ann", at, ",\"over\":true");
      }
      world.Push(text);
    }
    ended = true;
    taker.join();
    for (const std::string& snapshot : snapshots) {
      World restored(bound, " --flush-when over=true", " --where over=true");
      ASSERT_TRUE(restored.Restore(snapshot).ok());
      EXPECT_EQ(restored.folder->ledger().emissions[IndexOf(Reason::kFlush)],
                restored.counter->ledger().added);
    }
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
