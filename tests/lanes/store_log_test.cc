// Lanes on an event store: a process that is killed and started again, power that is cut, a disk
// that fails, files that retention removes. The receiver has what plain C++ makes of the records that
// the store has kept, each message once but for repeats of one id. In a third of the episodes the handler
// refuses keys for a while, and a person decides about some between two lives.
#include <pleat/store_log.h>

#include <chrono>
#include <iostream>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/detail/store_copy.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>

#include "tests/lanes/lane_world.h"
#include "tests/lanes/plain_lanes.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kPartitions = 3;
constexpr const char* kPath = "store";
constexpr const char* kConsumer = "groups";

std::unique_ptr<EventStore> OpenStore(FaultyStorage& storage) {
  absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(kPath, {.storage = &storage,
                               .partitions = kPartitions,
                               .durability = StoreDurability::kGroup,
                               .block_bytes = 4096,
                               .segment_bytes = 4096,
                               .identity = 7});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A processor of the store, as one process has it.
class Process {
 public:
  Process(FaultyStorage& storage, const ProcessorOptions& options, Judge judge = nullptr)
      : log_(*StoreLog::Open(kPath, kConsumer, {}, &storage)),
        processor_(*log_, HandlerFor(options, std::move(judge)), options) {}

  Processor& processor() { return processor_; }

 private:
  const std::unique_ptr<StoreLog> log_;
  Processor processor_;
};

struct Totals {
  uint64_t messages = 0;
  uint64_t repeats = 0;
  uint64_t kills = 0;
  uint64_t power_losses = 0;
  uint64_t trimmed = 0;
  uint64_t faults = 0;
  uint64_t late = 0;
  uint64_t refused = 0;
  uint64_t outside = 0;  // keys that a person let go on while no process had the consumer
};
Totals totals;

class Episode {
 public:
  explicit Episode(uint64_t seed) : random_(seed) {
    options_.commit_every = Draw(2) == 0 ? 100ms : 5s;
    options_.replay_limit = static_cast<uint64_t>(1 + Draw(40));
    is_fussy_ = Draw(3) == 0;
    parks_ = Draw(2) == 0;
    store_ = OpenStore(storage_);
    StartProcess();
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    storage_.Heal();
    away_.clear();
    Commit();
    for (int round = 0; round < 30; ++round) {
      clock_ += 20s;
      for (const HeldKey& each : process_->processor().held_keys())
        process_->processor().Retry(each.partition, each.key);
      Work(/*careful=*/true);
    }
    for (const LaneStatus& each : process_->processor().lanes()) {
      EXPECT_EQ(each.phase, LanePhase::kLive) << each.why;
      EXPECT_EQ(each.waiting, 0u);
      EXPECT_EQ(each.held_keys, 0u);
      EXPECT_EQ(each.next, store_->Durable(each.partition));
    }
    receiver_.ExpectOrderOfKeys();
    const auto same =
        is_late_ || is_fussy_ ? PlainLanes::Same::kRecords : PlainLanes::Same::kGroups;
    for (int p = 0; p < kPartitions; ++p) plain_.ExpectAllIn(receiver_, p, same);
    totals.late += is_late_ ? 1 : 0;
    totals.messages += receiver_.all().size();
    totals.repeats += receiver_.repeats();
  }

 private:
  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  void Step() {
    if (is_fussy_ && Draw(10) == 0) {
      away_.clear();
      if (Draw(3) != 0) away_.insert(std::string(1, static_cast<char>('a' + Draw(6))));
      return;
    }
    switch (Draw(24)) {
      case 0: return Kill();
      case 1: return CutThePower();
      case 2: return Trim();
      case 3:
        ++totals.faults;
        storage_.Fail({.call = storage_.calls() + static_cast<uint64_t>(Draw(20)), .error = EIO});
        return;
      case 4:
      case 5: storage_.Heal(); return;
      case 6:
      case 7: clock_ += 1ms * Draw(20'000); return;
      case 8:
      case 9: return Commit();
      case 10:
      case 11:
      case 12:
      case 13:
        for (int i = Draw(8); i > 0; --i) {
          Append();
          if (Draw(50) != 0) Commit();
        }
        return;
      default: clock_ += 1us * Draw(300'000); return Work(/*careful=*/false);
    }
  }

  void StartProcess() {
    DecideFromOutside();
    process_ =
        std::make_unique<Process>(storage_, options_, [this](int p, const LogRecord& record) {
          // Whether a record is parked depends on the record, and on what a person has mended since.
          const bool was_done = parks_ && done_.contains({p, record.offset});
          if (!away_.contains(record.key) || was_done) {
            done_.emplace(p, record.offset);
            return Handled::Done();
          }
          ++totals.refused;
          return parks_ ? Handled::Park("away") : Handled::RetryAfter(3s, "away");
        });
  }
  // Every lane can go on, and some keys are to.
  void DecideFromOutside() {
    const auto looked = StoreLog::Look(kPath, kConsumer, &storage_);
    if (absl::IsNotFound(looked.status())) return;  // nobody was here before
    ASSERT_TRUE(looked.ok()) << looked.status();
    for (const LaneStatus& each : looked->lanes) {
      EXPECT_TRUE(each.why.ok()) << each.why;
      EXPECT_EQ(each.end, store_->Durable(each.partition));
    }
    for (const HeldKey& each : looked->held_keys) {
      EXPECT_TRUE(parks_ || !each.is_parked);
      if (Draw(2) == 0) continue;
      if (Draw(3) == 0)
        storage_.Fail({.call = storage_.calls() + static_cast<uint64_t>(Draw(40)), .error = EIO});
      const absl::Status told =
          StoreLog::Retry(kPath, kConsumer, each.partition, each.key, &storage_);
      storage_.Heal();
      totals.outside += told.ok() ? 1 : 0;
    }
  }
  void Kill() {
    ++totals.kills;
    storage_.Heal();
    process_.reset();
    StartProcess();
  }
  void CutThePower() {
    ++totals.power_losses;
    storage_.Heal();
    process_.reset();
    store_.reset();
    storage_ = storage_.Reboot([this](uint64_t n) { return random_() % n; });
    store_ = OpenStore(storage_);
    // What was not durable may have been kept.
    for (int p = 0; p < kPartitions; ++p) {
      auto& waiting = appended_[p];
      std::erase_if(waiting, [&](const auto& each) { return each.first >= store_->Durable(p); });
    }
    TakeDurable();
    StartProcess();
  }

  void Append() {
    clock_ += 1us * Draw(500'000);
    const std::string key = std::string(1, static_cast<char>('a' + Draw(6)));
    const std::string payload =
        Draw(4) == 0 ? "!" : std::string(static_cast<size_t>(Draw(300)), 'x');
    const AppendAnswer placed = store_->Append({.key = key, .payload = payload}, clock_);
    if (placed.outcome != AppendOutcome::kAppended) return;
    appended_[placed.partition][placed.offset] = {clock_, key, payload};
  }
  void Commit() {
    if (store_->Commit().ok()) TakeDurable();
  }
  // What is durable counts from now on.
  void TakeDurable() {
    for (auto& [partition, waiting] : appended_) {
      while (!waiting.empty() && waiting.begin()->first < store_->Durable(partition)) {
        const auto& [offset, record] = *waiting.begin();
        is_late_ |= clock_ - record.at > options_.margin;
        plain_.Take(
            partition,
            {.offset = offset, .logged = record.at, .key = record.key, .payload = record.payload});
        waiting.erase(waiting.begin());
      }
    }
  }
  void Trim() {
    const absl::StatusOr<TrimAnswer> trimmed = store_->Trim({.appended_since = kEndOfTime});
    if (trimmed.ok()) totals.trimmed += trimmed->files;
  }

  void Work(bool careful) {
    for (int i = 0; i < (careful ? 4 : 1); ++i) {
      const absl::StatusOr<bool> more = process_->processor().Run(clock_);
      EXPECT_TRUE(more.ok() || !careful) << more.status();
    }
    const size_t max = careful ? SIZE_MAX : static_cast<size_t>(Draw(5));
    for (const Message& each : process_->processor().Lease(max, 3s, clock_)) {
      receiver_.Take(each);
      if (careful || Draw(4) != 0) process_->processor().Ack(each.id);
    }
  }

  struct Appended {
    EngineTime at;
    std::string key, payload;
  };

  std::mt19937_64 random_;
  ProcessorOptions options_;
  FaultyStorage storage_;
  EngineTime clock_ = kT0;
  std::unique_ptr<EventStore> store_;
  std::unique_ptr<Process> process_;
  std::map<int, std::map<uint64_t, Appended>> appended_;  // and not durable for certain
  bool is_fussy_ = false;
  std::set<std::string, std::less<>> away_;  // keys that the handler does not take for the moment
  bool parks_ = false;
  std::set<std::pair<int, uint64_t>> done_;
  bool is_late_ = false;  // a record was durable later than the margin allows
  PlainLanes plain_{Axis::kArrival};
  Receiver receiver_;
};

TEST(StoreLogProperty, NothingIsLostAndNothingSaysTwoThings) {
  const bool all = ForEachSeed(1, ShareOf({.whole = 100'000, .usual = 500, .sanitized = 60}),
                               [](uint64_t seed) { Episode(seed).Run(150); });
  std::cout << totals.messages << " messages, " << totals.repeats << " repeats, " << totals.kills
            << " kills, " << totals.power_losses << " power losses, " << totals.trimmed
            << " files trimmed, " << totals.faults << " faults, " << totals.late
            << " episodes with late records, " << totals.refused << " refusals, " << totals.outside
            << " keys let go from outside\n";
  if (!all) return;
  EXPECT_GT(totals.repeats, 100u);
  EXPECT_GT(totals.trimmed, 5u);
  EXPECT_GT(totals.refused, 50u);
  EXPECT_GT(totals.outside, 10u);
}

class StoreLogTest : public testing::Test {
 protected:
  void Append(std::string_view key, std::string_view payload, Duration at) {
    ASSERT_EQ(store_->Append({.key = key, .payload = payload}, kT0 + at).outcome,
              AppendOutcome::kAppended);
  }
  std::vector<std::string> Run(Process& process, Duration at) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(process.processor().Run(kT0 + at).ok());
    std::vector<std::string> texts;
    for (const Message& each : process.processor().Lease(100, 10s, kT0 + at)) {
      texts.push_back(each.stream + " " + each.key + ": " + each.payload);
    }
    return texts;
  }

  FaultyStorage storage_;
  std::unique_ptr<EventStore> store_ = OpenStore(storage_);
};

TEST_F(StoreLogTest, RecordsAreHandledWhenTheyAreDurable) {
  Process process(storage_, {});
  Append("ann", "!", 0s);
  EXPECT_THAT(Run(process, 0s), IsEmpty());
  ASSERT_TRUE(store_->Commit().ok());
  EXPECT_THAT(Run(process, 1s), ElementsAre("emitted ann: 0"));
}

TEST_F(StoreLogTest, OneProcessHasTheConsumer) {
  const Process process(storage_, {});
  EXPECT_EQ(StoreLog::Open(kPath, kConsumer, {}, &storage_).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_TRUE(StoreLog::Open(kPath, "another", {}, &storage_).ok());
}

TEST_F(StoreLogTest, ARangeLeavesTheOtherPartitionsAlone) {
  for (int p = 0; p < kPartitions; ++p) {
    ASSERT_EQ(store_->Append({.key = "ann", .payload = "!"}, kT0, {.partition = p}).outcome,
              AppendOutcome::kAppended);
  }
  ASSERT_TRUE(store_->Commit().ok());
  const auto log = *StoreLog::Open(kPath, kConsumer, {1, 3}, &storage_);
  Processor processor(*log, MakeGroupingHandler);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(processor.Run(kT0 + 1s * i).ok());
  EXPECT_EQ(processor.lanes().size(), 2u);
  EXPECT_EQ(processor.Lease(10, 1s, kT0).size(), 2u);
}

// `pleat store consumers --move` does that.
TEST_F(StoreLogTest, AConsumerThatWasMovedBeginsANewLifeThere) {
  const int partition = PartitionOf("ann", kPartitions);
  for (int i = 0; i < 3; ++i) Append("ann", "!", 1s * i);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(storage_, {});
    EXPECT_EQ(Run(process, 3s).size(), 1u);
  }
  {
    const auto consumer = *StoreConsumer::Open(kPath, kConsumer, &storage_);
    StoreCheckpoint checkpoint = consumer->checkpoint(partition);
    checkpoint.position = 2;
    ASSERT_TRUE(consumer->Commit(checkpoint).ok());
  }
  Process process(storage_, {});
  EXPECT_THAT(Run(process, 4s), ElementsAre("emitted ann: 2"));
}

TEST_F(StoreLogTest, ACopyOfTheStoreHasTheSnapshotsOfLanes) {
  Append("ann", "", 0s);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(storage_, {.replay_limit = 1});
    Run(process, 1s);
    Run(process, 3s);
  }
  ASSERT_TRUE(CopyEventStore(kPath, "copy", {.storage = &storage_}).ok());
  const auto log = *StoreLog::Open("copy", kConsumer, {}, &storage_);
  Processor processor(*log, MakeGroupingHandler);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(processor.Run(kT0 + 100s).ok());
  const std::vector<Message> lent = processor.Lease(10, 1s, kT0 + 100s);
  ASSERT_EQ(lent.size(), 2u);
  EXPECT_EQ(lent[0].payload + lent[1].payload, "00");
  for (const LaneStatus& each : processor.lanes()) EXPECT_EQ(each.phase, LanePhase::kLive);
}

TEST_F(StoreLogTest, ACopyWithOtherPartitionsIsStoppedByLanes) {
  Append("ann", "", 0s);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(storage_, {.replay_limit = 1});
    Run(process, 1s);
    Run(process, 3s);
  }
  const auto copied = CopyEventStore(kPath, "copy", {.storage = &storage_, .partitions = 2});
  EXPECT_EQ(copied.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(copied.status().message()), HasSubstr("or keep lanes: groups"));
}

// Whatever call fails while the snapshot is read: the next round reads it.
TEST_F(StoreLogTest, ASnapshotThatCannotBeReadForTheMomentParksNoLane) {
  Append("ann", "", 0s);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(storage_, {.replay_limit = 1});
    Run(process, 1s);
    Run(process, 3s);
  }
  int failed = 0;
  for (uint64_t call = 0; call < 60; ++call) {
    Process process(storage_, {});
    storage_.Fail({.call = storage_.calls() + call, .error = EIO, .for_good = true});
    static_cast<void>(process.processor().Run(kT0 + 4s));
    storage_.Heal();
    for (const LaneStatus& each : process.processor().lanes()) failed += each.why.ok() ? 0 : 1;
    Run(process, 5s);
    for (const LaneStatus& each : process.processor().lanes()) {
      EXPECT_EQ(each.phase, LanePhase::kLive) << "call " << call << ": " << each.why;
    }
  }
  EXPECT_GT(failed, 0);
}

TEST_F(StoreLogTest, AnotherPartitionGoesOnBesideOneThatCannotBeRead) {
  for (int p = 0; p < kPartitions; ++p) {
    ASSERT_EQ(store_->Append({.key = "ann", .payload = "!"}, kT0, {.partition = p}).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store_->Commit().ok());
  }
  ASSERT_TRUE(store_->Close().ok());
  const std::string segment = std::string(kPath) + "/segment-1";
  std::string bytes = storage_.Content(segment);
  bytes[bytes.find("ann")] ^= 1;  // of partition 0, which comes first
  storage_.SetContent(segment, bytes);
  Process process(storage_, {});
  EXPECT_EQ(process.processor().Run(kT0).status().code(), absl::StatusCode::kDataLoss);
  for (int i = 0; i < 4; ++i) static_cast<void>(process.processor().Run(kT0 + 1s * i));
  EXPECT_EQ(process.processor().Lease(10, 1s, kT0 + 4s).size(), 2u);
}

// More than are read in one call.
TEST_F(StoreLogTest, EachOfManyPartitionsHasItsTurn) {
  FaultyStorage storage;
  const auto many = *EventStore::Open(
      kPath, {.storage = &storage, .partitions = 200, .durability = StoreDurability::kGroup});
  for (int p = 0; p < 200; ++p) {
    ASSERT_EQ(many->Append({.key = "ann", .payload = "!"}, kT0, {.partition = p}).outcome,
              AppendOutcome::kAppended);
  }
  ASSERT_TRUE(many->Commit().ok());
  Process process(storage, {});
  int rounds = 0;
  while (*process.processor().Run(kT0)) ++rounds;
  EXPECT_GT(rounds, 1);
  ASSERT_TRUE(process.processor().Run(kT0 + 1s).ok());
  ASSERT_TRUE(process.processor().Run(kT0 + 2s).ok());
  EXPECT_EQ(process.processor().Lease(1'000, 1s, kT0 + 2s).size(), 200u);
}

TEST_F(StoreLogTest, AConsumerThatIsRemovedLeavesNoSnapshots) {
  Append("ann", "", 0s);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(storage_, {.replay_limit = 1});
    Run(process, 1s);
  }
  const auto has_snapshots = [this] {
    return std::ranges::any_of(
        storage_.Paths(), [](const std::string& path) { return path.find("/lane-") != path.npos; });
  };
  EXPECT_TRUE(has_snapshots());
  ASSERT_TRUE(StoreConsumer::Remove(kPath, kConsumer, &storage_).ok());
  EXPECT_FALSE(has_snapshots());
}

TEST_F(StoreLogTest, AStoreThatLacksRecordsThatWereHandledParksTheLane) {
  Append("ann", "!", 0s);
  ASSERT_TRUE(store_->Commit().ok());
  const FaultyStorage backup = storage_;
  FaultyStorage now = storage_;
  store_.reset();
  store_ = OpenStore(now);
  Append("ann", "!", 1s);
  ASSERT_TRUE(store_->Commit().ok());
  {
    Process process(now, {});
    Run(process, 2s);
    Run(process, 4s);
  }
  FaultyStorage mixed = backup;
  const std::string checkpoint = std::string(kPath) + "/consumers/" + kConsumer + "/CHECKPOINT";
  {
    const auto made = *StoreConsumer::Open(kPath, kConsumer, &mixed);
  }
  mixed.SetContent(checkpoint, now.Content(checkpoint));
  Process process(mixed, {});
  EXPECT_THAT(Run(process, 5s), IsEmpty());
  const std::vector<LaneStatus> lanes = process.processor().lanes();
  const LaneStatus& lost = lanes[static_cast<size_t>(PartitionOf("ann", kPartitions))];
  EXPECT_EQ(lost.phase, LanePhase::kParked);
  EXPECT_THAT(std::string(lost.why.message()), HasSubstr("are not there"));
}

}  // namespace
}  // namespace pleat::inline v0_1
