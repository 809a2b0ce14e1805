// WatchedStorage: a Storage before another one, which counts what is open at once and the syncs of
// files, and fails as long as it is told to, also beside threads that use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class WatchedStorage final : public Storage {
 public:
  enum class Trouble : uint8_t {
    kNone,
    kFull,  // creating and writing files
    kSync,  // of files; what was written can be read
    kSyncDirectory,
    kOpenFile,
  };

  explicit WatchedStorage(Storage& under) : under_(under) {}

  absl::StatusOr<std::unique_ptr<StorageDirectory>> OpenDirectory(std::string_view path,
                                                                  IfMissing if_missing) override {
    absl::StatusOr<std::unique_ptr<StorageDirectory>> under =
        under_.OpenDirectory(path, if_missing);
    if (!under.ok()) return under.status();
    return std::make_unique<Directory>(*this, *std::move(under));
  }

  void Have(Trouble trouble) { trouble_ = trouble; }
  // Files that are open, for reading or for writing, and the most that were since.
  int open() const { return open_; }
  int open_most() const { return open_most_; }
  void ForgetMost() { open_most_ = open_.load(); }
  // How often a file was to be synced, also in vain.
  int syncs() const { return syncs_; }
  // `call` is made within each of them from now on, before the disk does its work. Not beside threads
  // that use this.
  void AtSync(std::function<void()> call) { at_sync_ = std::move(call); }

 private:
  // Counts a file that is open.
  class Opened {
   public:
    explicit Opened(WatchedStorage& owner) : owner_(owner) {
      const int now = ++owner_.open_;
      int most = owner_.open_most_;
      while (most < now && !owner_.open_most_.compare_exchange_weak(most, now)) continue;
    }
    ~Opened() { --owner_.open_; }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    absl::Status Check(Trouble trouble) const { return owner_.Check(trouble); }
    void NoteSync() const {
      ++owner_.syncs_;
      if (owner_.at_sync_) owner_.at_sync_();
    }

   private:
    WatchedStorage& owner_;
  };

  class Writer final : public StorageWriter {
   public:
    Writer(WatchedStorage& owner, std::unique_ptr<StorageWriter> under)
        : opened_(owner), under_(std::move(under)) {}

    absl::Status Append(std::string_view bytes) override {
      if (failed_.ok()) failed_ = opened_.Check(Trouble::kFull);
      return failed_.ok() ? under_->Append(bytes) : failed_;
    }
    absl::Status Sync() override {
      opened_.NoteSync();
      if (failed_.ok()) failed_ = opened_.Check(Trouble::kSync);
      return failed_.ok() ? under_->Sync() : failed_;
    }
    absl::Status Overwrite(std::string_view bytes) override { return under_->Overwrite(bytes); }
    absl::Status Close() override { return under_->Close(); }

   private:
    const Opened opened_;
    const std::unique_ptr<StorageWriter> under_;
    absl::Status failed_;
  };

  class Reader final : public StorageReader {
   public:
    Reader(WatchedStorage& owner, std::unique_ptr<StorageReader> under)
        : opened_(owner), under_(std::move(under)) {}

    absl::StatusOr<size_t> ReadAt(uint64_t offset, absl::Span<char> buffer) override {
      return under_->ReadAt(offset, buffer);
    }
    absl::StatusOr<uint64_t> Size() override { return under_->Size(); }

   private:
    const Opened opened_;
    const std::unique_ptr<StorageReader> under_;
  };

  class Directory final : public StorageDirectory {
   public:
    Directory(WatchedStorage& owner, std::unique_ptr<StorageDirectory> under)
        : owner_(owner), under_(std::move(under)) {}

    const std::string& path() const override { return under_->path(); }
    absl::Status Lock() override { return under_->Lock(); }
    uint64_t MachineRun() override { return under_->MachineRun(); }
    absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
      if (absl::Status failed = owner_.Check(Trouble::kFull); !failed.ok()) return failed;
      absl::StatusOr<std::unique_ptr<StorageWriter>> under = under_->CreateFile(name);
      if (!under.ok()) return under.status();
      return std::make_unique<Writer>(owner_, *std::move(under));
    }
    absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) override {
      if (absl::Status failed = owner_.Check(Trouble::kOpenFile); !failed.ok()) return failed;
      absl::StatusOr<std::unique_ptr<StorageReader>> under = under_->OpenFile(name);
      if (!under.ok()) return under.status();
      return std::make_unique<Reader>(owner_, *std::move(under));
    }
    absl::Status Rename(std::string_view from, std::string_view to) override {
      return under_->Rename(from, to);
    }
    absl::Status Remove(std::string_view name) override { return under_->Remove(name); }
    absl::StatusOr<std::vector<std::string>> List() override { return under_->List(); }
    absl::Status SyncDirectory() override {
      absl::Status failed = owner_.Check(Trouble::kSyncDirectory);
      return failed.ok() ? under_->SyncDirectory() : failed;
    }

   private:
    WatchedStorage& owner_;
    const std::unique_ptr<StorageDirectory> under_;
  };

  absl::Status Check(Trouble trouble) const {
    if (trouble_ != trouble) return absl::OkStatus();
    if (trouble == Trouble::kFull) return absl::ResourceExhaustedError("the disk is full");
    if (trouble == Trouble::kOpenFile) return absl::ResourceExhaustedError("too many open files");
    return absl::InternalError("the device has failed");
  }

  Storage& under_;
  std::atomic<Trouble> trouble_ = Trouble::kNone;
  std::atomic<int> open_ = 0;
  std::atomic<int> open_most_ = 0;
  std::atomic<int> syncs_ = 0;
  std::function<void()> at_sync_;
};

}  // namespace pleat::inline v0_1
