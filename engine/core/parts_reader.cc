#include "engine/core/parts_reader.h"

#include <utility>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

absl::StatusOr<Block> PartsReader::Next() {
  if (ahead_) return *std::exchange(ahead_, std::nullopt);
  return blocks_.Next();
}

absl::StatusOr<std::optional<Block>> PartsReader::NextPart() {
  absl::StatusOr<Block> block = Next();
  if (!block.ok()) return block.status();
  if (block->kind == BlockKind::kEnd || block->kind == BlockKind::kRest) {
    ahead_ = *std::move(block);
    return std::optional<Block>();
  }
  if (block->kind != BlockKind::kPart || block->owner >= seen_.size() || seen_[block->owner]) {
    return DamageAt(block->offset, "the block is out of place");
  }
  owner_ = block->owner;
  of_rest_ = false;
  seen_[owner_] = true;
  return std::optional<Block>(*std::move(block));
}

absl::StatusOr<std::optional<Block>> PartsReader::NextRest() {
  absl::StatusOr<Block> block = Next();
  if (!block.ok()) return block.status();
  if (block->kind == BlockKind::kEnd) {
    if (absl::Status end = blocks_.ExpectEnd(); !end.ok()) return end;
    return std::optional<Block>();
  }
  if (block->kind != BlockKind::kRest) return DamageAt(block->offset, "the block is out of place");
  owner_ = block->owner;
  of_rest_ = true;
  return std::optional<Block>(*std::move(block));
}

absl::StatusOr<std::optional<Block>> PartsReader::NextOfPart() {
  absl::StatusOr<Block> block = Next();
  if (!block.ok()) return block.status();
  if (block->kind != BlockKind::kBook && !GoesOn(block->kind)) {
    ahead_ = *std::move(block);
    return std::optional<Block>();
  }
  if (block->owner != owner_ || IsOfRest(block->kind) != of_rest_)
    return DamageAt(block->offset, "the block is out of place");
  if (block->bytes.empty()) return DamageAt(block->offset, "the block is empty");
  return std::optional<Block>(*std::move(block));
}

// Returns whether there was another block.
bool PartReader::ReadBlock() {
  if (rest_ == nullptr) return false;
  absl::StatusOr<std::optional<Block>> block = rest_->NextOfPart();
  if (block.ok() && *block) {
    bytes_ahead_ += (*block)->bytes.size();
    ahead_.push_back(**std::move(block));
    return true;
  }
  status_ = block.status();
  rest_ = nullptr;
  return false;
}

void PartReader::ReadAhead(size_t bytes) {
  while (bytes_ahead_ < bytes && ReadBlock()) {
  }
}

// The bytes of the next block, which is there.
std::string PartReader::TakeAhead() {
  std::string bytes = std::move(ahead_.front().bytes);
  ahead_.pop_front();
  bytes_ahead_ -= bytes.size();
  return bytes;
}

// The next block, which stays. Null: there is none.
const Block* PartReader::Ahead() {
  if (ahead_.empty() && !ReadBlock()) return nullptr;
  return &ahead_.front();
}

bool PartReader::BeginBook() {
  const Block* next = Ahead();
  while (next != nullptr && GoesOn(next->kind)) {
    TakeAhead();
    next = Ahead();
  }
  if (next == nullptr) return false;
  const bool any = next->kind == BlockKind::kBook || !next->bytes.empty();
  book_offset_ = next->offset;
  bytes_ = TakeAhead();
  return any || Ahead() != nullptr;
}

// Nothing is copied where a block ends with a field.
std::string_view PartReader::More(std::string_view left, size_t bytes) {
  if (left.data() == nullptr) left = bytes_;  // the book begins
  PLEAT_DCHECK(left.size() <= bytes_.size());
  bool kept = false;
  while (left.size() < bytes) {
    const Block* const next = Ahead();
    if (next == nullptr || !GoesOn(next->kind)) break;
    if (left.empty()) {
      bytes_ = TakeAhead();
    } else {
      if (!std::exchange(kept, true)) bytes_.erase(0, bytes_.size() - left.size());
      bytes_ += TakeAhead();
    }
    left = bytes_;
  }
  return left;
}

}  // namespace pleat::inline v0_1
