// Where the records of `pleat run` come from: an event store, or a topic of a broker.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/processor.h>
#include <pleat/untyped/partitioned_log.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

struct RunLog {
  std::unique_ptr<PartitionedLog> log;
  int partitions = 1;           // that this run may have, as far as can be told
  std::function<void()> leave;  // so that others have the partitions at once; null: nobody waits
  std::function<bool()> left;   // after enough calls of Poll()
  // What is to be said about the keys of messages; empty: nothing. Null: they are not looked at.
  std::function<std::string(std::span<const Message>)> look_at_keys;
};

// One for each thread, as far as there are partitions for them. At least one.
absl::StatusOr<std::vector<RunLog>> OpenRunLogs(const RunOptions& options);

// What --check says of the records.
absl::StatusOr<std::string> RunLogText(const RunOptions& options);

// Whether the options about brokers go together, and whether this program knows brokers.
absl::Status CheckBrokers(const RunOptions& options);

}  // namespace pleat::cli
