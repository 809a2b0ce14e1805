#include "engine/store/block_walk.h"

#include <algorithm>
#include <utility>

#include "engine/store/block_search.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

absl::StatusOr<bool> BlockWalk::Next() {
  place_.place += std::exchange(bytes_, 0);
  if (place_.place >= end_) return false;
  absl::StatusOr<std::optional<BlockHead>> head = ReadBlockHeadAt(file_, place_, buffer_);
  if (!head.ok()) return head.status();
  if (!*head) return PassDamage();
  const bool is_possible = std::ranges::all_of((*head)->sections, [&](const SectionEntry& section) {
    return section.partition < log_partitions_;
  });
  if (!is_possible) (*head)->sections.clear();
  kind_ = is_possible ? Kind::kBlock : Kind::kUnknown;
  bytes_ = (*head)->bytes();
  least_number_ = (*head)->number + 1;
  head_ = **std::move(head);
  return true;
}

absl::StatusOr<bool> BlockWalk::PassDamage() {
  if (absl::Status loaded = LoadIndex(); !loaded.ok()) return loaded;
  if (index_ && place_.place >= index_at_) return false;
  BlockSearch search(file_, place_, log_partitions_, {.least_number = least_number_});
  const absl::StatusOr<std::optional<BlockHead>> found = search.Next();
  if (!found.ok()) return found.status();
  // Blocks end where an index begins, also one that is damaged.
  if (absl::Status read = ReadInto(file_, place_.place, kIndexBegin.size(), buffer_); !read.ok()) {
    return read;
  }
  if (!*found && buffer_ == kIndexBegin) return false;
  uint64_t to = *found ? search.place() : end_;
  if (index_) to = std::min(to, index_at_);
  bytes_ = std::min(to, end_) - place_.place;
  head_ = {.body_bytes = bytes_, .sections = {}};
  if (index_) head_.sections = index_->Between(place_.place, place_.place + bytes_);
  kind_ = index_ ? Kind::kByIndex : Kind::kUnknown;
  return true;
}

absl::Status BlockWalk::LoadIndex() {
  if (std::exchange(has_looked_for_index_, true)) return absl::OkStatus();
  const absl::StatusOr<std::optional<uint64_t>> place = BlockTable::FindIndex(file_);
  if (!place.ok()) return place.status();
  if (!*place) return absl::OkStatus();
  absl::StatusOr<std::optional<BlockTable>> index =
      BlockTable::ReadIndex(file_, log_partitions_, {place_.identity, place_.segment, **place});
  if (!index.ok()) return index.status();
  index_ = *std::move(index);
  index_at_ = **place;
  return absl::OkStatus();
}

}  // namespace pleat::inline v0_1
