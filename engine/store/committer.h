// LogCommitter: blocks on their way from memory to the disk.
//
//   under way --Write--> in the file --Sync--> on the disk
//
// Two states of the log: `written_`, behind the last block in the file; and `certain_`, up to where
// it is on the disk, which every new block names.
//
// In kInterval and kGroup a block stays in memory until it is on the disk. In kProcess it does not:
// a file that is full becomes an *old* one, which a commit syncs beside all other work, and
// `certain_` follows slowly. Readers are shown a block when it is durable: in kGroup when it is on
// the disk, else when it is in the file.
//
// A file that is full ends with all of it on the disk, but in kProcess. The next one begins without a
// sync, and so costs a write. The first one of a life, and one that begins with copies, is on the
// disk before anything else happens.
//
// In *trouble* a write or a sync has failed. Nobody knows what the file has, so it is given up, and
// nothing is acknowledged until a new file begins with copies of all blocks behind `certain_`: those
// in memory, and in kProcess those that can be read back. It is trouble, too, if a start has found
// blocks that may not be on the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store.h>
#include <pleat/stored.h>

#include "engine/store/block.h"
#include "engine/store/end_mark.h"
#include "engine/store/log_span.h"
#include "engine/store/log_writer.h"
#include "engine/store/recovery.h"
#include "engine/store/segments.h"
#include "engine/store/store_partition.h"

namespace pleat::inline v0_1 {

// Thread safety: one call at a time, but for unsynced_bytes(), old_files() and blocks().
class LogCommitter {
 public:
  // All that is given outlives this.
  LogCommitter(StorageDirectory& directory, const StoreManifest& manifest, RecoveredLog log,
               const EventStoreOptions& options, Segments& segments,
               std::span<StorePartition> partitions);

  // Takes over what is in the buffers, and writes it. REQUIRES: one is not empty.
  absl::Status Write(std::span<SectionBuffer* const> buffers);
  // Tells readers where the log ends that was found. REQUIRES: nothing was written.
  void Start() { end_mark_.Set(certain_); }
  // After trouble: begins a new file with copies, and writes what waits.
  absl::Status Resume();
  // All that was written is on the disk when it returns OK. REQUIRES: no old file is out.
  absl::Status Sync();

  // In kProcess: a file that is full and not synced.
  struct OldFile {
    std::unique_ptr<SegmentFile> file;
    std::string index;  // goes to its end when the blocks are on the disk
    LogSpan blocks;
    LogState end;

    // Any thread, beside all else.
    absl::Status Sync();
  };
  // The oldest one, for somebody to sync it, one at a time, and to give it back with what came of
  // that. Nothing: there is none.
  std::shared_ptr<OldFile> TakeOldFile();
  absl::Status GiveBack(const std::shared_ptr<OldFile>& old, absl::Status synced);

  // Ends the segment, and notes in MANIFEST how far the log has come. REQUIRES: Sync() was OK, and
  // nothing came since.
  absl::Status Finish();

  // The number of a segment before which all is on the disk for certain.
  uint64_t certain_segment() const noexcept { return certain_.cut.segment; }
  // Removes the oldest segments. REQUIRES: these are some, and come before certain_segment().
  absl::Status Drop(const Segments::Oldest& oldest);

  // Tells readers again, if they could not be told.
  void TellReaders() { end_mark_.Repeat(); }

  size_t old_files() const noexcept { return counts_.old_files.load(std::memory_order_relaxed); }
  bool in_trouble() const noexcept { return in_trouble_; }
  // Taken over, and not on the disk.
  uint64_t unsynced_bytes() const noexcept {
    return counts_.all_bytes.load(std::memory_order_relaxed) -
           counts_.certain_bytes.load(std::memory_order_relaxed);
  }
  uint64_t blocks() const noexcept { return counts_.blocks.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kFreeMax = 2;

  // A block in memory. The first `written_count_` of them are in the file.
  struct Waiting {
    std::unique_ptr<PendingBlock> block;
    uint64_t place = 0;
  };

  // Of blocks since the start, and of files; for any thread.
  struct Counts {
    std::atomic<uint64_t> all_bytes{0};      // taken over
    std::atomic<uint64_t> certain_bytes{0};  // on the disk
    std::atomic<uint64_t> blocks{0};
    std::atomic<size_t> old_files{0};
  };

  bool keeps_blocks() const noexcept { return durability_ != StoreDurability::kProcess; }
  bool shows_when_synced() const noexcept { return durability_ == StoreDurability::kGroup; }
  bool all_is_certain() const noexcept { return certain_.blocks == written_.blocks; }
  std::unique_ptr<PendingBlock> FreeBlock();
  void PopWaiting();
  absl::Status WriteWaiting();
  absl::Status BeginWithCopies();
  absl::Status BeginUnsynced();
  void Show(const PendingBlock& block, uint64_t place);
  void ShowCopies(BlockTable table);
  void SetCertain(const LogState& state);
  void EndSegmentIfFull();
  void CountOldFiles() { counts_.old_files.store(old_files_.size(), std::memory_order_relaxed); }
  absl::Status Trouble(absl::Status why);
  void TakeBackFile();
  void TakeBackOldFiles();

  const StoreDurability durability_;
  const uint64_t segment_bytes_;
  StorageDirectory& directory_;
  Segments& segments_;
  const std::span<StorePartition> partitions_;
  LogWriter writer_;
  EndMark end_mark_;
  LogState written_;
  LogState certain_;
  bool in_trouble_ = false;
  std::vector<LogSpan> tail_;  // to be copied, before those that wait
  std::deque<Waiting> waiting_;
  size_t written_count_ = 0;
  std::vector<std::unique_ptr<PendingBlock>> free_;
  std::deque<std::shared_ptr<OldFile>> old_files_;
  bool old_file_is_out_ = false;
  FieldWriter scratch_;
  Counts counts_;
};

}  // namespace pleat::inline v0_1
