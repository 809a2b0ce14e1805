// An intake: its collections agree with those that are fed one event after the other, whatever the
// size of the batches; with a bound they are those of sorted input; and nothing is lost on the way
// through snapshots and positions.
#include <pleat/intake.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
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
#include "tests/support/check_whole.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

struct Visit {
  std::string user;
  int64_t number = 0;

  template <class F>
  void Stored(F& f) {
    f(user, number);
  }
};

struct Visits {
  std::string text;  // tells the order

  void Fold(const Visit& visit) noexcept {
    text += visit.user + std::to_string(visit.number) + ' ';
  }
  template <class F>
  void Stored(F& f) {
    f(text);
  }
};

struct Seat {
  int64_t number = 0;

  bool operator==(const Seat&) const = default;
  template <class F>
  void Stored(F& f) {
    f(number);
  }
};

struct Arrival {
  std::string key;
  EngineTime at;
  Visit visit;
};

struct Setting {
  int partitions = 1;
  Duration future_limit = kForever;
  FolderOptions folder = {.quiet_period = 10s, .max_wait = 60s};
  LiveSetOptions live_set = {.ttl = 15s};
  RollupOptions rollup = {.windows = {20s}, .allowed_lateness = Duration{0}};
  IntakeOptions intake;
};

using Keyed = KeyedEvent<Visit>;

// Every third visit counts for no counter; those that do, by user.
std::optional<KeyedEvent<CounterEvent>> CountOf(const Keyed& each) {
  if (each.event.number % 3 == 0) return std::nullopt;
  return KeyedEvent<CounterEvent>{each.event.user, {}, {each.event.number, {}}};
}
KeyedEvent<LiveSetEvent<Seat>> SeatOf(const Keyed& each) {
  return {each.key, {}, {.id = each.event.user, .payload = {each.event.number}}};
}

// An engine with a folder, a live set and a counter, and all that they have said.
class World {
 public:
  explicit World(const Setting& setting) : setting_(setting) { Open(); }

  // Changes are kept from now on.
  void Watch() {
    std::vector<SeriesCount> none;
    cursor_ = live_set_->Watch({.name = "", .is_prefix = true}, none);
  }

  // One event after the other into each, without an intake.
  void AddOneByOne(const std::vector<Arrival>& arrivals) {
    for (const Arrival& each : arrivals) {
      const Keyed keyed{each.key, each.at, each.visit};
      folder_->Fold(each.key, each.visit, each.at);
      live_set_->Add(each.key, SeatOf(keyed).event, each.at);
      if (const auto count = CountOf(keyed)) counter_->Add(count->key, count->event.delta, each.at);
    }
  }

  void Feed(const IntakeOptions& options) {
    intake_.emplace(*engine_, options);
    intake_->Feed(*folder_, [this](const Keyed& each, FoldOutcome outcome) {
      answers_[0].push_back({each.event.number, static_cast<int>(outcome)});
    });
    intake_->Feed(*live_set_, SeatOf, [this](const Keyed& each, LiveSetOutcome outcome) {
      answers_[1].push_back({each.event.number, static_cast<int>(outcome)});
    });
    intake_->Feed(*counter_, CountOf, [this](const Keyed& each, AddOutcome outcome) {
      answers_[2].push_back({each.event.number, static_cast<int>(outcome)});
    });
  }
  Intake<Visit>& intake() { return *intake_; }
  Engine& engine() { return *engine_; }
  Folder<Visit, Visits>& folder() { return *folder_; }
  const std::vector<std::pair<int64_t, int>>& answers(size_t collection) {
    return answers_[collection];
  }

  // `arrivals` from `first` to `end`, as one batch.
  void Push(const std::vector<Arrival>& arrivals, size_t first, size_t end, bool has_position) {
    std::vector<Keyed> batch;
    for (size_t i = first; i < end; ++i) {
      batch.push_back({arrivals[i].key, arrivals[i].at, arrivals[i].visit});
    }
    std::optional<SourcePosition> position;
    if (has_position) position = SourcePosition{.source = 7, .offset = first};
    ASSERT_TRUE(intake_->Push(batch, position));
  }

  // Goes on in another engine, from a snapshot.
  void Restart() {
    Note();
    StringSink snapshot;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot);
    ASSERT_TRUE(taken.ok()) << taken;
    const IntakeOptions options = setting_.intake;
    Close();
    Open();
    Feed(options);
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    ASSERT_TRUE(restored.ok()) << restored;
    Watch();
  }

  void End() {
    folder_->CloseAll();
    counter_->CloseAll();
    Note();
  }

  // Pops emissions, and reads changes; those of several partitions have no order that batches keep.
  void Note() {
    for (const auto& e : folder_->Pop(SIZE_MAX)) {
      emissions_.push_back(TextOf(e.key, " ", e.state.text, Count(e.first), Count(e.last),
                                  Count(e.closed), " ", ReasonName(e.reason), " ", e.count));
    }
    for (const auto& e : counter_->Pop(SIZE_MAX)) {
      windows_.push_back(
          TextOf(e.key, Count(e.first), Count(e.closed), " ", e.state.amount.sum, " of ", e.count));
    }
    std::vector<Change<Seat>> changes;
    live_set_->Read({.name = "", .is_prefix = true}, cursor_, SIZE_MAX, changes);
    for (const auto& c : changes) {
      changes_.push_back(
          TextOf(c.series, " ", c.id, " ", static_cast<int>(c.cause), " ", c.count, Count(c.at)));
    }
  }

  std::string Said() {
    std::ostringstream out;
    for (auto* texts : {&emissions_, &windows_, &changes_}) {
      if (setting_.partitions > 1) std::ranges::sort(*texts);
      for (const std::string& text : *texts) out << text << '\n';
      out << "--\n";
    }
    const Ledger ledger = folder_->ledger();
    out << ledger.events << ' ' << ledger.late << ' ' << ledger.future << ' ' << ledger.closed;
    const LiveSetLedger live = live_set_->ledger();
    out << " / " << live.events << ' ' << live.late << ' ' << live.future;
    const RollupLedger counted = counter_->ledger();
    out << " / " << counted.events << ' ' << counted.late << ' ' << counted.future;
    out << " /" << Count(engine_->now());
    return out.str();
  }

 private:
  void Open() {
    engine_ = Engine::Open({.partitions = setting_.partitions,
                            .axis = Axis::kEvent,
                            .future_limit = setting_.future_limit,
                            .internals = {.hash_key = {{1, 2}}, .epoch = 3}})
                  .value();
    folder_.emplace(*engine_, "visits", setting_.folder);
    live_set_.emplace(*engine_, "seats", setting_.live_set);
    counter_.emplace(*engine_, "numbers", setting_.rollup);
  }
  void Close() {
    intake_.reset();
    engine_.reset();
  }

  template <class... Parts>
  static std::string TextOf(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
  static std::string Count(EngineTime at) { return TextOf(" ", (at - kT0).count()); }

  const Setting setting_;
  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Visit, Visits>> folder_;
  std::optional<LiveSet<Seat>> live_set_;
  std::optional<RollupCounter> counter_;
  std::optional<Intake<Visit>> intake_;
  ChangeCursor cursor_;
  std::vector<std::string> emissions_;
  std::vector<std::string> windows_;
  std::vector<std::string> changes_;
  std::vector<std::pair<int64_t, int>> answers_[3];
};

// Visits in order, some with one stamp, some behind a gap.
std::vector<Arrival> DrawSorted(std::mt19937_64& random, size_t count) {
  std::vector<Arrival> arrivals;
  EngineTime at = kT0;
  for (size_t i = 0; i < count; ++i) {
    switch (random() % 8) {
      case 0: at += Duration(random() % 40'000'000); break;
      case 1: break;
      default: at += Duration(random() % 2'000'000); break;
    }
    arrivals.push_back({.key = "key " + std::to_string(random() % 5),
                        .at = at,
                        .visit = {.user = "user " + std::to_string(random() % 4),
                                  .number = static_cast<int64_t>(i)}});
  }
  return arrivals;
}

// The same out of order by no more than `bound`.
std::vector<Arrival> Shuffled(std::vector<Arrival> sorted, Duration bound,
                              std::mt19937_64& random) {
  std::vector<std::pair<EngineTime, Arrival>> comes;
  for (Arrival& each : sorted) {
    const auto range = static_cast<uint64_t>(bound.count()) + 1;
    const EngineTime at = each.at + Duration(random() % range);
    comes.emplace_back(at, std::move(each));
  }
  std::ranges::stable_sort(comes, {}, &std::pair<EngineTime, Arrival>::first);
  std::vector<Arrival> shuffled;
  for (auto& [at, each] : comes) shuffled.push_back(std::move(each));
  return shuffled;
}

std::vector<Arrival> StablySorted(std::vector<Arrival> arrivals) {
  std::ranges::stable_sort(arrivals, {}, &Arrival::at);
  return arrivals;
}

Setting DrawSetting(std::mt19937_64& random) {
  Setting setting;
  setting.partitions = 1 + static_cast<int>(random() % 3);
  if (random() % 2 == 0) setting.folder.edge = Edge::kBoth;
  if (random() % 2 == 0) setting.folder.partial_every = 3s;
  if (random() % 2 == 0) setting.folder.late.allowed_lateness = 5s;
  if (random() % 2 == 0) setting.rollup.allowed_lateness = 5s;
  if (random() % 4 == 0) setting.live_set.refresh = Refresh::kFirst;
  return setting;
}

void PushInBatches(World& world, const std::vector<Arrival>& arrivals, std::mt19937_64& random) {
  for (size_t first = 0; first < arrivals.size();) {
    const size_t most = random() % 3 == 0 ? 600 : 1 + random() % 20;
    const size_t end = std::min(arrivals.size(), first + 1 + random() % most);
    world.Push(arrivals, first, end, /*has_position=*/false);
    if (random() % 3 == 0 && world.engine().partitions() == 1) world.Note();
    first = end;
  }
}

uint64_t Seeds() { return ShareOf({.whole = 100'000, .usual = 300, .sanitized = 30}); }

TEST(Intake, BatchesOfEverySizeGiveWhatOneEventAfterTheOtherGives) {
  ForEachSeed(1, Seeds(), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    Setting setting = DrawSetting(random);
    if (random() % 3 == 0) setting.future_limit = 30s;
    std::vector<Arrival> arrivals = DrawSorted(random, 1 + random() % 400);
    if (random() % 2 == 0) arrivals = Shuffled(std::move(arrivals), 20s, random);  // some are late
    World expected(setting);
    expected.Watch();
    expected.AddOneByOne(arrivals);
    expected.End();
    World world(setting);
    world.Watch();
    world.Feed({});
    PushInBatches(world, arrivals, random);
    world.End();
    ASSERT_EQ(world.Said(), expected.Said());
  });
}

TEST(Intake, DisorderWithinTheBoundGivesWhatSortedEventsGive) {
  ForEachSeed(1, Seeds(), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    Setting setting = DrawSetting(random);
    setting.intake.reorder = Duration(1 + random() % 30'000'000);
    const std::vector<Arrival> arrivals =
        Shuffled(DrawSorted(random, 1 + random() % 400), setting.intake.reorder, random);
    World expected(setting);
    expected.Watch();
    expected.AddOneByOne(StablySorted(arrivals));
    expected.End();
    World world(setting);
    world.Watch();
    world.Feed(setting.intake);
    PushInBatches(world, arrivals, random);
    ASSERT_TRUE(world.intake().TakeWaiting());
    world.End();
    ASSERT_EQ(world.Said(), expected.Said());
    ASSERT_EQ(world.intake().counts().waiting, 0u);
    ASSERT_EQ(world.intake().counts().released_early, 0u);
  });
}

// Beyond the bound, with little memory, a future limit and a clock: by batches of any size, and over
// restarts from snapshots, what single events give.
TEST(Intake, RestartsAndBatchesOfEverySizeChangeNothingBeyondTheBound) {
  ForEachSeed(1, Seeds(), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    Setting setting = DrawSetting(random);
    setting.intake.reorder = Duration(1 + random() % 20'000'000);
    if (random() % 2 == 0) setting.intake.max_waiting_bytes = random() % 1'500;
    if (random() % 2 == 0) setting.future_limit = 60s;
    const std::vector<Arrival> arrivals =
        Shuffled(DrawSorted(random, 1 + random() % 300), 40s, random);
    World one(setting);
    one.Watch();
    one.Feed(setting.intake);
    World world(setting);
    world.Watch();
    world.Feed(setting.intake);
    for (size_t first = 0; first < arrivals.size();) {
      const size_t end = std::min<size_t>(arrivals.size(), first + 1 + random() % 80);
      for (size_t i = first; i < end; ++i) one.Push(arrivals, i, i + 1, true);
      world.Push(arrivals, first, end, true);
      if (random() % 4 == 0) {
        world.Restart();
        const uint64_t next = world.engine().SourcePositionOf(7, 0);
        ASSERT_EQ(next, end);
        // What was pushed before is not taken twice.
        world.Push(arrivals, first, end, true);
        ASSERT_EQ(world.intake().counts().replayed, end - first);
      }
      if (random() % 4 == 0) {
        const EngineTime now = arrivals[end - 1].at + Duration(random() % 30'000'000) - 10s;
        ASSERT_TRUE(one.intake().Advance(now));
        ASSERT_TRUE(world.intake().Advance(now));
      }
      ASSERT_EQ(world.intake().counts().waiting, one.intake().counts().waiting);
      ASSERT_EQ(world.intake().counts().released_early, one.intake().counts().released_early);
      ASSERT_EQ(world.intake().next_waiting(), one.intake().next_waiting());
      first = end;
    }
    for (World* each : {&one, &world}) {
      ASSERT_TRUE(each->intake().TakeWaiting());
      each->End();
    }
    ASSERT_EQ(world.Said(), one.Said());
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(world.answers(i), one.answers(i));
  });
}

TEST(Intake, TimeStandsUntilTheLastCollectionHasThePiece) {
  World world({});
  Intake<Visit> intake(world.engine(), {});
  std::vector<Duration> seen;
  intake.Feed(world.folder());
  RollupCounter counter(world.engine(), "counted", {.windows = {1s}, .allowed_lateness = 1s});
  intake.Feed(counter, [&](const Keyed& each) -> std::optional<KeyedEvent<CounterEvent>> {
    seen.push_back(world.engine().now() - kBeginningOfTime);
    return KeyedEvent<CounterEvent>{each.key, {}, {}};
  });
  const std::vector<Keyed> batch = {{"a", kT0, {}}, {"a", kT0 + 5s, {}}, {"a", kT0 + 9s, {}}};
  ASSERT_TRUE(intake.Push(batch));
  EXPECT_THAT(seen, ElementsAre(Duration{0}, Duration{0}, Duration{0}));
  EXPECT_EQ(world.engine().now(), kT0 + 9s);
  EXPECT_EQ(counter.ledger().late, 0u);
}

// The trap that an intake is for.
TEST(Intake, ASecondCollectionIsNotLate) {
  std::vector<Keyed> batch;
  for (int i = 0; i < 1'000; ++i) batch.push_back({"page", kT0 + i * Duration{50'000}, {}});
  std::vector<KeyedEvent<CounterEvent>> counts;
  for (const Keyed& each : batch) counts.push_back({each.key, each.at, {}});
  Setting setting;
  setting.rollup = {.windows = {1s}, .allowed_lateness = 2s};

  World apart(setting);
  RollupCounter second(apart.engine(), "second", setting.rollup);
  apart.folder().FoldBatch(batch);
  second.AddBatch(counts);
  EXPECT_GT(second.ledger().late, 900u);

  World world(setting);
  RollupCounter counter(world.engine(), "counter", setting.rollup);
  Intake<Visit> intake(world.engine());
  intake.Feed(world.folder());
  intake.Feed(counter,
              [](const Keyed& each) { return KeyedEvent<CounterEvent>{each.key, {}, {}}; });
  ASSERT_TRUE(intake.Push(batch));
  EXPECT_EQ(counter.ledger().late, 0u);
  EXPECT_EQ(counter.Accurate("page").amount.count, 1'000u);
}

TEST(Intake, AnswersComeWhenTheGateIsOpenAgain) {
  World world({});
  Intake<Visit> intake(world.engine());
  StringSink snapshot;
  bool taken = false;
  intake.Feed(world.folder(), [&](const Keyed&, FoldOutcome outcome) {
    EXPECT_EQ(outcome, FoldOutcome::kOpened);
    taken = TakeSnapshot(world.engine(), snapshot).ok();
    world.folder().Flush("a");
  });
  ASSERT_TRUE(intake.Push("a", {.user = "ann", .number = 1}, kT0));
  EXPECT_TRUE(taken);
  EXPECT_EQ(world.folder().Pop(9).size(), 1u);
}

TEST(Intake, AStoppedEngineLeavesWhatWaitsAndSaysSo) {
  Setting setting;
  setting.intake.reorder = 10s;
  World world(setting);
  world.Feed(setting.intake);
  ASSERT_TRUE(world.intake().Push("a", {.user = "ann", .number = 1}, kT0));
  world.engine().Stop();
  ASSERT_TRUE(world.intake().Push("a", {.user = "bob", .number = 2}, kT0 + 30s));
  EXPECT_THAT(world.answers(0), ElementsAre(std::pair(2, static_cast<int>(FoldOutcome::kStopped))));
  ASSERT_TRUE(world.intake().TakeWaiting());
  EXPECT_EQ(world.intake().counts().waiting, 1u);
  EXPECT_EQ(world.engine().SourcePositionOf(7, 0), 0u);
}

TEST(Intake, OptionsThatCannotBe) {
  const auto open = [](const EngineOptions& engine, const IntakeOptions& options) {
    const auto opened = Engine::Open(engine).value();
    const auto intake = Intake<Visit>::Open(*opened, options);
    return std::string(intake.status().message());
  };
  EXPECT_EQ(open({.axis = Axis::kEvent}, {.reorder = -1s}), "reorder: must be zero or more");
  EXPECT_EQ(open({.axis = Axis::kArrival}, {.reorder = 1s}),
            "reorder: must be zero on arrival time");
  EXPECT_EQ(open({.axis = Axis::kEvent, .watermark_delay = 1s}, {.reorder = 1s}),
            "reorder: must be zero with a watermark delay, which it makes needless");
  EXPECT_EQ(open({.axis = Axis::kArrival}, {}), "");
  const auto engine = Engine::Open({.axis = Axis::kEvent}).value();
  {
    const Intake<Visit> first(*engine);
    EXPECT_EQ(Intake<Visit>::Open(*engine).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_TRUE(Intake<Visit>::Open(*engine).ok());
}

TEST(Intake, ASnapshotOfAnotherBoundIsRefusedByName) {
  Setting setting;
  setting.intake.reorder = 10s;
  World world(setting);
  world.Feed(setting.intake);
  ASSERT_TRUE(world.intake().Push("a", {.user = "ann", .number = 1}, kT0));
  StringSink snapshot;
  ASSERT_TRUE(TakeSnapshot(world.engine(), snapshot).ok());
  World other(setting);
  other.Feed({.reorder = 20s});
  StringSource source(snapshot.bytes);
  const absl::Status restored = RestoreSnapshot(other.engine(), source, {});
  EXPECT_THAT(restored.message(), testing::HasSubstr("intake.reorder"));
}

// Events on arrival time: the intake moves no time.
TEST(Intake, OnArrivalTimeTimeIsTheClocks) {
  const auto engine = Engine::Open({}).value();
  Folder<Visit, Visits> folder(*engine, "visits", {.quiet_period = 10s, .max_wait = 1min});
  Intake<Visit> intake(*engine);
  intake.Feed(folder);
  ASSERT_TRUE(intake.Push("a", {.user = "ann", .number = 1}, kT0));
  EXPECT_EQ(engine->now(), kBeginningOfTime);
  ASSERT_TRUE(intake.Advance(kT0 + 11s));
  EXPECT_EQ(folder.Pop(9).size(), 1u);
}

// Snapshots by another thread fall between pieces: whatever the cut, all collections and what waits
// add up to the position.
TEST(Intake, ASnapshotHasAPieceInAllCollectionsOrInNone) {
  Setting setting;
  setting.partitions = 3;
  setting.intake.reorder = 5s;
  std::mt19937_64 random(1);
  const std::vector<Arrival> arrivals = Shuffled(DrawSorted(random, 4'000), 5s, random);
  World world(setting);
  world.Feed(setting.intake);
  std::vector<std::string> snapshots;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    while (!done && snapshots.size() < 50) {
      StringSink snapshot;
      if (TakeSnapshot(world.engine(), snapshot).ok()) snapshots.push_back(snapshot.bytes);
    }
  });
  for (size_t first = 0; first < arrivals.size(); first += 40) {
    world.Push(arrivals, first, std::min(arrivals.size(), first + 40), true);
  }
  done = true;
  thread.join();
  ASSERT_FALSE(snapshots.empty());
  for (const std::string& bytes : snapshots) {
    World other(setting);
    other.Feed(setting.intake);
    StringSource source(bytes);
    ASSERT_TRUE(RestoreSnapshot(other.engine(), source, {}).ok());
    const uint64_t position = other.engine().SourcePositionOf(7, 0);
    const uint64_t waiting = other.intake().counts().waiting;
    ASSERT_EQ(other.folder().ledger().events + waiting, position);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
