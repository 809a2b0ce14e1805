// A broker for tests: librdkafka's mock cluster in the process, or the one that PLEAT_KAFKA_BROKERS
// names. Topics and groups have names of their own, so that a broker can be used again.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pleat/event_store.h>
#include <pleat/time.h>

#include "engine/kafka/kafka_handles.h"
#include "tests/support/seeds.h"

namespace pleat::inline v0_1 {

inline void Configure(rd_kafka_conf_t* configuration, const char* name, const std::string& value) {
  char reason[256] = "";
  ASSERT_EQ(rd_kafka_conf_set(configuration, name, value.c_str(), reason, sizeof reason),
            RD_KAFKA_CONF_OK)
      << reason;
}

class KafkaCluster {
 public:
  KafkaCluster() {
    const char* brokers = std::getenv("PLEAT_KAFKA_BROKERS");
    if (brokers == nullptr) {
      host_ = Client(RD_KAFKA_PRODUCER, {});
      mock_.reset(rd_kafka_mock_cluster_new(host_.get(), 1));
      brokers = rd_kafka_mock_cluster_bootstraps(mock_.get());
    }
    brokers_ = brokers;
    // In order, and not idempotent: librdkafka before 2.3 gives such a producer up where a leader moves.
    producer_ = Client(RD_KAFKA_PRODUCER, {{"bootstrap.servers", brokers_},
                                           {"linger.ms", "1"},
                                           {"max.in.flight.requests.per.connection", "1"}});
  }

  const std::string& brokers() const { return brokers_; }
  bool is_mock() const { return mock_ != nullptr; }
  rd_kafka_mock_cluster_t* mock() { return mock_.get(); }

  // A name that no topic and no group has had.
  std::string NewName(std::string_view what) {
    static const uint64_t run = std::random_device{}();
    static int names = 0;
    return std::string(what) + "-" + std::to_string(run) + "-" + std::to_string(++names);
  }

  std::string NewTopic(int partitions) {
    const std::string topic = NewName("topic");
    if (is_mock()) {
      EXPECT_EQ(rd_kafka_mock_topic_create(mock_.get(), topic.c_str(), partitions, 1), 0);
      return topic;
    }
    char reason[256] = "";
    constexpr int kAsManyCopiesAsTheBrokerSays = -1;
    rd_kafka_NewTopic_t* wanted = rd_kafka_NewTopic_new(
        topic.c_str(), partitions, kAsManyCopiesAsTheBrokerSays, reason, sizeof reason);
    const KafkaQueue answers(rd_kafka_queue_new(producer_.get()));
    rd_kafka_CreateTopics(producer_.get(), &wanted, 1, nullptr, answers.get());
    const KafkaEvent answer(rd_kafka_queue_poll(answers.get(), kPatienceMs));
    EXPECT_EQ(rd_kafka_event_error(answer.get()), 0) << rd_kafka_event_error_string(answer.get());
    rd_kafka_NewTopic_destroy(wanted);
    return topic;
  }

  // So that there are `partitions`. REQUIRES: not the mock.
  void AddPartitions(const std::string& topic, size_t partitions) {
    char reason[256] = "";
    rd_kafka_NewPartitions_t* wanted =
        rd_kafka_NewPartitions_new(topic.c_str(), partitions, reason, sizeof reason);
    const KafkaQueue answers(rd_kafka_queue_new(producer_.get()));
    rd_kafka_CreatePartitions(producer_.get(), &wanted, 1, nullptr, answers.get());
    const KafkaEvent answer(rd_kafka_queue_poll(answers.get(), kPatienceMs));
    EXPECT_EQ(rd_kafka_event_error(answer.get()), 0) << rd_kafka_event_error_string(answer.get());
    rd_kafka_NewPartitions_destroy(wanted);
  }

  // Kept when Flush() has returned. `stamp` is cut to milliseconds.
  void Append(const std::string& topic, int partition, const StoreRecord& record,
              EngineTime stamp) {
    const int64_t ms =
        std::chrono::floor<std::chrono::milliseconds>(stamp.time_since_epoch()).count();
    rd_kafka_headers_t* const headers = rd_kafka_headers_new(1);
    if (!record.id.empty()) {
      rd_kafka_header_add(headers, "id", 2, record.id.data(),
                          static_cast<ssize_t>(record.id.size()));
    }
    std::array<rd_kafka_vu_t, 7> parts{};
    parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    parts[0].u.cstr = topic.c_str();
    parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    parts[1].u.i32 = partition;
    parts[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[2].u.i = RD_KAFKA_MSG_F_COPY;
    parts[3].vtype = RD_KAFKA_VTYPE_KEY;
    parts[3].u.mem = {const_cast<char*>(record.key.data()), record.key.size()};
    parts[4].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[4].u.mem = {const_cast<char*>(record.payload.data()), record.payload.size()};
    parts[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    parts[5].u.i64 = ms;
    parts[6].vtype = RD_KAFKA_VTYPE_HEADERS;
    parts[6].u.headers = headers;
    const KafkaError error(rd_kafka_produceva(producer_.get(), parts.data(), parts.size()));
    ASSERT_EQ(error, nullptr) << rd_kafka_error_string(error.get());
  }
  void Flush() { ASSERT_EQ(rd_kafka_flush(producer_.get(), kPatienceMs), 0); }

  // Calls `take` for each message, and for the end of each partition, until it says false.
  template <class Take>
  void ReadAll(const std::string& topic, int partitions, const Take& take) {
    const KafkaClient client = Client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers_},
                                                          {"group.id", NewName("reader")},
                                                          {"enable.auto.commit", "false"},
                                                          {"enable.partition.eof", "true"}});
    const KafkaPartitions all(rd_kafka_topic_partition_list_new(partitions));
    for (int i = 0; i < partitions; ++i) {
      rd_kafka_topic_partition_list_add(all.get(), topic.c_str(), i)->offset =
          RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(client.get(), all.get());
    while (const KafkaMessage message{rd_kafka_consumer_poll(client.get(), kPatienceMs)}) {
      const bool counts = message->err == 0 || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (counts && !take(*message)) return;
    }
    FAIL() << "the topic cannot be read to its end";
  }

  // Records that the broker may not have.
  int Unsent() const { return rd_kafka_outq_len(producer_.get()); }

  // As a tool that moves a group without members does it.
  void MoveGroup(const std::string& group, const std::string& topic, int partition,
                 int64_t offset) {
    const KafkaClient client =
        Client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers_}, {"group.id", group}});
    const KafkaPartitions one(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(one.get(), topic.c_str(), partition)->offset = offset;
    const rd_kafka_resp_err_t error = rd_kafka_commit(client.get(), one.get(), /*async=*/0);
    ASSERT_EQ(error, 0) << rd_kafka_err2str(error);
  }

  // Gives the threads of librdkafka a millisecond.
  void LetWork() { rd_kafka_poll(producer_.get(), 1); }

 private:
  static constexpr int kPatienceMs = 60'000;
  using Properties = std::vector<std::pair<const char*, std::string>>;

  static KafkaClient Client(rd_kafka_type_t type, const Properties& properties) {
    rd_kafka_conf_t* const configuration = rd_kafka_conf_new();
    for (const auto& [name, value] : properties) Configure(configuration, name, value);
    rd_kafka_conf_set_log_cb(configuration,
                             [](const rd_kafka_t*, int, const char*, const char*) {});
    char reason[256] = "";
    rd_kafka_t* const client = rd_kafka_new(type, configuration, reason, sizeof reason);
    EXPECT_NE(client, nullptr) << reason;
    return KafkaClient(client);
  }

  KafkaClient host_;  // of the mock cluster
  KafkaOwned<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> mock_;
  std::string brokers_;
  KafkaClient producer_;
};

}  // namespace pleat::inline v0_1
