// LaneFiles keeps the snapshots of lanes, and the books of their held keys, as files of a directory:
// lane-PARTITION-NUMBER.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <absl/status/statusor.h>
#include <pleat/untyped/partitioned_log.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class LaneFiles final : public LaneSnapshots {
 public:
  static absl::StatusOr<std::unique_ptr<LaneFiles>> Open(
      std::unique_ptr<StorageDirectory> directory);

  absl::StatusOr<uint64_t> Put(int partition, Write write) override;
  absl::StatusOr<std::unique_ptr<ByteSource>> Get(int partition, uint64_t number) override;
  absl::Status RemoveBefore(int partition, uint64_t number) override;
  absl::Status Remove(int partition, uint64_t number) override;

 private:
  explicit LaneFiles(std::unique_ptr<StorageDirectory> directory)
      : directory_(std::move(directory)) {}

  absl::Status WriteNew(Write write);

  const std::unique_ptr<StorageDirectory> directory_;
  std::map<int, uint64_t> last_;  // the greatest number of each partition
};

}  // namespace pleat::inline v0_1
