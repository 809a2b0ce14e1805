#include "engine/core/batch_piece.h"

#include <algorithm>

namespace pleat::inline v0_1 {
namespace {

// Enough for a strip's cache lines to come while another strip is folded, few enough for them to stay.
constexpr size_t kStripEvents = 32;

}  // namespace

void BatchPiece::Fold(FoldCounts& counts) {
  Look();
  SortByPartition();
  LeaveElsewhere();
  if (sorted_ > 0) {
    CutIntoStrips();
    RunPipeline(/*waits=*/false);
    while (KeepBusyStrips() > 0) RunPipeline(/*waits=*/true);
  }
  if (folder_.engine_.timeline().axis() == Axis::kEvent) folder_.engine_.timeline().Raise(time_);
  for (size_t i = 0; i < counts_.size(); ++i) counts.Add(static_cast<FoldOutcome>(i), counts_[i]);
}

// Everything that can be known without a lock.
void BatchPiece::Look() {
  const HashKey& hash_key = folder_.engine_.hash_key();
  Timeline& timeline = folder_.engine_.timeline();
  time_ = timeline.now();
  EngineTime now = time_;
  for (size_t i = 0; i < batch_.size; ++i) {
    const KeyedEvent<char>& event = EventAt(i);
    fates_[i] = Fate::kFold;
    if (event.key.size() > kKeyBytesMax) [[unlikely]] {
      keys_[i] = PackedKey();
      fates_[i] = Fate::kTooLong;
    } else {
      keys_[i] = PackedKey(event.key);
      any_long_key_ |= keys_[i].is_long();
      if (!timeline.ObserveAfter(Clamp(event.at), now)) fates_[i] = Fate::kFuture;
    }
    hashes_[i] = keys_[i].HashWith(hash_key);
    partitions_[i] = static_cast<uint16_t>(folder_.engine_.IndexOfPartition(keys_[i]));
    times_[i] = now;
  }
  first_position_ = timeline.TakePositions(batch_.size);
}

// A counting sort, which keeps the input order within a partition.
void BatchPiece::SortByPartition() {
  constexpr size_t kCounted = 256;
  const auto partitions = static_cast<size_t>(folder_.engine_.partition_count());
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
  for (size_t i = 0; i < batch_.size; ++i)
    order_[begin[partitions_[i]]++] = static_cast<uint16_t>(i);
}

// Brings the events of `only_`, which lie together by now, to the front.
void BatchPiece::LeaveElsewhere() {
  sorted_ = batch_.size;
  if (only_ == PartitionRange{0, folder_.engine_.partition_count()}) return;
  const auto begin = order_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(batch_.size);
  const auto is_before = [&](uint16_t i, int partition) { return partitions_[i] < partition; };
  const auto first = std::lower_bound(begin, end, only_.begin, is_before);
  const auto last = std::lower_bound(first, end, only_.end, is_before);
  sorted_ = static_cast<size_t>(last - first);
  std::rotate(begin, first, last);
  const bool stopped = folder_.engine_.stopped() || folder_.closed();
  for (size_t place = sorted_; place < batch_.size; ++place) {
    const size_t i = order_[place];
    if (outcomes_ != nullptr) outcomes_[i] = FoldOutcome::kElsewhere;
    if (!stopped) time_ = std::max(time_, times_[i]);
  }
  counts_[static_cast<size_t>(FoldOutcome::kElsewhere)] += batch_.size - sorted_;
}

void BatchPiece::CutIntoStrips() {
  for (size_t begin = 0; begin < sorted_;) {
    const uint16_t partition = partitions_[order_[begin]];
    size_t end = begin + 1;
    const size_t limit = std::min(begin + kStripEvents, sorted_);
    while (end < limit && partitions_[order_[end]] == partition) ++end;
    strips_[strip_count_++] = {.home = &folder_.homes_[partition],
                               .book = nullptr,
                               .begin = static_cast<uint16_t>(begin),
                               .end = static_cast<uint16_t>(end),
                               .goes_on = begin > 0 && partitions_[order_[begin - 1]] == partition,
                               .ends = end == sorted_ || partitions_[order_[end]] != partition,
                               .locked = false};
    begin = end;
  }
  // Begin elsewhere, but where a partition does.
  size_t start = first_position_ / kEventsMax % strip_count_;
  while (strips_[start].goes_on) --start;
  std::rotate(strips_.begin(), strips_.begin() + static_cast<std::ptrdiff_t>(start),
              strips_.begin() + static_cast<std::ptrdiff_t>(strip_count_));
}

// Folds the strips whose partitions are free; if it `waits`, the first one at any rate.
void BatchPiece::RunPipeline(bool waits) {
  for (size_t step = 0; step < strip_count_ + 2; ++step) {
    if (step < strip_count_) FetchIndex(step, waits && step == 0);
    if (step - 1 < strip_count_) FetchGroups(strips_[step - 1]);
    if (step >= 2) FoldStrip(strips_[step - 2]);
  }
}

// What is left to be folded. No lock is held here, so that waiting for one is safe.
size_t BatchPiece::KeepBusyStrips() {
  size_t busy = 0;
  for (size_t i = 0; i < strip_count_; ++i) {
    if (!strips_[i].locked) strips_[busy++] = strips_[i];
  }
  return strip_count_ = busy;
}

void BatchPiece::FetchIndex(size_t index, bool waits) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Strip& strip = strips_[index];
  Partition& partition = *strip.home->partition;
  if (strip.goes_on) {
    strip.locked = strips_[index - 1].locked;
  } else if (waits) {
    partition.lock().lock();
    strip.locked = true;
  } else {
    strip.locked = partition.lock().try_lock();
  }
  if (!strip.locked) return;
  strip.book = partition.stopped() ? nullptr : folder_.BookFor(*strip.home);
  if (strip.book == nullptr) return;
  for (size_t i = strip.begin; i < strip.end; ++i) strip.book->PrefetchIndex(hashes_[order_[i]]);
}

void BatchPiece::FetchGroups(const Strip& strip) {
  if (!strip.locked || strip.book == nullptr) return;
  for (size_t place = strip.begin; place < strip.end; ++place) {
    const size_t i = order_[place];
    guesses_[i] = strip.book->PrefetchGroup(hashes_[i]);
  }
}

void BatchPiece::FoldStrip(const Strip& strip) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (!strip.locked) return;
  Partition& partition = *strip.home->partition;
  const bool stopped = strip.book == nullptr;
  if (any_long_key_ && !stopped) {
    for (size_t i = strip.begin; i < strip.end; ++i) {
      strip.book->PrefetchLongKey(guesses_[order_[i]]);
    }
  }
  bool opened = false;
  for (size_t place = strip.begin; place < strip.end; ++place) {
    const size_t i = order_[place];
    const FoldOutcome outcome = stopped ? FoldOutcome::kStopped : FoldEvent(*strip.book, i);
    opened |= outcome == FoldOutcome::kOpened;
    ++counts_[static_cast<size_t>(outcome)];
    if (outcomes_ != nullptr) outcomes_[i] = outcome;
  }
  if (!stopped) time_ = std::max(time_, times_[order_[strip.end - 1]]);
  if (opened) partition.DeadlineMayBeEarlier(*strip.book);
  if (strip.ends) partition.lock().unlock();
}

inline FoldOutcome BatchPiece::FoldEvent(FoldBook& book, size_t i) {
  if (fates_[i] != Fate::kFold) [[unlikely]]
    return Refuse(book, fates_[i]);
  const KeyedEvent<char>& event = EventAt(i);
  const EngineTime at = Clamp(event.at);
  const EngineTime now = times_[i];
  return book.Fold({.key = keys_[i],
                    .hash = hashes_[i],
                    .event = reinterpret_cast<const std::byte*>(&event) + batch_.event_offset,
                    .at = at,
                    .now = now,
                    .edge = folder_.engine_.timeline().EdgeFor(at, now),
                    .position = Position(first_position_ + i)},
                   guesses_[i]);
}

FoldOutcome BatchPiece::Refuse(FoldBook& book, Fate fate) {
  if (fate == Fate::kFuture) {
    book.CountFuture();
    return FoldOutcome::kFuture;
  }
  book.CountRefused();
  return FoldOutcome::kOverLimit;
}

}  // namespace pleat::inline v0_1
