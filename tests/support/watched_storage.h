// A Storage behind which another process works, or another thread: it does something whenever a file is
// opened to be read, or is written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

// Calls `before` each time when a file is opened to be read, and `before_write` before each call that
// writes or syncs one: then somebody else does something.
class WatchedStorage final : public Storage {
 public:
  using Before = std::function<void(std::string_view file)>;

  WatchedStorage(
      Storage& storage, Before before, Before before_write = [](std::string_view) {})
      : storage_(storage), before_(std::move(before)), before_write_(std::move(before_write)) {}

  absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                  IfMissing if_missing) override {
    absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
        storage_.OpenDirectory(path, if_missing);
    if (!opened.ok()) return opened;
    return std::make_unique<Directory>(*std::move(opened), before_, before_write_);
  }

 private:
  class Writer final : public StorageWriter {
   public:
    Writer(std::unique_ptr<StorageWriter> writer, std::string_view name, const Before& before)
        : writer_(std::move(writer)), name_(name), before_(before) {}

    absl::Status Append(std::string_view bytes) override {
      before_(name_);
      return writer_->Append(bytes);
    }
    absl::Status Overwrite(std::string_view bytes) override { return writer_->Overwrite(bytes); }
    absl::Status Sync() override {
      before_(name_);
      return writer_->Sync();
    }
    absl::Status Close() override { return writer_->Close(); }

   private:
    const std::unique_ptr<StorageWriter> writer_;
    const std::string name_;
    const Before& before_;
  };

  class Directory final : public StorageDirectory {
   public:
    Directory(std::unique_ptr<StorageDirectory> directory, const Before& before,
              const Before& before_write)
        : directory_(std::move(directory)), before_(before), before_write_(before_write) {}

    const std::string& path() const override { return directory_->path(); }
    absl::Status Lock() override { return directory_->Lock(); }
    absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
      absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory_->CreateFile(name);
      if (!file.ok()) return file;
      return std::make_unique<Writer>(*std::move(file), name, before_write_);
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
    const Before& before_write_;
  };

  Storage& storage_;
  const Before before_;
  const Before before_write_;
};

}  // namespace pleat::inline v0_1
