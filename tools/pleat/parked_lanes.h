// Which lanes of a consumer its run has parked, and why: a file beside the checkpoints, so that others can
// tell. Nothing depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/status.h>

namespace pleat::cli {

struct ParkedLane {
  int partition = 0;
  uint64_t next = 0;  // of the last commit; where it is another one, somebody has gone on since
  std::string why;
};

// Replaces the file. Without lanes it is removed.
absl::Status KeepParked(const std::string& store, const std::string& consumer,
                        const std::vector<ParkedLane>& lanes);
// A file that is not there, or is no such one, has none.
std::vector<ParkedLane> ReadParked(const std::string& store, const std::string& consumer);

}  // namespace pleat::cli
