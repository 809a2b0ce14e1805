// Replay: one order over all partitions, wherever it begins and ends; and an engine that is brought to
// an instant, from the first record or from a snapshot, is the one that it was then.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "tests/store/store_history.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kPartitions = kHistoryPartitions;
constexpr int kKeys = kHistoryKeys;
constexpr uint64_t kSource = 9;

// All that comes up to the end; positions are looked at on the way.
std::vector<Placed> Rest(StoreReplay& replay) {
  std::vector<Placed> all;
  for (;;) {
    const absl::StatusOr<ReadOutcome> next = replay.Next();
    EXPECT_TRUE(next.ok()) << next.status();
    if (!next.ok() || *next != ReadOutcome::kRecords) {
      EXPECT_EQ(next.value_or(ReadOutcome::kEnd), ReadOutcome::kEnd);
      return all;
    }
    const StoredRecord& record = replay.record();
    EXPECT_EQ(replay.position(replay.partition()).offset, record.offset + 1);
    all.push_back(PlacedOf(replay.partition(), record));
  }
}

std::unique_ptr<EventStoreReader> OpenReader(FaultyStorage& storage) {
  return *EventStoreReader::Open(kStorePath, &storage);
}

TEST(StoreReplayTest, ReadsAllPartitionsInTheOrderOfTime) {
  ForEachSeed(1, ShareOf({.whole = 3'000, .usual = 100, .sanitized = 20}), [](uint64_t seed) {
    FaultyStorage storage;
    History history(storage, seed);
    history.Append(200);
    if (history.Draw(2) == 0) {
      ASSERT_TRUE(
          history.store().Trim({.appended_since = At(history.Draw(60)), .unread = false}).ok());
    }
    const auto reader = OpenReader(storage);
    const std::vector<uint64_t> firsts = history.Firsts();

    StoreReplay all(history.store());
    EXPECT_THAT(Rest(all), ElementsAreArray(history.Expected(firsts, kEndOfTime)));
    StoreReplay read(*reader);
    EXPECT_THAT(Rest(read), ElementsAreArray(history.Expected(firsts, kEndOfTime)));

    const EngineTime until = At(history.Draw(150));
    const int begin = history.Draw(kPartitions);
    const PartitionRange range{begin, begin + history.Draw(kPartitions + 1 - begin)};
    StoreReplay some(*reader, until, range);
    EXPECT_THAT(Rest(some), ElementsAreArray(history.Expected(firsts, until, range)));

    // What comes later comes behind all that was read, in order again.
    std::vector<uint64_t> ends;
    for (int p = 0; p < kPartitions; ++p) ends.push_back(history.store().Durable(p));
    history.Append(100);
    EXPECT_THAT(Rest(all), ElementsAreArray(history.Expected(ends, kEndOfTime)));
    EXPECT_THAT(Rest(read), IsEmpty());
    ASSERT_TRUE(reader->Refresh().ok());
    EXPECT_THAT(Rest(read), ElementsAreArray(history.Expected(ends, kEndOfTime)));
  });
}

TEST(StoreReplayTest, BeginsAtPositionsOrAtAnInstant) {
  ForEachSeed(1, ShareOf({.whole = 3'000, .usual = 100, .sanitized = 20}), [](uint64_t seed) {
    FaultyStorage storage;
    History history(storage, seed);
    history.Append(200);
    StoreReplay first(history.store());
    for (int i = history.Draw(200); i > 0; --i) ASSERT_EQ(*first.Next(), ReadOutcome::kRecords);
    StoreReplay second(history.store());
    std::vector<uint64_t> from;
    for (int p = 0; p < kPartitions; ++p) {
      const StorePosition position = first.position(p);
      EXPECT_EQ(position.mark == 0, position.offset == 0);
      from.push_back(position.offset);
      second.StartAt(p, position);
    }
    EXPECT_THAT(Rest(second), ElementsAreArray(history.Expected(from, kEndOfTime)));

    const EngineTime since = At(history.Draw(150) - 5);
    StoreReplay late(history.store());
    ASSERT_TRUE(late.StartAt(since).ok());
    std::vector<Placed> expected = history.Expected(history.Firsts(), kEndOfTime);
    std::erase_if(expected, [&](const Placed& each) { return std::get<0>(each) < since; });
    EXPECT_THAT(Rest(late), ElementsAreArray(expected));
  });
}

TEST(StoreReplayTest, SaysWhichPartitionWasLost) {
  FaultyStorage storage;
  History history(storage, 1);
  history.Append(100);
  StoreReplay wrong(history.store());
  wrong.StartAt(2, StorePosition(1'000));
  EXPECT_EQ(*wrong.Next(), ReadOutcome::kPositionLost);
  EXPECT_EQ(wrong.partition(), 2);
  EXPECT_EQ(wrong.position(2).offset, 1'000u);

  // Removed while they are read: those of a page that was read come still.
  StoreReplay slow(history.store());
  ASSERT_EQ(*slow.Next(), ReadOutcome::kRecords);
  history.Append(1'000);
  ASSERT_GT(history.store().Trim({.appended_since = kEndOfTime, .unread = false})->files, 0u);
  absl::StatusOr<ReadOutcome> next = slow.Next();
  while (next.ok() && *next == ReadOutcome::kRecords) next = slow.Next();
  EXPECT_EQ(*next, ReadOutcome::kPositionLost);
  const int partition = slow.partition();
  EXPECT_LT(slow.position(partition).offset, history.store().First(partition));
}

TEST(StoreReplayTest, GoesOnWhereItIsToldOnceAPartitionIsLost) {
  FaultyStorage storage;
  History history(storage, 1);
  history.Append(100);
  StoreReplay replay(history.store());
  replay.StartAt(2, StorePosition(1'000));
  ASSERT_EQ(*replay.Next(), ReadOutcome::kPositionLost);
  ASSERT_EQ(*replay.Next(), ReadOutcome::kPositionLost);
  replay.StartAt(2, StorePosition(3));
  EXPECT_THAT(Rest(replay), ElementsAreArray(history.Expected({0, 0, 3, 0}, kEndOfTime)));
}

// One of another record is found out, also at the end.
TEST(StoreReplayTest, FindsOutAPositionOfAnotherStore) {
  FaultyStorage storage;
  History history(storage, 1);
  history.Append(100);
  for (const uint64_t offset : {uint64_t{5}, history.store().Durable(1)}) {
    StoreReplay replay(history.store());
    replay.StartAt(1, {offset, 12'345});
    EXPECT_EQ(*replay.Next(), ReadOutcome::kPositionLost);
    EXPECT_EQ(replay.partition(), 1);
  }
}

TEST(StoreReplayTest, WaitsForAnInstantThatIsStillToCome) {
  FaultyStorage storage;
  History history(storage, 1);
  history.Append(100);
  const EngineTime since = At(history.second() + 100);
  StoreReplay replay(history.store());
  ASSERT_TRUE(replay.StartAt(since).ok());
  EXPECT_THAT(Rest(replay), IsEmpty());
  while (At(history.second()) < since) history.Append(100);
  history.Append(100);
  std::vector<Placed> expected = history.Expected(history.Firsts(), kEndOfTime);
  std::erase_if(expected, [&](const Placed& each) { return std::get<0>(each) < since; });
  EXPECT_THAT(Rest(replay), ElementsAreArray(expected));
}

// A run has what was durable when it began: who appends meanwhile is not chased.
TEST(StoreReplayTest, EndsAlthoughOthersAppend) {
  FaultyStorage storage;
  History history(storage, 1);
  history.Append(50);
  StoreReplay replay(history.store());
  for (size_t runs = 0, expected = 50; runs < 3; ++runs) {
    size_t records = 0;
    for (; *replay.Next() == ReadOutcome::kRecords; ++records) history.Append(1);
    EXPECT_EQ(records, expected);
    expected = records;
  }
}

TEST(StoreReplayTest, GoesOnWhereTheDiskHasFailed) {
  FaultyStorage storage;
  History history(storage, 3);
  history.Append(300);
  const std::vector<Placed> expected = history.Expected(history.Firsts(), kEndOfTime);
  int failures = 0;
  for (uint64_t call = 0; call < 60; ++call) {
    StoreReplay replay(history.store());
    storage.Fail({.call = storage.calls() + call, .error = EIO});
    std::vector<Placed> all;
    int failed = 0;
    for (;;) {
      const absl::StatusOr<ReadOutcome> next = replay.Next();
      if (!next.ok()) {
        ASSERT_EQ(++failed, 1) << next.status();
        storage.Heal();
        continue;
      }
      if (*next == ReadOutcome::kEnd) break;
      ASSERT_EQ(*next, ReadOutcome::kRecords);
      all.push_back(PlacedOf(replay.partition(), replay.record()));
    }
    storage.Heal();
    failures += failed;
    ASSERT_THAT(all, ElementsAreArray(expected)) << "call " << call;
  }
  EXPECT_GT(failures, 10);
}

// --- Into an engine

struct Counted {
  int64_t events = 0;
  int64_t bytes = 0;

  void Fold(int64_t size) noexcept {
    ++events;
    bytes += size;
  }
  template <class F>
  void Stored(F& f) {
    f(events, bytes);
  }
  friend bool operator==(const Counted&, const Counted&) = default;
};
using Counts = Folder<int64_t, Counted>;

// What has become of the events of a key: its groups that were emitted, and the one that is open.
struct KeyState {
  std::vector<Counted> emitted;
  std::optional<Counted> open;
  friend bool operator==(const KeyState&, const KeyState&) = default;
};
using State = std::map<std::string, KeyState>;

constexpr Duration kQuietPeriod = 10s;
constexpr Duration kMaxWait = 25s;

// An engine with a folder, and what was emitted.
class Shadow {
 public:
  explicit Shadow(Axis axis = Axis::kArrival, int partitions = kPartitions)
      : engine_(*Engine::Open({.partitions = partitions, .axis = axis})),
        counts_(*engine_, "counts", {.quiet_period = kQuietPeriod, .max_wait = kMaxWait}) {}

  void Fold(const Placed& placed) {
    const auto& [appended, partition, offset, key, payload] = placed;
    const KeyedEvent<int64_t> event{key, appended, static_cast<int64_t>(payload.size())};
    const bool is_alike = engine_->partitions() == kPartitions;
    counts_.FoldBatch({&event, 1}, {}, is_alike ? PartitionRange::One(partition) : PartitionRange(),
                      is_alike ? std::optional(SourcePosition{.source = kSource, .offset = offset})
                               : std::nullopt);
  }
  void FoldWithoutPosition(const std::vector<Placed>& records) {
    for (const auto& [appended, partition, offset, key, payload] : records) {
      counts_.Fold(key, static_cast<int64_t>(payload.size()), appended);
      if (engine_->axis() == Axis::kArrival) engine_->Advance(appended);
    }
  }
  absl::StatusOr<uint64_t> Replay(StoreReplay replay) {
    return replay.Into(*engine_, kSource, [&](int partition, const StoredRecord& record) {
      Take();
      Fold(PlacedOf(partition, record));
    });
  }
  void Take() {
    for (auto& each : counts_.Pop(SIZE_MAX))
      state_[std::string(each.key)].emitted.push_back(each.state);
  }
  State StateNow() {
    Take();
    State state = state_;
    for (int key = 0; key < kKeys; ++key) {
      if (const auto open = counts_.Peek(KeyOf(key))) state[KeyOf(key)].open = open->state;
    }
    return state;
  }
  // Makes the other engine equal to this one.
  void CopyTo(Shadow& other) {
    Take();
    other.state_ = state_;
    StringSink sink;
    ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());
    StringSource source(sink.bytes);
    const absl::Status restored = RestoreSnapshot(*other.engine_, source);
    ASSERT_TRUE(restored.ok()) << restored;
  }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
  Counts counts_;
  State state_;
};

// The same, said in plain C++: what these records come to at an instant.
State StateOf(const std::vector<Placed>& records, EngineTime instant) {
  struct Open {
    EngineTime first, last;
    Counted counted;
    EngineTime deadline() const { return std::min(first + kMaxWait, last + kQuietPeriod); }
  };
  std::map<std::string, Open> open;
  State state;
  for (const auto& [appended, partition, offset, key, payload] : records) {
    if (open.contains(key) && open[key].deadline() <= appended) {
      state[key].emitted.push_back(open[key].counted);
      open.erase(key);
    }
    const auto [group, is_new] = open.try_emplace(key, Open{.first = appended});
    group->second.last = appended;
    group->second.counted.Fold(static_cast<int64_t>(payload.size()));
  }
  for (const auto& [key, group] : open) {
    if (group.deadline() <= instant) {
      state[key].emitted.push_back(group.counted);
    } else {
      state[key].open = group.counted;
    }
  }
  return state;
}

TEST(ReplayIntoAnEngine, MakesTheStateOfEachInstantFromTheFirstRecordOrFromASnapshot) {
  ForEachSeed(1, ShareOf({.whole = 2'000, .usual = 60, .sanitized = 15}), [](uint64_t seed) {
    FaultyStorage storage;
    History history(storage, seed);
    history.Append(300);
    const std::vector<uint64_t> firsts(kPartitions, 0);
    const auto reader = OpenReader(storage);

    // An engine that reads partition by partition, in rounds, and is copied in the middle.
    const EngineTime copied_at = At(1 + history.Draw(100));
    Shadow live;
    for (EngineTime round = kT0; round < copied_at; round += 7s) {
      const EngineTime end = std::min(round + 7s, copied_at);
      std::vector<Placed> records = history.Expected(firsts, end);
      std::ranges::sort(records, {},
                        [](const Placed& each) { return std::pair(std::get<1>(each), each); });
      for (const Placed& each : records) live.Fold(each);  // those before are replayed
      live.engine().Advance(end);
    }
    for (int i = 0; i < 5; ++i) {
      const EngineTime instant = copied_at + std::chrono::seconds(history.Draw(100));
      const State expected = StateOf(history.Expected(firsts, instant), instant);
      Shadow copy;
      live.CopyTo(copy);
      absl::StatusOr<uint64_t> replayed = copy.Replay(StoreReplay(history.store(), instant));
      ASSERT_TRUE(replayed.ok()) << replayed.status();
      EXPECT_EQ(*replayed, history.Expected(firsts, instant).size() -
                               history.Expected(firsts, copied_at).size());
      EXPECT_EQ(copy.StateNow(), expected);

      // With other partitions, and of a reader.
      Shadow whole(Axis::kArrival, history.Draw(2) == 0 ? kPartitions : 7);
      replayed = whole.Replay(StoreReplay(*reader, instant));
      ASSERT_TRUE(replayed.ok()) << replayed.status();
      EXPECT_EQ(*replayed, history.Expected(firsts, instant).size());
      EXPECT_EQ(whole.StateNow(), expected);
    }
  });
}

// Then they are all there, and time stands where the last record has put it.
TEST(ReplayIntoAnEngine, GoesToTheEndWithoutAnInstant) {
  FaultyStorage storage;
  History history(storage, 5);
  history.Append(300);
  const std::vector<Placed> records = history.Expected(history.Firsts(), kEndOfTime);
  const EngineTime end = std::get<0>(records.back());
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Shadow shadow(axis);
    ASSERT_EQ(*shadow.Replay(StoreReplay(history.store())), records.size());
    EXPECT_EQ(shadow.StateNow(), StateOf(records, end));
    EXPECT_EQ(shadow.engine().now(), end);
    for (int p = 0; p < kPartitions; ++p) {
      EXPECT_EQ(shadow.engine().SourcePositionOf(kSource, p), history.store().Durable(p));
    }
    // And goes on from there.
    EXPECT_EQ(*shadow.Replay(StoreReplay(history.store())), 0u);
  }
}

TEST(ReplayIntoAnEngine, GoesOnWhenItIsCalledAgain) {
  FaultyStorage storage;
  History history(storage, 6);
  history.Append(100);
  Shadow shadow;
  StoreReplay replay(history.store());
  const auto fold = [&](int partition, const StoredRecord& record) {
    shadow.Take();
    shadow.Fold(PlacedOf(partition, record));
  };
  storage.Fail({.call = storage.calls() + 3, .error = EIO});
  uint64_t folded = 0;
  const auto counts = [&](int partition, const StoredRecord& record) {
    ++folded;
    fold(partition, record);
  };
  ASSERT_FALSE(replay.Into(shadow.engine(), kSource, counts).ok());
  storage.Heal();
  ASSERT_TRUE(replay.Into(shadow.engine(), kSource, counts).ok());
  EXPECT_EQ(folded, 100u);
  history.Append(70);
  EXPECT_EQ(*replay.Into(shadow.engine(), kSource, fold), 70u);
  const std::vector<Placed> records = history.Expected(history.Firsts(), kEndOfTime);
  EXPECT_EQ(shadow.engine().now(), std::get<0>(records.back()));
  EXPECT_EQ(shadow.engine().SourcePositionOf(kSource, 1), history.store().Durable(1));
}

TEST(ReplayIntoAnEngine, BeginsWhereItStandsInPartitionsThatNobodyHasPlaced) {
  FaultyStorage storage;
  History history(storage, 6);
  history.Append(100);
  Shadow shadow;
  ASSERT_EQ(*shadow.Replay(StoreReplay(history.store())), 100u);
  history.Append(50);
  StoreReplay replay(history.store());
  replay.StartAt(1, StorePosition(history.store().Durable(1) - 1));
  std::vector<uint64_t> from;
  for (int p = 0; p < kPartitions; ++p) {
    from.push_back(p == 1 ? history.store().Durable(1) - 1
                          : shadow.engine().SourcePositionOf(kSource, p));
  }
  EXPECT_EQ(*shadow.Replay(std::move(replay)), history.Expected(from, kEndOfTime).size());
}

class RefusedReplay : public testing::Test {
 protected:
  RefusedReplay() { history_.Append(400); }

  void IsRefused(Shadow& shadow, StoreReplay replay, absl::StatusCode code,
                 const std::string& says) {
    const State before = shadow.StateNow();
    const EngineTime now = shadow.engine().now();
    const absl::StatusOr<uint64_t> replayed = shadow.Replay(std::move(replay));
    EXPECT_EQ(replayed.status().code(), code) << replayed.status();
    EXPECT_THAT(std::string(replayed.status().message()), HasSubstr(says));
    EXPECT_EQ(shadow.StateNow(), before);
    EXPECT_EQ(shadow.engine().now(), now);
  }
  std::vector<Placed> Until(EngineTime instant) const {
    return history_.Expected(std::vector<uint64_t>(kPartitions, 0), instant);
  }

  FaultyStorage storage_;
  History history_{storage_, 8};
  Shadow shadow_;
};

TEST_F(RefusedReplay, ToAnInstantThatTheEngineHasPassed) {
  shadow_.engine().Advance(At(50));
  IsRefused(shadow_, StoreReplay(history_.store(), At(50) - Duration{1}),
            absl::StatusCode::kOutOfRange, "brought is 2023-11-14T22:14:10.000000Z");
  StoreReplay placed(history_.store(), At(50));
  for (int p = 0; p < kPartitions; ++p) placed.StartAt(p, StorePosition(0));
  EXPECT_TRUE(shadow_.Replay(std::move(placed)).ok());
}

// Its snapshot has no positions, so that the replay would begin at the first records.
TEST_F(RefusedReplay, IntoAnEngineThatMayHaveFoldedTheRecordsAlready) {
  for (const Axis axis : {Axis::kArrival, Axis::kEvent}) {
    Shadow folded(axis);
    folded.FoldWithoutPosition(Until(At(40)));
    IsRefused(folded, StoreReplay(history_.store()), absl::StatusCode::kFailedPrecondition,
              "without a SourcePosition");
  }
}

// Its time is that of a clock, and the first record came later.
TEST_F(RefusedReplay, ButNotIntoAnIdleEngineThatIsBehindTheFirstRecord) {
  const std::vector<Placed> records = Until(kEndOfTime);
  shadow_.engine().Advance(std::get<0>(records.front()));
  EXPECT_EQ(*shadow_.Replay(StoreReplay(history_.store())), records.size());
  EXPECT_EQ(shadow_.StateNow(), StateOf(records, std::get<0>(records.back())));
}

// Time has not moved, but a partition was read further.
TEST_F(RefusedReplay, ToAnInstantThatOnePartitionHasPassed) {
  const std::vector<Placed> records = Until(At(60));
  const Placed last = records.back();
  for (const Placed& each : records) {
    if (std::get<1>(each) == std::get<1>(last)) shadow_.Fold(each);
  }
  ASSERT_LT(shadow_.engine().now(), std::get<0>(last));
  IsRefused(shadow_, StoreReplay(history_.store(), std::get<0>(last) - Duration{1}),
            absl::StatusCode::kOutOfRange, "earliest instant");
  EXPECT_TRUE(shadow_.Replay(StoreReplay(history_.store(), std::get<0>(last))).ok());
}

TEST_F(RefusedReplay, ToAnInstantThatAPlacedReplayHasPassed) {
  shadow_.engine().Advance(At(50));
  StoreReplay placed(history_.store(), At(40));
  for (int p = 0; p < kPartitions; ++p) placed.StartAt(p, StorePosition(0));
  IsRefused(shadow_, std::move(placed), absl::StatusCode::kOutOfRange, "earliest instant");
}

// When the last record was appended that was folded is not known any more.
TEST_F(RefusedReplay, ToAnInstantThatRecordsWhichWereRemovedMayHavePassed) {
  ASSERT_GT(history_.store().Trim({.appended_since = At(60), .unread = false})->files, 0u);
  for (const Placed& each : Until(kEndOfTime)) {
    const int p = std::get<1>(each);
    if (std::get<2>(each) < history_.store().First(p)) shadow_.Fold(each);
  }
  IsRefused(shadow_, StoreReplay(history_.store(), At(2)), absl::StatusCode::kOutOfRange,
            "earliest instant");
  EXPECT_TRUE(shadow_.Replay(StoreReplay(history_.store(), At(100))).ok());
}

TEST_F(RefusedReplay, OfPositionsInAnEngineWithOtherPartitions) {
  Shadow other(Axis::kArrival, kPartitions + 1);
  Counts counts(other.engine(), "others", {.quiet_period = 10s, .max_wait = 25s});
  StoreReplay replay(history_.store());
  const auto replayed = replay.Into(other.engine(), kSource, [&](int, const StoredRecord& record) {
    const KeyedEvent<int64_t> event{record.key, record.appended, 1};
    counts.FoldBatch({&event, 1}, {}, {},
                     SourcePosition{.source = kSource, .offset = record.offset});
  });
  EXPECT_EQ(replayed.status().code(), absl::StatusCode::kFailedPrecondition) << replayed.status();
}

TEST_F(RefusedReplay, OfRecordsThatWereRemovedUnlessTheBeginningIsStated) {
  ASSERT_GT(history_.store().Trim({.appended_since = At(60), .unread = false})->files, 0u);
  IsRefused(shadow_, StoreReplay(history_.store()), absl::StatusCode::kFailedPrecondition,
            "were removed");
  StoreReplay left(history_.store());
  ASSERT_TRUE(left.StartAt(kBeginningOfTime).ok());
  const std::vector<Placed> records = history_.Expected(history_.Firsts(), kEndOfTime);
  EXPECT_EQ(*shadow_.Replay(std::move(left)), records.size());
  EXPECT_EQ(shadow_.StateNow(), StateOf(records, std::get<0>(records.back())));
}

TEST_F(RefusedReplay, IntoAnEngineThatHasReadMoreThanThereIs) {
  FaultyStorage other;
  History longer(other, 8);
  longer.Append(500);
  ASSERT_TRUE(shadow_.Replay(StoreReplay(longer.store())).ok());
  IsRefused(shadow_, StoreReplay(history_.store()), absl::StatusCode::kFailedPrecondition,
            "records of partition");
}

TEST_F(RefusedReplay, IntoAnEngineWithOtherPartitionsThatHasFoldedRecords) {
  Shadow other(Axis::kArrival, kPartitions + 1);
  const KeyedEvent<int64_t> event{"k", At(1), 1};
  Counts counts(other.engine(), "others", {.quiet_period = 10s, .max_wait = 25s});
  counts.FoldBatch({&event, 1}, {}, {}, SourcePosition{.source = kSource, .offset = 0});
  IsRefused(other, StoreReplay(history_.store()), absl::StatusCode::kFailedPrecondition,
            "5 partitions where the store has 4");
}

}  // namespace
}  // namespace pleat::inline v0_1
