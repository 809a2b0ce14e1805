// The least that a client of Kafka can do, for the contest: takes records as a member of a group, and counts those of
// users.
//
//   pleat_kafka_loop BROKERS TOPIC GROUP RECORDS FILE
//
// When it has so many it writes a line into the file, and waits for a signal. The settings are those that pleat's
// own member has.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/kafka/kafka_handles.h"

int main(int argc, char** argv) {
  using namespace pleat;
  if (argc != 6) return 2;
  const uint64_t wanted = std::strtoull(argv[4], nullptr, 10);
  char reason[256] = "";
  rd_kafka_conf_t* const settings = rd_kafka_conf_new();
  const char* const properties[][2] = {{"bootstrap.servers", argv[1]},
                                       {"group.id", argv[3]},
                                       {"enable.auto.commit", "false"},
                                       {"enable.auto.offset.store", "false"},
                                       {"auto.offset.reset", "earliest"},
                                       {"fetch.wait.max.ms", "100"},
                                       {"isolation.level", "read_committed"},
                                       {"partition.assignment.strategy", "cooperative-sticky"}};
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(settings, name, value, reason, sizeof reason) != 0) {
      std::fprintf(stderr, "%s\n", reason);
      return 2;
    }
  }
  const KafkaClient client(rd_kafka_new(RD_KAFKA_CONSUMER, settings, reason, sizeof reason));
  if (client == nullptr) return 1;
  rd_kafka_poll_set_consumer(client.get());
  const KafkaPartitions topic(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topic.get(), argv[2], RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(client.get(), topic.get());

  uint64_t records = 0, bytes = 0;
  while (records < wanted) {
    const KafkaMessage message(rd_kafka_consumer_poll(client.get(), 100));
    if (message == nullptr || message->err != 0) continue;
    if (message->key_len == 0 || *static_cast<const char*>(message->key) != 'u') continue;
    ++records;
    bytes += message->key_len + message->len;
  }
  std::ofstream(argv[5]) << records << " " << bytes << std::endl;
  pause();
}
