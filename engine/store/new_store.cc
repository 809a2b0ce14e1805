#include "engine/store/new_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include <absl/types/span.h>

#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/base/lock.h"
#include "engine/store/open_store.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status CheckEmpty(StorageDirectory& directory) {
  const absl::StatusOr<std::vector<std::string>> names = directory.List();
  if (!names.ok()) return names.status();
  if (absl::Status finished = CheckFinished(directory.path(), *names); !finished.ok()) {
    return absl::AlreadyExistsError(finished.message());
  }
  if (names->empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      Concat(directory.path(), " has files, such as ", names->front(), ": name a new directory"));
}

absl::Status CopyFile(StorageDirectory& from, const std::string& name, StorageDirectory& to) {
  constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
  const absl::StatusOr<std::unique_ptr<StorageReader>> reader = from.OpenFile(name);
  if (absl::IsNotFound(reader.status())) {
    return absl::UnavailableError(
        Concat(from.path(), "/", name, " was removed while the store was copied: copy it again"));
  }
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<std::unique_ptr<StorageWriter>> writer = to.CreateFile(name);
  if (!writer.ok()) return writer.status();
  absl::Status status;
  std::string piece(kPieceBytes, '\0');
  for (uint64_t at = 0; status.ok(); at += kPieceBytes) {
    const absl::StatusOr<size_t> read = (*reader)->ReadAt(at, absl::MakeSpan(piece));
    if (!read.ok()) return read.status();
    status = (*writer)->Append(std::string_view(piece).substr(0, *read));
    if (*read < kPieceBytes) break;
  }
  if (status.ok()) status = (*writer)->Sync();
  if (status.ok()) status = (*writer)->Close();
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewStore>> NewStore::Create(std::string_view path, Storage* storage,
                                                           std::vector<PartitionState> begin) {
  absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      StorageOr(storage).OpenDirectory(path, IfMissing::kCreate);
  if (!directory.ok()) return directory.status();
  // Nobody's files get a LOCK beside them.
  absl::Status status = CheckEmpty(**directory);
  if (status.ok()) status = (*directory)->Lock();
  if (status.ok()) status = CheckEmpty(**directory);
  if (status.ok()) status = PutFile(**directory, kUnfinishedStore, {});
  if (status.ok()) status = (*directory)->SyncDirectory();
  if (!status.ok()) return status;
  return std::unique_ptr<NewStore>(new NewStore(storage, *std::move(directory), std::move(begin)));
}

NewStore::NewStore(Storage* storage, std::unique_ptr<StorageDirectory> directory,
                   std::vector<PartitionState> begin)
    : storage_(storage),
      directory_(std::move(directory)),
      manifest_{.identity = RandomHashKey()[0],
                .partitions = static_cast<uint32_t>(begin.size() - 1)},
      partitions_(begin.size()),
      segments_(*directory_, manifest_.identity, begin.size()),
      committer_(*directory_, manifest_, BeginAt(std::move(begin)),
                 {.durability = StoreDurability::kInterval}, segments_, partitions_) {
  for (StorePartition& partition : partitions_) buffers_.push_back(&partition.buffer(0));
}

RecoveredLog NewStore::BeginAt(std::vector<PartitionState> begin) {
  for (size_t i = 0; i < partitions_.size(); ++i) partitions_[i].Begin(begin[i], begin[i].next);
  RecoveredLog log;
  log.durable.partitions = log.end.partitions = std::move(begin);
  return log;
}

absl::Status NewStore::Add(size_t partition, const StoredRecord& record) {
  {
    LockGuard guard(partitions_[partition].lock());
    partitions_[partition].Add(record, record.appended, /*side=*/0);
  }
  bytes_ += kRecordBytesBeside + BytesOf(record);
  return bytes_ < kBlockBytes ? absl::OkStatus() : WriteBlock();
}

absl::Status NewStore::WriteBlock() {
  if (std::exchange(bytes_, 0) == 0) return absl::OkStatus();
  absl::Status status = committer_.Write(buffers_);
  if (status.ok() && committer_.unsynced_bytes() >= kUnsyncedBytesMax) status = committer_.Sync();
  return status;
}

// UNFINISHED-COPY goes when all else is on the disk.
absl::Status NewStore::Finish(std::span<const ReadSoFar> consumers, std::string_view from) {
  absl::Status status = WriteBlock();
  if (status.ok()) status = committer_.Sync();
  if (status.ok()) status = committer_.Finish();
  for (const ReadSoFar& consumer : consumers) {
    if (status.ok()) status = PutConsumer(consumer, from);
  }
  if (status.ok()) status = directory_->Remove(kUnfinishedStore);
  if (status.ok()) status = directory_->SyncDirectory();
  return status;
}

absl::Status NewStore::PutConsumer(const ReadSoFar& consumer, std::string_view from) const {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> directory =
      OpenConsumer(directory_->path(), consumer.name, storage_, IfMissing::kCreate);
  if (!directory.ok()) return directory.status();
  if (!consumer.lane_files.empty()) {
    const absl::StatusOr<std::unique_ptr<StorageDirectory>> source =
        OpenConsumer(from, consumer.name, storage_, IfMissing::kFail);
    if (!source.ok()) return source.status();
    for (const std::string& name : consumer.lane_files) {
      if (absl::Status copied = CopyFile(**source, name, **directory); !copied.ok()) return copied;
    }
  }
  ConsumerFile file(manifest_);
  file.checkpoints = consumer.checkpoints;
  return file.Put(**directory);
}

uint64_t NewStore::times_held_back() const noexcept {
  uint64_t held_back = 0;
  for (size_t i = 0; i < partitions(); ++i) held_back += partitions_[i].held_back();
  return held_back;
}

}  // namespace pleat::inline v0_1
