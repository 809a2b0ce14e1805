// A SequenceSort puts members into the order of their keys, for loading.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

class SequenceSort {
 public:
  // Puts these members in order. Returns whether no two keys are equal.
  template <SequenceMembers Members>
  bool Sort(const Members& members, std::span<uint32_t> numbers) {
    const auto key_of = [&](uint32_t number) -> SequenceKey { return members.KeyOf(number); };
    if (numbers.size() <= kAtOnce) return SortAtOnce(key_of, numbers);
    // Members that were never refreshed are in order.
    if (std::ranges::is_sorted(numbers, std::ranges::less_equal{}, key_of)) return true;
    const size_t half = numbers.size() / 2;
    const auto middle = numbers.begin() + static_cast<ptrdiff_t>(half);
    std::ranges::nth_element(numbers, middle, {}, key_of);
    return Sort(members, numbers.first(half)) && Sort(members, numbers.subspan(half)) &&
           key_of(numbers[half - 1]) < key_of(numbers[half]);
  }

 private:
  // The keys of so many members are copied, which is faster than to look at them again and again:
  // 384 KiB.
  static constexpr size_t kAtOnce = 16 * 1024;

  struct Item {
    SequenceKey key;
    uint32_t number;
  };

  template <class KeyOf>
  bool SortAtOnce(const KeyOf& key_of, std::span<uint32_t> numbers) {
    items_.clear();
    for (const uint32_t number : numbers) items_.push_back({key_of(number), number});
    std::ranges::sort(items_, {}, &Item::key);
    std::ranges::transform(items_, numbers.begin(), &Item::number);
    return std::ranges::adjacent_find(items_, {}, &Item::key) == items_.end();
  }

  std::vector<Item> items_;
};

}  // namespace pleat::inline v0_1
