#include "engine/core/batch_piece.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

// Enough for a strip's cache lines to come while another strip is folded, few enough for them to
// stay.
constexpr size_t kStripEvents = 32;

}  // namespace

void BatchPlan::Sort(const EngineCore& engine, PartitionRange only) {
  SortByPartition(static_cast<size_t>(engine.partition_count()));
  sorted_ = batch_.size;
  if (only != PartitionRange{0, engine.partition_count()}) KeepOnly(only);
  if (sorted_ > 0) CutIntoStrips();
}

// A counting sort, which keeps the input order within a partition.
void BatchPlan::SortByPartition(size_t partitions) {
  constexpr size_t kCounted = 256;
  if (partitions > kCounted) {
    for (size_t i = 0; i < batch_.size; ++i) order_[i] = static_cast<uint16_t>(i);
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(batch_.size),
              [&](uint16_t a, uint16_t b) {
                return partitions_[a] != partitions_[b] ? partitions_[a] < partitions_[b] : a < b;
              });
    return;
  }
  std::array<uint16_t, kCounted + 1> begin;
  std::fill_n(begin.begin(), partitions + 1, uint16_t{0});
  for (size_t i = 0; i < batch_.size; ++i) ++begin[partitions_[i] + 1];
  for (size_t p = 1; p < partitions; ++p) begin[p] = static_cast<uint16_t>(begin[p] + begin[p - 1]);
  for (size_t i = 0; i < batch_.size; ++i) {
    order_[begin[partitions_[i]]++] = static_cast<uint16_t>(i);
  }
}

// Brings the events of the partitions `only`, which lie together by now, to the front.
void BatchPlan::KeepOnly(PartitionRange only) {
  const auto begin = order_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(batch_.size);
  const auto is_before = [&](uint16_t i, int partition) { return partitions_[i] < partition; };
  const auto first = std::lower_bound(begin, end, only.begin, is_before);
  const auto last = std::lower_bound(first, end, only.end, is_before);
  sorted_ = static_cast<size_t>(last - first);
  std::rotate(begin, first, last);
}

void BatchPlan::CutIntoStrips() {
  for (size_t begin = 0; begin < sorted_;) {
    const uint16_t partition = partitions_[order_[begin]];
    size_t end = begin + 1;
    const size_t limit = std::min(begin + kStripEvents, sorted_);
    while (end < limit && partitions_[order_[end]] == partition) ++end;
    strips_[strip_count_++] = {.partition = partition,
                               .begin = static_cast<uint16_t>(begin),
                               .end = static_cast<uint16_t>(end),
                               .goes_on = begin > 0 && partitions_[order_[begin - 1]] == partition,
                               .ends = end == sorted_ || partitions_[order_[end]] != partition,
                               .locked = false};
    begin = end;
  }
  // Each batch begins with another strip, but with the first one of a partition.
  size_t start = first_position_ / kEventsMax % strip_count_;
  while (strips_[start].goes_on) --start;
  std::rotate(strips_.begin(), strips_.begin() + static_cast<std::ptrdiff_t>(start),
              strips_.begin() + static_cast<std::ptrdiff_t>(strip_count_));
}

// No lock is held here, so that waiting for one is safe.
size_t BatchPlan::KeepBusyStrips() {
  size_t busy = 0;
  for (size_t i = 0; i < strip_count_; ++i) {
    if (!strips_[i].locked) strips_[busy++] = strips_[i];
  }
  return strip_count_ = busy;
}

}  // namespace pleat::inline v0_1
