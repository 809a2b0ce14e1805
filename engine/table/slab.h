// A Slab hands out numbered places of one size. A place never moves while it is taken.
//
// A place has two parts. The hot part (one cache line, for a small state) holds the bytes that
// every fold touches. Bytes that only opening and closing touch lie in a parallel array of `Cold`,
// so that they do not dilute the hot lines.
//
// A number is a chunk and an index inside the chunk. A chunk is one page of the pool: the hot parts
// upwards from its *base*, the cold ones downwards. A new place always comes from the lowest chunk
// that has one free, and within the chunk from the place that was freed last, because its line is
// likely still in the cache. So after a spike the higher chunks run empty and go back to the pool;
// those that were reserved stay.
//
// The first chunks are blocks of the pool, each four times as large as the one before: an engine can
// have thousands of slabs with a few places each, of which a page would be mostly empty.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/base/touch.h"

namespace pleat::inline v0_1 {

struct NoCold {};

// `kIndexBits`: a chunk holds at most 2^kIndexBits places.
template <class Cold = NoCold, int kIndexBits = 10>
class Slab {
  static_assert(std::is_trivially_copyable_v<Cold> && kIndexBits < 16);

 public:
  // Places of `stride` bytes each, a multiple of 8, and of the alignment wanted up to 64.
  Slab(Pages& pool, size_t stride)
      : pool_(pool), stride_(stride), per_chunk_(RoomIn(PagePool::kPageBytes)) {
    PLEAT_CHECK(stride % 8 == 0 && stride > 0);
  }
  ~Slab() {
    for (uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) FreeChunk(chunk);
  }

  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  // A free place. Its bytes are undefined. O(1).
  uint32_t Allocate() {
    if (lowest_ == kUnknown) lowest_ = ChunkWithRoom();
    const uint32_t chunk = lowest_;
    Use& use = uses_[chunk];
    if (chunks_[chunk] == nullptr) chunks_[chunk] = NewChunk(use.room);
    uint32_t index = use.fresh;
    if (use.free != kNone) {
      index = use.free;
      std::memcpy(&use.free, hot(chunk << kIndexBits | index), sizeof(use.free));
      if (use.free != kNone) Prefetch(hot(chunk << kIndexBits | use.free));  // read next time
    } else {
      ++use.fresh;
    }
    PLEAT_DCHECK(use.taken < use.room && index < use.fresh);
    if (++use.taken == use.room) {
      room_[chunk / 64] &= ~(uint64_t{1} << chunk % 64);
      lowest_ = kUnknown;
    }
    return chunk << kIndexBits | index;
  }

  // From now on, so many places can be taken at a time without a page of the pool: the slab has all
  // chunks for them, and keeps them. Their memory has been touched. O(chunks).
  void Reserve(size_t places) {
    uint32_t chunk = 0;
    for (size_t room = 0; room < places; room += uses_[chunk++].room) {
      KnowChunk(chunk);
      if (chunks_[chunk] != nullptr) continue;
      chunks_[chunk] = NewChunk(uses_[chunk].room);
      Touch(chunks_[chunk] - ColdBytesOf(uses_[chunk].room), BytesOf(uses_[chunk].room));
    }
    kept_ = std::max(kept_, chunk);
  }

  // Whether AllocateAt(number) is possible in a slab whose highest place is below `number`.
  bool HasPlace(uint32_t number) const noexcept { return number >> kIndexBits < kChunksMax - 1; }
  // Takes the place `number`, as it was in the slab that is being restored, and calls
  // `skip(place)` for each place before it that counts as handed out, and is free. That slab may have
  // had more places in a chunk: then the others of the chunk move, as bytes.
  // REQUIRES: HasPlace(number); no place as high was handed out.
  template <class Skip>
  void AllocateAt(uint32_t number, const Skip& skip) {
    const uint32_t chunk = number >> kIndexBits;
    const uint32_t index = number & kIndexMask;
    PLEAT_DCHECK(HasPlace(number) && !Knows(number));
    lowest_ = kUnknown;
    KnowChunk(chunk);
    if (index >= uses_[chunk].room) Widen(chunk, index < per_chunk_ ? per_chunk_ : kPerChunkMax);
    if (chunks_[chunk] == nullptr) chunks_[chunk] = NewChunk(uses_[chunk].room);
    Use& use = uses_[chunk];
    while (use.fresh < index) {
      const uint16_t free = std::exchange(use.free, use.fresh++);
      const uint32_t place = chunk << kIndexBits | use.free;
      std::memcpy(hot(place), &free, sizeof(free));
      skip(place);
    }
    ++use.fresh;
    if (++use.taken == use.room) room_[chunk / 64] &= ~(uint64_t{1} << chunk % 64);
  }

  void Free(uint32_t number) noexcept { Free(number, hot(number)); }
  // The same for an owner that knows hot(number).
  void Free(uint32_t number, std::byte* place) noexcept {
    const uint32_t chunk = number >> kIndexBits;
    PLEAT_DCHECK(Knows(number) && place == hot(number) && uses_[chunk].taken > 0);
    Use& use = uses_[chunk];
    if (use.taken == use.room) {
      room_[chunk / 64] |= uint64_t{1} << chunk % 64;
      first_room_ = std::min(first_room_, chunk / 64);
      if (lowest_ != kUnknown) lowest_ = std::min(lowest_, chunk);
    }
    if (--use.taken == 0) {
      if (chunk >= kept_) {
        FreeChunk(chunk);
        chunks_[chunk] = nullptr;
        use.room = RoomOf(chunk);
      }
      use = Use{.room = use.room};
      return;
    }
    std::memcpy(place, &use.free, sizeof(use.free));
    use.free = static_cast<uint16_t>(number & kIndexMask);
  }

  // Ends the process unless the free lists account for every place. O(places); for tests. Returns
  // how many places are taken.
  size_t CheckWhole() const {
    size_t taken = 0;
    for (uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const Use& use = uses_[chunk];
      uint16_t free = 0;
      for (uint16_t at = use.free; at != kNone; ++free) {
        PLEAT_CHECK(at < use.fresh && free < use.fresh);
        std::memcpy(&at, chunks_[chunk] + at * stride_, sizeof(at));
      }
      PLEAT_CHECK(use.room == RoomOf(chunk) || use.room == per_chunk_ || use.room == kPerChunkMax);
      PLEAT_CHECK(use.taken + free == use.fresh && use.fresh <= use.room);
      PLEAT_CHECK((chunks_[chunk] == nullptr) == (use.taken == 0 && chunk >= kept_));
      const bool has_room = (room_[chunk / 64] >> chunk % 64 & 1) != 0;
      PLEAT_CHECK(has_room == (use.taken < use.room));
      PLEAT_CHECK(!has_room || chunk / 64 >= first_room_);
      taken += use.taken;
      PLEAT_CHECK(lowest_ == kUnknown || !has_room || lowest_ <= chunk);
    }
    PLEAT_CHECK(lowest_ == kUnknown || uses_[lowest_].taken < uses_[lowest_].room);
    return taken;
  }

  // Whether the place was handed out since its chunk was last taken from the pool; it may be free
  // again by now. Only such a place has bytes to look at. For owners that keep numbers longer than
  // places, such as a lease's token.
  bool Knows(uint32_t number) const noexcept {
    const uint32_t chunk = number >> kIndexBits;
    return chunk < uses_.size() && (number & kIndexMask) < uses_[chunk].fresh;
  }

  // Above all numbers that Knows() knows.
  uint32_t end() const noexcept { return static_cast<uint32_t>(chunks_.size()) << kIndexBits; }

  // The parts of a place: of a const slab to read, else to change.
  const std::byte* hot(uint32_t number) const noexcept {
    PLEAT_DCHECK(Knows(number));
    return chunks_[number >> kIndexBits] + (number & kIndexMask) * stride_;
  }
  std::byte* hot(uint32_t number) noexcept {
    return const_cast<std::byte*>(std::as_const(*this).hot(number));
  }
  const Cold& cold(uint32_t number) const noexcept {
    PLEAT_DCHECK(Knows(number));
    const auto* const end = reinterpret_cast<const Cold*>(chunks_[number >> kIndexBits]);
    return *(end - 1 - (number & kIndexMask));
  }
  Cold& cold(uint32_t number) noexcept {
    return const_cast<Cold&>(std::as_const(*this).cold(number));
  }

  // Calls `visit(number)` for every place that Knows() knows: all taken places, and some free ones,
  // which the caller has to tell apart.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      for (uint32_t index = 0; index < uses_[chunk].fresh; ++index) {
        visit(chunk << kIndexBits | index);
      }
    }
  }

  // The same from `place` on, until `visit(number)` returns false; `place` is that number then.
  // Returns whether the end was reached. Places that stay taken keep their place in this order.
  template <class Visit>
  bool ForEachFrom(uint32_t& place, const Visit& visit) const {
    uint32_t index = place & kIndexMask;
    for (uint32_t chunk = place >> kIndexBits; chunk < chunks_.size(); ++chunk, index = 0) {
      for (; index < uses_[chunk].fresh; ++index) {
        place = chunk << kIndexBits | index;
        if (!visit(place)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr uint32_t kPerChunkMax = 1U << kIndexBits;
  static constexpr uint32_t kChunksMax = 1U << (31 - kIndexBits);  // so that numbers have 31 bits
  static constexpr uint16_t kNone = UINT16_MAX;
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr size_t kColdBytes = std::is_empty_v<Cold> ? 0 : sizeof(Cold);

  // How a chunk is used.
  struct Use {
    uint16_t room;  // for so many places
    uint16_t taken = 0;
    uint16_t fresh = 0;     // places from here on were never handed out
    uint16_t free = kNone;  // the last freed; each holds the index of the one freed before it
  };

  // The lowest chunk that has a free place. One that was given back has all of them.
  uint32_t ChunkWithRoom() {
    while (first_room_ < room_.size() && room_[first_room_] == 0) ++first_room_;
    if (first_room_ == room_.size()) room_.push_back(~uint64_t{0});
    const auto bit = static_cast<uint32_t>(std::countr_zero(room_[first_room_]));
    const uint32_t chunk = first_room_ * 64 + bit;
    if (chunk == chunks_.size()) {
      PLEAT_CHECK(chunk < kChunksMax - 1);
      chunks_.push_back(nullptr);
      uses_.push_back({.room = RoomOf(chunk)});
    }
    return chunk;
  }

  // Has the bookkeeping of this chunk and those below, without their memory.
  void KnowChunk(uint32_t chunk) {
    PLEAT_CHECK(chunk < kChunksMax - 1);
    while (room_.size() <= chunk / 64) room_.push_back(~uint64_t{0});
    while (chunks_.size() <= chunk) {
      uses_.push_back({.room = RoomOf(static_cast<uint32_t>(chunks_.size()))});
      chunks_.push_back(nullptr);
    }
  }

  static constexpr size_t kSmallest = 256;
  static constexpr uint32_t kSmallChunks = 4;

  // The bytes before the base, so that the hot parts are aligned; and all bytes.
  static constexpr std::align_val_t kAlignment{64};
  static constexpr size_t ColdBytesOf(size_t room) noexcept {
    return (room * kColdBytes + 63) / 64 * 64;
  }
  size_t BytesOf(size_t room) const noexcept { return ColdBytesOf(room) + room * stride_; }
  uint16_t RoomIn(size_t bytes) const noexcept {
    size_t room = std::clamp<size_t>(bytes / (stride_ + kColdBytes), 1, kPerChunkMax);
    while (room > 1 && BytesOf(room) > bytes) --room;
    return static_cast<uint16_t>(room);
  }
  uint16_t RoomOf(uint32_t chunk) const noexcept {
    return chunk < kSmallChunks ? RoomIn(kSmallest << 2 * chunk) : per_chunk_;
  }

  // The base of a chunk of so many places. A place that does not fit a page gets memory of its own.
  std::byte* NewChunk(size_t room) {
    const size_t bytes = BytesOf(room);
    std::byte* const begin = bytes <= PagePool::kPageBytes
                                 ? pool_.TakeBlock(bytes)
                                 : static_cast<std::byte*>(::operator new(bytes, kAlignment));
    return begin + ColdBytesOf(room);
  }
  void FreeChunk(uint32_t chunk) noexcept {
    if (chunks_[chunk] == nullptr) return;
    const size_t bytes = BytesOf(uses_[chunk].room);
    std::byte* const begin = chunks_[chunk] - ColdBytesOf(uses_[chunk].room);
    bytes <= PagePool::kPageBytes ? pool_.ReturnBlock(begin, bytes)
                                  : ::operator delete(begin, kAlignment);
  }

  // Gives a chunk more room.
  void Widen(uint32_t chunk, size_t room) {
    Use& use = uses_[chunk];
    if (std::byte* const before = chunks_[chunk]; before != nullptr) {
      std::byte* const base = NewChunk(room);
      const size_t cold = use.fresh * kColdBytes;
      std::memcpy(base - cold, before - cold, cold + use.fresh * stride_);
      FreeChunk(chunk);
      chunks_[chunk] = base;
    }
    use.room = static_cast<uint16_t>(room);
    room_[chunk / 64] |= uint64_t{1} << chunk % 64;
    first_room_ = std::min(first_room_, chunk / 64);
  }

  Pages& pool_;
  const size_t stride_;
  const uint16_t per_chunk_;        // but for the first ones
  std::vector<std::byte*> chunks_;  // their bases; null: given back
  std::vector<Use> uses_;
  std::vector<uint64_t> room_;  // a bit for each chunk, those to come included
  uint32_t first_room_ = 0;     // the words before this one are zero
  uint32_t lowest_ = kUnknown;  // the chunk that ChunkWithRoom() would find
  uint32_t kept_ = 0;           // the chunks below this one are not given back
};

}  // namespace pleat::inline v0_1
