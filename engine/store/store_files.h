// The files of an event store: their names, what MANIFEST says, and what a segment begins with.
//
// A segment is written once, from its beginning to its end. Its head names the cut behind which it
// goes on; what follows that cut in the older file does not count. So nothing is ever cut short.
//
// A *life* of the store is a time for which one process has it open and writes to it. The first
// segment of a life, and each one that begins with blocks copied from an older file, is whole and on
// the disk before it has its name. The others follow the end of one of the same life, and until they
// are synced a power loss may leave any part of them: no name, no head, or later ones without earlier
// ones. The numbers of files that were lost so are used again. So heads and blocks say of which life
// they are: what a lost file had in the same place is of an older life than what it would follow.
//
// MANIFEST says which segment is the first: older ones have been removed, or are about to be. What is
// told of consumers lies in directories of their own (consumer_files.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/binding.h"
#include "engine/store/log_state.h"

namespace pleat::inline v0_1 {

inline constexpr std::string_view kStoreManifest = "MANIFEST";
inline constexpr std::string_view kStoreEnd = "END";
inline constexpr std::string_view kUnfinishedStoreFile = ".new";
// In the directory of a copy that is not whole yet (new_store.h): nobody opens it.
inline constexpr std::string_view kUnfinishedStore = "UNFINISHED-COPY";
inline constexpr uint32_t kStoreFormat = 1;
inline constexpr int kStorePartitionsMax = 4096;
inline constexpr uint64_t kSegmentsMax = uint64_t{1} << 60;

std::string NameOfSegment(uint64_t number);
std::string NameOfLost(uint64_t number);
// The number in the name of a segment, whole, unfinished or lost. Other names are not ours.
std::optional<uint64_t> SegmentNumberIn(std::string_view name);

// kDataLoss: "<directory>/<file>: at byte <offset>: <why>".
absl::Status StoreDamage(std::string_view directory, std::string_view file, uint64_t offset,
                         std::string_view why);

struct StoreManifest {
  uint64_t identity = 0;
  uint32_t partitions = 0;
  uint32_t life = 0;  // the latest that there was; on the disk before anything of that life
  uint64_t first_segment = 1;
  StoreCut durable;  // for certain, when this was written

  // In the log notes have a partition of their own, behind the others.
  uint32_t log_partitions() const noexcept { return partitions + 1; }

  std::string Bytes() const;
  static absl::StatusOr<StoreManifest> Read(std::string_view directory, std::string_view bytes);
};

struct SegmentHead {
  uint64_t identity = 0;
  uint64_t number = 0;
  uint32_t life = 0;
  LogState before;          // what comes before this segment; its cut lies in an older one
  StoreCut durable;         // for certain, when this was written
  uint64_t copied = 0;      // bytes of the blocks behind the head that were there at once
  uint64_t head_bytes = 0;  // of it itself; not written

  // Where a segment of this head begins.
  LogState Begin() const {
    LogState begin = before;
    begin.cut = {number, head_bytes};
    return begin;
  }

  std::string Bytes() const;
  // Nothing: damaged, or of another number. kUnimplemented: newer.
  static absl::StatusOr<std::optional<SegmentHead>> Read(StorageReader& reader, uint64_t number);
};

// END tells other processes how far the log is durable: it is overwritten in place, and never synced.
// After a power loss it may be older than what was synced, or name what is gone. Recovery does not use
// it. Nothing: it is not there, or somebody was just writing it, or it is of another store.
struct StoreEnd {
  StoreCut cut;
  uint64_t first_segment = 1;
  uint64_t machine_run = 0;  // in which it was written; see StorageDirectory

  std::string Bytes(uint64_t identity) const;
  static absl::StatusOr<std::optional<StoreEnd>> Read(StorageDirectory& directory,
                                                      uint64_t identity);

  friend bool operator==(const StoreEnd&, const StoreEnd&) = default;
};

// Puts a file of these bytes, which are on the disk, in place of the one of that name. The directory
// is not synced.
absl::Status PutFile(StorageDirectory& directory, std::string_view name, std::string_view bytes);

// Reads up to `size` bytes into `buffer`, which has then as many as there are.
absl::Status ReadInto(StorageReader& reader, uint64_t at, uint64_t size, std::string& buffer);

}  // namespace pleat::inline v0_1
