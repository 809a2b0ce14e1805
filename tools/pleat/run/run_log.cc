#include "tools/pleat/run/run_log.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include <pleat/event_store_reader.h>
#include <pleat/store_log.h>
#ifdef PLEAT_CLI_KAFKA
#include <fstream>

#include <pleat/kafka_log.h>
#endif

#include "tools/pleat/errno_status.h"
#include "tools/pleat/flag_value.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

absl::StatusOr<std::vector<RunLog>> OpenStore(const RunOptions& options) {
  absl::StatusOr<std::vector<std::unique_ptr<StoreLog>>> logs =
      StoreLog::OpenSeveral(options.store, options.consumer, options.threads);
  if (!logs.ok()) return logs.status();
  std::vector<RunLog> opened;
  for (std::unique_ptr<StoreLog>& log : *logs) {
    const int partitions = log->partitions();
    opened.push_back({.log = std::move(log), .partitions = partitions, .leave = {}, .left = {}});
  }
  return opened;
}

#ifdef PLEAT_CLI_KAFKA

// A topic does not say in time how many partitions a member may come to have.
constexpr int kPartitionsOfTopic = 64;

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

absl::StatusOr<RunLog> OpenTopic(const RunOptions& options) {
  KafkaOptions kafka{.brokers = options.brokers,
                     .topic = options.topic,
                     .group = options.group,
                     .snapshots = options.snapshots};
  if (options.worker.number > 0) {
    kafka.instance_id = options.group + "-" + std::to_string(options.worker.number);
  }
  for (const std::string& each : options.properties) {
    absl::StatusOr<std::string> property = PropertyOf(each);
    if (!property.ok()) return property.status();
    kafka.properties.push_back(*std::move(property));
  }
  absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka);
  if (!log.ok()) return log.status();
  KafkaLog* const topic = log->get();
  return RunLog{.log = *std::move(log),
                .partitions = kPartitionsOfTopic,
                .leave = [topic] { topic->Leave(); },
                .left = [topic] { return topic->left(); }};
}

#else

absl::StatusOr<RunLog> OpenTopic(const RunOptions& options) { return CheckBrokers(options); }

#endif

}  // namespace

absl::StatusOr<std::vector<RunLog>> OpenRunLogs(const RunOptions& options) {
  if (options.brokers.empty()) return OpenStore(options);
  absl::StatusOr<RunLog> topic = OpenTopic(options);
  if (!topic.ok()) return topic.status();
  std::vector<RunLog> logs;
  logs.push_back(*std::move(topic));
  return logs;
}

absl::StatusOr<std::string> RunLogText(const RunOptions& options) {
  if (!options.brokers.empty()) {
    const std::string place =
        options.worker.number == 0
            ? "its partitions move to others when it is silent for session.timeout.ms"
            : "worker " + std::to_string(options.worker.number) + " of " +
                  std::to_string(options.worker.count) +
                  ", which has its partitions back after a restart";
    return "topic       " + Printable(options.topic) + " at " + Printable(options.brokers) +
           "\ngroup       " + Printable(options.group) + "; " + place + "\nsnapshots   " +
           Printable(options.snapshots) + ", which every process of the group has to see\n";
  }
  const absl::StatusOr<std::unique_ptr<EventStoreReader>> store =
      EventStoreReader::Open(options.store);
  if (!store.ok()) return store.status();
  return "store       " + Printable(options.store) + ", " +
         Counted(static_cast<uint64_t>((*store)->partitions()), "partition") + "\nconsumer    " +
         Printable(options.consumer) + "\n";
}

absl::Status CheckBrokers(const RunOptions& options) {
  const std::pair<std::string_view, bool> given[] = {
      {"topic", !options.topic.empty()},         {"group", !options.group.empty()},
      {"snapshots", !options.snapshots.empty()}, {"worker", options.worker.number > 0},
      {"property", !options.properties.empty()}, {"brokers", !options.brokers.empty()}};
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
#ifndef PLEAT_CLI_KAFKA
    return WrongFlag(name,
                     "this program knows no brokers: build pleat where librdkafka 2.0.2 or newer "
                     "is (Debian: librdkafka-dev)");
#endif
    if (options.brokers.empty()) return WrongFlag(name, "says nothing without --brokers");
  }
  if (options.brokers.empty()) return absl::OkStatus();
  if (!options.store.empty()) return WrongFlag("brokers", "contradicts --store");
  if (!options.consumer.empty()) return WrongFlag("consumer", "contradicts --brokers: see --group");
  for (const auto& [name, is_given] : given) {
    if (is_given || name == "worker" || name == "property") continue;
    return WrongFlag(name, "is required with --brokers");
  }
  if (options.threads > 1) {
    return WrongFlag("threads", "contradicts --brokers: start more processes of the group");
  }
  if (options.at_end != RunEnd::kFollow) {
    return WrongFlag("at-end", "contradicts --brokers: a topic has no end");
  }
  return absl::OkStatus();
}

}  // namespace pleat::cli
