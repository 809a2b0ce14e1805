#include "engine/store/block_search.h"

#include "engine/store/block_table.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {
namespace {

// Bytes that are searched at a time.
constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

}  // namespace

absl::StatusOr<std::optional<BlockHead>> BlockSearch::Next() {
  for (;;) {
    for (size_t i = window_.find(kBlockLetters, in_window_); i != window_.npos;
         i = window_.find(kBlockLetters, in_window_)) {
      in_window_ = i + 1;
      place_.place = window_at_ + i;
      absl::StatusOr<std::optional<BlockHead>> head = HeadAt(std::string_view(window_).substr(i));
      if (!head.ok() || *head) return head;
    }
    if (is_last_) return std::optional<BlockHead>();
    // The fixed part of a head may begin at the end of a window.
    if (!window_.empty()) window_at_ += window_.size() - (kBlockFixedBytes - 1);
    in_window_ = 0;
    if (absl::Status read = ReadInto(file_, window_at_, kWindowBytes, window_); !read.ok()) {
      return read;
    }
    is_last_ = window_.size() < kWindowBytes;
  }
}

absl::StatusOr<std::optional<BlockHead>> BlockSearch::HeadAt(std::string_view begin) {
  const std::optional<BlockSizes> sizes = BlockSizesIn(begin);
  if (!sizes || sizes->head > BlockHeadBytesMax(log_partitions_)) return std::nullopt;
  if (sizes->head > bounds_.head_bytes) return std::nullopt;
  const uint64_t number = BlockNumberIn(begin);
  if (number < bounds_.least_number || number - bounds_.least_number > UINT32_MAX) {
    return std::nullopt;
  }
  bounds_.head_bytes -= sizes->head;
  if (begin.size() >= sizes->head) return ReadBlockHead(begin, place_);
  return ReadBlockHeadAt(file_, place_, buffer_);
}

}  // namespace pleat::inline v0_1
