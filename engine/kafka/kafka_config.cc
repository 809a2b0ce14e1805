#include "engine/kafka/kafka_config.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

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

// Other names of librdkafka for these, and what would bring another protocol.
constexpr std::string_view kReserved[] = {"metadata.broker.list", "group.instance.id",
                                          "auto.commit.enable", "group.protocol"};

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

absl::Status SetAll(rd_kafka_conf_t* configuration, const KafkaOptions& options) {
  const std::vector<Property> own = OwnProperties(options);
  absl::Status status = Set(configuration, "client.id", "pleat");
  status.Update(Set(configuration, "fetch.wait.max.ms", "100"));
  for (const auto& [name, value] : own) status.Update(Set(configuration, name, value));
  for (const std::string_view property : options.properties) {
    const size_t equals = property.find('=');
    const std::string_view name = property.substr(0, equals);
    if (equals == property.npos || name.empty()) {
      return absl::InvalidArgumentError("a property of librdkafka is written name=value");
    }
    if (std::ranges::count(own, name, &Property::first) + std::ranges::count(kReserved, name) > 0) {
      return absl::InvalidArgumentError(
          Concat("the property ", name, " is set by KafkaLog itself"));
    }
    status.Update(Set(configuration, name, std::string(property.substr(equals + 1))));
  }
  return status;
}

}  // namespace

absl::StatusOr<KafkaClient> OpenKafkaClient(const KafkaOptions& options,
                                            const KafkaCallbacks& callbacks) {
  for (const auto& [name, value] :
       {std::pair("brokers", &options.brokers), std::pair("topic", &options.topic),
        std::pair("group", &options.group)}) {
    if (value->empty())
      return absl::InvalidArgumentError(Concat("KafkaOptions::", name, " is empty"));
  }
  KafkaConfiguration configuration(rd_kafka_conf_new());
  if (absl::Status set = SetAll(configuration.get(), options); !set.ok()) return set;
  rd_kafka_conf_set_log_cb(configuration.get(), DropLog);
  rd_kafka_conf_set_rebalance_cb(configuration.get(), callbacks.on_rebalance);
  rd_kafka_conf_set_error_cb(configuration.get(), callbacks.on_error);
  rd_kafka_conf_set_opaque(configuration.get(), callbacks.opaque);
  char reason[512] = "";
  KafkaClient client(rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), reason, sizeof reason));
  if (client == nullptr) return absl::InternalError(Concat("librdkafka cannot start: ", reason));
  [[maybe_unused]] rd_kafka_conf_t* const taken = configuration.release();  // by the client
  // So that one call of rd_kafka_consumer_poll() has all there is.
  rd_kafka_poll_set_consumer(client.get());
  return client;
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
