// How sequences ask about members: by numbers, for a key that orders them and a place of their own.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Where a member stands in its series. No two members of a series are equal.
struct SequenceKey {
  EngineTime time;
  uint64_t position = 0;

  friend constexpr auto operator<=>(const SequenceKey&, const SequenceKey&) noexcept = default;
};

// What a sequence needs to know of the members, which lie elsewhere under numbers of 32 bits.
template <class Members>
concept SequenceMembers = requires(Members& members, uint32_t number) {
  { members.KeyOf(number) } -> std::convertible_to<SequenceKey>;
  { members.PlaceOf(number) } -> std::same_as<uint32_t&>;  // a field for the sequence alone
  members.Prefetch(number);                                // will be asked for both soon
};

// How many of these members, which are in order, are before `key`. In two rounds: to look at many at
// once takes as long as to look at one.
template <SequenceMembers Members>
class SequenceSearch {
 public:
  explicit SequenceSearch(const Members& members) : members_(members) {}

  uint32_t CountBefore(std::span<const uint32_t> numbers, const SequenceKey& key) const noexcept {
    const size_t step = numbers.size() <= 8 ? 1 : numbers.size() <= 32 ? 4 : 8;
    if (step == 1) return CountOneInEvery(1, numbers, key);
    const uint32_t begin = CountOneInEvery(step, numbers, key) * static_cast<uint32_t>(step);
    return begin +
           CountOneInEvery(
               1, numbers.subspan(begin).first(std::min<size_t>(step - 1, numbers.size() - begin)),
               key);
  }

 private:
  // The last one of each `step` members. The processor reads the keys of eight at once.
  uint32_t CountOneInEvery(size_t step, std::span<const uint32_t> numbers,
                           const SequenceKey& key) const noexcept {
    uint32_t before = 0;
    for (size_t i = step; i <= numbers.size(); i += step) {
      before += members_.KeyOf(numbers[i - 1]) < key ? 1 : 0;
    }
    return before;
  }

  const Members& members_;
};

}  // namespace pleat::inline v0_1
