// How lanes stand, told from outside: what StoreLog::Look() says is what the processor says of its last
// commit, beside it and after it has died; and what a person decides from outside is what a processor
// does when it is told itself.
#include <chrono>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>
#include <pleat/store_log.h>

#include "tests/lanes/lane_world.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/watched_storage.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kPartitions = 2;
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
  Process(Storage& storage, const ProcessorOptions& options, Judge judge)
      : log_(*StoreLog::Open(kPath, kConsumer, {}, &storage)),
        processor_(*log_, HandlerFor(options, std::move(judge)), options) {}

  Processor& processor() { return processor_; }
  void Run(Duration at) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(processor_.Run(kT0 + at).ok());
  }
  // What it lends, such as "emitted ann: 0", and acks.
  std::vector<std::string> Deliver(Duration at) {
    std::vector<std::string> texts;
    for (const Message& each : processor_.Lease(100, 10s, kT0 + at)) {
      texts.push_back(each.stream + " " + each.key + ": " + each.payload);
      EXPECT_TRUE(processor_.Ack(each.id));
    }
    return texts;
  }

 private:
  const std::unique_ptr<StoreLog> log_;
  Processor processor_;
};

class StoreLanesTest : public testing::Test {
 protected:
  void Append(std::string_view key, std::string_view payload, Duration at, int partition = 0) {
    ASSERT_EQ(store_->Append({.key = key, .payload = payload}, kT0 + at, {.partition = partition})
                  .outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store_->Commit().ok());
  }
  // Its handler parks the keys `parked_`, and wants to retry the keys `away_`.
  Process Start(const ProcessorOptions& options = {}) {
    return {storage_, options, [this](int, const LogRecord& record) {
              if (parked_.contains(record.key)) return Handled::Park("no payload");
              if (away_.contains(record.key)) return Handled::RetryAfter(100s, "no rate");
              return Handled::Done();
            }};
  }
  StoreLog::Lanes Look() {
    const auto looked = StoreLog::Look(kPath, kConsumer, &storage_);
    EXPECT_TRUE(looked.ok()) << looked.status();
    return looked.value_or(StoreLog::Lanes{});
  }
  static std::vector<std::string> Texts(const std::vector<HeldKey>& held) {
    std::vector<std::string> texts;
    for (const HeldKey& each : held) {
      texts.push_back(std::to_string(each.partition) + " " + each.key + ": " + each.reason + ", " +
                      std::to_string(each.offset) + ", " + std::to_string(each.records) + ", " +
                      std::to_string(each.attempts) + (each.is_parked ? ", parked" : ""));
    }
    return texts;
  }
  static std::vector<std::string> Texts(const std::vector<BuriedMessage>& buried) {
    std::vector<std::string> texts;
    for (const BuriedMessage& each : buried) {
      texts.push_back(FormatMessageId(kConsumer, each.message.id, each.message.stream) + " " +
                      each.message.key + " " + each.message.payload + ": " + each.reason +
                      (each.is_revived ? ", revived" : ""));
    }
    return texts;
  }
  // "live" or "parked" with the reason.
  static std::string StateOf(const LaneStatus& lane) {
    EXPECT_EQ(lane.why.ok(), lane.phase == LanePhase::kLive);
    return lane.phase == LanePhase::kLive ? "live" : "parked: " + std::string(lane.why.message());
  }
  void RemoveFile(const std::string& name) {
    auto directory = storage_.OpenDirectory("store/consumers/groups", IfMissing::kFail);
    ASSERT_TRUE(directory.ok() && (*directory)->Remove(name).ok()) << name;
  }
  // Names of the files lane-...
  std::vector<std::string> LaneFiles() const {
    std::vector<std::string> names;
    for (const std::string& path : storage_.Paths()) {
      if (path.find("/lane-") != path.npos) names.push_back(path.substr(path.rfind('/') + 1));
    }
    return names;
  }

  FaultyStorage storage_;
  std::unique_ptr<EventStore> store_ = OpenStore(storage_);
  std::set<std::string, std::less<>> parked_, away_;
};

// --- Looking

TEST_F(StoreLanesTest, AConsumerThatIsNotThereIsNotMade) {
  Append("ann", "", 0s);
  EXPECT_EQ(StoreLog::Look(kPath, "nobody", &storage_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreLog::Retry(kPath, "nobody", 0, "ann", &storage_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(*StoreConsumer::Names(kPath, &storage_), IsEmpty());
}

TEST_F(StoreLanesTest, OneThatNeverCommittedStandsAtTheBeginning) {
  Append("ann", "", 5s);
  ASSERT_TRUE(StoreConsumer::Open(kPath, kConsumer, &storage_).ok());
  const StoreLog::Lanes looked = Look();
  ASSERT_EQ(looked.lanes.size(), 2u);
  EXPECT_EQ(StateOf(looked.lanes[0]), "live");
  EXPECT_EQ(looked.lanes[0].next, 0u);
  EXPECT_EQ(looked.lanes[0].end, 1u);
  EXPECT_EQ(looked.lanes[0].newest, kT0 + 5s);
  EXPECT_EQ(looked.lanes[1].end, 0u);
  EXPECT_EQ(looked.lanes[1].newest, std::nullopt);
  EXPECT_EQ(looked.lanes[0].commits, std::nullopt);
}

TEST_F(StoreLanesTest, SaysWhatTheProcessorSaysOfItsLastCommit) {
  parked_ = {"ann"};
  away_ = {"bob"};
  for (const char* key : {"ann", "bob", "ann", "cat"}) Append(key, "!", 0s);
  Append("dan", "!", 1s);
  Append("eve", "!", 1s, 1);
  Process process = Start();
  process.Run(1s);
  process.Run(3s);
  const std::vector<Message> lent = process.processor().Lease(10, 10s, kT0 + 3s);
  ASSERT_EQ(lent.size(), 3u);
  ASSERT_TRUE(process.processor().Bury(lent[1].id, "no such address"));
  ASSERT_TRUE(process.processor().Ack(lent[0].id));
  process.Run(5s);
  // Not committed.
  ASSERT_TRUE(process.processor().Bury(lent[2].id, "neither"));

  const StoreLog::Lanes looked = Look();
  EXPECT_THAT(Texts(looked.held_keys),
              ElementsAre("0 ann: no payload, 0, 2, 1, parked", "0 bob: no rate, 1, 1, 1"));
  EXPECT_EQ(Texts(looked.held_keys), Texts(process.processor().held_keys()));
  const std::vector<std::string> buried = Texts(process.processor().buried());
  ASSERT_EQ(buried.size(), 2u);
  EXPECT_THAT(buried[0], HasSubstr("/emitted/1 dan 4: no such address"));
  EXPECT_THAT(Texts(looked.buried), ElementsAre(buried[0]));
  const std::vector<LaneStatus> said = process.processor().lanes();
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(StateOf(looked.lanes[p]), "live");
    EXPECT_EQ(looked.lanes[p].partition, static_cast<int>(p));
    EXPECT_EQ(looked.lanes[p].next, said[p].next);
    EXPECT_EQ(looked.lanes[p].now, said[p].now);
    EXPECT_EQ(looked.lanes[p].held_keys, said[p].held_keys);
  }
  EXPECT_EQ(looked.lanes[0].waiting, 0u);
  EXPECT_EQ(looked.lanes[1].waiting, 1u) << "the last commit does not know that it is buried";
  EXPECT_EQ(looked.lanes[0].buried, 1u);
}

TEST_F(StoreLanesTest, SaysHowFarTheLogIsAhead) {
  Append("ann", "", 0s);
  {
    Process process = Start();
    process.Run(1s);
  }
  for (int i = 0; i < 3; ++i) Append("ann", "", 60s + 1s * i);
  const LaneStatus lane = Look().lanes[0];
  EXPECT_EQ(lane.next, 1u);
  EXPECT_EQ(lane.end, 4u);
  EXPECT_EQ(lane.now, kT0);
  EXPECT_EQ(lane.newest, kT0 + 62s);
}

// A commit is made because something has happened, and says how many takeovers there were before.
TEST_F(StoreLanesTest, CountsTakeovers) {
  for (int life = 0; life < 3; ++life) {
    Append("ann", "", 10s * life);
    Process process = Start();
    process.Run(10s * life + 1s);
    EXPECT_EQ(process.processor().lanes()[0].takeovers, static_cast<uint64_t>(life));
    EXPECT_EQ(Look().lanes[0].takeovers, static_cast<uint64_t>(life));
  }
  {
    Process process = Start();
    process.Run(31s);
    EXPECT_EQ(process.processor().lanes()[0].takeovers, 3u);
  }
  EXPECT_EQ(Look().lanes[0].takeovers, 2u);
  EXPECT_EQ(Look().lanes[0].taken_over, kT0 + 21s);
}

TEST_F(StoreLanesTest, LookingWritesAndLocksNothing) {
  parked_ = {"ann"};
  Append("ann", "!", 0s);
  Process process = Start();
  process.Run(1s);
  const size_t before = storage_.calls();
  EXPECT_EQ(Look().held_keys.size(), 1u);
  ASSERT_GT(storage_.calls(), before);
  for (size_t i = before; i < storage_.calls(); ++i) {
    const StorageCall& call = storage_.log()[i];
    EXPECT_FALSE(call.changes() || call.kind == StorageCall::Kind::kLock) << call.ToString();
  }
}

// Between any two files that Look() reads, the processor commits and replaces its books.
TEST_F(StoreLanesTest, LooksAgainWhereAProcessReplacesFiles) {
  Append("ann", "!", 0s);
  Append("bob", "!", 0s);
  Process process = Start();
  process.Run(1s);
  process.Run(3s);
  const std::vector<Message> lent = process.processor().Lease(10, kForever, kT0 + 3s);
  ASSERT_EQ(lent.size(), 2u);
  ASSERT_TRUE(process.processor().Bury(lent[0].id, "0"));
  process.Run(5s);
  int changes = 0;
  const auto change = [&] {
    ++changes;
    ASSERT_TRUE(process.processor().Revive(lent[0].id));
    ASSERT_TRUE(process.processor().Bury(lent[0].id, std::to_string(changes)));
    process.Run(5s + 2s * changes);
  };
  for (int rounds = 0; rounds < 8; ++rounds) {
    int left = rounds;
    WatchedStorage watched(storage_, [&](std::string_view file) {
      if (file.starts_with("lane-") && left > 0) {
        --left;
        change();
      }
    });
    const auto looked = StoreLog::Look(kPath, kConsumer, &watched);
    ASSERT_TRUE(looked.ok()) << looked.status();
    EXPECT_EQ(left, 0);
    EXPECT_EQ(StateOf(looked->lanes[0]), "live") << rounds;
    ASSERT_EQ(looked->buried.size(), 1u) << rounds;
    EXPECT_EQ(looked->buried[0].reason, std::to_string(changes)) << rounds;
  }
  EXPECT_EQ(changes, 28);
  // One that never stands still ends all the same.
  WatchedStorage watched(storage_, [&](std::string_view file) {
    if (file.starts_with("lane-")) change();
  });
  const auto looked = StoreLog::Look(kPath, kConsumer, &watched);
  ASSERT_TRUE(looked.ok()) << looked.status();
  EXPECT_THAT(StateOf(looked->lanes[0]), HasSubstr("lane-0-"));
  EXPECT_EQ(StateOf(looked->lanes[1]), "live");
}

TEST_F(StoreLanesTest, DamageNamesTheFileAndHidesNoOtherLane) {
  parked_ = {"ann"};
  Append("ann", "!", 0s);
  Append("ann", "!", 0s, 1);
  {
    Process process = Start();
    process.Run(1s);
  }
  ASSERT_THAT(LaneFiles(), ElementsAre("lane-0-1", "lane-1-1"));
  const std::string book = "store/consumers/groups/lane-0-1";
  std::string bytes = storage_.Content(book);
  bytes[20] ^= 1;
  storage_.SetContent(book, bytes);
  EXPECT_THAT(StateOf(Look().lanes[0]), HasSubstr("parked: store/consumers/groups/lane-0-1: "));
  EXPECT_EQ(Look().lanes[0].end, 1u);
  EXPECT_THAT(Texts(Look().held_keys), ElementsAre("1 ann: no payload, 0, 1, 1, parked"));
  EXPECT_EQ(StateOf(Look().lanes[1]), "live");
  EXPECT_EQ(StoreLog::Retry(kPath, kConsumer, 0, "ann", &storage_).code(),
            absl::StatusCode::kDataLoss);
  RemoveFile("lane-0-1");
  EXPECT_THAT(StateOf(Look().lanes[0]), HasSubstr("lane-0-1"));
  {
    const auto consumer = *StoreConsumer::Open(kPath, kConsumer, &storage_);
    StoreCheckpoint damaged = consumer->checkpoint(0);
    damaged.metadata.back() ^= 1;
    ASSERT_TRUE(consumer->Commit(damaged).ok());
  }
  EXPECT_THAT(StateOf(Look().lanes[0]),
              HasSubstr("store/consumers/groups/CHECKPOINT: partition 0: the metadata"));
  EXPECT_EQ(StateOf(Look().lanes[1]), "live");
  const std::string checkpoint = "store/consumers/groups/CHECKPOINT";
  bytes = storage_.Content(checkpoint);
  bytes[20] ^= 1;
  storage_.SetContent(checkpoint, bytes);
  const absl::Status looked = StoreLog::Look(kPath, kConsumer, &storage_).status();
  EXPECT_EQ(looked.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(looked.message()), HasSubstr(checkpoint));
}

TEST_F(StoreLanesTest, ALaneWhoseRecordsWereRemovedCannotGoOn) {
  Append("ann", "!", 0s);
  {
    Process process = Start();
    process.Run(1s);
  }
  for (int i = 0; i < 40; ++i) Append("ann", std::string(300, 'x'), 2s);
  EXPECT_EQ(StateOf(Look().lanes[0]), "live");
  ASSERT_TRUE(store_->Trim({.appended_since = kEndOfTime, .unread = false}).ok());
  ASSERT_GT(store_->First(0), 0u);
  EXPECT_THAT(StateOf(Look().lanes[0]),
              HasSubstr("parked: partition 0: the records from offset 0"));
  EXPECT_EQ(Look().lanes[0].end, 41u);
  Process process = Start();
  process.Run(3s);
  EXPECT_EQ(process.processor().lanes()[0].phase, LanePhase::kParked);
}

TEST_F(StoreLanesTest, AConsumerThatWasMovedHasNoLane) {
  parked_ = {"ann"};
  for (int i = 0; i < 3; ++i) Append("ann", "!", 0s);
  {
    Process process = Start();
    process.Run(1s);
  }
  {
    const auto consumer = *StoreConsumer::Open(kPath, kConsumer, &storage_);
    ASSERT_TRUE(consumer->Commit({.partition = 0, .position = 2, .metadata = {}}).ok());
  }
  EXPECT_EQ(StateOf(Look().lanes[0]), "live");
  EXPECT_EQ(Look().lanes[0].next, 2u);
  EXPECT_THAT(Look().held_keys, IsEmpty());
  EXPECT_EQ(StoreLog::Retry(kPath, kConsumer, 0, "ann", &storage_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreLog::Retry(kPath, kConsumer, 2, "ann", &storage_).code(),
            absl::StatusCode::kNotFound);
}

// --- What a person decides

TEST_F(StoreLanesTest, NothingIsDecidedWhileAProcessHasTheConsumer) {
  parked_ = {"ann"};
  Append("ann", "!", 0s);
  Process process = Start();
  process.Run(1s);
  const std::string before = storage_.Content("store/consumers/groups/CHECKPOINT");
  const absl::Status retried = StoreLog::Retry(kPath, kConsumer, 0, "ann", &storage_);
  EXPECT_EQ(retried.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(retried.message()), HasSubstr("locked by process"));
  EXPECT_EQ(StoreLog::Drop(kPath, kConsumer, 0, "ann", 0, &storage_).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(storage_.Content("store/consumers/groups/CHECKPOINT"), before);
  EXPECT_THAT(LaneFiles(), ElementsAre("lane-0-1"));
}

TEST_F(StoreLanesTest, AKeyThatIsRetriedIsHandledByTheNextOwner) {
  parked_ = {"ann"};
  Append("ann", "!", 0s);
  Append("bob", "!", 0s);
  Append("ann", "!", 0s);
  {
    Process process = Start();
    process.Run(1s);
  }
  parked_.clear();
  {
    Process process = Start();
    process.Run(3s);
    EXPECT_THAT(process.Deliver(3s), ElementsAre("emitted bob: 1")) << "parked keys stay parked";
    process.Run(5s);
  }
  ASSERT_TRUE(StoreLog::Retry(kPath, kConsumer, 0, "ann", &storage_).ok());
  EXPECT_THAT(Texts(Look().held_keys), ElementsAre("0 ann: no payload, 0, 2, 1"));
  EXPECT_THAT(LaneFiles(), ElementsAre("lane-0-2")) << "the book before is gone";
  EXPECT_EQ(StoreLog::Retry(kPath, kConsumer, 0, "bob", &storage_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreLog::Retry(kPath, kConsumer, 1, "ann", &storage_).code(),
            absl::StatusCode::kNotFound);
  Process process = Start();
  process.Run(7s);
  EXPECT_EQ(StateOf(process.processor().lanes()[0]), "live");
  EXPECT_THAT(process.Deliver(7s), ElementsAre("emitted ann: 0"));
  EXPECT_THAT(process.Deliver(7s), ElementsAre("emitted ann: 2"));
  EXPECT_THAT(process.processor().held_keys(), IsEmpty());
}

// Also by an owner behind the next one, which replays the drop.
TEST_F(StoreLanesTest, ARecordThatIsDroppedIsNeverHandled) {
  parked_ = {"ann"};
  for (const char* key : {"ann", "bob", "ann", "ann"}) Append(key, "!", 0s);
  {
    Process process = Start();
    process.Run(1s);
  }
  EXPECT_EQ(StoreLog::Drop(kPath, kConsumer, 0, "ann", 2, &storage_).code(),
            absl::StatusCode::kNotFound)
      << "it is not the first one";
  ASSERT_TRUE(StoreLog::Drop(kPath, kConsumer, 0, "ann", 0, &storage_).ok());
  EXPECT_EQ(StoreLog::Drop(kPath, kConsumer, 0, "ann", 0, &storage_).code(),
            absl::StatusCode::kNotFound)
      << "it is gone";
  EXPECT_THAT(Texts(Look().held_keys), ElementsAre("0 ann: no payload, 2, 2, 0"));
  parked_.clear();
  std::set<std::string> delivered;
  for (int life = 0; life < 4; ++life) {
    Process process = Start();
    process.Run(10s * life + 3s);
    EXPECT_EQ(StateOf(process.processor().lanes()[0]), "live") << "life " << life;
    for (std::string& each : process.Deliver(10s * life + 3s)) delivered.insert(std::move(each));
    process.Run(10s * life + 5s);
    for (std::string& each : process.Deliver(10s * life + 5s)) delivered.insert(std::move(each));
    EXPECT_THAT(process.processor().held_keys(), IsEmpty());
  }
  EXPECT_THAT(delivered,
              testing::IsSupersetOf({"emitted bob: 1", "emitted ann: 2", "emitted ann: 3"}));
  EXPECT_FALSE(delivered.contains("emitted ann: 0"));
}

TEST_F(StoreLanesTest, AnotherVersionMayFollowADrop) {
  parked_ = {"ann"};
  Append("ann", "!", 0s);
  Append("ann", "!", 0s);
  {
    Process process = Start({.version = 1});
    process.Run(1s);
    process.processor().Stop();
    for (int i = 1; i < 5; ++i) process.Run(1s + 2s * i);
    ASSERT_TRUE(process.processor().stopped());
  }
  ASSERT_TRUE(StoreLog::Drop(kPath, kConsumer, 0, "ann", 0, &storage_).ok());
  parked_.clear();
  Process process = Start({.version = 2});
  process.Run(20s);
  EXPECT_EQ(StateOf(process.processor().lanes()[0]), "live");
  EXPECT_THAT(process.Deliver(20s), ElementsAre("emitted ann: 1"));
}

class BuriedInStore : public StoreLanesTest {
 protected:
  // Two messages of a lane are buried, and committed.
  std::vector<MessageId> Bury() {
    Append("ann", "!", 0s);
    Append("bob", "!", 0s);
    Process process = Start();
    process.Run(1s);
    process.Run(3s);
    std::vector<MessageId> ids;
    for (const Message& each : process.processor().Lease(10, 10s, kT0 + 3s)) {
      EXPECT_TRUE(process.processor().Bury(each.id, "bad"));
      ids.push_back(each.id);
    }
    process.Run(5s);
    return ids;
  }
};

TEST_F(BuriedInStore, AMessageThatIsRevivedIsLentByTheNextOwner) {
  const std::vector<MessageId> ids = Bury();
  ASSERT_EQ(ids.size(), 2u);
  ASSERT_TRUE(StoreLog::Revive(kPath, kConsumer, ids[0], &storage_).ok());
  EXPECT_TRUE(StoreLog::Revive(kPath, kConsumer, ids[0], &storage_).ok()) << "once more";
  EXPECT_EQ(StoreLog::Revive(kPath, kConsumer, {0, 0, ids[0].life + 1, 0}, &storage_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreLog::Revive(kPath, kConsumer, {0, 9, ids[0].life, 0}, &storage_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreLog::Revive(kPath, kConsumer, {0, 0, ids[0].life, 7}, &storage_).code(),
            absl::StatusCode::kNotFound);
  ASSERT_EQ(Look().buried.size(), 2u);
  EXPECT_TRUE(Look().buried[0].is_revived);
  {
    Process process = Start();
    process.Run(7s);
    EXPECT_THAT(process.Deliver(7s), ElementsAre("emitted ann: 0"));
    process.Run(9s);
  }
  EXPECT_EQ(Look().buried.size(), 1u);
}

TEST_F(BuriedInStore, AMessageThatIsDroppedNeverComes) {
  const std::vector<MessageId> ids = Bury();
  ASSERT_EQ(ids.size(), 2u);
  for (const MessageId& each : ids) {
    ASSERT_TRUE(StoreLog::Drop(kPath, kConsumer, each, &storage_).ok());
    EXPECT_EQ(StoreLog::Drop(kPath, kConsumer, each, &storage_).code(),
              absl::StatusCode::kNotFound);
  }
  EXPECT_THAT(LaneFiles(), IsEmpty()) << "there is no book any more";
  Process process = Start();
  process.Run(7s);
  EXPECT_EQ(StateOf(process.processor().lanes()[0]), "live");
  EXPECT_THAT(process.Deliver(7s), IsEmpty());
}

// A commit has room for some hundred gaps between messages that are acked. What lies behind them is known
// to be buried by the book alone.
TEST_F(BuriedInStore, ADropWaitsUntilTheCommitHasRoomForIt) {
  constexpr int kMessages = 300;
  for (int i = 0; i < kMessages; ++i) Append(std::to_string(i), "!", 0s);
  MessageId last;
  {
    Process process = Start();
    for (int i = 0; i < 10; ++i) process.Run(1s + 1s * i);
    const std::vector<Message> lent = process.processor().Lease(kMessages, 10s, kT0 + 10s);
    ASSERT_EQ(lent.size(), static_cast<size_t>(kMessages));
    for (size_t i = 1; i + 1 < lent.size(); i += 2) process.processor().Ack(lent[i].id);
    last = lent.back().id;
    ASSERT_TRUE(process.processor().Bury(last, "bad"));
    process.Run(12s);
  }
  ASSERT_EQ(StoreLog::Drop(kPath, kConsumer, last, &storage_).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Look().buried.size(), 1u);
  {
    Process process = Start();
    for (int i = 0; i < 10; ++i) {
      process.Run(20s + 1s * i);
      process.Deliver(20s + 1s * i);
    }
    process.Run(40s);
  }
  EXPECT_TRUE(StoreLog::Drop(kPath, kConsumer, last, &storage_).ok());
  Process process = Start();
  for (int i = 0; i < 10; ++i) {
    process.Run(50s + 1s * i);
    EXPECT_THAT(process.Deliver(50s + 1s * i), IsEmpty());
  }
}

// Killed at any call, and with the power lost there: it was decided or not, and the lane goes on.
TEST_F(StoreLanesTest, ADecisionIsMadeOrNotWhereverItIsCutOff) {
  FaultyStorage storage;
  storage.Record();
  storage_ = storage;
  store_ = OpenStore(storage);
  parked_ = {"ann"};
  for (const char* key : {"ann", "ann"}) {
    ASSERT_EQ(store_->Append({.key = key, .payload = "!"}, kT0, {.partition = 0}).outcome,
              AppendOutcome::kAppended);
  }
  ASSERT_TRUE(store_->Commit().ok());
  const auto judge = [this](int, const LogRecord& record) {
    return parked_.contains(record.key) ? Handled::Park("no payload") : Handled::Done();
  };
  Process(storage, {}, judge).Run(1s);
  const size_t begin = storage.calls();
  ASSERT_TRUE(StoreLog::Drop(kPath, kConsumer, 0, "ann", 0, &storage).ok());
  const size_t end = storage.calls();
  parked_.clear();
  std::map<std::string, int> outcomes;
  for (size_t call = begin; call <= end; ++call) {
    ForEachPowerLoss(storage.At(call), 64, 1, [&](FaultyStorage left) {
      const auto looked = StoreLog::Look(kPath, kConsumer, &left);
      ASSERT_TRUE(looked.ok()) << looked.status();
      ASSERT_EQ(StateOf(looked->lanes[0]), "live") << "call " << call;
      Process process(left, {}, judge);
      process.Run(3s);
      ASSERT_EQ(StateOf(process.processor().lanes()[0]), "live") << "call " << call;
      std::string said = Texts(looked->held_keys).front() + ":";
      for (const std::string& each : process.Deliver(3s)) said += " " + each;
      ++outcomes[said];
      if (call == end) {
        EXPECT_THAT(said, Not(HasSubstr("parked"))) << "it was told that it is done";
      }
    });
  }
  for (const auto& [said, times] : outcomes) std::cout << times << " times " << said << "\n";
  std::vector<std::string> all;
  for (const auto& [said, times] : outcomes) all.push_back(said);
  EXPECT_THAT(all, ElementsAre("0 ann: no payload, 0, 2, 1, parked:",
                               "0 ann: no payload, 1, 1, 0: emitted ann: 1"));
}

}  // namespace
}  // namespace pleat::inline v0_1
