// What `pleat store copy` does: copying an event store. This is no part of the library that programs
// may use: it changes with the command.
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
  // copy, without their metadata, and others stop it.
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

// Copies what is durable when it begins: records with all that they have, and notes, in the order of
// blocks. So records of a key keep their order; of those that are in one block, and in several
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

}  // namespace pleat::inline v0_1
