// Reading the parts of a snapshot with few of their blocks in memory. PartsReader reads the blocks
// behind the head, part by part, and sees that they are in place. PartReader gives the bytes of one
// part, book by book: those of blocks that were read ahead, and then of others, as they are needed.
// A rest, behind the parts (BlockKind::kRest), is read as a part of one book is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/stored.h>

#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {

class PartsReader {
 public:
  // `source` outlives the reader.
  explicit PartsReader(ByteSource& source) : blocks_(source) {}

  // For the head, which comes before the parts.
  BlockReader& blocks() noexcept { return blocks_; }
  void set_partitions(uint32_t partitions) { seen_.resize(partitions); }

  // The first block of the next part. None: that was the last one.
  // REQUIRES: NextOfPart() has returned none for the part before.
  absl::StatusOr<std::optional<Block>> NextPart();
  // The first block of the next rest, behind all parts. None: that was the last one, and the end is as it
  // should be. REQUIRES: NextPart() has returned none, and NextOfPart() for the rest before.
  absl::StatusOr<std::optional<Block>> NextRest();
  // The next block of the same part.
  absl::StatusOr<std::optional<Block>> NextOfPart();

 private:
  absl::StatusOr<Block> Next();

  BlockReader blocks_;
  std::vector<bool> seen_;  // by partition
  uint32_t owner_ = 0;      // of the part, or of the rest
  bool of_rest_ = false;
  std::optional<Block> ahead_;  // of the next part
};

class PartReader final : public detail::FieldSource {
 public:
  // `parts` has just begun the part with `first`, and outlives the reader.
  PartReader(Block first, PartsReader& parts) : partition_(first.owner), rest_(&parts) {
    bytes_ahead_ = first.bytes.size();
    ahead_.push_back(std::move(first));
  }

  uint32_t partition() const noexcept { return partition_; }
  // Reads blocks ahead as long as fewer than `bytes` are there.
  void ReadAhead(size_t bytes);
  // How many bytes were read ahead; and whether that is all, so that `parts` is used no more.
  size_t bytes_ahead() const noexcept { return bytes_ahead_; }
  bool is_whole() const noexcept { return rest_ == nullptr; }

  // Passes over what is left of a book, and begins the next one. False behind the last one, and
  // after an error.
  bool BeginBook();
  // Where the book begins.
  uint64_t book_offset() const noexcept { return book_offset_; }
  // A block could not be read.
  const absl::Status& status() const noexcept { return status_; }

  std::string_view More(std::string_view left, size_t bytes) override;

 private:
  const Block* Ahead();
  bool ReadBlock();
  std::string TakeAhead();

  const uint32_t partition_;
  PartsReader* rest_;  // null: there are no others
  std::deque<Block> ahead_;
  size_t bytes_ahead_ = 0;  // of these
  std::string bytes_;       // of the book
  uint64_t book_offset_ = 0;
  absl::Status status_;
};

}  // namespace pleat::inline v0_1
