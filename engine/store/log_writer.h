// LogWriter: the end of the log on the disk. It begins segments, writes blocks, and syncs. After an
// error the owner gives the file up; the next segment goes on behind a cut that the owner chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"
#include "engine/store/block_table.h"
#include "engine/store/log_span.h"
#include "engine/store/segment_file.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

// Blocks that a segment begins with, one at a time; so they need not be in memory together.
struct CopiedBlocks {
  uint64_t bytes = 0;  // of all
  // The next one, valid until the call after; nullptr behind the last.
  absl::FunctionRef<absl::StatusOr<PendingBlock*>()> next;
};

class LogWriter {
 public:
  // `next_number`: of the next segment; no file has it or a higher one. `useless`: files that are
  // removed when the first segment has begun. REQUIRES: `directory` outlives this.
  LogWriter(StorageDirectory& directory, StoreManifest manifest, uint64_t next_number,
            std::vector<std::string> useless)
      : directory_(directory),
        names_(directory),
        manifest_(manifest),
        next_number_(next_number),
        useless_(std::move(useless)) {
    ++manifest_.life;
  }

  // Whether there is a file to write to.
  bool is_open() const noexcept { return file_ != nullptr; }
  // Whether this life has begun a segment.
  bool has_begun() const noexcept { return has_begun_; }

  // Begins a segment that goes on behind `state`, which moves behind the copies: they, and the name of
  // the segment, are on the disk for certain when it returns OK. `durable` is a cut that is so now.
  // `table` gets the copies. Segments behind `state` do not count any more: see RemoveUseless().
  absl::Status Begin(LogState& state, StoreCut durable, const CopiedBlocks& copies,
                     BlockTable& table);
  // Removes files that do not count any more.
  void RemoveUseless();
  // Begins a segment without a sync; Sync() does that later on. REQUIRES: has_begun(), and `state` is
  // the end of the segment before.
  absl::Status BeginUnsynced(LogState& state, StoreCut durable);
  // That segment, and its bytes for reading.
  const SegmentHead& head() const noexcept { return head_; }
  const std::shared_ptr<StorageReader>& reader() const noexcept { return reader_; }

  // The blocks of the segment up to a state in it.
  LogSpan BlocksTo(const LogState& end) const {
    return {head_.number, head_.head_bytes, end.cut.end, head_.before.digest};
  }

  // The next three REQUIRE is_open(). After an error only Release() is left.
  absl::Status Append(PendingBlock& block, LogState& state, StoreCut durable);
  absl::Status Sync();
  // Ends the segment, all of which is on the disk. The index is a help: it need not get there.
  void End(std::string_view index);

  // Gives the file up, as it is; or to somebody who will sync it.
  std::unique_ptr<SegmentFile> Release() { return std::move(file_); }

  // Notes in MANIFEST how far the log is on the disk for certain; and which segment is the first.
  absl::Status WriteManifest(StoreCut durable);
  absl::Status WriteManifest(StoreCut durable, uint64_t first_segment);
  // The same, as a help: whatever comes of it, the log is right. It is on the disk when the name of
  // the next segment is.
  void NoteInManifest(StoreCut durable);

 private:
  absl::Status BeginLife(StoreCut durable);
  absl::Status CreateSegment(LogState& state, StoreCut durable, uint64_t copied,
                             SegmentNamed named);
  absl::Status Copy(LogState& state, const CopiedBlocks& copies, BlockTable& table);
  absl::Status WriteBlock(PendingBlock& block, LogState& state, StoreCut durable);
  absl::Status OpenReader();
  absl::Status GiveUp(absl::Status why);
  Binding At(StoreCut cut) const noexcept { return {manifest_.identity, cut.segment, cut.end}; }

  StorageDirectory& directory_;
  DirectorySync names_;
  StoreManifest manifest_;
  bool life_is_certain_ = false;  // MANIFEST has it, and is on the disk
  bool has_begun_ = false;
  uint64_t next_number_;
  std::vector<std::string> useless_;
  std::vector<uint64_t> begun_;  // in this life, behind what MANIFEST names
  SegmentHead head_;
  std::unique_ptr<SegmentFile> file_;
  std::shared_ptr<StorageReader> reader_;
};

// A MANIFEST for a new store.
absl::Status CreateManifest(StorageDirectory& directory, const StoreManifest& manifest);

}  // namespace pleat::inline v0_1
