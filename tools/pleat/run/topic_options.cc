#include "tools/pleat/run/topic_options.h"

#include <fstream>
#include <utility>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/flag_value.h"

namespace pleat::cli {
namespace {

// "name=value", or the first line of FILE as the value of "name=@FILE".
absl::StatusOr<std::string> PropertyOf(const std::string& given) {
  const size_t equals = given.find('=');
  if (equals == given.npos || equals == 0) {
    return WrongFlag("property", "is written NAME=VALUE or NAME=@FILE");
  }
  if (equals + 1 >= given.size() || given[equals + 1] != '@') return given;
  const std::string file = given.substr(equals + 2);
  std::ifstream in(file);
  std::string value;
  if (!std::getline(in, value)) {
    return WrongFlag("property", "cannot read a value from " + Printable(file));
  }
  return given.substr(0, equals + 1) + value;
}

std::string NameOf(RunProfile profile) {
  switch (profile) {
    case RunProfile::kKafka: return "kafka";
    case RunProfile::kEventHubs: return "event-hubs";
    case RunProfile::kRedpanda: return "redpanda";
    case RunProfile::kWarpstream: return "warpstream";
  }
  return {};
}

absl::StatusOr<KafkaOptions> WithProperties(KafkaOptions kafka, const RunOptions& options) {
  kafka.profile = NameOf(options.profile);
  for (const std::string& each : options.properties) {
    absl::StatusOr<std::string> property = PropertyOf(each);
    if (!property.ok()) return property.status();
    kafka.properties.push_back(*std::move(property));
  }
  return kafka;
}

}  // namespace

absl::StatusOr<KafkaOptions> SourceOptions(const RunOptions& options) {
  KafkaOptions kafka{.brokers = options.brokers,
                     .topic = options.topic,
                     .group = options.group,
                     .snapshots = options.snapshots};
  if (options.worker.number > 0) {
    kafka.instance_id = options.group + "-" + std::to_string(options.worker.number);
  }
  return WithProperties(std::move(kafka), options);
}

absl::StatusOr<KafkaOptions> TopicOptions(const RunOptions& options, const std::string& topic) {
  const bool is_same = options.output_brokers.empty();
  return WithProperties({.brokers = is_same ? options.brokers : options.output_brokers,
                         .topic = topic,
                         .group = "",
                         .snapshots = "",
                         .id_header = "pleat-id"},
                        options);
}

}  // namespace pleat::cli
