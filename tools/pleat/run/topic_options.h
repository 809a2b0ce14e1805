// From the options of `pleat run` to those of a topic.
#pragma once

#include <string>

#include <absl/status/statusor.h>
#include <pleat/kafka_log.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// Of the topic that is read.
absl::StatusOr<KafkaOptions> SourceOptions(const RunOptions& options);

// Of a topic that is written.
absl::StatusOr<KafkaOptions> TopicOptions(const RunOptions& options, const std::string& topic);

}  // namespace pleat::cli
