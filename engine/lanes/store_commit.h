// What the checkpoint of a consumer says of a lane: its commit, in the metadata of the checkpoint.
#pragma once

#include <optional>
#include <string>

#include <pleat/event_store_reader.h>
#include <pleat/untyped/partitioned_log.h>

namespace pleat::inline v0_1 {

// Where the lane's records begin to be needed, as the checkpoint's own position says, too, unless
// somebody has moved that; where to read on; and the lane's.
std::string CheckpointMetadata(const LogCommit& commit);

// Nothing: nobody has committed yet. Without metadata: the consumer was moved, or was another
// program's; a lane begins there.
std::optional<LogCommit> CommitIn(const StoreCheckpoint& checkpoint);

}  // namespace pleat::inline v0_1
