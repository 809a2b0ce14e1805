// BlockSearch: finds the heads of blocks in bytes of which nobody knows where a block begins.
//
// Records are other people's bytes, and may look like heads. What can not be one costs neither a read
// nor a checksum; and the checksum of a head is bound to its place, so nothing passes for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/store/block.h"

namespace pleat::inline v0_1 {

class BlockSearch {
 public:
  struct Bounds {
    // Blocks that have fewer before them are passed over.
    uint64_t least_number = 0;
    // Behind so many bytes of what may be heads there is none. Those of a file are shorter than it.
    uint64_t head_bytes = UINT64_MAX;
  };

  // Searches the file from the byte `begin.place` on. REQUIRES: `file` outlives it.
  BlockSearch(StorageReader& file, const Binding& begin, uint64_t log_partitions,
              const Bounds& bounds)
      : file_(file),
        place_(begin),
        log_partitions_(log_partitions),
        bounds_(bounds),
        window_at_(begin.place) {}

  // The next one that is whole; nothing up to the end of the file.
  absl::StatusOr<std::optional<BlockHead>> Next();
  // Where it begins.
  uint64_t place() const noexcept { return place_.place; }

 private:
  absl::StatusOr<std::optional<BlockHead>> HeadAt(std::string_view begin);

  StorageReader& file_;
  Binding place_;
  const uint64_t log_partitions_;
  Bounds bounds_;
  uint64_t window_at_;
  std::string window_;
  size_t in_window_ = 0;  // where to go on
  bool is_last_ = false;  // window
  std::string buffer_;
};

}  // namespace pleat::inline v0_1
