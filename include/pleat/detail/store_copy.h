// What `pleat store copy` and `pleat store salvage` do: another store of the same records. This is
// no part of the library that programs may use: it changes with the commands.
//
// A copy is another store, in a directory of its own. The one that is copied is only read, also
// beside the process that appends to it.
//
// A copy that was not finished, whatever came between, has a file UNFINISHED-COPY. Nobody opens it:
// remove the directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

struct StoreCopyProgress {
  uint64_t bytes = 0;  // that were read, of so many
  uint64_t bytes_all = 0;
  uint64_t records = 0;  // that were copied
};

// Is called before the first block and behind each. An error that it returns ends the call.
using StoreCopyTold = std::function<absl::Status(const StoreCopyProgress&)>;

struct StoreCopyOptions {
  // Where both directories are. Nothing: the files of the system.
  Storage* storage = nullptr;
  // How many the copy has, 1 to 4,096. Nothing, or as many as the store: each record stays in its
  // partition, and has its offset; consumers go along as they are. Else each goes to the partition
  // of its key, and offsets begin at 0. Then consumers that have read all stand at the end of the
  // copy, without their metadata; others stop it, and so do those with snapshots of lanes.
  std::optional<int> partitions = std::nullopt;
  // No consumer goes along, and none stops it.
  bool ignore_consumers = false;
  StoreCopyTold progress = nullptr;
};

struct StoreCopyReport {
  int partitions = 0;
  uint64_t records = 0;
  uint64_t notes = 0;
  // Records that came together in one partition, and whose `appended` would have gone back there:
  // it became that of the record before.
  uint64_t times_held_back = 0;
  std::vector<std::string> consumers;    // that went along
  std::vector<std::string> left_behind;  // and the others
};

// Copies what is durable when it begins: records with all that they have, and notes, in the order
// of blocks. So records of a key keep their order; of those that are in one block, and in several
// partitions, `appended` tells the order. Log time never goes back in the copy either.
// Errors. A part of the copy may be there, with UNFINISHED-COPY.
// - kAlreadyExists: `to` has files. Nothing was changed.
// - kFailedPrecondition: with other partitions, a consumer has not read all of the store; the
//   message has the names. Nothing was changed. Let them read on, or ignore them.
// - kUnavailable: files were removed meanwhile. Copy again.
// - kInvalidArgument: the number of partitions.
// - Those of EventStoreReader::Open() and Read(), and of StoreConsumer::Look(); and of `progress`.
PLEAT_EXPORT absl::StatusOr<StoreCopyReport> CopyEventStore(std::string_view from,
                                                            std::string_view to,
                                                            const StoreCopyOptions& options = {});

// Bytes of a file that could not be used; or a file that is missing, or has no end: then 0 of them.
struct UnusableBytes {
  std::string file;  // its name in the directory
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string why;
};

// Records of a partition that are not in the copy: those from `begin` on and before `end`.
struct LostRecords {
  int partition = 0;
  uint64_t begin = 0;  // offsets in the damaged store
  uint64_t end = 0;
};

struct StoreSalvageReport {
  int partitions = 0;  // 0: nothing could be saved, and no copy was made
  uint64_t records = 0;
  uint64_t notes = 0;
  std::vector<LostRecords> lost;  // by partition and offset
  uint64_t notes_lost = 0;
  // Nobody knows whether there were more records before those that were found first: a file is
  // missing there, or MANIFEST, which says what was removed.
  bool begin_is_unknown = false;
  // Nor whether there were more behind those that were found last: bytes are damaged or missing
  // there, or MANIFEST is.
  bool end_is_unknown = false;
  std::vector<UnusableBytes> damage;
  std::vector<std::string> lost_files;   // lost-N, which were not read
  std::vector<std::string> left_behind;  // consumers: none goes along

  // Whether the copy has all that the store had.
  bool whole() const noexcept {
    return partitions > 0 && lost.empty() && notes_lost == 0 && !begin_is_unknown &&
           !end_is_unknown;
  }
};

// Copies what is whole of a damaged store: each section of each block whose checksum is right, in
// the order of blocks. Records stay in their partitions. A partition of the copy begins with the
// offset with which its first file began; behind a hole offsets are smaller by the records that
// were lost before. Of a store that is not damaged it copies all that EventStore::Open() finds.
// Errors. A part of the copy may be there, with UNFINISHED-COPY. Damage is no error.
// - kNotFound: there is no event store. kFailedPrecondition: there is a state directory, or a copy
//   that was not finished. kUnimplemented: written by a newer version.
// - kAlreadyExists: `to` has files. Nothing was changed.
// - Those of storage.h, and of `progress`.
PLEAT_EXPORT absl::StatusOr<StoreSalvageReport> SalvageEventStore(
    std::string_view from, std::string_view to, Storage* storage = nullptr,
    const StoreCopyTold& progress = nullptr);

}  // namespace pleat::inline v0_1
