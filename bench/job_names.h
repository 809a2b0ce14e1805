// Field names: as they arrive, and as the contestants in this process keep them.
//
// A stream of events has few different names, so nobody who writes C++ would keep strings in each group.
// Whoever reads the events has a NameDictionary, which numbers the names as they come up. It turns the
// names of an event into NameNumbers, those of an open group are a NameSet, and what is popped gets
// its strings back. The first 64 names, which with most inputs are all, are one bit each; what comes
// later goes into a vector beside it, so that any number of names is right and the usual ones are fast.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace pleat::bench {

// A name, up to 15 bytes in place.
class Name {
 public:
  static constexpr size_t kBytesMax = 15;

  Name() = default;
  explicit Name(std::string_view text) {  // cut to kBytesMax
    size_ = static_cast<uint8_t>(std::min(text.size(), kBytesMax));
    std::memcpy(text_, text.data(), size_);
  }
  std::string_view text() const { return {text_, size_}; }

  // A cheap one, with its best bits on top.
  uint64_t Hash() const {
    const auto words = std::bit_cast<std::array<uint64_t, 2>>(*this);
    return (words[0] ^ (words[1] * 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
  }

  friend bool operator==(const Name& a, const Name& b) {
    using Words = std::array<uint64_t, 2>;
    return std::bit_cast<Words>(a) == std::bit_cast<Words>(b);
  }
  friend auto operator<=>(const Name& a, const Name& b) { return a.text() <=> b.text(); }

 private:
  char text_[kBytesMax] = {};
  uint8_t size_ = 0;
};

// The names of an event as they arrive.
struct Names {
  std::array<Name, 4> names;
};

inline constexpr uint32_t kNamesInMask = 64;  // the numbers below are bits

// The same by numbers: a mask, and behind it those that have no bit there.
struct NameNumbers {
  uint64_t mask = 0;
  std::array<uint32_t, 4> more = {};  // of which one is used if it is not 0
};

// The names of an open group.
class NameSet {
 public:
  void Fold(const NameNumbers& event) noexcept {
    mask_ |= event.mask;
    if (event.more[0] != 0) [[unlikely]]
      FoldMore(event);
  }
  size_t HeapBytes() const noexcept {
    return more_ == nullptr ? 0 : sizeof(*more_) + more_->capacity() * sizeof(uint32_t);
  }

  uint64_t mask() const { return mask_; }
  std::span<const uint32_t> more() const {
    return more_ == nullptr ? std::span<const uint32_t>() : *more_;
  }

 private:
  void FoldMore(const NameNumbers& event) noexcept;

  uint64_t mask_ = 0;
  std::unique_ptr<std::vector<uint32_t>> more_;
};

// For one thread.
class NameDictionary {
 public:
  // Learns the names that are new.
  NameNumbers Numbers(const Names& event) {
    NameNumbers numbers;
    size_t more = 0;
    for (const Name& name : event.names) {
      const uint32_t number = Number(name);
      if (number < kNamesInMask) [[likely]] {
        numbers.mask |= uint64_t{1} << number;
      } else {
        numbers.more[more++] = number;
      }
    }
    return numbers;
  }

  // The names of `set`, valid until the next call.
  std::span<const Name> NamesOf(const NameSet& set) {
    found_.clear();
    for (uint64_t mask = set.mask(); mask != 0; mask &= mask - 1) {
      found_.push_back(names_[static_cast<size_t>(std::countr_zero(mask))]);
    }
    for (uint32_t number : set.more()) found_.push_back(names_[number]);
    return found_;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    Name name;
    uint32_t number = kFree;
  };

  uint32_t Number(const Name& name) {
    Slot& slot = SlotOf(name);
    return slot.number != kFree ? slot.number : Learn(name);
  }
  // That of `name`, or the free one where it belongs.
  Slot& SlotOf(const Name& name) {
    size_t i = name.Hash() >> shift_;
    while (slots_[i].number != kFree && slots_[i].name != name) i = (i + 1) % slots_.size();
    return slots_[i];
  }
  uint32_t Learn(const Name& name);

  std::vector<Name> names_;  // by number
  std::vector<Name> found_;
  int shift_ = 64 - 8;
  std::vector<Slot> slots_{size_t{1} << (64 - shift_)};  // at most half full; linear probing
};

}  // namespace pleat::bench
