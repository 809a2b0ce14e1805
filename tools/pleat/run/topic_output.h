// Messages of `pleat run` that become records of a topic: the key of the group is the record's key, the
// line its payload, and the id of the message its header pleat-id.
#pragma once

#include <memory>

#include <absl/status/statusor.h>

#include "tools/pleat/run/message_output.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// `rest` has what goes into no topic. Errors: those of KafkaProducer::Open(); kInvalidArgument: this
// program knows no brokers.
absl::StatusOr<std::unique_ptr<MessageOutput>> OpenTopicOutput(const RunOptions& options,
                                                               std::unique_ptr<MessageOutput> rest);

}  // namespace pleat::cli
