// BlockWalk: goes from block to block of a file, of which any part may be damaged. A block whose head
// is damaged is known by the index, if the file has one; without that, the blocks up to the next whole
// head are unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"
#include "engine/store/block_table.h"

namespace pleat::inline v0_1 {

class BlockWalk {
 public:
  // From `begin` on, and up to the byte `end`. REQUIRES: `file` outlives it.
  BlockWalk(StorageReader& file, const Binding& begin, uint64_t end, uint64_t log_partitions)
      : file_(file), place_(begin), end_(end), log_partitions_(log_partitions) {}

  // Goes to the next block, or to bytes that are damaged. False: there is nothing more.
  absl::StatusOr<bool> Next();

  enum class Kind : uint8_t {
    kBlock,    // its head is whole
    kByIndex,  // sections of one block or more
    kUnknown,
  };
  Kind kind() const noexcept { return kind_; }
  const Binding& place() const noexcept { return place_; }
  uint64_t bytes() const noexcept { return bytes_; }
  // Of kBlock; else only its sections say something. They have partitions that there are.
  const BlockHead& head() const noexcept { return head_; }

 private:
  absl::Status LoadIndex();
  absl::StatusOr<bool> PassDamage();

  StorageReader& file_;
  Binding place_;
  uint64_t bytes_ = 0;
  const uint64_t end_;
  const uint64_t log_partitions_;
  uint64_t least_number_ = 0;
  Kind kind_ = Kind::kUnknown;
  BlockHead head_;
  std::optional<BlockTable> index_;
  uint64_t index_at_ = 0;
  bool has_looked_for_index_ = false;
  std::string buffer_;
};

}  // namespace pleat::inline v0_1
