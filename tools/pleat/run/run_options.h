// The options of `pleat run`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <pleat/json.h>
#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>
#include <pleat/time.h>

namespace pleat::cli {

// One of the collections of each lane.
struct RunCollection {
  std::string name;
  std::variant<FoldSpec, RollupSpec, LiveSetSpec> spec;
  bool refreshes = false;  // of a live set: whether they are changes

  const EventSpec& event() const {
    return std::visit([](const auto& each) -> const EventSpec& { return each.event; }, spec);
  }
};

enum class RunEnd : uint8_t { kFollow, kKeep, kFlush };

// One of several processes, which keeps its place in the group when it starts again.
struct RunWorker {
  int number = 0;  // from 1; 0: none
  int count = 0;
};

// What kind of brokers there are.
enum class RunProfile : uint8_t { kKafka, kEventHubs, kRedpanda, kWarpstream };

struct RunOptions {
  std::string store;     // a directory
  std::string consumer;  // its name; of a topic the group's

  std::string brokers;  // in place of a store
  std::string topic;
  std::string group;
  std::string snapshots;  // a directory
  RunWorker worker;
  RunProfile profile = RunProfile::kKafka;
  std::vector<std::string> properties;  // NAME=VALUE or NAME=@FILE

  std::vector<RunCollection> collections;

  std::string output_file = "-";
  std::string output_store;  // these: empty means none
  std::string output_topic;
  std::string output_brokers;  // of topics that are written; those of the topic that is read
  bool skips_invalid = false;  // else the end of a log of mostly invalid records is a failure
  std::string invalid_file;
  std::string invalid_topic;
  std::string late_file;
  std::string late_topic;

  RunEnd at_end = RunEnd::kFollow;
  Duration idle = std::chrono::seconds(30);
  Duration commit_every = std::chrono::milliseconds(100);
  int replay_limit = 1'000'000;  // records

  int threads = 1;
  std::string metrics_file;  // empty: none

  bool check = false;
  bool quiet_summary = false;
  bool help = false;

  bool keeps_invalid() const { return !invalid_file.empty() || !invalid_topic.empty(); }
  bool keeps_late() const { return !late_file.empty() || !late_topic.empty(); }
  bool writes_topics() const {
    return !output_topic.empty() || !invalid_topic.empty() || !late_topic.empty();
  }
};

}  // namespace pleat::cli
