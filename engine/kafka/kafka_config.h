// From the options of a KafkaLog to a client of librdkafka.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/kafka_log.h>

#include "engine/kafka/kafka_handles.h"

namespace pleat::inline v0_1 {

// What librdkafka calls from inside rd_kafka_consumer_poll().
struct KafkaCallbacks {
  void (*on_rebalance)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void*);
  void (*on_error)(rd_kafka_t*, int error, const char* reason, void*);
  int (*on_statistics)(rd_kafka_t*, char* json, size_t size, void*);
  void* opaque;  // the last argument of each
};

// What it calls from inside rd_kafka_poll() of a producer.
struct KafkaDelivery {
  void (*on_delivered)(rd_kafka_t*, const rd_kafka_message_t*, void*);
  void (*on_error)(rd_kafka_t*, int error, const char* reason, void*);
  void* opaque;  // the last argument of each
};

// A consumer that has joined nothing yet.
absl::StatusOr<KafkaClient> OpenKafkaClient(const KafkaOptions& options,
                                            const KafkaCallbacks& callbacks);

// Of `options` it takes brokers, profile and properties.
absl::StatusOr<KafkaClient> OpenKafkaProducer(const KafkaOptions& options,
                                              const KafkaDelivery& delivery);

// That of the options' profile.
Duration CommitIntervalMin(const KafkaOptions& options);

// `text` says what has failed.
absl::Status KafkaStatus(rd_kafka_resp_err_t error, std::string_view text);

}  // namespace pleat::inline v0_1
