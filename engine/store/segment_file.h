// SegmentFile: a segment that is being written, as a file that has bytes and a name. Both are on the
// disk for certain only when they were synced, and Sync() does what is left of that.
//
// It gets its own name at once, or when what it begins with is on the disk (kWhenPublished).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

enum class SegmentNamed : uint8_t { kAtOnce, kWhenPublished };

// Syncs of a directory. One that fails leaves every name uncertain that was made since the last
// success, whatever later syncs say.
class DirectorySync {
 public:
  // REQUIRES: `directory` outlives it.
  explicit DirectorySync(StorageDirectory& directory) : directory_(directory) {}

  // Thread safety: any thread.
  absl::Status Sync() {
    absl::Status synced = directory_.SyncDirectory();
    if (!synced.ok()) failures_.fetch_add(1);
    return synced;
  }
  uint64_t failures() const noexcept { return failures_.load(); }

 private:
  StorageDirectory& directory_;
  std::atomic<uint64_t> failures_{0};
};

// Thread safety: one call at a time.
class SegmentFile {
 public:
  // REQUIRES: `directory` and `names` outlive it.
  static absl::StatusOr<std::unique_ptr<SegmentFile>> Create(StorageDirectory& directory,
                                                             DirectorySync& names, uint64_t number,
                                                             SegmentNamed named);

  absl::Status Append(std::string_view bytes) { return Told(file_->Append(bytes)); }
  // Bytes and name. REQUIRES: it has its own name.
  absl::Status Sync();
  // Syncs the bytes, gives it its own name, and syncs that.
  absl::Status Publish();
  absl::Status Remove() { return directory_.Remove(name_in_directory()); }

  // The name that it has now, and the one that it has in the end.
  const std::string& name_in_directory() const noexcept {
    return has_its_name() ? name_ : created_as_;
  }
  const std::string& name() const noexcept { return name_; }

 private:
  SegmentFile(StorageDirectory& directory, DirectorySync& names, std::string name,
              std::string created_as, std::unique_ptr<StorageWriter> file)
      : directory_(directory),
        names_(names),
        failures_before_(names.failures()),
        name_(std::move(name)),
        created_as_(std::move(created_as)),
        file_(std::move(file)) {}

  absl::Status SyncName();
  absl::Status Told(absl::Status status) const;
  bool has_its_name() const noexcept { return created_as_ == name_ || was_renamed_; }

  StorageDirectory& directory_;
  DirectorySync& names_;
  const uint64_t failures_before_;  // of names_, when it was made
  const std::string name_;
  const std::string created_as_;
  const std::unique_ptr<StorageWriter> file_;
  bool was_renamed_ = false;
  bool name_is_certain_ = false;
};

}  // namespace pleat::inline v0_1
