#include "engine/kafka/kafka_config.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

using Property = std::pair<std::string_view, std::string>;

// What this class relies on: nobody else may set it. Offsets are committed by lanes alone; a position
// that is lost is an error; nothing of an aborted transaction is read; and partitions move without
// stopping those that stay.
std::vector<Property> OwnProperties(const KafkaOptions& options) {
  std::vector<Property> all = {{"bootstrap.servers", options.brokers},
                               {"group.id", options.group},
                               {"enable.auto.commit", "false"},
                               {"enable.auto.offset.store", "false"},
                               {"auto.offset.reset", "error"},
                               {"enable.partition.eof", "true"},
                               {"isolation.level", "read_committed"},
                               {"allow.auto.create.topics", "false"},
                               {"partition.assignment.strategy", "cooperative-sticky"}};
  if (!options.instance_id.empty()) all.emplace_back("group.instance.id", options.instance_id);
  return all;
}

// What a kind of broker wants, unless the caller says otherwise. Event Hubs closes connections that were
// idle for four minutes; agents of WarpStream are many, and a round trip is long, so it pays to fetch more.
struct Profile {
  std::string_view name;
  std::vector<Property> properties;
  Duration commit_interval_min{0};
};
const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> all = {{"kafka", {}},
                                           {"event-hubs",
                                            {{"security.protocol", "SASL_SSL"},
                                             {"sasl.mechanisms", "PLAIN"},
                                             {"sasl.username", "$ConnectionString"},
                                             {"socket.keepalive.enable", "true"},
                                             {"connections.max.idle.ms", "180000"},
                                             {"metadata.max.age.ms", "180000"}},
                                            std::chrono::milliseconds(334)},
                                           {"redpanda", {}},
                                           {"warpstream",
                                            {{"topic.metadata.refresh.interval.ms", "60000"},
                                             {"fetch.max.bytes", "104857600"},
                                             {"max.partition.fetch.bytes", "52428800"}}}};
  return all;
}

// Other names of librdkafka for these, and what would bring another protocol.
constexpr std::string_view kReserved[] = {"metadata.broker.list", "group.instance.id",
                                          "auto.commit.enable",   "group.protocol",
                                          "delivery.timeout.ms",  "transactional.id"};

void DropLog(const rd_kafka_t*, int, const char*, const char*) {}

absl::Status Set(rd_kafka_conf_t* configuration, std::string_view name, const std::string& value) {
  char ignored[512];  // it has the value
  switch (rd_kafka_conf_set(configuration, std::string(name).c_str(), value.c_str(), ignored,
                            sizeof ignored)) {
    case RD_KAFKA_CONF_OK: return absl::OkStatus();
    case RD_KAFKA_CONF_UNKNOWN:
      return absl::InvalidArgumentError(
          Concat("this librdkafka, ", rd_kafka_version_str(), ", has no property ", name));
    case RD_KAFKA_CONF_INVALID: break;
  }
  return absl::InvalidArgumentError(
      Concat("librdkafka's property ", name, " does not take its value"));
}

absl::Status SetProfile(rd_kafka_conf_t* configuration, std::string_view name) {
  const auto profile = std::ranges::find(Profiles(), name, &Profile::name);
  if (profile == Profiles().end()) {
    return absl::InvalidArgumentError(
        "KafkaOptions::profile is none of kafka, event-hubs, redpanda and warpstream");
  }
  absl::Status status;
  for (const auto& [each, value] : profile->properties) {
    status.Update(Set(configuration, each, value));
  }
  return status;
}

// `own` cannot be changed by the caller, `first` can.
absl::Status SetAll(rd_kafka_conf_t* configuration, const KafkaOptions& options,
                    const std::vector<Property>& first, const std::vector<Property>& own,
                    std::string_view setter) {
  absl::Status status = SetProfile(configuration, options.profile);
  status.Update(Set(configuration, "client.id", "pleat"));
  for (const auto& [name, value] : first) status.Update(Set(configuration, name, value));
  for (const auto& [name, value] : own) status.Update(Set(configuration, name, value));
  for (const std::string_view property : options.properties) {
    const size_t equals = property.find('=');
    const std::string_view name = property.substr(0, equals);
    if (equals == property.npos || name.empty()) {
      return absl::InvalidArgumentError("a property of librdkafka is written name=value");
    }
    if (std::ranges::count(own, name, &Property::first) + std::ranges::count(kReserved, name) > 0) {
      return absl::InvalidArgumentError(
          Concat("the property ", name, " is set by ", setter, " itself"));
    }
    status.Update(Set(configuration, name, std::string(property.substr(equals + 1))));
  }
  return status;
}

absl::Status CheckGiven(std::initializer_list<std::pair<std::string_view, const std::string*>> of) {
  for (const auto& [name, value] : of) {
    if (value->empty()) {
      return absl::InvalidArgumentError(Concat("KafkaOptions::", name, " is empty"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<KafkaClient> Start(rd_kafka_type_t type, KafkaConfiguration configuration) {
  rd_kafka_conf_set_log_cb(configuration.get(), DropLog);
  char reason[512] = "";
  KafkaClient client(rd_kafka_new(type, configuration.get(), reason, sizeof reason));
  if (client == nullptr) return absl::InternalError(Concat("librdkafka cannot start: ", reason));
  [[maybe_unused]] rd_kafka_conf_t* const taken = configuration.release();  // by the client
  return client;
}

}  // namespace

absl::StatusOr<KafkaClient> OpenKafkaClient(const KafkaOptions& options,
                                            const KafkaCallbacks& callbacks) {
  absl::Status status = CheckGiven(
      {{"brokers", &options.brokers}, {"topic", &options.topic}, {"group", &options.group}});
  if (!status.ok()) return status;
  KafkaConfiguration configuration(rd_kafka_conf_new());
  std::vector<Property> first = {{"fetch.wait.max.ms", "100"}, {"statistics.interval.ms", "5000"}};
  // A fetcher whose queue was full looks again so soon. Before 2.2 KafkaMember wakes it.
  if (rd_kafka_version() >= 0x02020000) first.emplace_back("fetch.queue.backoff.ms", "10");
  status = SetAll(configuration.get(), options, first, OwnProperties(options), "KafkaLog");
  if (!status.ok()) return status;
  rd_kafka_conf_set_rebalance_cb(configuration.get(), callbacks.on_rebalance);
  rd_kafka_conf_set_error_cb(configuration.get(), callbacks.on_error);
  rd_kafka_conf_set_stats_cb(configuration.get(), callbacks.on_statistics);
  rd_kafka_conf_set_opaque(configuration.get(), callbacks.opaque);
  absl::StatusOr<KafkaClient> client = Start(RD_KAFKA_CONSUMER, std::move(configuration));
  // So that one call of rd_kafka_consumer_poll() has all there is.
  if (client.ok()) rd_kafka_poll_set_consumer(client->get());
  return client;
}

absl::StatusOr<KafkaClient> OpenKafkaProducer(const KafkaOptions& options,
                                              const KafkaDelivery& delivery) {
  absl::Status status = CheckGiven({{"brokers", &options.brokers}, {"topic", &options.topic}});
  if (!status.ok()) return status;
  KafkaConfiguration configuration(rd_kafka_conf_new());
  // Nothing is given up because it takes long: it may have been written, and would be again.
  // Whoever sends bounds what is under way.
  status = SetAll(configuration.get(), options,
                  {{"partitioner", "murmur2_random"}, {"queue.buffering.max.messages", "10000000"}},
                  {{"bootstrap.servers", options.brokers},
                   {"enable.idempotence", "true"},
                   {"message.timeout.ms", "0"}},
                  "KafkaProducer");
  if (!status.ok()) return status;
  rd_kafka_conf_set_dr_msg_cb(configuration.get(), delivery.on_delivered);
  rd_kafka_conf_set_error_cb(configuration.get(), delivery.on_error);
  rd_kafka_conf_set_opaque(configuration.get(), delivery.opaque);
  return Start(RD_KAFKA_PRODUCER, std::move(configuration));
}

Duration CommitIntervalMin(const KafkaOptions& options) {
  const auto profile = std::ranges::find(Profiles(), options.profile, &Profile::name);
  return profile == Profiles().end() ? Duration{0} : profile->commit_interval_min;
}

absl::Status KafkaStatus(rd_kafka_resp_err_t error, std::string_view text) {
  const std::string message = Concat("Kafka: ", text);
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: return absl::NotFoundError(message);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return absl::PermissionDeniedError(message);
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED: return absl::UnauthenticatedError(message);
    default: return absl::UnavailableError(message);
  }
}

}  // namespace pleat::inline v0_1
