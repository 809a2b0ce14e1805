// A processor on a Kafka log: its messages are those of the same records on a scripted log, whoever
// comes, leaves, crashes or falls silent.
#include <pleat/kafka_log.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kafka/kafka_cluster.h"
#include "tests/kafka/kafka_process.h"
#include "tests/lanes/lane_world.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kRounds = 60'000;  // of a millisecond or more, until a test has waited for too long

class KafkaLogTest : public testing::Test {
 protected:
  void Begin(int partitions) {
    partitions_ = partitions;
    topic_ = cluster_.NewTopic(partitions);
    group_ = cluster_.NewName("group");
    records_.clear();
  }

  KafkaOptions Options() const {
    return {.brokers = cluster_.brokers(),
            .topic = topic_,
            .group = group_,
            .snapshots = directory_.path() + "/snapshots",
            .properties = properties_};
  }
  Process& Start(const KafkaOptions& options) {
    processes_.push_back(std::make_unique<Process>(options, options_));
    return *processes_.back();
  }
  Process& Start() { return Start(Options()); }
  void Kill(Process& process) {
    std::erase_if(processes_, [&](const auto& each) { return each.get() == &process; });
  }
  // In order: nothing is left to be done again.
  void Stop(Process& process) {
    process.processor().Stop();
    RunUntil([&] { return process.processor().stopped(); });
    process.log().Leave();
    RunUntil([&] { return process.log().left(); });
    Kill(process);
  }

  void Append(int partition, const std::string& key, Duration at, const std::string& payload = "") {
    cluster_.Append(topic_, partition, {.key = key, .payload = payload}, kT0 + at);
    std::vector<AppendedRecord>& records = records_[partition];
    records.push_back(
        {.offset = records.size(), .logged = kT0 + at, .key = key, .payload = payload});
  }
  // Of all partitions and a few keys, in the order of time.
  void AppendMany(int count, Duration from, std::mt19937_64& random) {
    for (int i = 0; i < count; ++i) {
      const int partition = static_cast<int>(random() % static_cast<uint64_t>(partitions_));
      const std::string key(1, static_cast<char>('a' + random() % 5));
      Append(partition, key, from + i * 200ms, random() % 4 == 0 ? "!" : "");
    }
    cluster_.Flush();
  }

  // One round of each process. Commits are due every round.
  void Round() {
    now_ += 20us;
    for (const std::unique_ptr<Process>& each : processes_) Round(*each);
    cluster_.LetWork();
  }
  void Round(Process& process) {
    const absl::StatusOr<bool> more = process.processor().Run(now_);
    if (!more.ok()) last_error_ = more.status();
    for (const Message& message : process.processor().Lease(1000, 1h, now_)) {
      receiver_.Take(message);
      if (acks_) process.processor().Ack(message.id);
    }
  }
  void RunUntil(const std::function<bool()>& holds) {
    int rounds = 0;
    for (; !holds() && rounds < kRounds; ++rounds) Round();
    ASSERT_LT(rounds, kRounds) << "waited for too long; the last error: " << last_error_
                               << LanesText();
  }
  std::string LanesText() const {
    std::string text;
    for (const std::unique_ptr<Process>& process : processes_) {
      for (const LaneStatus& each : process->lanes()) {
        text += "\nlane " + std::to_string(each.partition) + ", phase " +
                std::to_string(static_cast<int>(each.phase)) + ", next " +
                std::to_string(each.next) + ", waiting " + std::to_string(each.waiting) + ", " +
                each.why.ToString();
      }
    }
    return text;
  }
  uint64_t EndOf(int partition) const {
    const auto found = records_.find(partition);
    return found == records_.end() ? 0 : found->second.size();
  }
  bool HasReadAll(const Process& process) const {
    const std::vector<LaneStatus> all = process.lanes();
    return std::ranges::all_of(all, [this](const LaneStatus& each) {
      return each.phase == LanePhase::kLive && each.next == EndOf(each.partition);
    });
  }

  // All groups end, and the messages are those of the same records without any trouble.
  void ExpectAllMessages() {
    acks_ = true;
    const EngineTime end = std::max(now_, kT0) + 10h;
    const auto expected = WithoutTrouble(records_, options_, end);
    now_ = end;
    RunUntil([&] { return receiver_.all().size() >= expected.size(); });
    EXPECT_EQ(receiver_.all(), expected);
  }

  KafkaCluster cluster_;
  TemporaryDirectory directory_;
  std::vector<std::string> properties_ = {"session.timeout.ms=3500", "heartbeat.interval.ms=200",
                                          "fetch.wait.max.ms=20"};
  ProcessorOptions options_ = {.commit_every = 1us, .life = 7};
  int partitions_ = 0;
  std::string topic_;
  std::string group_;
  AppendedRecords records_;
  std::vector<std::unique_ptr<Process>> processes_;
  Receiver receiver_;
  EngineTime now_ = kT0;
  absl::Status last_error_;
  bool acks_ = true;
};

TEST_F(KafkaLogTest, MessagesAreThoseOfTheSameRecordsOnAnotherLog) {
  Begin(4);
  std::mt19937_64 random(AnySeed());
  AppendMany(500, 0s, random);
  Start();
  ExpectAllMessages();
}

TEST_F(KafkaLogTest, TheLastGroupClosesWithoutAFurtherRecord) {
  Begin(1);
  Append(0, "ann", 0s);
  cluster_.Flush();
  Process& process = Start();
  now_ = kT0 + 10s;
  RunUntil([&] { return process.HasLanes(1) && HasReadAll(process); });
  for (int i = 0; i < 500; ++i) Round();
  EXPECT_THAT(receiver_.all(), IsEmpty()) << "the clocks may differ by the margin";
  now_ = kT0 + 12s;
  RunUntil([&] { return receiver_.all().size() == 1; });
  EXPECT_EQ(receiver_.all().begin()->second, "ann: 0");
}

// The broker is gone while the group falls due; a record that was in time is there when it is back.
TEST_F(KafkaLogTest, NothingClosesWhileTheLogCannotBeReached) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "it stops the broker";
  Begin(1);
  Append(0, "ann", 0s);
  cluster_.Flush();
  Process& process = Start();
  RunUntil([&] { return process.HasLanes(1) && HasReadAll(process); });
  // In the log before it goes: a producer that is back later than the consumer would be late.
  Append(0, "ann", 5s);
  cluster_.Flush();
  rd_kafka_mock_broker_set_down(cluster_.mock(), 1);
  // Nearly always librdkafka says that no broker is left; what holds here does not hang on that.
  for (int i = 0; i < 2000 && !absl::IsUnavailable(last_error_); ++i) Round();
  now_ = kT0 + 17s;
  for (int i = 0; i < 1000; ++i) Round();
  EXPECT_THAT(receiver_.all(), IsEmpty());
  rd_kafka_mock_broker_set_up(cluster_.mock(), 1);
  RunUntil([&] { return receiver_.all().size() == 1; });
  EXPECT_EQ(receiver_.all().begin()->second, "ann: 0 1");
}

// Snapshots and commits, metadata and all, serve who comes next.
TEST_F(KafkaLogTest, ASecondOwnerGoesOnWhereTheFirstHasStopped) {
  Begin(2);
  options_.replay_limit = 40;
  std::mt19937_64 random(AnySeed());
  AppendMany(300, 0s, random);
  Process& first = Start();
  RunUntil([&] { return first.HasLanes(2) && HasReadAll(first); });
  Stop(first);
  const size_t before = receiver_.all().size();
  AppendMany(100, 60s, random);
  Process& second = Start();
  RunUntil([&] { return second.HasLanes(2) && HasReadAll(second); });
  EXPECT_GE(receiver_.all().size(), before);
  ExpectAllMessages();
  EXPECT_EQ(receiver_.repeats(), 0u) << "all was acked and committed";
}

// It has acked some of its messages, and not committed all of its acks.
TEST_F(KafkaLogTest, ACrashLosesNothingAndRepeatsIdsOnly) {
  Begin(3);
  options_.replay_limit = 30;
  std::mt19937_64 random(AnySeed());
  AppendMany(300, 0s, random);
  Process& first = Start();
  RunUntil([&] { return first.HasLanes(3) && receiver_.all().size() > 40; });
  acks_ = false;
  AppendMany(100, 60s, random);
  RunUntil([&] { return HasReadAll(first); });
  Kill(first);
  acks_ = true;
  AppendMany(100, 80s, random);
  Start();
  ExpectAllMessages();
}

TEST_F(KafkaLogTest, MembersShareThePartitionsAndComeAndGo) {
  Begin(4);
  std::mt19937_64 random(AnySeed());
  AppendMany(200, 0s, random);
  Process& one = Start();
  RunUntil([&] { return one.HasLanes(4); });
  Process& two = Start();
  RunUntil([&] { return one.HasLanes(2) && two.HasLanes(2); });
  AppendMany(200, 40s, random);
  RunUntil([&] { return HasReadAll(one) && HasReadAll(two); });
  Stop(one);
  RunUntil([&] { return two.HasLanes(4); });
  AppendMany(100, 80s, random);
  ExpectAllMessages();
}

// A process falls silent for longer than max.poll.interval.ms, another one takes over, and the first
// comes back with what it held.
TEST_F(KafkaLogTest, AMemberThatWasPutOutCommitsNothing) {
  Begin(2);
  properties_.push_back("max.poll.interval.ms=3600");
  std::mt19937_64 random(AnySeed());
  AppendMany(100, 0s, random);
  Process& zombie = Start();
  RunUntil([&] { return zombie.HasLanes(2) && HasReadAll(zombie); });
  std::unique_ptr<Process> silent = std::move(processes_.front());
  processes_.clear();
  AppendMany(100, 20s, random);
  Process& heir = Start();
  RunUntil([&] { return heir.HasLanes(2) && HasReadAll(heir); });
  // It has a round by itself, and makes no message that was not decided.
  Round(*silent);
  processes_.push_back(std::move(silent));
  RunUntil([&] { return zombie.lanes().size() == 1 && heir.lanes().size() == 1; });
  AppendMany(100, 40s, random);
  ExpectAllMessages();
}

// The broker says of a commit that the member is unknown, or of another generation.
TEST_F(KafkaLogTest, AFencedMemberJoinsAgain) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "it makes the broker answer so";
  for (const rd_kafka_resp_err_t error :
       {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION}) {
    Begin(1);
    receiver_ = {};
    now_ = kT0;
    Append(0, "ann", 0s, "!");
    cluster_.Flush();
    rd_kafka_mock_push_request_errors(cluster_.mock(), /*OffsetCommit=*/8, 1, error);
    Process& process = Start();
    RunUntil([&] { return process.HasLanes(1); });
    RunUntil([&] { return process.HasLanes(0); });
    EXPECT_THAT(receiver_.all(), IsEmpty());
    ExpectAllMessages();
    processes_.clear();
  }
}

TEST_F(KafkaLogTest, ACommitInDoubtIsMadeAgain) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "it makes the broker answer so";
  Begin(1);
  Append(0, "ann", 0s, "!");
  cluster_.Flush();
  rd_kafka_mock_push_request_errors(cluster_.mock(), /*OffsetCommit=*/8, 2,
                                    RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
                                    RD_KAFKA_RESP_ERR_UNKNOWN);
  Start();
  ExpectAllMessages();
}

TEST_F(KafkaLogTest, APositionBehindTheEndIsLost) {
  Begin(2);
  Append(0, "ann", 0s);
  Append(1, "bob", 0s, "!");
  cluster_.Flush();
  cluster_.MoveGroup(group_, topic_, 0, 17);
  Process& process = Start();
  RunUntil([&] { return process.HasLanes(2) && !receiver_.all().empty(); });
  const std::vector<LaneStatus> lanes = process.lanes();
  EXPECT_EQ(lanes[0].phase, LanePhase::kParked);
  EXPECT_THAT(lanes[0].why.ToString(), HasSubstr("what is left begins at 0"));
  EXPECT_EQ(lanes[1].phase, LanePhase::kLive) << "the others go on";
}

// The mock keeps some 5 MiB of a partition.
TEST_F(KafkaLogTest, APositionThatRetentionHasRemovedIsLost) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "a broker removes nothing so soon";
  Begin(1);
  for (int i = 0; i < 9; ++i) {
    Append(0, "ann", 0s, std::string(900'000, 'x'));
    cluster_.Flush();
  }
  cluster_.MoveGroup(group_, topic_, 0, 1);
  Process& process = Start();
  RunUntil([&] { return process.HasLanes(1); });
  const LaneStatus lane = process.lanes().front();
  EXPECT_EQ(lane.phase, LanePhase::kParked);
  EXPECT_THAT(lane.why.ToString(), AllOf(HasSubstr("from offset 1 on"), HasSubstr("begins at "),
                                         testing::Not(HasSubstr("begins at 0"))));
}

// As with the tools of the broker: a lane begins anew at the offset.
TEST_F(KafkaLogTest, AGroupThatWasMovedBeginsANewLife) {
  Begin(1);
  for (int i = 0; i < 5; ++i) Append(0, "ann", i * 1s, "!");
  cluster_.Flush();
  cluster_.MoveGroup(group_, topic_, 0, 3);
  Process& process = Start();
  RunUntil([&] { return process.HasLanes(1) && receiver_.all().size() == 2; });
  EXPECT_EQ(receiver_.all().begin()->second, "ann: 3");
}

// A lane that is full reads no more, and goes on where it was.
TEST_F(KafkaLogTest, APausedPartitionLosesNothing) {
  Begin(2);
  options_.messages_bytes_max = 500;
  std::mt19937_64 random(AnySeed());
  AppendMany(400, 0s, random);
  Start();
  ExpectAllMessages();
}

class Listener final : public LogListener {
 public:
  explicit Listener(PartitionedLog& log) : log_(log) {}
  void OnAssigned(int partition, const LogCommit* committed, uint64_t first) override {
    said.push_back("assigned " + std::to_string(partition) + " first " + std::to_string(first) +
                   (committed == nullptr
                        ? ""
                        : " committed " + std::to_string(committed->offset) + " needed " +
                              std::to_string(committed->needed) + " " + committed->metadata));
    log_.Read(partition, committed == nullptr ? first : committed->needed);
  }
  void OnRevoked(int partition) override { said.push_back("revoked " + std::to_string(partition)); }
  void OnRecords(int, std::span<const LogRecord> records) override {
    for (const LogRecord& each : records) {
      said.push_back(std::to_string(each.offset) + " " + std::string(each.key) + " " +
                     std::string(each.id) + " " + std::string(each.payload) + " " +
                     std::to_string((each.logged - kT0) / 1ms) + " " +
                     std::to_string((each.stamp - kT0) / 1ms));
    }
  }
  void OnPositionLost(int, uint64_t first) override {
    said.push_back("lost " + std::to_string(first));
  }
  void OnEnd(int) override { said.push_back("end"); }
  void OnCommitted(int, CommitOutcome outcome) override {
    said.push_back("outcome " + std::to_string(static_cast<int>(outcome)));
  }

  std::vector<std::string> said;

 private:
  PartitionedLog& log_;
};

class KafkaLogAloneTest : public KafkaLogTest {
 protected:
  void Poll(KafkaLog& log, Listener& listener, size_t said) {
    for (int rounds = 0; listener.said.size() < said && rounds < kRounds; ++rounds) {
      const absl::StatusOr<bool> more = log.Poll(listener);
      EXPECT_TRUE(more.ok()) << more.status();
      cluster_.LetWork();
    }
    EXPECT_THAT(listener.said, SizeIs(said));
  }
};

TEST_F(KafkaLogAloneTest, TellsRecordsEndsAndCommits) {
  Begin(1);
  cluster_.Append(topic_, 0, {.key = "ann", .id = "i1", .payload = "one"}, kT0 + 1ms);
  cluster_.Append(topic_, 0, {.key = "bob", .payload = "two"}, kT0 + 2ms);
  cluster_.Flush();
  KafkaOptions options = Options();
  options.id_header = "id";
  std::string metadata = "any bytes";
  for (int i = 0; i < 256; ++i) metadata += static_cast<char>(i);
  metadata.resize(kCommitMetadataBytesMax);
  {
    const auto log = *KafkaLog::Open(options);
    Listener listener(*log);
    Poll(*log, listener, 3);
    EXPECT_THAT(listener.said,
                ElementsAre("assigned 0 first 0", "0 ann i1 one 1 1", "1 bob  two 2 2"));
    listener.said.clear();
    log->AskEnd(0);
    Poll(*log, listener, 1);
    EXPECT_THAT(listener.said, ElementsAre("end"));
    listener.said.clear();
    log->Pause(0, true);
    cluster_.Append(topic_, 0, {.key = "cyd", .payload = "three"}, kT0 + 3ms);
    cluster_.Flush();
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(log->Poll(listener).ok()), cluster_.LetWork();
    EXPECT_THAT(listener.said, IsEmpty()) << "it is paused";
    log->Commit({.partition = 0, .offset = 2, .needed = 1, .metadata = metadata});
    Poll(*log, listener, 1);
    EXPECT_THAT(listener.said, ElementsAre("outcome 0"));
    listener.said.clear();
    log->Pause(0, false);
    log->AskEnd(0);
    Poll(*log, listener, 2);
    EXPECT_THAT(listener.said, ElementsAre("2 cyd  three 3 3", "end"));
    listener.said.clear();
    log->Leave();
    while (!log->left()) ASSERT_TRUE(log->Poll(listener).ok()), cluster_.LetWork();
    EXPECT_THAT(listener.said, ElementsAre("revoked 0"));
  }
  const auto log = *KafkaLog::Open(options);
  Listener listener(*log);
  Poll(*log, listener, 3);
  EXPECT_THAT(listener.said, ElementsAre("assigned 0 first 0 committed 2 needed 1 " + metadata,
                                         "1 bob  two 2 2", "2 cyd  three 3 3"));
}

// Each fetch fills the queue of librdkafka. Before its version 2.2 its fetcher slept for a second then, and
// this would take more rounds than there are.
TEST_F(KafkaLogAloneTest, AFullQueueIsFilledAgainAsSoonAsItIsEmpty) {
  constexpr int kFetches = 120, kRecordsOfOne = 20;
  properties_.insert(properties_.end(), {"queued.min.messages=10", "fetch.message.max.bytes=1000"});
  Begin(1);
  for (int i = 0; i < kFetches; ++i) {
    for (int j = 0; j < kRecordsOfOne; ++j) {
      cluster_.Append(topic_, 0, {.key = "ann", .payload = std::string(100, 'x')}, kT0);
    }
    cluster_.Flush();
  }
  const auto log = *KafkaLog::Open(Options());
  Listener listener(*log);
  Poll(*log, listener, 1 + kFetches * kRecordsOfOne);
}

// The group forms anew without a member that is silent. librdkafka tells of no loss then: the member joins
// again as the owner of its partitions, although another member has read them meanwhile.
TEST_F(KafkaLogAloneTest, AMemberThatWasPutOutTakesItsPartitionsAnew) {
  properties_.push_back("max.poll.interval.ms=3600");
  Begin(2);
  for (int partition = 0; partition < 2; ++partition) Append(partition, "ann", 0s);
  cluster_.Flush();
  const auto log = *KafkaLog::Open(Options());
  Listener listener(*log);
  Poll(*log, listener, 4);
  const auto heir = *KafkaLog::Open(Options());
  Listener next(*heir);
  Poll(*heir, next, 4);
  for (int partition = 0; partition < 2; ++partition) {
    heir->Commit({.partition = partition, .offset = 1, .needed = 1, .metadata = "of the heir"});
  }
  Poll(*heir, next, 6);
  listener.said.clear();
  const auto has_taken = [](const std::string& said) {
    return said.starts_with("assigned") &&
           said.ends_with("first 0 committed 1 needed 1 of the heir");
  };
  for (int round = 0; round < kRounds && std::ranges::none_of(listener.said, has_taken); ++round) {
    log->Poll(listener).status().IgnoreError();
    heir->Poll(next).status().IgnoreError();
    cluster_.LetWork();
  }
  EXPECT_THAT(listener.said, testing::Contains(testing::Truly(has_taken)));
  for (const char* each : {"revoked 0", "revoked 1"}) {
    EXPECT_THAT(listener.said, testing::Contains(each).Times(1));
  }
}

// librdkafka 2.0.2 hangs or ends the process at some of these moments, if it is left to itself.
TEST_F(KafkaLogAloneTest, AMemberMayGoAtAnyMoment) {
  Begin(1);
  for (const int rounds : {0, 3, 300, 2'900, 3'000, 3'100, 3'300}) {
    const auto log = *KafkaLog::Open(Options());
    Listener listener(*log);
    for (int i = 0; i < rounds; ++i) {
      log->Poll(listener).status().IgnoreError();
      cluster_.LetWork();
    }
  }
  Begin(1);
  const auto log = *KafkaLog::Open(Options());
  Listener listener(*log);
  Poll(*log, listener, 1);
  log->Leave();
}

// With an instance id, too, which librdkafka tells nothing about to the group.
TEST_F(KafkaLogAloneTest, AMemberMayLeaveAtAnyMoment) {
  for (const char* instance : {"", "worker-1"}) {
    Begin(1);
    KafkaOptions options = Options();
    options.instance_id = instance;
    for (const int rounds : {0, 3, 2'900, 3'000, 3'300}) {
      const auto log = *KafkaLog::Open(options);
      Listener listener(*log);
      const auto round = [&] {
        log->Poll(listener).status().IgnoreError();
        cluster_.LetWork();
      };
      for (int i = 0; i < rounds; ++i) round();
      const bool was_assigned = !listener.said.empty();
      log->Leave();
      for (int i = 0; i < kRounds && !log->left(); ++i) round();
      EXPECT_TRUE(log->left()) << "after " << rounds << " rounds";
      if (was_assigned) {
        EXPECT_EQ(listener.said.back(), "revoked 0");
      } else {
        EXPECT_THAT(listener.said, IsEmpty()) << "a partition came too late";
      }
    }
  }
}

TEST_F(KafkaLogAloneTest, PartitionsThatAreAddedAreTakenUp) {
  if (cluster_.is_mock()) GTEST_SKIP() << "it cannot add any";
  properties_.push_back("topic.metadata.refresh.interval.ms=200");
  Begin(1);
  const auto log = *KafkaLog::Open(Options());
  Listener listener(*log);
  Poll(*log, listener, 1);
  cluster_.AddPartitions(topic_, 3);
  Poll(*log, listener, 3);
  EXPECT_THAT(listener.said, testing::UnorderedElementsAre(
                                 "assigned 0 first 0", "assigned 1 first 0", "assigned 2 first 0"));
}

TEST_F(KafkaLogAloneTest, SaysWhichOptionIsWrongAndNoSecret) {
  Begin(1);
  const auto error_of = [&](const std::string& property) {
    KafkaOptions options = Options();
    options.properties.push_back(property);
    return std::string(KafkaLog::Open(options).status().message());
  };
  EXPECT_THAT(error_of("no.such=secret"), AllOf(HasSubstr("no.such"), HasSubstr("2.")));
  EXPECT_EQ(error_of("session.timeout.ms=secret"),
            "librdkafka's property session.timeout.ms does not take its value");
  EXPECT_EQ(error_of("enable.auto.commit=true"),
            "the property enable.auto.commit is set by KafkaLog itself");
  EXPECT_THAT(error_of("secret"), testing::Not(HasSubstr("secret")));
  KafkaOptions options = Options();
  options.group = "";
  EXPECT_EQ(KafkaLog::Open(options).status().message(), "KafkaOptions::group is empty");
}

TEST_F(KafkaLogAloneTest, SaysThatThereIsNoSuchTopic) {
  Begin(1);
  KafkaOptions options = Options();
  options.topic = cluster_.NewName("none");
  if (cluster_.is_mock()) {
    rd_kafka_mock_topic_set_error(cluster_.mock(), options.topic.c_str(),
                                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  }
  const auto log = *KafkaLog::Open(options);
  Listener listener(*log);
  absl::Status status;
  for (int rounds = 0; status.ok() && rounds < kRounds; ++rounds) {
    status = log->Poll(listener).status();
    cluster_.LetWork();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

}  // namespace
}  // namespace pleat::inline v0_1
