// A Storage behind which another process works: it does something whenever a file is opened to be read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

// Calls `before` each time when a file is opened to be read: then another process does something.
class WatchedStorage final : public Storage {
 public:
  WatchedStorage(Storage& storage, std::function<void(std::string_view file)> before)
      : storage_(storage), before_(std::move(before)) {}

  absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                  IfMissing if_missing) override {
    absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
        storage_.OpenDirectory(path, if_missing);
    if (!opened.ok()) return opened;
    return std::make_unique<Directory>(*std::move(opened), before_);
  }

 private:
  using Before = std::function<void(std::string_view file)>;

  class Directory final : public StorageDirectory {
   public:
    Directory(std::unique_ptr<StorageDirectory> directory, const Before& before)
        : directory_(std::move(directory)), before_(before) {}

    const std::string& path() const override { return directory_->path(); }
    absl::Status Lock() override { return directory_->Lock(); }
    absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
      return directory_->CreateFile(name);
    }
    absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) override {
      before_(name);
      return directory_->OpenFile(name);
    }
    absl::Status Rename(std::string_view from, std::string_view to) override {
      return directory_->Rename(from, to);
    }
    absl::Status Remove(std::string_view name) override { return directory_->Remove(name); }
    absl::StatusOr<std::vector<std::string>> List() override { return directory_->List(); }
    uint64_t MachineRun() override { return directory_->MachineRun(); }
    absl::Status SyncDirectory() override { return directory_->SyncDirectory(); }

   private:
    const std::unique_ptr<StorageDirectory> directory_;
    const Before& before_;
  };

  Storage& storage_;
  const Before before_;
};

}  // namespace pleat::inline v0_1
