// SegmentsLeft: what is left of the segments of a store that may be damaged, and which of their blocks
// count, whatever else is gone.
//
// Each block says how many come before it. A segment has blocks of one life, and takes the place of all
// that segments before it have from its own first block on: those were copied into it, or given up. So
// segments are sorted by life and number, and each counts up to where a later one begins. Of one whose
// head is damaged the first block that is whole tells both.
//
// Where a start would find the end of the store, it is the end here as well: what lies behind was never
// on the disk as a whole. Where a start would refuse the store nobody knows, and all blocks count.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/detail/store_copy.h>
#include <pleat/untyped/storage.h>

#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

struct SegmentLeft {
  uint64_t number = 0;
  uint64_t size = 0;
  std::optional<SegmentHead> head;  // if it is whole
  uint32_t life = 0;
  uint64_t begin = 0;        // the byte of its first block
  uint64_t first_block = 0;  // and how many blocks come before that
  uint64_t end = 0;          // bytes from there on do not count,
  uint64_t end_block = 0;    // nor do blocks that so many come before
};

class SegmentsLeft {
 public:
  // REQUIRES: what is given outlives it. `report` gets what is damaged.
  SegmentsLeft(StorageDirectory& directory, StoreSalvageReport& report)
      : directory_(directory), report_(report) {}

  // Call it once. Errors: kNotFound: there is no event store; kFailedPrecondition: there is something
  // else; kUnimplemented: written by a newer version; those of the storage.
  absl::Status Find();

  // Whether anything says whose blocks they are. Else there is nothing to be saved.
  bool is_known() const noexcept { return manifest_.partitions > 0; }
  // As it was found, or as the segments say.
  const StoreManifest& manifest() const noexcept { return manifest_; }
  // Whether a start would find the end of the store.
  bool has_end() const noexcept { return has_end_; }
  // In the order of the log.
  const std::vector<SegmentLeft>& segments() const noexcept { return segments_; }

  // Notes that a file is damaged.
  void NoteDamage(std::string_view file, uint64_t offset, uint64_t bytes, std::string_view why);

 private:
  absl::Status FindManifest(const std::vector<std::string>& names);
  absl::Status FindSegment(uint64_t number);
  absl::Status FindFirstBlock(SegmentLeft& segment);
  absl::Status FindEnd(const std::vector<std::string>& names);
  bool IsOfThisStore(const SegmentHead& head) const noexcept {
    return head.identity == manifest_.identity &&
           head.before.partitions.size() == manifest_.log_partitions();
  }
  void ChooseBlocks();
  void EndAt(StoreCut cut);
  void NoteMissing();

  StorageDirectory& directory_;
  StoreSalvageReport& report_;
  StoreManifest manifest_;
  bool has_manifest_ = false;
  bool has_end_ = false;
  StoreCut end_;  // if there is one
  uint64_t end_block_ = UINT64_MAX;
  std::set<uint64_t> numbers_;  // of all files; where there is an end, of those before it
  std::vector<SegmentLeft> segments_;
};

}  // namespace pleat::inline v0_1
