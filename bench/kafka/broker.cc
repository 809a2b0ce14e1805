#include "bench/kafka/broker.h"

#include <array>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "bench/kafka/records.h"

namespace pleat::bench {
namespace {

constexpr int kPatienceMs = 60'000;

using Properties = std::initializer_list<std::pair<const char*, std::string>>;

KafkaClient OpenClient(rd_kafka_type_t type, const Properties& properties) {
  char reason[256] = "";
  rd_kafka_conf_t* const settings = rd_kafka_conf_new();
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(settings, name, value.c_str(), reason, sizeof reason) != 0) {
      throw std::runtime_error(reason);
    }
  }
  rd_kafka_conf_set_log_cb(settings, [](const rd_kafka_t*, int, const char*, const char*) {});
  rd_kafka_t* const client = rd_kafka_new(type, settings, reason, sizeof reason);
  if (client == nullptr) throw std::runtime_error(reason);
  return KafkaClient(client);
}

}  // namespace

Broker::Broker(std::string address, std::string data)
    : address_(std::move(address)),
      data_(std::move(data)),
      producer_(OpenClient(
          RD_KAFKA_PRODUCER,
          {{"bootstrap.servers", address_}, {"linger.ms", "20"}, {"enable.idempotence", "true"}})) {
}

void Broker::CreateTopic(const std::string& topic) {
  char reason[256] = "";
  rd_kafka_NewTopic_t* wanted =
      rd_kafka_NewTopic_new(topic.c_str(), kPartitions, 1, reason, sizeof reason);
  const KafkaQueue answers(rd_kafka_queue_new(producer_.get()));
  rd_kafka_CreateTopics(producer_.get(), &wanted, 1, nullptr, answers.get());
  const KafkaEvent answer(rd_kafka_queue_poll(answers.get(), kPatienceMs));
  rd_kafka_NewTopic_destroy(wanted);
  if (answer == nullptr || rd_kafka_event_error(answer.get()) != 0) {
    throw std::runtime_error("the broker does not make the topic " + topic);
  }
}

void Broker::Append(const std::string& topic, int partition, std::string_view key,
                    std::string_view payload, int64_t stamp) {
  std::array<rd_kafka_vu_t, 6> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = partition;
  parts[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[2].u.i = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK;
  parts[3].vtype = RD_KAFKA_VTYPE_KEY;
  parts[3].u.mem = {const_cast<char*>(key.data()), key.size()};
  parts[4].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[4].u.mem = {const_cast<char*>(payload.data()), payload.size()};
  parts[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  parts[5].u.i64 = stamp;
  const KafkaError error(rd_kafka_produceva(producer_.get(), parts.data(), parts.size()));
  if (error != nullptr) throw std::runtime_error(rd_kafka_error_string(error.get()));
  rd_kafka_poll(producer_.get(), 0);
}

void Broker::Flush() {
  if (rd_kafka_flush(producer_.get(), kPatienceMs) != 0) {
    throw std::runtime_error("the broker does not take records");
  }
}

uint64_t Broker::BytesBeside(std::string_view prefix) const {
  uint64_t bytes = 0;
  for (const auto& log : std::filesystem::directory_iterator(data_)) {
    const std::string name = log.path().filename();
    if (!log.is_directory() || name.starts_with(prefix) || name.starts_with("__cluster")) continue;
    for (const auto& file : std::filesystem::directory_iterator(log.path())) {
      if (file.path().extension() == ".log") bytes += file.file_size();
    }
  }
  return bytes;
}

TopicReader::TopicReader(const Broker& broker, const std::string& topic)
    : client_(OpenClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", broker.address()},
                                             {"group.id", "nobody"},
                                             {"enable.auto.commit", "false"},
                                             {"fetch.wait.max.ms", "20"},
                                             {"isolation.level", "read_committed"}})) {
  const KafkaPartitions all(rd_kafka_topic_partition_list_new(kPartitions));
  for (int i = 0; i < kPartitions; ++i) {
    rd_kafka_topic_partition_list_add(all.get(), topic.c_str(), i)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  rd_kafka_poll_set_consumer(client_.get());
  rd_kafka_assign(client_.get(), all.get());
}

void TopicReader::Poll(
    const std::function<void(std::string_view key, std::string_view value)>& take) {
  while (const KafkaMessage message{rd_kafka_consumer_poll(client_.get(), 0)}) {
    if (message->err != 0) continue;
    take({static_cast<const char*>(message->key), message->key_len},
         {static_cast<const char*>(message->payload), message->len});
  }
}

}  // namespace pleat::bench
