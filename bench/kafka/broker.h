// What the contest asks of the broker itself: topics, records, and how much it has written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/kafka/kafka_handles.h"

namespace pleat::bench {

// Throws std::runtime_error if the broker does not do as it is told.
class Broker {
 public:
  // `data`: the directory of its data.
  Broker(std::string address, std::string data);

  const std::string& address() const { return address_; }
  void CreateTopic(const std::string& topic);
  void Append(const std::string& topic, int partition, std::string_view key,
              std::string_view payload, int64_t stamp);
  // Returns when the broker has all that was appended.
  void Flush();

  // In the logs of all topics but those whose names begin so: state and offsets of contestants.
  uint64_t BytesBeside(std::string_view prefix) const;

 private:
  const std::string address_;
  const std::string data_;
  KafkaClient producer_;
};

// Reads a topic from its first record on, without what was not committed.
class TopicReader {
 public:
  TopicReader(const Broker& broker, const std::string& topic);
  // Calls `take` for each record that has come.
  void Poll(const std::function<void(std::string_view key, std::string_view value)>& take);

 private:
  KafkaClient client_;
};

}  // namespace pleat::bench
