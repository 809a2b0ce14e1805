// What of a store's files counts, and up to where it is on the disk for certain.
//
// 1. Every segment's head is read. The *durable cut* begins as the latest that MANIFEST or a head
//    names. Behind it a power loss may have left anything: segments without a head, or without the one
//    before them.
// 2. From the segment of that cut the heads lead back to the first one: these count, up to where the
//    next one goes on. None of them may be missing.
// 3. From the beginning of that segment the blocks are walked, and from the end of one segment into
//    the one that goes on behind it (of several the newest: the others were given up before anything
//    was acknowledged in them), for as long as each block is whole and fits the one before. A block
//    may name a later durable cut.
// 4. Where the walk ends lies the end of the log. What comes behind it was never on the disk as a
//    whole, unless something says otherwise: a durable cut behind it, the number of bytes that a
//    segment began with, a block anywhere behind that names a cut there. Then it is damage.
//
// The blocks between the durable cut and the end are the *tail*. They were read from memory of the
// system, maybe, and not from the disk; so they have to be written again before anything counts on
// them. They may be many, and are not kept in memory.
//
// Files that do not count are of no use, and are removed once something new was written. But one
// behind the end that has whole blocks gets the name lost-N, and stays until somebody looks at it: a
// power loss may leave such files, and damage may, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"
#include "engine/store/log_span.h"
#include "engine/store/segments.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

struct RecoveredLog {
  std::vector<Segment> segments;  // up to the durable cut
  LogState durable;
  LogState end;
  std::vector<LogSpan> tail;
  std::vector<std::string> useless;  // files
  uint64_t next_number = 1;          // of a segment: no file has it or a higher one
  uint64_t bytes_passed_over = 0;    // behind the end
  uint64_t blocks_passed_over = 0;   // there, from beginning to end
};

class LogRecovery {
 public:
  // `changes`: whether files behind the end may get another name.
  LogRecovery(StorageDirectory& directory, const StoreManifest& manifest, bool changes)
      : directory_(directory), manifest_(manifest), changes_(changes) {}

  // Call it once. `names`: of the files in the directory.
  absl::StatusOr<RecoveredLog> Run(const std::vector<std::string>& names);

 private:
  struct File {
    uint64_t size = 0;
    std::optional<SegmentHead> head;  // nothing: it is damaged
    bool has_lost_blocks = false;
  };

  absl::Status ReadFiles(const std::vector<std::string>& names);
  absl::Status ReadFile(uint64_t number);
  absl::Status ChainBack();
  absl::Status Walk();
  absl::StatusOr<bool> StepIn(uint64_t number, uint64_t limit);
  bool Enter(uint64_t number);
  std::optional<uint64_t> NextOf(uint64_t number) const;
  absl::Status FindDurable();
  absl::Status CheckBehind();
  absl::Status CheckFileBehind(uint64_t number, File& file);
  absl::StatusOr<bool> NamesACutBehindTheEnd(uint64_t number, File& file, uint64_t from);
  void SortOut();

  // The file's reader, until the next call: however many files there are, one is open.
  absl::StatusOr<StorageReader*> Opened(uint64_t number);
  // The state before the first block of all.
  LogState Beginning() const {
    return {.cut = {},
            .blocks = 0,
            .digest = 0,
            .partitions = {manifest_.log_partitions(), PartitionState{}}};
  }
  absl::Status Damage(uint64_t segment, uint64_t offset, std::string_view why) const {
    return StoreDamage(directory_.path(), NameOfSegment(segment), offset, why);
  }

  StorageDirectory& directory_;
  const StoreManifest& manifest_;
  const bool changes_;
  std::map<uint64_t, File> files_;
  StoreCut known_;         // the latest durable cut that is named anywhere
  RecoveredLog log_;       // its end moves along the walk
  size_t walk_begin_ = 0;  // the segment in which it begins
  uint64_t open_number_ = 0;
  std::unique_ptr<StorageReader> open_;
  std::string buffer_;
};

}  // namespace pleat::inline v0_1
