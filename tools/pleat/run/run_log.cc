#include "tools/pleat/run/run_log.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include <pleat/event_store_reader.h>
#include <pleat/store_log.h>
#ifdef PLEAT_CLI_KAFKA
#include <pleat/kafka_log.h>

#include "tools/pleat/run/key_notes.h"
#include "tools/pleat/run/topic_options.h"
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
    opened.push_back({.log = std::move(log),
                      .partitions = partitions,
                      .leave = {},
                      .left = {},
                      .look_at_keys = {}});
  }
  return opened;
}

#ifdef PLEAT_CLI_KAFKA

// A topic does not say in time how many partitions a member may come to have.
constexpr int kPartitionsOfTopic = 64;

absl::StatusOr<RunLog> OpenTopic(const RunOptions& options) {
  const absl::StatusOr<KafkaOptions> kafka = SourceOptions(options);
  if (!kafka.ok()) return kafka.status();
  absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(*kafka);
  if (!log.ok()) return log.status();
  KafkaLog* const topic = log->get();
  return RunLog{.log = *std::move(log),
                .partitions = kPartitionsOfTopic,
                .leave = [topic] { topic->Leave(); },
                .left = [topic] { return topic->left(); },
                .look_at_keys =
                    [topic, notes = KeyNotes()](auto messages) mutable {
                      return notes.Look(
                          messages, topic->partitions(),
                          [&](int partition, auto key) { return topic->MayHold(partition, key); });
                    }};
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
  struct Given {
    std::string_view name;
    bool is_given;
    bool of_group;  // of the topic that is read
  };
  const bool has_profile = options.profile != RunProfile::kKafka;
  const Given given[] = {{"topic", !options.topic.empty(), true},
                         {"group", !options.group.empty(), true},
                         {"snapshots", !options.snapshots.empty(), true},
                         {"worker", options.worker.number > 0, true},
                         {"profile", has_profile, false},
                         {"property", !options.properties.empty(), false},
                         {"brokers", !options.brokers.empty(), true},
                         {"output-topic", !options.output_topic.empty(), false},
                         {"invalid-topic", !options.invalid_topic.empty(), false},
                         {"late-topic", !options.late_topic.empty(), false},
                         {"output-brokers", !options.output_brokers.empty(), false}};
  for (const Given& each : given) {
    if (!each.is_given) continue;
#ifndef PLEAT_CLI_KAFKA
    return WrongFlag(each.name,
                     "this program knows no brokers: build pleat where librdkafka 2.0.2 or newer "
                     "is (Debian: librdkafka-dev)");
#endif
    if (!options.brokers.empty()) continue;
    if (each.of_group) return WrongFlag(each.name, "says nothing without --brokers");
    if (options.output_brokers.empty()) {
      return WrongFlag(each.name, "says nothing without --brokers or --output-brokers");
    }
  }
  if (!options.output_brokers.empty() && !options.writes_topics()) {
    return WrongFlag("output-brokers", "says nothing without --output-topic");
  }
  if (!options.output_topic.empty() &&
      (options.output_file != "-" || !options.output_store.empty())) {
    return WrongFlag("output-topic", "contradicts --output and --output-store");
  }
  if (!options.invalid_topic.empty() && !options.invalid_file.empty()) {
    return WrongFlag("invalid-topic", "contradicts --invalid");
  }
  if (!options.late_topic.empty() && !options.late_file.empty()) {
    return WrongFlag("late-topic", "contradicts --late");
  }
  if (options.brokers.empty()) return absl::OkStatus();
  if (!options.store.empty()) return WrongFlag("brokers", "contradicts --store");
  if (!options.consumer.empty()) return WrongFlag("consumer", "contradicts --brokers: see --group");
  for (const Given& each : given) {
    if (each.is_given || !each.of_group || each.name == "worker") continue;
    return WrongFlag(each.name, "is required with --brokers");
  }
  for (const std::string* const each :
       {&options.output_topic, &options.invalid_topic, &options.late_topic}) {
    if (*each != options.topic || !options.output_brokers.empty()) continue;
    return WrongFlag("topic", Printable(*each) + " is written, too: results would be events again");
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
