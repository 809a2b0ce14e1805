// What librdkafka hands out, each with an owner.
#pragma once

#include <memory>

#include <librdkafka/rdkafka.h>

namespace pleat::inline v0_1 {

template <auto kDestroy>
struct KafkaDestroyer {
  template <class T>
  void operator()(T* owned) const noexcept {
    kDestroy(owned);
  }
};
template <class T, auto kDestroy>
using KafkaOwned = std::unique_ptr<T, KafkaDestroyer<kDestroy>>;

// A member that goes without having left looks to its group as one that has crashed.
inline void DestroyKafkaClient(rd_kafka_t* client) noexcept {
  rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

using KafkaClient = KafkaOwned<rd_kafka_t, DestroyKafkaClient>;
using KafkaConfiguration = KafkaOwned<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaTopic = KafkaOwned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaQueue = KafkaOwned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using KafkaEvent = KafkaOwned<rd_kafka_event_t, rd_kafka_event_destroy>;
using KafkaMessage = KafkaOwned<rd_kafka_message_t, rd_kafka_message_destroy>;
using KafkaError = KafkaOwned<rd_kafka_error_t, rd_kafka_error_destroy>;
using KafkaPartitions =
    KafkaOwned<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
using KafkaAdminOptions = KafkaOwned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using KafkaGroupOffsets =
    KafkaOwned<rd_kafka_ListConsumerGroupOffsets_t, rd_kafka_ListConsumerGroupOffsets_destroy>;

}  // namespace pleat::inline v0_1
