#include <algorithm>
#include <utility>

#include <absl/base/thread_annotations.h>
#include <pleat/event_store_reader.h>
#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/lock.h"
#include "engine/store/consumer_files.h"
#include "engine/store/open_store.h"

namespace pleat::inline v0_1 {

class StoreConsumerCore {
 public:
  StoreConsumerCore(std::unique_ptr<StorageDirectory> directory, ConsumerFile file)
      : directory_(std::move(directory)),
        partitions_(file.checkpoints.size()),
        file_(std::move(file)) {}

  size_t partitions() const noexcept { return partitions_; }

  StoreCheckpoint checkpoint(int partition) const {
    LockGuard guard(lock_);
    return file_.checkpoints[Checked(partition)];
  }

  absl::Status Commit(std::span<const StoreCheckpoint> checkpoints) {
    LongLockGuard commit_guard(commit_lock_);
    const ConsumerFile before = Copy();
    ConsumerFile file = before;
    for (const StoreCheckpoint& each : checkpoints) {
      PLEAT_CHECK(each.metadata.size() <= kCheckpointMetadataBytesMax);
      file.checkpoints[Checked(each.partition)] = each;
    }
    if (absl::Status put = file.Put(*directory_); !put.ok()) {
      // The new file may be there, and a crash may take it. Without it no Trim() counts on it.
      before.Put(*directory_).IgnoreError();
      return put;
    }
    LockGuard guard(lock_);
    file_ = std::move(file);
    return absl::OkStatus();
  }

 private:
  size_t Checked(int partition) const {
    PLEAT_CHECK(0 <= partition && static_cast<size_t>(partition) < partitions_);
    return static_cast<size_t>(partition);
  }
  ConsumerFile Copy() const {
    LockGuard guard(lock_);
    return file_;
  }

  const std::unique_ptr<StorageDirectory> directory_;
  const size_t partitions_;
  Lock commit_lock_;
  mutable Lock lock_;  // behind the other one; held for moments
  ConsumerFile file_ ABSL_GUARDED_BY(lock_);
};

StoreConsumer::StoreConsumer(std::unique_ptr<StoreConsumerCore> core) : core_(std::move(core)) {}
StoreConsumer::~StoreConsumer() = default;

absl::StatusOr<std::unique_ptr<StoreConsumer>> StoreConsumer::Open(std::string_view store,
                                                                   std::string_view name,
                                                                   Storage* storage) {
  if (absl::Status right = CheckConsumerName(name); !right.ok()) return right;
  const absl::StatusOr<OpenedStore> opened = OpenStoreToRead(store, storage);
  if (!opened.ok()) return opened.status();
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      OpenConsumer(store, name, storage, IfMissing::kCreate);
  if (!directory.ok()) return directory.status();
  if (absl::Status lock = (*directory)->Lock(); !lock.ok()) return lock;
  absl::StatusOr<ConsumerFile> file = ConsumerFile::Read(**directory, opened->manifest);
  if (absl::IsNotFound(file.status())) {
    file = ConsumerFile(opened->manifest);
    // From now on retention knows of it.
    if (absl::Status put = file->Put(**directory); !put.ok()) return put;
  }
  if (!file.ok()) return file.status();
  return std::unique_ptr<StoreConsumer>(new StoreConsumer(
      std::make_unique<StoreConsumerCore>(*std::move(directory), *std::move(file))));
}

int StoreConsumer::partitions() const noexcept { return static_cast<int>(core_->partitions()); }

StoreCheckpoint StoreConsumer::checkpoint(int partition) const {
  return core_->checkpoint(partition);
}

absl::Status StoreConsumer::Commit(std::span<const StoreCheckpoint> checkpoints) {
  return core_->Commit(checkpoints);
}

absl::Status StoreConsumer::Commit(const StoreCheckpoint& checkpoint) {
  return core_->Commit({&checkpoint, 1});
}

absl::StatusOr<std::vector<std::string>> StoreConsumer::Names(std::string_view store,
                                                              Storage* storage) {
  const absl::StatusOr<OpenedStore> opened = OpenStoreToRead(store, storage);
  if (!opened.ok()) return opened.status();
  return NamesOfConsumers(store, storage);
}

namespace {

// One that is there, without its lock.
struct FoundConsumer {
  StoreManifest store;
  std::unique_ptr<StorageDirectory> directory;
};

absl::Status NoConsumer(std::string_view store, std::string_view name) {
  return absl::NotFoundError(Concat(store, " has no consumer ", name));
}

absl::StatusOr<FoundConsumer> FindConsumer(std::string_view store, std::string_view name,
                                           Storage* storage) {
  if (absl::Status right = CheckConsumerName(name); !right.ok()) return right;
  const absl::StatusOr<OpenedStore> opened = OpenStoreToRead(store, storage);
  if (!opened.ok()) return opened.status();
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      OpenConsumer(store, name, storage, IfMissing::kFail);
  if (absl::IsNotFound(directory.status())) return NoConsumer(store, name);
  if (!directory.ok()) return directory.status();
  return FoundConsumer{opened->manifest, *std::move(directory)};
}

}  // namespace

absl::StatusOr<std::vector<StoreCheckpoint>> StoreConsumer::Look(std::string_view store,
                                                                 std::string_view name,
                                                                 Storage* storage) {
  const absl::StatusOr<FoundConsumer> found = FindConsumer(store, name, storage);
  if (!found.ok()) return found.status();
  absl::StatusOr<ConsumerFile> file = ConsumerFile::Read(*found->directory, found->store);
  if (absl::IsNotFound(file.status())) return NoConsumer(store, name);
  if (!file.ok()) return file.status();
  return std::move(file->checkpoints);
}

absl::Status StoreConsumer::Remove(std::string_view store, std::string_view name,
                                   Storage* storage) {
  const absl::StatusOr<FoundConsumer> found = FindConsumer(store, name, storage);
  if (!found.ok()) return found.status();
  if (absl::Status lock = found->directory->Lock(); !lock.ok()) return lock;
  absl::Status removed = found->directory->Remove(kCheckpointFile);
  // The snapshots of its lanes (store_log.h) are of no use without, and may be left of a call before.
  const absl::StatusOr<std::vector<std::string>> names = found->directory->List();
  if (absl::IsNotFound(removed) && names.ok()) {
    const auto is_lanes = [](const std::string& each) { return each.starts_with("lane-"); };
    if (std::ranges::none_of(*names, is_lanes)) return NoConsumer(store, name);
    removed = absl::OkStatus();
  }
  if (removed.ok()) removed = names.status();
  for (size_t i = 0; removed.ok() && i < names->size(); ++i) {
    if ((*names)[i].starts_with("lane-")) removed = found->directory->Remove((*names)[i]);
  }
  if (removed.ok()) removed = found->directory->SyncDirectory();
  return removed;
}

}  // namespace pleat::inline v0_1
