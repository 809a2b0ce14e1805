#include "engine/table/key_index.h"

#include <new>

#include "engine/base/spread.h"

namespace pleat::inline v0_1 {

constinit KeyIndex::Segment KeyIndex::nothing_{{{.header = kSplitAt}}};

void KeyIndex::Clear() noexcept {
  for (size_t i = 0; i < directory_.size() && directory_[i] != &nothing_;) {
    Segment& segment = *directory_[i];
    i += SpanOf(segment);
    segments_.Free(segment.number());
  }
  depth_ = 0;
  size_ = 0;
  directory_.assign(1, &nothing_);
  SplitToLeastDepth([](uint32_t) { return uint32_t{0}; });  // no number is there to ask about
}

uint32_t KeyIndex::DepthFor(size_t count) noexcept {
  uint32_t depth = 0;
  while (depth < kDepthMax && MostInOnePlace(count, size_t{1} << depth) > kSplitAt) ++depth;
  return depth;
}

bool KeyIndex::Holds(uint32_t hash, uint32_t number) const noexcept {
  const Segment& segment = SegmentOf(hash);
  for (uint32_t i = HomeOf(hash), probes = 0; probes < kBuckets; ++probes) {
    const Bucket& bucket = segment.buckets[i];
    for (uint32_t way = 0; way < kWays; ++way) {
      if (bucket.numbers[way] == number && bucket.tags[way] != kEmpty) return true;
    }
    if (bucket.overflow == 0) return false;
    i = (i + 1) % kBuckets;
  }
  return false;
}

void KeyIndex::CheckPlaceOf(size_t slot) const {
  const Segment& segment = *directory_[slot];
  PLEAT_CHECK(segment.depth() <= depth_ && slot % SpanOf(segment) == 0);
  PLEAT_CHECK(segments_.Knows(segment.number()));
  for (size_t i = 0; i < SpanOf(segment); ++i) PLEAT_CHECK(directory_[slot + i] == &segment);
}

KeyIndex::Segment& KeyIndex::NewSegment() {
  const uint32_t number = segments_.Allocate();
  Segment& segment = *::new (segments_.hot(number)) Segment;
  segment.set_number(number);
  return segment;
}

uint32_t KeyIndex::GuessSlowly(uint64_t hash) const noexcept {
  return Find(hash, [](uint32_t) { return true; });
}

uint32_t KeyIndex::BucketsRead(uint64_t hash, uint32_t number) const {
  const Segment& segment = SegmentOf(hash);
  for (uint32_t i = HomeOf(hash), read = 1;; i = (i + 1) % kBuckets, ++read) {
    const Bucket& bucket = segment.buckets[i];
    const auto* const end = std::end(bucket.numbers);
    const auto* const found = std::find(std::begin(bucket.numbers), end, number);
    if (found != end && bucket.tags[found - bucket.numbers] != kEmpty) return read;
    if (bucket.overflow == 0 || read == kBuckets) return read;
  }
}

void KeyIndex::Place(Segment& segment, uint32_t hash, uint16_t tag, uint32_t number) noexcept {
  PLEAT_DCHECK(segment.size() < kBuckets * kWays);
  for (uint32_t i = HomeOf(hash);; i = (i + 1) % kBuckets) {
    Bucket& bucket = segment.buckets[i];
    if (const uint32_t free = MatchTags(bucket, kEmpty); free != 0) {
      const int way = std::countr_zero(free);
      bucket.tags[way] = tag;
      bucket.numbers[way] = number;
      ++segment.size();
      return;
    }
    ++bucket.overflow;
  }
}

void KeyIndex::Remove(uint32_t hash, uint32_t number) noexcept {
  Segment& segment = SegmentOf(hash);
  for (uint32_t i = HomeOf(hash), probes = 0; probes < kBuckets; ++probes) {
    Bucket& bucket = segment.buckets[i];
    for (uint32_t way = 0; way < kWays; ++way) {
      if (bucket.numbers[way] == number && bucket.tags[way] != kEmpty) {
        bucket.tags[way] = kEmpty;
        --segment.size();
        --size_;
        return;
      }
    }
    PLEAT_DCHECK(bucket.overflow > 0);
    --bucket.overflow;
    i = (i + 1) % kBuckets;
  }
  PLEAT_CHECK(false && "the number is not in the index");
}

// Gives the upper half of the segment's hash range a segment of its own, empty; doubles the
// directory when the segment already had the finest range it can tell apart.
KeyIndex::Segment& KeyIndex::NewSibling(uint32_t hash) {
  Segment& segment = *directory_[SlotOf(hash)];
  if (segment.depth() == depth_) {
    // Only a hash that does not spread gets here: 544 keys that agree in 26 bits.
    PLEAT_CHECK(depth_ < kDepthMax);
    std::vector<Segment*> doubled;
    doubled.reserve(directory_.size() * 2);
    for (Segment* each : directory_) doubled.insert(doubled.end(), 2, each);
    directory_ = std::move(doubled);
    ++depth_;
  }
  Segment& sibling = NewSegment();
  sibling.depth() = ++segment.depth();
  const size_t span = SpanOf(sibling);
  const size_t begin = SlotOf(hash) & ~(span * 2 - 1);
  for (size_t i = begin + span; i < begin + 2 * span; ++i) directory_[i] = &sibling;
  return sibling;
}

// The segment that shares all but the last bit of its hash range with that of `hash`, unless it was
// split further, or has to stay as it is.
KeyIndex::Segment* KeyIndex::SiblingOf(uint32_t hash) noexcept {
  Segment& segment = SegmentOf(hash);
  if (segment.depth() <= least_depth_) return nullptr;
  Segment* const sibling = directory_[SlotOf(hash) ^ SpanOf(segment)];
  return sibling->depth() == segment.depth() ? sibling : nullptr;
}

// Of the two, the one with the lower number stays, so that the slab's higher chunks run empty. An
// index without keys has none.
void KeyIndex::MergeWithSibling(uint32_t hash) noexcept {
  if (size_ == 0 && least_depth_ == 0) return Clear();
  Segment* stays = &SegmentOf(hash);
  Segment* goes = SiblingOf(hash);
  if (goes == nullptr || stays->size() + goes->size() >= kMergeBelow) return;
  if (goes->number() < stays->number()) std::swap(stays, goes);
  MoveAll(*goes, *stays);
  Join(hash, *stays, *goes);
}

// A key comes into the bucket of the same place. If that is full, the key goes on from there. Wherever
// its home is, it still passes over the buckets that it had passed over. So no hash is asked for,
// which would be a cache line for each.
void KeyIndex::MoveAll(const Segment& from, Segment& to) noexcept {
  for (uint32_t i = 0; i < kBuckets; ++i) {
    const Bucket& bucket = from.buckets[i];
    to.buckets[i].overflow = static_cast<uint16_t>(to.buckets[i].overflow + bucket.overflow);
    for (uint32_t way = 0; way < kWays; ++way) {
      if (bucket.tags[way] != kEmpty) Place(to, i, bucket.tags[way], bucket.numbers[way]);
    }
  }
}

// Gives the ranges of both, one of which is that of `hash`, to the one that stays.
void KeyIndex::Join(uint32_t hash, Segment& stays, Segment& goes) noexcept {
  --stays.depth();
  const size_t span = SpanOf(stays);
  const size_t begin = SlotOf(hash) & ~(span - 1);
  for (size_t i = begin; i < begin + span; ++i) directory_[i] = &stays;
  segments_.Free(goes.number());
}

}  // namespace pleat::inline v0_1
