// KeyIndex finds the entry number of a key: a hash table of numbers that never moves an entry and
// never stops the world.
//
//   directory            segment: 64 buckets, one cache line each
//   +-----+            +--------------------------------------------+
//   |  o--+----------> | 10 x 16-bit tags | overflow | 10 x numbers |
//   |  o--+--------+   |                   ...                      |
//   +-----+        |   +--------------------------------------------+
//   top bits of    +-> another segment
//   the hash
//
// A lookup reads the directory (small, hot), one bucket, and the entry whose tag matches. The tag
// is 16 bits of the hash that choose neither bucket nor segment, so a wrong entry is read about
// once in several thousand lookups.
//
// Invariants:
//   - The low 6 bits of a key's hash choose its home bucket, the top `depth` bits of the low 32 its
//     segment. A key lies in its home bucket, or, if that was full, in a later one, around the
//     segment.
//   - `overflow` counts the keys that passed over a bucket on their way to a later one. A search
//     ends at a bucket whose count is 0. So erasing leaves no tombstone.
//   - A segment that is 85 % full is split by one more bit of the hash: at most 640 numbers move,
//     whatever the size of the table. (Fagin et al., "Extendible hashing", 1979.)
//   - A segment that an erase leaves less than a third full becomes one with the segment that the
//     last split parted from it, if both together are less than 65 % of one.
//   - An index with room reserved has split its segments ahead, and does not merge below that depth.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"
#include "engine/table/slab.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pleat::inline v0_1 {

class KeyIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit KeyIndex(Pages& pool) : segments_(pool, sizeof(Segment)) { Clear(); }

  // The number of the entry with this hash for which `matches(number)` holds, or kNone.
  template <class Matches>
  uint32_t Find(uint64_t hash, const Matches& matches) const {
    const Segment& segment = SegmentOf(hash);
    const uint16_t tag = TagOf(hash);
    for (uint32_t i = HomeOf(hash), probes = 0; probes < kBuckets; ++probes) {
      const Bucket& bucket = segment.buckets[i];
      for (uint32_t hits = MatchTags(bucket, tag); hits != 0; hits &= hits - 1) {
        const uint32_t number = bucket.numbers[std::countr_zero(hits)];
        if (matches(number)) return number;
      }
      if (bucket.overflow == 0) return kNone;
      i = (i + 1) % kBuckets;
    }
    return kNone;
  }

  // Bring the home bucket of a hash towards the cache, for a caller that looks up many keys. The first
  // one pays where many keys of one index follow each other: of ten million keys, the directory takes
  // 256 KiB.
  void PrefetchDirectory(uint64_t hash) const noexcept {
    pleat::Prefetch(&directory_[SlotOf(static_cast<uint32_t>(hash))]);
  }
  void Prefetch(uint64_t hash) const noexcept {
    pleat::Prefetch(&SegmentOf(hash).buckets[HomeOf(hash)]);
  }

  // The number that Find() will most likely ask about first, or kNone.
  uint32_t Guess(uint64_t hash) const noexcept {
    const Bucket& home = *(SegmentOf(hash).buckets + HomeOf(hash));
    const uint32_t hits = MatchTags(home, TagOf(hash));
    if (hits != 0) [[likely]]
      return *(home.numbers + std::countr_zero(hits));
    return home.overflow == 0 ? kNone : GuessSlowly(hash);
  }

  // How many buckets, one cache line each, a Find() reads that ends at `number`: the price of a
  // lookup.
  uint32_t BucketsRead(uint64_t hash, uint32_t number) const;

  // Adds a number whose key is not there yet. `hash_of(number)` gives the hash's low 32 bits of any
  // number inside; it is called only when a segment splits.
  template <class HashOf>
  void Insert(uint64_t hash, uint32_t number, const HashOf& hash_of) {
    PLEAT_DCHECK(number != kNone && hash_of(number) == static_cast<uint32_t>(hash));
    PLEAT_DCHECK(!Holds(static_cast<uint32_t>(hash), number));
    while (SegmentOf(hash).size() >= kSplitAt) [[unlikely]]
      Split(hash, hash_of);
    ++size_;
    Segment& segment = SegmentOf(hash);
    Bucket& home = segment.buckets[HomeOf(hash)];
    const uint32_t free = MatchTags(home, kEmpty);
    if (free == 0) [[unlikely]]
      return Place(segment, static_cast<uint32_t>(hash), TagOf(hash), number);
    const int way = std::countr_zero(free);
    home.tags[way] = TagOf(hash);
    home.numbers[way] = number;
    ++segment.size();
  }

  // The same of a key whose hash may have been made up, to collide. Returns false, and adds nothing,
  // where honest hashes would have spread: so the directory stays smaller than the entries.
  template <class HashOf>
  bool TryInsert(uint64_t hash, uint32_t number, const HashOf& hash_of) {
    const auto depth_max = std::min(static_cast<uint32_t>(std::bit_width(size_ | 1)), kDepthMax);
    while (SegmentOf(hash).size() >= kSplitAt) {
      if (SegmentOf(hash).depth() >= depth_max) return false;
      Split(hash, hash_of);
    }
    Insert(hash, number, hash_of);
    return true;
  }

  // Removes a number. REQUIRES: it is there under this hash's low 32 bits.
  void Erase(uint32_t hash, uint32_t number) {
    Bucket& home = SegmentOf(hash).buckets[HomeOf(hash)];
    const uint32_t hits = MatchNumbers(home, number);
    const int way = std::countr_zero(hits);
    if (hits != 0 && home.tags[way] != kEmpty) [[likely]] {
      home.tags[way] = kEmpty;
      --SegmentOf(hash).size();
      --size_;
    } else {
      Remove(hash, number);
    }
    if (SegmentOf(hash).size() < kMergeBelow / 2) MergeWithSibling(hash);
  }

  // Makes room for so many numbers: until there are more, no segment will be split, and none is
  // taken from the pool. O(room), with `hash_of` as for Insert().
  template <class HashOf>
  void Reserve(size_t count, const HashOf& hash_of) {
    const uint32_t depth = std::max(DepthFor(count), least_depth_);
    segments_.Reserve(size_t{count > 0} << depth);
    least_depth_ = depth;
    SplitToLeastDepth(hash_of);
  }

  // Removes everything. Room that was reserved stays.
  void Clear() noexcept;

  // Whether the number is inside under this hash. Reads the bucket only.
  bool Holds(uint32_t hash, uint32_t number) const noexcept;

  // Ends the process unless all invariants hold. O(size); for tests.
  template <class HashOf>
  void CheckWhole(const HashOf& hash_of) const {
    if (directory_[0] == &nothing_) return PLEAT_CHECK(directory_.size() == 1 && size_ == 0);
    size_t size = 0;
    for (size_t slot = 0; slot < directory_.size(); slot += SpanOf(*directory_[slot])) {
      CheckPlaceOf(slot);
      CheckSegment(*directory_[slot], hash_of);
      size += directory_[slot]->size();
    }
    PLEAT_CHECK(size == size_);
  }

  size_t size() const noexcept { return size_; }

 private:
  static constexpr uint32_t kBuckets = 64;
  static constexpr uint32_t kWays = 10;
  static constexpr uint32_t kSplitAt = kBuckets * kWays * 85 / 100;
  static constexpr uint32_t kMergeBelow = kBuckets * kWays * 65 / 100;
  // Segment bits and bucket bits together may not exceed the 32 that entries keep.
  static constexpr uint32_t kDepthMax = 26;
  static constexpr uint16_t kEmpty = 0;

  struct alignas(64) Bucket {
    uint16_t tags[kWays] = {};
    uint16_t overflow = 0;
    uint16_t header = 0;  // a piece of the segment's, so that a segment is 4 KiB and not more
    uint32_t numbers[kWays] = {};

    void Clear() noexcept {
      std::fill(std::begin(tags), std::end(tags), kEmpty);
      overflow = 0;
    }
  };
  static_assert(sizeof(Bucket) == 64);

  struct Segment {
    Bucket buckets[kBuckets];

    uint16_t size() const noexcept { return buckets[0].header; }
    uint16_t& size() noexcept { return buckets[0].header; }
    uint16_t depth() const noexcept { return buckets[1].header; }
    uint16_t& depth() noexcept { return buckets[1].header; }
    uint32_t number() const noexcept {  // in `segments_`
      return uint32_t{buckets[3].header} << 16 | buckets[2].header;
    }
    void set_number(uint32_t number) noexcept {
      buckets[2].header = static_cast<uint16_t>(number);
      buckets[3].header = static_cast<uint16_t>(number >> 16);
    }
  };
  static_assert(sizeof(Segment) == 4096);

  // The contents of a segment, taken out of it. All hashes are looked up together, so that their
  // cache misses overlap.
  struct Contents {
    uint32_t size = 0;
    uint32_t hashes[kBuckets * kWays];
    uint32_t numbers[kBuckets * kWays];
    uint16_t tags[kBuckets * kWays];
  };

  static uint32_t HomeOf(uint64_t hash) noexcept { return hash % kBuckets; }
  static uint16_t TagOf(uint64_t hash) noexcept {
    const auto tag = static_cast<uint16_t>(hash >> 48);
    return tag == kEmpty ? 1 : tag;
  }

  // A bit for each way whose tag is `tag`.
  static uint32_t MatchTags(const Bucket& bucket, uint16_t tag) noexcept {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(tag));
    const auto* first8 = reinterpret_cast<const __m128i*>(bucket.tags);
    const auto* last8 = reinterpret_cast<const __m128i*>(bucket.tags + 2);
    const __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128(first8), wanted);
    const __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128(last8), wanted);
    const auto bits = [](__m128i lanes) {
      return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(lanes, _mm_setzero_si128())));
    };
    return bits(low) | bits(high) << 2;
#else
    uint32_t hits = 0;
    for (uint32_t way = 0; way < kWays; ++way) hits |= uint32_t{bucket.tags[way] == tag} << way;
    return hits;
#endif
  }

  // A bit for each way with this number; an empty way may have one, too.
  static uint32_t MatchNumbers(const Bucket& bucket, uint32_t number) noexcept {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi32(static_cast<int32_t>(number));
    const auto equal = [&](size_t way) {
      const auto* four = reinterpret_cast<const __m128i*>(bucket.numbers + way);
      return _mm_cmpeq_epi32(_mm_loadu_si128(four), wanted);
    };
    const __m128i first8 = _mm_packs_epi32(equal(0), equal(4));
    const __m128i last4 = _mm_packs_epi32(equal(6), _mm_setzero_si128());
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(first8, last4)));
    return (bits & 0xff) | (bits >> 2 & 0x300);
#else
    uint32_t hits = 0;
    for (uint32_t way = 0; way < kWays; ++way)
      hits |= uint32_t{bucket.numbers[way] == number} << way;
    return hits;
#endif
  }

  size_t SlotOf(uint32_t hash) const noexcept { return uint64_t{hash} << depth_ >> 32; }
  const Segment& SegmentOf(uint64_t hash) const noexcept {
    return *directory_[SlotOf(static_cast<uint32_t>(hash))];
  }
  Segment& SegmentOf(uint64_t hash) noexcept {
    return *directory_[SlotOf(static_cast<uint32_t>(hash))];
  }

  [[gnu::pure]] uint32_t GuessSlowly(uint64_t hash) const noexcept;
  // How deep segments are when a hash has spread so many numbers over them.
  static uint32_t DepthFor(size_t count) noexcept;
  static void Place(Segment& segment, uint32_t hash, uint16_t tag, uint32_t number) noexcept;
  Segment& NewSegment();
  Segment& NewSibling(uint32_t hash);
  Segment* SiblingOf(uint32_t hash) noexcept;
  void MergeWithSibling(uint32_t hash) noexcept;
  static void MoveAll(const Segment& from, Segment& to) noexcept;
  void Join(uint32_t hash, Segment& stays, Segment& goes) noexcept;
  void Remove(uint32_t hash, uint32_t number) noexcept;

  template <class HashOf>
  static void TakeOut(Segment& segment, const HashOf& hash_of, Contents& out) {
    for (Bucket& bucket : segment.buckets) {
      for (uint32_t way = 0; way < kWays; ++way) {
        if (bucket.tags[way] == kEmpty) continue;
        out.tags[out.size] = bucket.tags[way];
        out.numbers[out.size++] = bucket.numbers[way];
      }
      bucket.Clear();
    }
    segment.size() = 0;
    for (uint32_t i = 0; i < out.size; ++i) out.hashes[i] = hash_of(out.numbers[i]);
  }

  void PutBack(const Contents& contents) noexcept {
    for (uint32_t i = 0; i < contents.size; ++i) {
      Place(SegmentOf(contents.hashes[i]), contents.hashes[i], contents.tags[i],
            contents.numbers[i]);
    }
  }

  template <class HashOf>
  [[gnu::noinline]] void Split(uint64_t hash, const HashOf& hash_of) {
    if (directory_[0] == &nothing_) return void(directory_[0] = &NewSegment());
    Contents contents;
    TakeOut(SegmentOf(hash), hash_of, contents);
    NewSibling(static_cast<uint32_t>(hash));
    PutBack(contents);
  }

  template <class HashOf>
  void SplitToLeastDepth(const HashOf& hash_of) {
    for (uint64_t i = 0; i < uint64_t{1} << least_depth_; ++i) {
      const uint64_t hash = i << (32 - least_depth_);
      while (SegmentOf(hash).depth() < least_depth_) Split(hash, hash_of);
    }
  }

  // Of CheckWhole(): equal pointers are adjacent, as many as the segment's depth says.
  void CheckPlaceOf(size_t slot) const;

  // Each key lies in the first bucket that had room for it, and was counted where it passed.
  template <class HashOf>
  void CheckSegment(const Segment& segment, const HashOf& hash_of) const {
    uint32_t size = 0;
    uint32_t passed[kBuckets] = {};
    for (uint32_t i = 0; i < kBuckets; ++i) {
      const Bucket& bucket = segment.buckets[i];
      for (uint32_t way = 0; way < kWays; ++way) {
        if (bucket.tags[way] == kEmpty) continue;
        const uint32_t hash = hash_of(bucket.numbers[way]);
        PLEAT_CHECK(&SegmentOf(hash) == &segment);
        for (uint32_t at = HomeOf(hash); at != i; at = (at + 1) % kBuckets) ++passed[at];
        ++size;
      }
    }
    for (uint32_t i = 0; i < kBuckets; ++i) PLEAT_CHECK(segment.buckets[i].overflow == passed[i]);
    PLEAT_CHECK(size == segment.size() && size <= kSplitAt);
  }

  // How many directory slots point to a segment.
  size_t SpanOf(const Segment& segment) const noexcept {
    return size_t{1} << (depth_ - segment.depth());
  }

  // The only segment of an index that has no key: nobody finds anything there, and because it
  // counts as full, the first key makes a real one.
  static Segment nothing_;

  Slab<> segments_;
  std::vector<Segment*> directory_;  // 2^depth_ pointers, equal ones adjacent
  uint32_t depth_ = 0;
  uint32_t least_depth_ = 0;  // of a segment, so that room stays reserved
  size_t size_ = 0;
};

}  // namespace pleat::inline v0_1
