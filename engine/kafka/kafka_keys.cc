#include "engine/kafka/kafka_keys.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <librdkafka/rdkafka.h>

#include "engine/base/concat.h"

namespace pleat::inline v0_1 {

// librdkafka's partitioners look at nothing but the key and the number of partitions.
int JavaPartition(std::string_view key, int partitions) {
  return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions, nullptr,
                                          nullptr);
}
int LibrdkafkaPartition(std::string_view key, int partitions) {
  return rd_kafka_msg_partitioner_consistent(nullptr, key.data(), key.size(), partitions, nullptr,
                                             nullptr);
}

// "topics":{"NAME":{"topic":"NAME",...,"partitions":{"0":{...},"1":{...},"-1":{...}}}}, with or without
// spaces. No text in there has a brace, nor the name of a topic a quote. -1 is where records wait that
// have no partition yet.
int PartitionsIn(std::string_view statistics, std::string_view topic) {
  const auto skip_past = [&statistics](std::string_view text) {
    const size_t at = statistics.find(text);
    statistics.remove_prefix(at == statistics.npos ? statistics.size() : at + text.size());
  };
  skip_past("\"topics\":");
  skip_past(Concat("\"topic\":\"", topic, "\""));
  skip_past("\"partitions\":");
  int count = 0;
  int depth = 0;
  for (size_t i = 0; i < statistics.size(); ++i) {
    if (statistics[i] == '{') ++depth;
    if (statistics[i] == '}' && --depth == 0) break;
    if (statistics[i] != '"' || depth != 1) continue;
    const size_t end = std::min(statistics.find('"', i + 1), statistics.size());
    int partition = -1;
    std::from_chars(statistics.data() + i + 1, statistics.data() + end, partition);
    count = std::max(count, partition + 1);
    i = end;
  }
  return count;
}

}  // namespace pleat::inline v0_1
