// What `pleat lanes` says of consumers: for people, and as JSON objects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pleat/store_log.h>
#include <pleat/time.h>

namespace pleat::cli {

struct ConsumerLanes {
  std::string name;
  StoreLog::Lanes all;
  std::optional<int> process;           // that has the consumer
  std::optional<EngineTime> committed;  // when the last commit was written
};

// Records that its last commit has not read.
uint64_t UnreadBy(const LaneStatus& lane);

// The id of a message as the consumer's receivers know it.
std::string IdOf(const ConsumerLanes& consumer, const BuriedMessage& buried);

// A row for each consumer.
std::string OverviewText(const std::vector<ConsumerLanes>& consumers);
// A row for each lane, and what waits for a person.
std::string ConsumerText(const ConsumerLanes& consumer);
std::string ConsumerJson(const ConsumerLanes& consumer);

}  // namespace pleat::cli
