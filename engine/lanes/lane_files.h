// LaneFiles keeps the snapshots of lanes, and the books of their held keys, as files of a directory:
// lane-PARTITION-NUMBER. Where several processes have the directory, a partition may for a while have
// two that write: its owner, and one that does not know yet that it is none. So nobody writes under a
// name that another one has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/untyped/partitioned_log.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class PLEAT_EXPORT LaneFiles final : public LaneSnapshots {
 public:
  enum class Writers : uint8_t { kOne, kSeveral };
  static absl::StatusOr<std::unique_ptr<LaneFiles>> Open(
      std::unique_ptr<StorageDirectory> directory, Writers writers = Writers::kOne);

  absl::StatusOr<uint64_t> Put(int partition, Write write) override;
  absl::StatusOr<std::unique_ptr<ByteSource>> Get(int partition, uint64_t number) override;
  absl::StatusOr<bool> HasAny(int partition) override;
  absl::Status RemoveBefore(int partition, uint64_t number) override;
  absl::Status Remove(int partition, uint64_t number) override;

 private:
  LaneFiles(std::unique_ptr<StorageDirectory> directory, std::string new_name, Writers writers)
      : directory_(std::move(directory)), new_name_(std::move(new_name)), writers_(writers) {}

  absl::Status FindLast();
  absl::Status WriteNew(const std::string& name, Write write);
  absl::StatusOr<uint64_t> NextNumber(int partition);

  const std::unique_ptr<StorageDirectory> directory_;
  const std::string new_name_;  // begins that of a snapshot which is being written
  const Writers writers_;
  std::map<int, uint64_t> last_;  // the greatest number of each partition
};

// All of one.
absl::StatusOr<std::string> ReadLaneFile(LaneSnapshots& snapshots, int partition, uint64_t number);

}  // namespace pleat::inline v0_1
