#include "engine/store/segment_file.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::Create(StorageDirectory& directory,
                                                                 DirectorySync& names,
                                                                 uint64_t number,
                                                                 SegmentNamed named) {
  std::string name = NameOfSegment(number);
  std::string created_as = name;
  if (named == SegmentNamed::kWhenPublished) created_as += kUnfinishedStoreFile;
  absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory.CreateFile(created_as);
  if (!file.ok()) return file.status();
  return std::unique_ptr<SegmentFile>(
      new SegmentFile(directory, names, std::move(name), std::move(created_as), *std::move(file)));
}

absl::Status SegmentFile::Sync() {
  PLEAT_CHECK(has_its_name());
  absl::Status status = Told(file_->Sync());
  if (status.ok()) status = SyncName();
  return status;
}

absl::Status SegmentFile::Publish() {
  absl::Status status = file_->Sync();
  if (status.ok()) status = directory_.Rename(created_as_, name_);
  if (!status.ok()) return status;
  was_renamed_ = true;
  return SyncName();
}

absl::Status SegmentFile::SyncName() {
  if (name_is_certain_) return absl::OkStatus();
  if (absl::Status synced = names_.Sync(); !synced.ok()) return synced;
  if (names_.failures() != failures_before_) {
    return absl::InternalError(Concat(directory_.path(), "/", name_,
                                      ": a sync of the directory has failed: it may not have this "
                                      "name on the disk"));
  }
  name_is_certain_ = true;
  return absl::OkStatus();
}

// The storage knows the file by the name under which it was made. Whoever reads the message looks for
// the one that it has.
absl::Status SegmentFile::Told(absl::Status status) const {
  if (status.ok() || !was_renamed_) return status;
  std::string message(status.message());
  const std::string path = Concat(directory_.path(), "/");
  const size_t at = message.find(path + created_as_);
  if (at == std::string::npos) return status;
  message.replace(at + path.size(), created_as_.size(), name_);
  return absl::Status(status.code(), message);
}

}  // namespace pleat::inline v0_1
