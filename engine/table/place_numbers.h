// PlaceNumbers number the used places of a slab from 0 on, in their order: in bytes, an entry is named
// by its number among those that were written.
//
// Thread safety: none; the partition's lock is held.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace pleat::inline v0_1 {

class PlaceNumbers {
 public:
  // REQUIRES: `place` is behind all that were added.
  void Add(uint32_t place) {
    while (strips_.size() <= place / kStrip) strips_.push_back({.used = 0, .before = count_});
    strips_.back().used |= BitOf(place);
    ++count_;
  }

  // How many of the places lie before this one: the number of a place that was added.
  uint32_t Before(uint32_t place) const noexcept {
    if (place / kStrip >= strips_.size()) return count_;
    const Strip& strip = strips_[place / kStrip];
    return strip.before + static_cast<uint32_t>(std::popcount(strip.used & (BitOf(place) - 1)));
  }

 private:
  static constexpr uint32_t kStrip = 64;

  struct Strip {
    uint64_t used;    // a bit for each place
    uint32_t before;  // how many are used in the strips before
  };

  static uint64_t BitOf(uint32_t place) noexcept { return uint64_t{1} << place % kStrip; }

  std::vector<Strip> strips_;
  uint32_t count_ = 0;
};

}  // namespace pleat::inline v0_1
