#include "engine/lanes/store_commit.h"

#include <string_view>

#include <pleat/store_log.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1 {

std::string CheckpointMetadata(const LogCommit& commit) {
  FieldWriter out;
  out.PutFields(kLaneMetadata);
  out.PutNumber(commit.needed);
  out.PutNumber(commit.offset - commit.needed);
  out.PutFields(commit.metadata);
  return std::string(out.bytes());
}

std::optional<LogCommit> CommitIn(const StoreCheckpoint& checkpoint) {
  LogCommit commit{.partition = checkpoint.partition,
                   .offset = checkpoint.position.offset,
                   .needed = checkpoint.position.offset,
                   .metadata = {}};
  std::string_view metadata = checkpoint.metadata;
  if (metadata == kLaneMetadata) return commit;  // was moved
  const bool has_lane = metadata.starts_with(kLaneMetadata);
  if (has_lane) metadata.remove_prefix(kLaneMetadata.size());
  FieldReader in(metadata);
  const uint64_t needed = in.Number();
  const uint64_t further = in.Number();
  if (has_lane && in.ok() && needed == commit.needed && further <= UINT64_MAX - needed) {
    commit.offset += further;
    commit.metadata = metadata.substr(metadata.size() - in.at_hand());
    return commit;
  }
  if (commit.offset == 0) return std::nullopt;
  return commit;
}

}  // namespace pleat::inline v0_1
