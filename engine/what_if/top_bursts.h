// TopBursts keeps for every point of a grid the groups that stand out: of kBurstsKept keys each,
// the one that is the largest by some measure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/analysis.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class TopBursts {
 public:
  struct Seen {
    uint64_t measure;
    uint64_t events;
    EngineTime opened;
    Duration lasted;
    uint32_t key;  // a number
  };

  explicit TopBursts(size_t points) : tops_(points), enough_(points) {}

  // A group of the points from `begin` to before `end`.
  void Offer(const Seen& seen, size_t begin, size_t end) {
    for (size_t point = begin; point < end; ++point) {
      if (seen.measure > enough_[point]) [[unlikely]]
        Keep(seen, point);
    }
  }

  // Largest first; equal ones in the order in which they opened.
  std::vector<Seen> Of(size_t point) const {
    std::vector<Seen> sorted = tops_[point];
    std::ranges::sort(sorted, [](const Seen& a, const Seen& b) {
      if (a.measure != b.measure) return a.measure > b.measure;
      return a.opened != b.opened ? a.opened < b.opened : a.key < b.key;
    });
    return sorted;
  }

 private:
  void Keep(const Seen& seen, size_t point) {
    std::vector<Seen>& top = tops_[point];
    const auto same = std::ranges::find(top, seen.key, &Seen::key);
    if (same != top.end()) {
      if (same->measure < seen.measure) *same = seen;
    } else if (top.size() < kBurstsKept) {
      top.push_back(seen);
    } else {
      *std::ranges::min_element(top, {}, &Seen::measure) = seen;
    }
    if (top.size() == kBurstsKept)
      enough_[point] = std::ranges::min_element(top, {}, &Seen::measure)->measure;
  }

  std::vector<std::vector<Seen>> tops_;
  std::vector<uint64_t> enough_;  // the numbers to exceed
};

}  // namespace pleat::inline v0_1
