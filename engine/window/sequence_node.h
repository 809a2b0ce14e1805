// The nodes of a SequenceTree, and what can be done to one of them alone.
//
// A node has 64 slots, and a word with a bit for each: a slot whose bit is set is live, another one
// is dead. The live slots are in order.
//
// In a leaf a live slot is the number of a member; a dead one means nothing. In an inner node a live
// slot is a child: a time from which on the child's members lie, its number, and its count of
// members. A dead slot keeps its time, so that a search over the times does not look at the bits; a
// slot that was never used has the time kNever. Of the first live child the time means nothing:
// whatever is before the second belongs to the first.
//
// The bits of many nodes lie side by side, apart from the slots. To erase a member is to clear a
// bit, and of ten million members all bits fit in the cache of a processor.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

inline constexpr uint32_t kSlots = 64;

// A place is a node's number and a slot of it, in one number.
inline constexpr uint32_t kNoPlace = UINT32_MAX;
constexpr uint32_t NodeOf(uint32_t place) noexcept { return place / kSlots; }
constexpr uint32_t SlotOf(uint32_t place) noexcept { return place % kSlots; }

constexpr uint64_t BitOf(uint32_t slot) noexcept { return uint64_t{1} << slot; }
// The bits of the slots before `slot`, which is at most kSlots.
constexpr uint64_t BitsBefore(uint32_t slot) noexcept {
  return slot == kSlots ? ~uint64_t{0} : BitOf(slot) - 1;
}
constexpr uint32_t LowestBit(uint64_t bits) noexcept {
  return static_cast<uint32_t>(std::countr_zero(bits));
}
constexpr uint32_t HighestBit(uint64_t bits) noexcept {
  return kSlots - 1 - static_cast<uint32_t>(std::countl_zero(bits));
}
// The slot behind the highest bit; 0 if there is none.
constexpr uint32_t EndOf(uint64_t bits) noexcept {
  return kSlots - static_cast<uint32_t>(std::countl_zero(bits));
}
constexpr uint32_t CountBits(uint64_t bits) noexcept {
  return static_cast<uint32_t>(std::popcount(bits));
}
// The set bit that `rank` others precede.
constexpr uint32_t BitAt(uint64_t bits, uint32_t rank) noexcept {
  for (; rank > 0; --rank) bits &= bits - 1;
  return LowestBit(bits);
}

// What a slot holds: a leaf's the number of a member, whose time is kept by the member alone.
struct SequenceEntry {
  uint32_t number;
  uint32_t count = 1;
  EngineTime time = kBeginningOfTime;
};

struct SequenceNode {
  uint64_t live;
  uint32_t place;  // in the parent; kNoPlace: the node is the root
  uint32_t number : 26;
  uint32_t level : 6;  // 0: a leaf

  bool is_root() const noexcept { return place == kNoPlace; }
  bool Lives(uint32_t slot) const noexcept { return (live & BitOf(slot)) != 0; }
  uint32_t PlaceAt(uint32_t slot) const noexcept { return number * kSlots + slot; }
  uint32_t end() const noexcept { return EndOf(live); }
};

// The slots of an inner node.
struct SequenceChildren {
  uint32_t numbers[kSlots];
  uint32_t counts[kSlots];  // of the children's members; of a dead slot 0
  EngineTime times[kSlots];

  // The first slot, dead ones included, whose time is not before `time`; or kSlots. In two steps of
  // eight comparisons each that do not wait for each other, nor for each other's cache lines.
  uint32_t LowerBound(EngineTime time) const noexcept {
    uint32_t eights = 0;
    for (uint32_t i = 7; i < kSlots; i += 8) eights += times[i] < time ? 1 : 0;
    if (eights == 8) return kSlots;
    uint32_t slot = eights * 8;
    const EngineTime* const last = times + slot;
    for (uint32_t i = 0; i < 7; ++i) slot += last[i] < time ? 1 : 0;
    return slot;
  }

  // The slot of the child into whose range `time` falls, the first one if several members may have
  // that time.
  uint32_t ChildFor(uint64_t live, EngineTime time) const noexcept {
    const uint64_t before = live & BitsBefore(LowerBound(time));
    return before != 0 ? HighestBit(before) : LowestBit(live);
  }

  // How many members the children before `slot` have.
  uint32_t CountBefore(uint32_t slot) const noexcept {
    const auto end = static_cast<int32_t>(slot);  // signed numbers are compared four at a time
    uint32_t sum = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(kSlots); ++i)
      sum += counts[i] & (i < end ? ~0U : 0);
    return sum;
  }

  // The slot of the child that has the member which `rank` others precede. Leaves in `rank` how
  // many of them are in that child. Does not look at the count of the last child.
  uint32_t ChildAt(uint64_t live, uint32_t& rank) const noexcept {
    const uint32_t last = HighestBit(live);
    uint32_t slot = LowestBit(live);
    for (; slot < last && rank >= counts[slot]; ++slot) rank -= counts[slot];
    return slot;
  }
};

// The memory of all nodes of a pool.
class SequenceNodes {
 public:
  explicit SequenceNodes(PagePool& pool)
      : leaves_(pool, kSlots * sizeof(uint32_t)), inners_(pool, sizeof(SequenceChildren)) {}

  SequenceNode& leaf(uint32_t number) const noexcept { return leaves_.cold(number); }
  SequenceNode& inner(uint32_t number) const noexcept { return inners_.cold(number); }
  SequenceNode& child(const SequenceNode& node, uint32_t slot) const noexcept {
    const uint32_t number = children(node).numbers[slot];
    return node.level == 1 ? leaf(number) : inner(number);
  }
  // REQUIRES: the node is not the root.
  SequenceNode& parent(const SequenceNode& node) const noexcept {
    return inner(NodeOf(node.place));
  }

  // The slots of a leaf, and of an inner node.
  uint32_t* members(const SequenceNode& leaf) const noexcept {
    PLEAT_DCHECK(leaf.level == 0);
    return reinterpret_cast<uint32_t*>(leaves_.hot(leaf.number));
  }
  SequenceChildren& children(const SequenceNode& node) const noexcept {
    PLEAT_DCHECK(node.level > 0);
    return children(node.number);
  }

  // A node without a live slot and without a parent.
  SequenceNode& Make(uint32_t level) {
    const uint32_t number = level == 0 ? leaves_.Allocate() : inners_.Allocate();
    PLEAT_CHECK(number < kNodesMax);
    SequenceNode& node = level == 0 ? leaf(number) : inner(number);
    node.live = 0;
    node.place = kNoPlace;
    node.number = number & (kNodesMax - 1);
    node.level = level & 63;
    if (level > 0) {
      std::ranges::fill(children(node).counts, 0);
      std::ranges::fill(children(node).times, kNever);
    }
    return node;
  }
  void Free(SequenceNode& node) noexcept {
    const uint32_t number = node.number;
    node.level == 0 ? leaves_.Free(number) : inners_.Free(number);
  }

  // Adds to the counts of all nodes from `place` to the root.
  void AddCount(uint32_t place, uint32_t count) const noexcept {
    while (place != kNoPlace) {
      const uint32_t node = NodeOf(place);
      children(node).counts[SlotOf(place)] += count;
      place = inner(node).place;
    }
  }

  // Ends the process unless the free lists account for every node. Returns how many there are.
  size_t CheckWhole() const { return leaves_.CheckWhole() + inners_.CheckWhole(); }

 private:
  SequenceChildren& children(uint32_t inner) const noexcept {
    return *reinterpret_cast<SequenceChildren*>(inners_.hot(inner));
  }

  static constexpr uint32_t kNodesMax = 1U << 26;

  Slab<SequenceNode, 8> leaves_;
  Slab<SequenceNode, 6> inners_;
};

static_assert(sizeof(SequenceNode) == 16 && sizeof(SequenceChildren) == 1024);

}  // namespace pleat::inline v0_1
