#include "engine/fold/gaps.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace pleat::inline v0_1 {

void Gaps::CountFresh() {
  if (counted_ < exact_ || fresh_count_ < kFresh) {
    for (const uint64_t gap : std::span(fresh_).first(fresh_count_)) gaps_.Add(gap);
  } else {
    CountSome();
  }
  counted_ += fresh_count_;
  fresh_count_ = 0;
}

// One of every eight, at random, because events at every eighth place may have something in common.
// In two rounds, because the counters are often no longer in the cache nearby.
void Gaps::CountSome() {
  constexpr size_t kDrawn = kFresh / kOneIn;
  std::array<uint64_t, kDrawn> drawn;
  std::array<uint32_t, kDrawn> slots;
  for (size_t i = 0; i < kDrawn; ++i) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;  // Knuth's
    drawn[i] = fresh_[i * kOneIn + (random_ >> 32) % kOneIn];
    slots[i] = gaps_.SlotOf(drawn[i]);
    gaps_.Prefetch(slots[i]);
  }
  for (size_t i = 0; i < kDrawn; ++i) gaps_.Count(drawn[i], slots[i], kOneIn);
}

void Gaps::AddTo(GapStats& stats) {
  CountFresh();
  gaps_.AddTo(stats.gaps);
  spans_.AddTo(stats.spans);
  fold_sizes_.AddTo(stats.fold_sizes);
  stats.known_to = std::min(stats.known_to, ghosts_.known_to());
  stats.first = std::min(stats.first, first_);
  stats.last = std::max(stats.last, last_);
}

}  // namespace pleat::inline v0_1
