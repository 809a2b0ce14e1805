// LogSpan: blocks of a file, one behind the other, that may not be on the disk. They are read back
// and written again, into another file, before anything counts on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"

namespace pleat::inline v0_1 {

struct LogSpan {
  uint64_t segment = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t before = 0;  // the digest of the block before the first one
};

// Reads the blocks of spans, one at a time: however many they are, one is in memory.
class SpanReader {
 public:
  // REQUIRES: what is given outlives it.
  SpanReader(StorageDirectory& directory, uint64_t identity, std::span<const LogSpan> spans)
      : directory_(directory), identity_(identity), spans_(spans) {}

  // Valid until the next call; nullptr behind the last one.
  // Errors: kDataLoss if a block is not what was written; those of the storage.
  absl::StatusOr<PendingBlock*> Next();

 private:
  absl::Status EnterSpan();
  absl::Status Read();

  StorageDirectory& directory_;
  const uint64_t identity_;
  std::span<const LogSpan> spans_;  // the first one is being read
  std::unique_ptr<StorageReader> reader_;
  uint64_t at_ = 0;
  uint64_t before_ = 0;
  PendingBlock block_;
  std::string buffer_;
};

}  // namespace pleat::inline v0_1
