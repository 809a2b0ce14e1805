// An intake as a program meets it. tests/model has drawn episodes.
#include <pleat/intake.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/start.h"
#include "tests/support/visit.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

using Keyed = KeyedEvent<Visit>;
using CountedVisit = KeyedEvent<CounterEvent>;

CountedVisit CountOf(const Keyed& each) { return {each.key, {}, {each.event.number, {}}}; }

// An engine on event time with a folder and a counter.
struct World {
  explicit World(const EngineOptions& options = {.axis = Axis::kEvent})
      : engine(Engine::Open(options).value()),
        visits(*engine, "visits", {.quiet_period = 10s, .max_wait = 60s}),
        counter(*engine, "numbers", {.windows = {1s}, .allowed_lateness = 2s}) {}

  std::unique_ptr<Engine> engine;
  Folder<Visit, Visits> visits;
  RollupCounter counter;
};

std::string SnapshotOf(Engine& engine, const SnapshotOptions& options = {}) {
  StringSink sink;
  EXPECT_TRUE(TakeSnapshot(engine, sink, options).ok());
  return sink.bytes;
}
absl::Status RestoreInto(Engine& engine, std::string_view snapshot) {
  StringSource source(snapshot);
  return RestoreSnapshot(engine, source, {});
}

Visit Ann(int64_t number) { return {.user = "ann", .number = number}; }

// The trap that an intake is for.
TEST(Intake, ASecondCollectionIsNotLate) {
  std::vector<Keyed> batch;
  std::vector<CountedVisit> counts;
  for (int i = 0; i < 1'000; ++i) {
    batch.push_back({"page", kT0 + i * Duration{50'000}, Ann(1)});
    counts.push_back({"page", batch.back().at, {}});
  }
  World apart;
  apart.visits.FoldBatch(batch);
  apart.counter.AddBatch(counts);
  EXPECT_GT(apart.counter.ledger().late, 900u);

  World world;
  Intake<Visit> intake(*world.engine);
  intake.Feed(world.visits);
  intake.Feed(world.counter, CountOf);
  ASSERT_TRUE(intake.Push(batch));
  EXPECT_EQ(world.counter.ledger().late, 0u);
  EXPECT_EQ(world.counter.Accurate("page").amount.sum, 1'000);
}

TEST(Intake, TimeStandsUntilTheLastCollectionHasThePiece) {
  World world;
  Intake<Visit> intake(*world.engine);
  std::vector<EngineTime> seen;
  intake.Feed(world.visits);
  intake.Feed(world.counter, [&](const Keyed& each) {
    seen.push_back(world.engine->now());
    return CountOf(each);
  });
  const std::vector<Keyed> batch = {{"a", kT0, {}}, {"a", kT0 + 5s, {}}, {"a", kT0 + 9s, {}}};
  ASSERT_TRUE(intake.Push(batch));
  EXPECT_THAT(seen, ElementsAre(kBeginningOfTime, kBeginningOfTime, kBeginningOfTime));
  EXPECT_EQ(world.engine->now(), kT0 + 9s);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0 + 10s));
  EXPECT_EQ(seen.back(), kT0 + 9s);
}

TEST(Intake, AnEventThatNoCollectionTakesMovesTimeAsWell) {
  World world;
  Intake<Visit> intake(*world.engine);
  intake.Feed(world.counter,
              [](const Keyed&) -> std::optional<CountedVisit> { return std::nullopt; });
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  EXPECT_EQ(world.engine->now(), kT0);
  EXPECT_EQ(world.counter.ledger().events, 0u);
}

TEST(Intake, EventsGoOnWhenTheWatermarkHasReachedThem) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 30s});
  intake.Feed(world.visits);
  for (const int second : {40, 25, 33}) {
    ASSERT_TRUE(intake.Push("a", Ann(second), kT0 + second * 1s));
  }
  EXPECT_EQ(intake.counts().waiting, 3u);
  EXPECT_EQ(intake.next_waiting(), kT0 + 25s);
  EXPECT_EQ(world.visits.ledger().events, 0u);
  ASSERT_TRUE(intake.Push("a", Ann(60), kT0 + 60s));  // the watermark is 30 s
  EXPECT_EQ(world.visits.ledger().events, 1u);
  EXPECT_EQ(world.engine->now(), kT0 + 30s);
  ASSERT_TRUE(intake.TakeWaiting());
  EXPECT_EQ(world.engine->now(), kT0 + 60s);
  world.visits.CloseAll();
  std::vector<std::string> texts;
  for (const auto& each : world.visits.Pop(9)) texts.push_back(each.state.text);
  EXPECT_THAT(texts, ElementsAre("ann25 ann33 ann40 ", "ann60 "));
}

TEST(Intake, AnEventThatHasMissedItsTurnIsLate) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 5s});
  std::vector<std::pair<int64_t, AddOutcome>> outcomes;
  intake.Feed(world.counter, CountOf, [&](const Keyed& each, AddOutcome outcome) {
    outcomes.emplace_back(each.event.number, outcome);
  });
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0 + 60s));
  ASSERT_TRUE(intake.Push("a", Ann(2), kT0 + 40s));  // 15 s behind the watermark
  EXPECT_THAT(outcomes, ElementsAre(std::pair(int64_t{2}, AddOutcome::kLate)));
}

TEST(Intake, WithoutRoomTheOldestGoOnEarlyAndAreCounted) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 60s, .max_waiting_bytes = 150});
  intake.Feed(world.visits);
  for (const int second : {3, 1, 2, 4, 5}) {
    ASSERT_TRUE(intake.Push("a", Ann(second), kT0 + second * 1s));
  }
  const IntakeCounts counts = intake.counts();
  EXPECT_EQ(counts.waiting, 2u);
  EXPECT_EQ(counts.released_early, 3u);
  EXPECT_EQ(world.visits.ledger().events, 3u);
  EXPECT_EQ(world.visits.ledger().late, 0u);
}

TEST(Intake, AnswersComeWhenTheGateIsOpenAgain) {
  World world;
  Intake<Visit> intake(*world.engine);
  StringSink snapshot;
  bool taken = false;
  intake.Feed(world.visits, [&](const Keyed&, FoldOutcome outcome) {
    EXPECT_EQ(outcome, FoldOutcome::kOpened);
    taken = TakeSnapshot(*world.engine, snapshot).ok();
    world.visits.Flush("a");
  });
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  EXPECT_TRUE(taken);
  EXPECT_EQ(world.visits.Pop(9).size(), 1u);
}

TEST(Intake, FromInsideACallNothingIsPushed) {
  World world;
  Intake<Visit> intake(*world.engine);
  std::optional<bool> pushed;
  intake.Feed(world.visits);
  intake.Feed(world.counter, [&](const Keyed& each) {
    pushed = intake.Push("b", Ann(2), kT0);
    return CountOf(each);
  });
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  EXPECT_EQ(pushed, false);
  EXPECT_EQ(intake.counts().events, 1u);
}

TEST(Intake, AStoppedEngineLeavesWhatWaitsAndSaysSo) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  std::vector<FoldOutcome> outcomes;
  intake.Feed(world.visits,
              [&](const Keyed&, FoldOutcome outcome) { outcomes.push_back(outcome); });
  const auto push = [&](int64_t number, EngineTime at) {
    const Keyed one{"a", at, Ann(number)};
    return intake.Push(std::span(&one, 1),
                       SourcePosition{.source = 7, .offset = static_cast<uint64_t>(number)});
  };
  ASSERT_TRUE(push(0, kT0));
  world.engine->Stop();
  ASSERT_TRUE(push(1, kT0 + 30s));
  EXPECT_THAT(outcomes, ElementsAre(FoldOutcome::kStopped));
  ASSERT_TRUE(intake.TakeWaiting());
  EXPECT_EQ(intake.counts().waiting, 1u);
  EXPECT_EQ(world.engine->SourcePositionOf(7, 0), 1u);
}

// A shutdown: an event that waits is not late after the restart.
TEST(Intake, AStoppedEngineKeepsItsTime) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  intake.Feed(world.visits);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  const EngineTime before = world.engine->now();
  world.engine->Stop();
  ASSERT_TRUE(intake.TakeWaiting());
  ASSERT_TRUE(intake.Advance(kT0 + 90s));
  EXPECT_EQ(world.engine->now(), before);
  EXPECT_EQ(intake.counts().waiting, 1u);
}

TEST(Intake, AnEndBeforeTheFirstEventChangesNothing) {
  World world({.axis = Axis::kEvent, .future_limit = 60s});
  Intake<Visit> intake(*world.engine, {.reorder = 30s});
  intake.Feed(world.visits);
  ASSERT_TRUE(intake.TakeWaiting());
  ASSERT_TRUE(intake.Advance(kBeginningOfTime));
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  EXPECT_EQ(intake.counts().future, 0u);
  EXPECT_EQ(intake.counts().waiting, 1u);
}

TEST(Intake, TheFutureLimitIsFromTheEnginesTimeOrTheNewestStamp) {
  World world({.axis = Axis::kEvent, .future_limit = 60s});
  Intake<Visit> intake(*world.engine, {.reorder = 30s});
  intake.Feed(world.visits);
  world.engine->Advance(kT0);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0 + 61s));
  EXPECT_EQ(intake.counts().future, 1u);
  ASSERT_TRUE(intake.Push("a", Ann(2), kT0 + 60s));
  ASSERT_TRUE(intake.TakeWaiting());
  ASSERT_TRUE(intake.Push("a", Ann(3), kT0 + 121s));
  EXPECT_EQ(intake.counts().future, 2u);
  EXPECT_EQ(world.visits.ledger().future, 2u);
}

TEST(Intake, ItsEndLeavesTheCollectionsToAnotherOne) {
  World world;
  {
    Intake<Visit> first(*world.engine, {.reorder = 10s});
    first.Feed(world.visits);
    ASSERT_TRUE(first.Push("a", Ann(1), kT0));
    ASSERT_TRUE(first.TakeWaiting());
  }
  Intake<Visit> second(*world.engine, {.reorder = 20s});
  second.Feed(world.visits);
  ASSERT_TRUE(second.Push("a", Ann(2), kT0 + 1s));
  ASSERT_TRUE(second.TakeWaiting());
  EXPECT_EQ(world.visits.ledger().events, 2u);
}

TEST(IntakeDeathTest, CollectionsAtDifferentPlacesOfASourceAreNotFedTogether) {
  World world;
  const std::vector<Keyed> batch = {{"a", kT0, Ann(1)}, {"a", kT0, Ann(2)}};
  const std::vector<CountedVisit> count = {{"a", kT0, {}}};
  world.visits.FoldBatch(batch, {}, {}, SourcePosition{.source = 7, .offset = 0});
  world.counter.AddBatch(count, {}, {}, SourcePosition{.source = 7, .offset = 0});
  Intake<Visit> intake(*world.engine);
  intake.Feed(world.visits);
  intake.Feed(world.counter, CountOf);
  EXPECT_DEATH((void)intake.Push(batch, SourcePosition{.source = 7, .offset = 1}),
               "stands at 1 of source 7, and others at 2");
}

// On arrival time an intake moves no time.
TEST(Intake, OnArrivalTimeTimeIsTheClocks) {
  World world({.axis = Axis::kArrival});
  Intake<Visit> intake(*world.engine);
  intake.Feed(world.visits);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  EXPECT_EQ(world.engine->now(), kBeginningOfTime);
  ASSERT_TRUE(intake.Advance(kT0 + 11s));
  EXPECT_EQ(world.visits.Pop(9).size(), 1u);
}

// Unless it is told to: then a batch is as its events, each behind Advance() to its stamp.
TEST(Intake, OnArrivalTimeStampsMoveTimeIfTheOptionsSaySo) {
  World world({.axis = Axis::kArrival});
  Intake<Visit> intake(*world.engine, {.stamps_move_time = true});
  intake.Feed(world.visits);
  const std::vector<KeyedEvent<Visit>> batch = {
      {"a", kT0, Ann(1)}, {"a", kT0 + 9s, Ann(2)}, {"a", kT0 + 30s, Ann(3)}};
  ASSERT_TRUE(intake.Push(batch));
  EXPECT_EQ(world.engine->now(), kT0 + 30s);
  world.engine->Advance(kT0 + 30s);
  const auto closed = world.visits.Pop(9);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].count, 2u);
  EXPECT_EQ(closed[0].closed, kT0 + 19s);
}

TEST(Intake, OptionsThatCannotBe) {
  const auto open = [](const EngineOptions& engine, const IntakeOptions& options) {
    const auto opened = Engine::Open(engine).value();
    return std::string(Intake<Visit>::Open(*opened, options).status().message());
  };
  EXPECT_EQ(open({.axis = Axis::kEvent}, {.reorder = -1s}), "reorder: must be zero or more");
  EXPECT_EQ(open({.axis = Axis::kArrival}, {.reorder = 1s}),
            "reorder: must be zero on arrival time");
  EXPECT_EQ(open({.axis = Axis::kEvent, .watermark_delay = 1s}, {.reorder = 1s}),
            "reorder: must be zero with a watermark delay, which it makes needless");
  EXPECT_EQ(open({.axis = Axis::kArrival}, {}), "");
}

TEST(Intake, AnEngineHasOneAtATime) {
  World world;
  {
    const Intake<Visit> first(*world.engine);
    EXPECT_EQ(Intake<Visit>::Open(*world.engine).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_TRUE(Intake<Visit>::Open(*world.engine).ok());
}

TEST(Intake, ASnapshotOfAnotherBoundIsRefusedByName) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  intake.Feed(world.visits);
  const std::string snapshot = SnapshotOf(*world.engine);
  World other;
  Intake<Visit> wider(*other.engine, {.reorder = 20s});
  wider.Feed(other.visits);
  const absl::Status restored = RestoreInto(*other.engine, snapshot);
  EXPECT_THAT(std::string(restored.message()), HasSubstr("reorder"));
  EXPECT_THAT(std::string(restored.message()), HasSubstr("intake"));
}

TEST(Intake, ASnapshotWithEventsThatWaitTakesAnIntakeToRestore) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  intake.Feed(world.visits);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  const std::string snapshot = SnapshotOf(*world.engine);
  World other;
  const absl::Status restored = RestoreInto(*other.engine, snapshot);
  EXPECT_EQ(restored.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(restored.message()), HasSubstr("open it, with reorder"));
}

TEST(Intake, AnEngineWithAnEventThatWaitsCountsAsUsed) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  intake.Feed(world.visits);
  const std::string snapshot = SnapshotOf(*world.engine);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  const absl::Status restored = RestoreInto(*world.engine, snapshot);
  EXPECT_THAT(std::string(restored.message()), HasSubstr("used already"));
  EXPECT_EQ(intake.counts().waiting, 1u);
}

// Events that wait belong to the intake, and not to the collection that was fed first.
TEST(Intake, EventsWaitOnWhenACollectionIsClosed) {
  World world;
  Intake<Visit> intake(*world.engine, {.reorder = 10s});
  intake.Feed(world.visits);
  intake.Feed(world.counter, CountOf);
  ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  world.visits.Close();
  const std::string snapshot = SnapshotOf(*world.engine);
  ASSERT_TRUE(intake.TakeWaiting());
  EXPECT_EQ(world.counter.ledger().events, 1u);

  const auto engine = Engine::Open({.axis = Axis::kEvent}).value();
  RollupCounter counter(*engine, "numbers", {.windows = {1s}, .allowed_lateness = 2s});
  Intake<Visit> again(*engine, {.reorder = 10s});
  again.Feed(counter, CountOf);
  ASSERT_TRUE(RestoreInto(*engine, snapshot).ok());
  ASSERT_TRUE(again.TakeWaiting());
  EXPECT_EQ(counter.ledger().events, 1u);
}

TEST(Intake, ASnapshotBehindTheEndOfAnIntakeHasNoneOfItsEvents) {
  World world;
  {
    Intake<Visit> intake(*world.engine, {.reorder = 10s});
    intake.Feed(world.visits);
    ASSERT_TRUE(intake.Push("a", Ann(1), kT0));
  }
  const std::string snapshot = SnapshotOf(*world.engine);
  World other;
  EXPECT_TRUE(RestoreInto(*other.engine, snapshot).ok());
}

// Calls `act` whenever something is written.
class ActingSink final : public ByteSink {
 public:
  explicit ActingSink(std::function<void()> act) : act_(std::move(act)) {}
  absl::Status Append(std::string_view more) override {
    act_();
    return sink_.Append(more);
  }
  const std::string& bytes() const noexcept { return sink_.bytes; }

 private:
  StringSink sink_;
  const std::function<void()> act_;
};

// Events that wait are written bit by bit, without a lock. What is pushed and taken meanwhile is not in
// the snapshot: its bytes are those of one that was taken while nothing came.
TEST(Intake, ASnapshotHasWhatWaitedAtItsCutWhateverComesMeanwhile) {
  World world({.partitions = 1, .axis = Axis::kEvent});
  Intake<Visit> intake(*world.engine, {.reorder = 1'000s});
  intake.Feed(world.visits);
  std::mt19937_64 random(1);
  const auto push = [&](int events, Duration later) {
    for (int i = 0; i < events; ++i) {
      const Duration stamp = later + Duration(random() % 1'000'000'000);
      const Visit visit{.user = std::string(random() % 2'000, 'u'), .number = i};
      ASSERT_TRUE(intake.Push("page", visit, kT0 + stamp));
    }
  };
  ASSERT_TRUE(intake.Push("page", Ann(0), kT0 - 2'000s));  // taken before the cut: there is a book
  push(5'000, 0s);
  const std::string quiet = SnapshotOf(*world.engine, {.compress = false});
  ASSERT_GT(quiet.size(), size_t{3} << 20);
  int calls = 0;
  ActingSink busy([&] { push(500, ++calls * 400s); });
  ASSERT_TRUE(TakeSnapshot(*world.engine, busy, {.compress = false}).ok());
  EXPECT_GT(calls, 5);
  EXPECT_GT(world.visits.ledger().events, 3'000u);
  EXPECT_TRUE(busy.bytes() == quiet);
}

// A version ago a visit had no number.
struct OldVisit {
  std::string user;

  template <class F>
  void Stored(F& f) {
    f(user);
  }
};
struct NewVisit {
  static constexpr uint32_t kStoredVersion = 2;
  std::string user;
  int64_t number = 7;

  template <class F>
  void Stored(F& f) {
    f(user);
    if (f.version() >= 2) f(number);
  }
};
struct Seen {
  int64_t sum = 0;

  void Fold(const OldVisit&) noexcept { ++sum; }
  void Fold(const NewVisit& visit) noexcept { sum += visit.number; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

TEST(Intake, EventsThatWaitAreReadByTheFieldsOfTheirVersion) {
  const FolderOptions options{.quiet_period = 10s, .max_wait = 60s};
  std::string snapshot;
  {
    const auto engine = Engine::Open({.axis = Axis::kEvent}).value();
    Folder<OldVisit, Seen> folder(*engine, "seen", options);
    Intake<OldVisit> intake(*engine, {.reorder = 10s});
    intake.Feed(folder);
    ASSERT_TRUE(intake.Push("a", {.user = "ann"}, kT0));
    snapshot = SnapshotOf(*engine);
  }
  const auto engine = Engine::Open({.axis = Axis::kEvent}).value();
  Folder<NewVisit, Seen> folder(*engine, "seen", options);
  Intake<NewVisit> intake(*engine, {.reorder = 10s});
  intake.Feed(folder);
  const absl::Status restored = RestoreInto(*engine, snapshot);
  ASSERT_TRUE(restored.ok()) << restored;
  ASSERT_TRUE(intake.TakeWaiting());
  folder.CloseAll();
  EXPECT_EQ(folder.Pop(9).at(0).state.sum, 7);
}

// Snapshots by another thread fall between pieces: whatever the cut, what a collection has had and
// what waits add up to the position.
TEST(Intake, ASnapshotHasAPieceInAllCollectionsOrInNone) {
  World world({.partitions = 3, .axis = Axis::kEvent});
  Intake<Visit> intake(*world.engine, {.reorder = 5s});
  intake.Feed(world.visits);
  intake.Feed(world.counter, CountOf);
  std::vector<std::string> snapshots;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    while (!done && snapshots.size() < 20) {
      StringSink snapshot;
      if (TakeSnapshot(*world.engine, snapshot).ok()) snapshots.push_back(snapshot.bytes);
    }
  });
  std::mt19937_64 random(1);
  for (uint64_t next = 0; next < 4'000;) {
    const std::vector<std::string> keys = {"a", "b", "c", "d"};
    std::vector<Keyed> batch;
    for (int i = 0; i < 40; ++i) {
      const Duration stamp = (next + batch.size()) * Duration{300'000};
      const EngineTime at = kT0 + stamp + Duration(random() % 5'000'000);
      batch.push_back({keys[random() % 4], at, {.user = std::string(5'000, 'u'), .number = 1}});
    }
    ASSERT_TRUE(intake.Push(batch, SourcePosition{.source = 7, .offset = next}));
    next += batch.size();
  }
  done = true;
  thread.join();
  ASSERT_FALSE(snapshots.empty());
  for (const std::string& bytes : snapshots) {
    World other({.partitions = 3, .axis = Axis::kEvent});
    Intake<Visit> again(*other.engine, {.reorder = 5s});
    again.Feed(other.visits);
    again.Feed(other.counter, CountOf);
    ASSERT_TRUE(RestoreInto(*other.engine, bytes).ok());
    const uint64_t position = other.engine->SourcePositionOf(7, 0);
    ASSERT_EQ(other.visits.ledger().events + again.counts().waiting, position);
    ASSERT_EQ(other.counter.ledger().events, other.visits.ledger().events);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
