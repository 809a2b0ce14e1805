// What a disk holds, and what of it a power loss may leave. The model is pessimistic as storage.h
// is: only what was synced is certain, and syncs of files and of directories have nothing to do
// with each other.
//
// - A file grows at its end. What lies behind its synced bytes is kept or lost in sectors of 512
//   bytes, each by itself. A lost sector has its synced bytes, and behind them zeros, or what a
//   file that is gone had in that place (see Lost). The file ends where it ended when it was
//   synced, or behind an Append() since, or between two sectors.
// - Creating, renaming and removing since the last sync of the directory are each done or undone,
//   in any combination; those that are done, in their order. One that a sync has failed for stays
//   uncertain, whatever later syncs say.
//
// A copy shares all files and directories with its original until one of them changes, so a test
// may keep many.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/choices.h"

namespace pleat::inline v0_1 {

enum class Lost : uint8_t {
  kZeros,
  kOlderFile,  // the bytes at that place of the file that was removed or replaced last
};

// How a failed sync leaves the pages of a file. These are the three ways in which Linux's file
// systems do it, according to a study of 2020: in each, another sync says OK and does nothing.
enum class FailedSync : uint8_t {
  kKeepsNew,   // they are read as they were written, as long as the machine runs
  kShowsOld,   // they are read as they are on the disk: zeros
  kToldLater,  // the sync says OK, and the next one of this file says that it has failed
};

class FaultyDisk {
 public:
  static constexpr uint64_t kSectorBytes = 512;
  using FileId = uint64_t;
  static constexpr FileId kNoFile = 0;

  bool HasDirectory(const std::string& path) const { return directories_.contains(path); }
  std::vector<std::string> Paths() const;  // of directories
  void MakeDirectory(const std::string& path);
  void SyncParentOf(const std::string& path);

  // In a directory that there is.
  FileId Find(const std::string& directory, std::string_view name) const;
  std::vector<std::string> Names(const std::string& directory) const;
  FileId Create(const std::string& directory, std::string_view name);
  void Rename(const std::string& directory, std::string_view from, std::string_view to);
  void Remove(const std::string& directory, std::string_view name);
  void SyncDirectory(const std::string& directory);
  void FailSyncDirectory(const std::string& directory);

  // Of a file that somebody may still reach.
  const std::string& Bytes(FileId file) const { return files_.at(file)->bytes; }
  void Append(FileId file, std::string_view bytes);
  // The bytes are durable at once, which is one way for them to be.
  void Overwrite(FileId file, std::string_view bytes);
  void Sync(FileId file);
  void FailSync(FileId file, FailedSync how);
  // Whether the next sync of the file has to tell that the one before had failed.
  bool OwesError(FileId file) const { return files_.at(file)->owes_error; }

  // How many bytes all files with a name may have; any number unless told.
  void set_capacity(uint64_t bytes) { capacity_ = bytes; }
  // How many more they may get.
  uint64_t Room() const;
  // Forgets files without a name, but those of `open`.
  void Collect(const std::set<FileId>& open);

  // Puts durable bytes in place of those of a file, or makes it.
  void Plant(const std::string& directory, std::string_view name, std::string_view bytes);

  void set_lost(Lost lost) { lost_ = lost; }

  // What is left after a power loss. All of it is durable. Where `pick` answers 0 all is lost that
  // can be, and where it answers n - 1 all is kept.
  FaultyDisk AfterPowerLoss(Pick pick) const;
  // How often the machine was started.
  uint64_t machine_run() const { return machine_run_; }
  // How many ways there are to answer; kTooMany if that many or more.
  uint64_t PowerLosses() const;
  static constexpr uint64_t kTooMany = uint64_t{1} << 62;

 private:
  struct File {
    std::string bytes;
    uint64_t durable = 0;         // so many of them are on the disk for certain
    std::set<uint64_t> unsynced;  // other sizes that the file may have on the disk
    bool owes_error = false;
  };
  using Entries = std::map<std::string, FileId, std::less<>>;
  struct Step {
    enum class State : uint8_t { kUnsynced, kSynced, kUncertain };
    std::string leaves;  // the name that goes, if any
    std::string enters;  // the name that now is that of `file`, if any
    FileId file = kNoFile;
    State state = State::kUnsynced;
  };
  struct Directory {
    Entries entries;
    bool durable = false;     // it itself
    Entries on_disk;          // before `steps`
    std::vector<Step> steps;  // the first one is not synced
  };

  static void Apply(const Step& step, Entries& entries);
  static bool IsCertain(const Directory& directory) {
    return directory.durable && directory.steps.empty();
  }
  void Do(const std::string& path, Step step);
  // To be changed: shared with no other disk.
  File& Own(FileId file);
  Directory& OwnDirectory(const std::string& path);

  using Directories = std::map<std::string, std::shared_ptr<const Directory>>;

  Directories DirectoriesAfterPowerLoss(Pick pick) const;
  std::shared_ptr<const File> FileAfterPowerLoss(const std::shared_ptr<const File>& file,
                                                 Pick pick) const;
  static uint64_t PowerLossesOf(const File& file);

  std::map<FileId, std::shared_ptr<const File>> files_;
  Directories directories_;
  FileId last_file_ = kNoFile;
  Lost lost_ = Lost::kZeros;
  uint64_t machine_run_ = 1;
  uint64_t capacity_ = UINT64_MAX;
  std::shared_ptr<const File> older_;  // what Lost::kOlderFile shows
};

}  // namespace pleat::inline v0_1
