// What a profile sets, and that what is sent keeps to the limits of its brokers.
#include <dlfcn.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/kafka/kafka_config.h"
#include "tests/kafka/kafka_cluster.h"
#include "tests/kafka/kafka_process.h"
#include "tests/lanes/lane_world.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using testing::HasSubstr;

struct SentCommit {
  int partition;
  size_t metadata_bytes;
};
std::vector<SentCommit>* sent = nullptr;  // where commits are noted; null: nowhere

}  // namespace
}  // namespace pleat::inline v0_1

// Stands before librdkafka's own function, so that the test sees what is handed over to be sent: a
// request to the group's coordinator for each call.
rd_kafka_resp_err_t rd_kafka_commit_queue(
    rd_kafka_t* client, const rd_kafka_topic_partition_list_t* offsets, rd_kafka_queue_t* queue,
    void (*callback)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void*),
    void* opaque) {
  if (pleat::sent != nullptr) {
    for (int i = 0; i < offsets->cnt; ++i) {
      pleat::sent->push_back({offsets->elems[i].partition, offsets->elems[i].metadata_size});
    }
  }
  static const auto own =
      reinterpret_cast<decltype(&rd_kafka_commit_queue)>(dlsym(RTLD_NEXT, "rd_kafka_commit_queue"));
  return own(client, offsets, queue, callback, opaque);
}

namespace pleat::inline v0_1 {
namespace {

std::string Setting(const rd_kafka_t* client, const char* name) {
  char value[256] = "";
  size_t size = sizeof value;
  EXPECT_EQ(rd_kafka_conf_get(rd_kafka_conf(const_cast<rd_kafka_t*>(client)), name, value, &size),
            RD_KAFKA_CONF_OK);
  return value;
}

KafkaOptions OptionsWith(std::string profile, std::vector<std::string> properties = {}) {
  return {.brokers = "localhost:1",
          .topic = "t",
          .group = "g",
          .snapshots = "",
          .profile = std::move(profile),
          .properties = std::move(properties)};
}

TEST(KafkaProfileTest, EventHubsIsReachedWithAConnectionStringAlone) {
  const auto client = OpenKafkaClient(OptionsWith("event-hubs", {"sasl.password=Endpoint=sb"}), {});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(Setting(client->get(), "security.protocol"), "sasl_ssl");
  EXPECT_EQ(Setting(client->get(), "sasl.mechanisms"), "PLAIN");
  EXPECT_EQ(Setting(client->get(), "sasl.username"), "$ConnectionString");
  EXPECT_EQ(Setting(client->get(), "connections.max.idle.ms"), "180000");
  const auto producer =
      OpenKafkaProducer(OptionsWith("event-hubs", {"sasl.password=Endpoint=sb"}), {});
  ASSERT_TRUE(producer.ok()) << producer.status();
  EXPECT_EQ(Setting(producer->get(), "sasl.username"), "$ConnectionString");
}

TEST(KafkaProfileTest, PropertiesChangeWhatAProfileHasSet) {
  const auto client = OpenKafkaClient(OptionsWith("warpstream", {"fetch.max.bytes=2000000"}), {});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(Setting(client->get(), "fetch.max.bytes"), "2000000");
  EXPECT_EQ(Setting(client->get(), "max.partition.fetch.bytes"), "52428800");
}

TEST(KafkaProfileTest, TheOthersSetNothing) {
  for (const char* profile : {"kafka", "redpanda"}) {
    const auto client = OpenKafkaClient(OptionsWith(profile), {});
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_EQ(Setting(client->get(), "security.protocol"), "plaintext");
    EXPECT_EQ(Setting(client->get(), "max.partition.fetch.bytes"), "1048576");
  }
  EXPECT_THAT(OpenKafkaClient(OptionsWith("pulsar"), {}).status().message(),
              HasSubstr("none of kafka, event-hubs, redpanda and warpstream"));
}

// Records come faster than commits may.
class KafkaCommitsTest : public testing::Test {
 protected:
  // The least time between two commits of one partition, by the processor's clock.
  Duration LeastInterval(const std::string& profile) {
    constexpr int kRounds = 60'000;
    constexpr size_t kCommits = 12;
    const std::string topic = cluster_.NewTopic(2);
    Process process({.brokers = cluster_.brokers(),
                     .topic = topic,
                     .group = cluster_.NewName("group"),
                     .snapshots = directory_.path() + "/" + profile,
                     .profile = profile,
                     .properties = {"security.protocol=plaintext", "session.timeout.ms=3500",
                                    "heartbeat.interval.ms=200", "fetch.wait.max.ms=20"}},
                    {.commit_every = 1us, .replay_limit = 5, .life = 7});
    std::vector<SentCommit> commits;
    sent = &commits;
    EngineTime now = kT0;
    std::map<int, EngineTime> last;
    std::map<int, size_t> count;
    Duration least = kForever;
    for (int round = 0; round < kRounds && (count[0] < kCommits || count[1] < kCommits); ++round) {
      now += 5ms;
      if (round % 4 == 0) {
        const std::string key(1, static_cast<char>('a' + round % 5));
        cluster_.Append(topic, round / 4 % 2, {.key = key, .payload = "!"}, now);
        cluster_.Flush();
      }
      EXPECT_TRUE(process.processor().Run(now).ok());
      for (const Message& each : process.processor().Lease(1'000, 1h, now)) {
        if (random_() % 3 > 0) process.processor().Ack(each.id);  // so that marks have many ranges
      }
      for (const SentCommit& each : commits) {
        EXPECT_LE(each.metadata_bytes, 1'000u);
        if (const auto before = last.find(each.partition); before != last.end()) {
          least = std::min(least, now - before->second);
        }
        last[each.partition] = now;
        ++count[each.partition];
      }
      commits.clear();
      cluster_.LetWork();
    }
    sent = nullptr;
    EXPECT_GE(count[0], kCommits);
    EXPECT_GE(count[1], kCommits);
    return least;
  }

  KafkaCluster cluster_;
  TemporaryDirectory directory_;
  std::mt19937_64 random_{AnySeed()};
};

TEST_F(KafkaCommitsTest, OfAPartitionAreThreeASecondAtMostWithEventHubs) {
  EXPECT_GE(LeastInterval("event-hubs"), 334ms);
}

TEST_F(KafkaCommitsTest, AreAsOftenAsTheProcessorSaysElsewhere) {
  EXPECT_LT(LeastInterval("kafka"), 100ms);
}

}  // namespace
}  // namespace pleat::inline v0_1
