// Records of a KafkaProducer, and what a KafkaLog tells of the keys of a topic.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/kafka_log.h>

#include "engine/kafka/kafka_keys.h"
#include "tests/kafka/kafka_cluster.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kPartitions = 4;
constexpr int kRounds = 60'000;  // of a millisecond or more, until a test has waited for too long

// Reads every partition from its first record on.
class Reader final : public LogListener {
 public:
  explicit Reader(KafkaLog& log) : log_(log) {}
  void OnAssigned(int partition, const LogCommit*, uint64_t first) override {
    log_.Read(partition, first);
  }
  void OnRevoked(int) override {}
  void OnRecords(int partition, std::span<const LogRecord> records) override {
    for (const LogRecord& each : records) {
      std::string text(each.key);
      ((text += ' ') += each.id) += ' ';
      read[partition].push_back(text + std::string(each.payload));
      ++count;
    }
  }
  void OnPositionLost(int, uint64_t) override {}
  void OnEnd(int) override {}
  void OnCommitted(int, CommitOutcome) override {}

  std::map<int, std::vector<std::string>> read;
  size_t count = 0;

 private:
  KafkaLog& log_;
};

class KafkaProducerTest : public testing::Test {
 protected:
  void SetUp() override {
    options_ = {.brokers = cluster_.brokers(),
                .topic = cluster_.NewTopic(kPartitions),
                .group = cluster_.NewName("group"),
                .snapshots = directory_.path() + "/snapshots",
                .id_header = "pleat-id",
                .properties = {"statistics.interval.ms=100", "session.timeout.ms=3500"}};
  }
  std::unique_ptr<KafkaProducer> Producer() const {
    auto producer = KafkaProducer::Open(options_);
    EXPECT_TRUE(producer.ok()) << producer.status();
    return *std::move(producer);
  }
  // Waits for `count` records more.
  void Deliver(KafkaProducer& producer, std::set<uint64_t>& delivered, size_t count) {
    const size_t wanted = delivered.size() + count;
    for (int round = 0; round < kRounds && delivered.size() < wanted; ++round) {
      const auto numbers = producer.TakeDelivered();
      if (!numbers.ok()) last_error_ = numbers.status();
      if (numbers.ok()) delivered.insert(numbers->begin(), numbers->end());
      cluster_.LetWork();
    }
    EXPECT_EQ(delivered.size(), wanted) << last_error_;
  }

  KafkaCluster cluster_;
  TemporaryDirectory directory_;
  KafkaOptions options_;
  absl::Status last_error_;
};

TEST_F(KafkaProducerTest, RecordsAreInThePartitionsOfTheirKeysAndInOrder) {
  const auto producer = Producer();
  std::map<int, std::vector<std::string>> expected;
  std::set<uint64_t> delivered;
  for (int n = 1; n <= 200; ++n) {
    const std::string key = n % 7 == 0 ? "" : "key " + std::to_string(n % 7);
    const std::string id = "lane/" + std::to_string(n);
    const std::string payload = std::to_string(n * n);
    EXPECT_EQ(*producer->Send(key, id, payload), static_cast<uint64_t>(n));
    expected[JavaPartition(key, kPartitions)].push_back(key + " " + id + " " + payload);
  }
  Deliver(*producer, delivered, 200);
  const auto log = *KafkaLog::Open(options_);
  Reader reader(*log);
  for (int round = 0; round < kRounds; ++round) {
    if (reader.count >= 200 && log->partitions() > 0) break;
    EXPECT_TRUE(log->Poll(reader).ok());
    cluster_.LetWork();
  }
  EXPECT_EQ(reader.read, expected);
  // And so the log sees where its keys belong: two of four partitions, or one.
  EXPECT_EQ(log->partitions(), kPartitions);
  for (int partition = 0; partition < kPartitions; ++partition) {
    const bool is_there = JavaPartition("key 1", kPartitions) == partition ||
                          LibrdkafkaPartition("key 1", kPartitions) == partition;
    EXPECT_EQ(log->MayHold(partition, "key 1"), is_there);
  }
}

TEST_F(KafkaProducerTest, WaitsForABrokerThatIsAway) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "it stops the broker";
  const auto producer = Producer();
  std::set<uint64_t> delivered;
  ASSERT_TRUE(producer->Send("ann", "1", "").ok());
  Deliver(*producer, delivered, 1);
  rd_kafka_mock_broker_set_down(cluster_.mock(), 1);
  ASSERT_TRUE(producer->Send("ann", "2", "").ok());
  for (int round = 0; round < kRounds && !absl::IsUnavailable(last_error_); ++round) {
    const auto numbers = producer->TakeDelivered();
    if (!numbers.ok()) last_error_ = numbers.status();
    EXPECT_THAT(numbers.value_or(std::vector<uint64_t>{}), IsEmpty());
    cluster_.LetWork();
  }
  EXPECT_TRUE(absl::IsUnavailable(last_error_)) << last_error_;
  rd_kafka_mock_broker_set_up(cluster_.mock(), 1);
  Deliver(*producer, delivered, 1);
  EXPECT_THAT(delivered, ElementsAre(1u, 2u));
}

TEST_F(KafkaProducerTest, SaysWhatATopicDoesNotTake) {
  if (!cluster_.is_mock()) GTEST_SKIP() << "it makes the broker answer so";
  options_.properties.push_back("message.max.bytes=1000");
  const auto producer = Producer();
  const absl::Status too_large = producer->Send("ann", "1", std::string(2'000, 'x')).status();
  EXPECT_TRUE(absl::IsInvalidArgument(too_large)) << too_large;
  EXPECT_THAT(std::string(too_large.message()), HasSubstr("message.max.bytes may be raised"));
  rd_kafka_mock_push_request_errors(cluster_.mock(), /*Produce=*/0, 1,
                                    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  ASSERT_TRUE(producer->Send("ann", "1", "").ok());
  absl::Status status;
  for (int round = 0; round < kRounds && status.ok(); ++round) {
    const auto numbers = producer->TakeDelivered();
    EXPECT_THAT(numbers.value_or(std::vector<uint64_t>{}), IsEmpty());
    status = numbers.status();
    cluster_.LetWork();
  }
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(producer->TakeDelivered().status(), status) << "it stays so";
  options_.properties = {"enable.idempotence=false"};
  EXPECT_EQ(KafkaProducer::Open(options_).status().message(),
            "the property enable.idempotence is set by KafkaProducer itself");
}

}  // namespace
}  // namespace pleat::inline v0_1
