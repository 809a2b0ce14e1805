#include "engine/core/batch_piece.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

// Enough for a strip's cache lines to come while another strip is folded, few enough for them to
// stay.
constexpr size_t kStripEvents = 32;

}  // namespace

void BatchPlan::KeepOrder(size_t size, size_t turn) {
  sorted_ = size;
  AddStrips(0, 0, size);
  StartAt(turn);
}

// A counting sort by bucket, which keeps the input order within one.
void BatchPlan::Sort(size_t size, size_t turn) {
  constexpr size_t kCounted = 256;
  if (buckets_ > kCounted) {
    SortManyBuckets(size);
    return StartAt(turn);
  }
  std::array<uint16_t, kCounted + 2> begin;
  std::fill_n(begin.begin(), buckets_ + 2, uint16_t{0});
  for (size_t i = 0; i < size; ++i) ++begin[bucket_of_[i] + 1];
  for (size_t bucket = 0; bucket < buckets_; ++bucket) {
    begin[bucket + 1] = static_cast<uint16_t>(begin[bucket + 1] + begin[bucket]);
    AddStrips(bucket, begin[bucket], begin[bucket + 1]);
  }
  sorted_ = begin[buckets_];
  for (size_t i = 0; i < size; ++i) order_[begin[bucket_of_[i]]++] = static_cast<uint16_t>(i);
  StartAt(turn);
}

void BatchPlan::SortManyBuckets(size_t size) {
  for (size_t i = 0; i < size; ++i) order_[i] = static_cast<uint16_t>(i);
  std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(size),
            [&](uint16_t a, uint16_t b) {
              return bucket_of_[a] != bucket_of_[b] ? bucket_of_[a] < bucket_of_[b] : a < b;
            });
  while (sorted_ < size && bucket_of_[order_[sorted_]] < buckets_) {
    const size_t begin = sorted_;
    const uint16_t bucket = bucket_of_[order_[begin]];
    while (sorted_ < size && bucket_of_[order_[sorted_]] == bucket) ++sorted_;
    AddStrips(bucket, begin, sorted_);
  }
}

void BatchPlan::AddStrips(size_t bucket, size_t begin, size_t end) {
  for (size_t at = begin; at < end; at += kStripEvents) {
    const size_t behind = std::min(at + kStripEvents, end);
    strips_[strip_count_++] = {.partition = static_cast<uint16_t>(first_ + bucket),
                               .begin = static_cast<uint16_t>(at),
                               .end = static_cast<uint16_t>(behind),
                               .goes_on = at > begin,
                               .ends = behind == end,
                               .locked = false};
  }
}

// With the first strip of a partition.
void BatchPlan::StartAt(size_t turn) {
  if (strip_count_ < 2) return;
  size_t start = turn % strip_count_;
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
