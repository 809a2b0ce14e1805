// BucketCounts is a BasicHistogram of as many digits in little memory: a book keeps one in every
// partition, and while folding the cache has better things to hold.
//
// The counters are 16 bits wide and come in pages of 4 KiB, which exist once something is counted
// in them. A counter that has run full begins again; how often is kept apart. The buckets of round
// values lie apart from those between them, as a stream has mostly the one kind or the other:
// stamps in seconds, or in microseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include <pleat/stats.h>
#include <pleat/stored.h>

#include "engine/base/prefetch.h"

namespace pleat::inline v0_1 {

template <int kDigits>
class BucketCounts {
 public:
  using Whole = BasicHistogram<kDigits>;
  using Buckets = typename Whole::Buckets;

  void Add(uint64_t value) { Count(value, SlotOf(value)); }

  // Add() in two steps, so that the lines of many values can come from memory at once.
  static uint32_t SlotOf(uint64_t value) noexcept { return SlotOfBucket(Buckets::IndexOf(value)); }
  void Prefetch(uint32_t slot) const noexcept {
    if (const Page* page = pages_[slot / kPerPage].get())
      pleat::Prefetch(&(*page)[slot % kPerPage]);
  }
  void Count(uint64_t value, uint32_t slot, uint16_t n = 1) {
    max_ = std::max(max_, value);
    std::unique_ptr<Page>& page = pages_[slot / kPerPage];
    if (page == nullptr) [[unlikely]]
      page = std::make_unique<Page>();
    uint16_t& counter = (*page)[slot % kPerPage];
    counter = static_cast<uint16_t>(counter + n);
    if (counter < n) [[unlikely]]
      ++wraps_[slot];
  }

  // Counters that are not 0, by slot.
  void Save(FieldWriter& out) const {
    size_t counters = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot) counters += CountIn(slot) > 0;
    out(max_);
    out.PutNumber(counters);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (const uint64_t count = CountIn(slot); count > 0) out(slot, count);
    }
  }
  // REQUIRES: nothing was counted yet.
  void Load(FieldReader& in) {
    in(max_);
    for (size_t left = in.Count(); left > 0; --left) {
      uint32_t slot = 0;
      uint64_t count = 0;
      in(slot, count);
      if (!in.Expect(slot < kSlots && count > 0 && CountIn(slot) == 0)) return;
      std::unique_ptr<Page>& page = pages_[slot / kPerPage];
      if (page == nullptr) page = std::make_unique<Page>();
      (*page)[slot % kPerPage] = static_cast<uint16_t>(count);
      if (count >> 16 != 0) wraps_[slot] = count >> 16;
    }
  }

  void AddTo(Whole& whole) const {
    const size_t top = Buckets::IndexOf(max_);
    for (size_t i = 0; i <= top; ++i) {
      uint64_t count = CountIn(SlotOfBucket(i));
      if (i == top && count > 0) {  // of its bucket the largest value is known
        whole.Add(max_);
        --count;
      }
      whole.Add(Buckets::LowestOf(i), count);
    }
  }

 private:
  static constexpr size_t kPerPage = 2048;
  using Page = std::array<uint16_t, kPerPage>;
  static constexpr size_t kHalf = (Buckets::kCount + 1) / 2;
  static constexpr uint32_t kSlots = 2 * kHalf;

  static constexpr uint32_t SlotOfBucket(size_t index) noexcept {
    return static_cast<uint32_t>(index / 2 + index % 2 * kHalf);
  }

  uint64_t CountIn(uint32_t slot) const {
    const Page* const page = pages_[slot / kPerPage].get();
    if (page == nullptr) return 0;
    const auto wraps = wraps_.find(slot);
    return (wraps == wraps_.end() ? 0 : wraps->second << 16) + (*page)[slot % kPerPage];
  }

  uint64_t max_ = 0;
  std::array<std::unique_ptr<Page>, 2 * kHalf / kPerPage + 1> pages_;
  std::map<uint32_t, uint64_t> wraps_;  // of the counters that have run full
};

}  // namespace pleat::inline v0_1
