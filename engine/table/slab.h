// A Slab hands out numbered places of one size that never move. What a fold touches lies in the hot
// part of a place (one cache line, for a small state); what only opening and closing touch lies in a
// parallel array of `Cold`, so that it does not dilute the hot lines.
//
// Freed numbers are handed out again, last freed first: that line is likely still in the cache.
// Numbers are below 2^32 - 1. Memory comes in chunks and goes back when the slab does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0 {

template <class Cold>
class Slab {
 public:
  // Places of `stride` bytes each, a multiple of 8. Chunks start a cache line, so places of 64 bytes
  // are one line each.
  explicit Slab(size_t stride) : stride_(stride) { PLEAT_CHECK(stride % 8 == 0 && stride > 0); }

  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  uint32_t Allocate() {
    if (free_ != kNone) {
      const uint32_t number = free_;
      std::memcpy(&free_, hot(number), sizeof(free_));
      return number;
    }
    if (used_ == chunks_.size() * kPerChunk) AddChunk();
    PLEAT_CHECK(used_ < kNone);
    return used_++;
  }

  void Free(uint32_t number) noexcept {
    std::memcpy(hot(number), &free_, sizeof(free_));
    free_ = number;
  }

  std::byte* hot(uint32_t number) const noexcept {
    return chunks_[number / kPerChunk].hot.get() + (number % kPerChunk) * stride_;
  }
  Cold& cold(uint32_t number) const noexcept {
    return chunks_[number / kPerChunk].cold[number % kPerChunk];
  }

  // Every number ever handed out is below this; the free ones among them are not marked here.
  uint32_t end() const noexcept { return used_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kPerChunk = 256;  // 16 KiB at 64 bytes: cheap for small collections

  struct AlignedDelete {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, std::align_val_t{64}); }
  };
  struct Chunk {
    std::unique_ptr<std::byte, AlignedDelete> hot;
    std::unique_ptr<Cold[]> cold;
  };

  void AddChunk() {
    void* memory = ::operator new(stride_ * kPerChunk, std::align_val_t{64});
    chunks_.push_back({std::unique_ptr<std::byte, AlignedDelete>(static_cast<std::byte*>(memory)),
                       std::make_unique<Cold[]>(kPerChunk)});
  }

  size_t stride_;
  std::vector<Chunk> chunks_;
  uint32_t used_ = 0;
  uint32_t free_ = kNone;
};

}  // namespace pleat::inline v0
