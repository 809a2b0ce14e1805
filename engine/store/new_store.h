// NewStore: a store that is made as a whole, of records that another one has had. Until it is finished
// a file UNFINISHED-COPY says so, and nobody opens it; then it is a store as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store.h>
#include <pleat/untyped/storage.h>

#include "engine/store/committer.h"
#include "engine/store/consumer_files.h"
#include "engine/store/segments.h"
#include "engine/store/store_partition.h"

namespace pleat::inline v0_1 {

// Thread safety: one call at a time.
class NewStore {
 public:
  // `begin`: where its partitions begin; the last one is that of notes.
  // Errors: kAlreadyExists: the directory has files; those of storage.h.
  static absl::StatusOr<std::unique_ptr<NewStore>> Create(std::string_view path, Storage* storage,
                                                          std::vector<PartitionState> begin);

  // Without that of notes, whose number this is.
  size_t partitions() const noexcept { return partitions_.size() - 1; }

  // Puts a record behind the last one of the partition, whatever its offset is. Its time is that of
  // the last one at least.
  absl::Status Add(size_t partition, const StoredRecord& record);
  uint64_t next(size_t partition) const noexcept { return partitions_[partition].next(); }

  // All of it is on the disk, and it has these consumers of the store `from`. Call it once.
  absl::Status Finish(std::span<const ReadSoFar> consumers, std::string_view from);

  // Records whose time was before that of the last one.
  uint64_t times_held_back() const noexcept;

 private:
  // Of a block, and of what waits for a sync.
  static constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
  static constexpr uint64_t kUnsyncedBytesMax = uint64_t{32} << 20;

  NewStore(Storage* storage, std::unique_ptr<StorageDirectory> directory,
           std::vector<PartitionState> begin);
  RecoveredLog BeginAt(std::vector<PartitionState> begin);
  absl::Status WriteBlock();
  absl::Status PutConsumer(const ReadSoFar& consumer, std::string_view from) const;

  Storage* const storage_;
  const std::unique_ptr<StorageDirectory> directory_;
  const StoreManifest manifest_;
  std::vector<StorePartition> partitions_;
  std::vector<SectionBuffer*> buffers_;
  uint64_t bytes_ = 0;  // in them
  Segments segments_;
  LogCommitter committer_;
};

}  // namespace pleat::inline v0_1
