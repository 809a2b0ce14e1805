// The nodes of a SequenceTree, and what can be done to one of them alone.
//
// A node has 64 slots, and a word with a bit for each: a slot whose bit is set is live, another one
// is dead. The live slots are in order.
//
// In a leaf a live slot is the number of a member, and a rough time of two bytes; a dead one means
// nothing. A search compares rough times, eight at once, and looks only at members whose rough time is
// that of the key: none, as a rule.
//
// In an inner node a live slot is a child: a time from which on the child's members lie, its number,
// and its count of members. A dead slot keeps its time, so that a search over the times does not
// look at the bits; a slot that was never used has the time kNever. Of the first live child the time
// means nothing: whatever is before the second belongs to the first.
//
// To erase a member is to clear a bit and to lower the counts of the ancestors. The bits of many
// nodes lie side by side, apart from the slots, and so do the counts of leaves, which take a byte
// each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/side_array.h"
#include "engine/table/slab.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// What a slot holds: a leaf's the number of a member, whose time the member knows.
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

// The slots of a leaf.
struct SequenceLeaf {
  // A rough time counts units of 2^shift microseconds since the origin. That of each live slot is
  // exact, rounded down, so that members whose rough times differ are in the order of these.
  EngineTime origin;
  uint32_t shift;
  int16_t rough[kSlots];
  uint32_t numbers[kSlots];

  static constexpr int64_t kRoughEnd = int64_t{1} << 15;

  // Of a leaf without a live slot, whose members will have times from `first` on, and most likely
  // none that is more than `span` microseconds later.
  void Begin(EngineTime first, int64_t span) noexcept {
    origin = first;
    for (shift = 0; span >> shift >= kRoughEnd * 3 / 4; ++shift) continue;
  }
  // What Begin() would be told of these live slots. Says more than there is if units are large.
  int64_t SpanOf(uint64_t live) const noexcept {
    const uint32_t last = HighestBit(live) % kSlots;  // g++ 12 sees that no bit may be set
    return int64_t{rough[last] - rough[LowestBit(live)] + 1} << shift;
  }

  // Gives the slot the rough time of a member; `live` are the others of the leaf.
  void SetRough(uint32_t slot, EngineTime time, uint64_t live) noexcept {
    const int64_t units = (time - origin).count() >> shift;
    if (units < 0 || units >= kRoughEnd) [[unlikely]]
      return MakeRoomFor(slot, time, live);
    rough[slot] = static_cast<int16_t>(units);
  }

  // Which of the live slots have a rough time that is before that of `time`, and which the same.
  struct Compared {
    uint64_t before;
    uint64_t same;
  };
  Compared Compare(uint64_t live, EngineTime time) const noexcept {
    if (time < origin) return {0, 0};
    // Who reads may ask about any time: the distance fits 64 bits without a sign only.
    const uint64_t units = (Bits(time) - Bits(origin)) >> shift;
    if (units >= kRoughEnd) return {live, 0};
    return CompareRough(live, static_cast<int16_t>(units));
  }

 private:
  static uint64_t Bits(EngineTime time) noexcept {
    return static_cast<uint64_t>(time.time_since_epoch().count());
  }

  // Takes larger units, or an earlier origin, until there is a rough time for `time`. Both change
  // rough times without a look at members. Twice the room each time: O(1) amortised.
  [[gnu::noinline]] void MakeRoomFor(uint32_t slot, EngineTime time, uint64_t live) noexcept {
    while ((time - origin).count() >> shift >= kRoughEnd) Halve();
    if (time < origin) {
      while ((origin - time).count() >> shift >= kRoughEnd / 2) Halve();
      if (live != 0 && rough[HighestBit(live)] >= kRoughEnd / 2) Halve();
      for (int16_t& each : rough) each = static_cast<int16_t>(each + kRoughEnd / 2);
      origin -= Duration{kRoughEnd / 2 << shift};
    }
    SetRough(slot, time, live);
  }
  void Halve() noexcept {
    ++shift;
    for (int16_t& each : rough) each = static_cast<int16_t>(each >> 1);
  }

  Compared CompareRough(uint64_t live, int16_t wanted) const noexcept {
    uint64_t before = 0;
    uint64_t same = 0;
#if defined(__SSE2__)
    const __m128i all = _mm_set1_epi16(wanted);
    const auto* const eights = reinterpret_cast<const __m128i*>(rough);
    const auto bits = [](__m128i first, __m128i second) {
      return uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(first, second)))};
    };
    for (uint32_t i = 0; i < kSlots / 8; i += 2) {
      const __m128i a = _mm_loadu_si128(eights + i);
      const __m128i b = _mm_loadu_si128(eights + i + 1);
      before |= bits(_mm_cmplt_epi16(a, all), _mm_cmplt_epi16(b, all)) << i * 8;
      same |= bits(_mm_cmpeq_epi16(a, all), _mm_cmpeq_epi16(b, all)) << i * 8;
    }
#else
    for (uint32_t i = 0; i < kSlots; ++i) {
      before |= uint64_t{rough[i] < wanted} << i;
      same |= uint64_t{rough[i] == wanted} << i;
    }
#endif
    return {before & live, same & live};
  }
};

// The slots of an inner node.
struct SequenceChildren {
  uint32_t numbers[kSlots];
  uint32_t counts[kSlots];  // of the members of children that are inner nodes; of a dead slot 0
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
};

// The sum of the counts before `slot`.
inline uint32_t SumBefore(const uint32_t (&counts)[kSlots], uint32_t slot) noexcept {
  const auto end = static_cast<int32_t>(slot);  // signed numbers are compared four at a time
  uint32_t sum = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(kSlots); ++i) sum += counts[i] & (i < end ? ~0U : 0);
  return sum;
}
// The same for counts of up to kSlots. Eight bytes of a word are added to four sums of 16 bits.
inline uint32_t SumBefore(const uint8_t (&counts)[kSlots], uint32_t slot) noexcept {
  constexpr uint64_t kEven = 0x00ff'00ff'00ff'00ff;
  uint64_t sums = 0;
  uint32_t i = 0;
  for (; i + 8 <= slot; i += 8) {
    uint64_t word;
    std::memcpy(&word, counts + i, sizeof(word));
    sums += (word & kEven) + (word >> 8 & kEven);
  }
  auto sum = static_cast<uint32_t>(sums * 0x0001'0001'0001'0001 >> 48);
  for (; i < slot; ++i) sum += counts[i];
  return sum;
}

// The slot of the child that has the member which `rank` others precede. Leaves in `rank` how many
// of them are in that child. Does not look at the count of the last child.
template <class Count>
uint32_t SlotAt(const Count (&counts)[kSlots], uint64_t live, uint32_t& rank) noexcept {
  const uint32_t last = HighestBit(live);
  uint32_t slot = LowestBit(live);
  for (; slot < last && rank >= counts[slot]; ++slot) rank -= counts[slot];
  return slot;
}

// The memory of all nodes of a pool.
class SequenceNodes {
 public:
  explicit SequenceNodes(Pages& pool)
      : leaf_slots_(pool, sizeof(SequenceLeaf)),
        inner_slots_(pool, sizeof(SequenceChildren)),
        leaves_(pool),
        inners_(pool) {}

  // A node of this pool, to be changed.
  SequenceNode& Own(const SequenceNode& node) noexcept { return const_cast<SequenceNode&>(node); }

  const SequenceNode& leaf(uint32_t number) const noexcept { return leaves_[number]; }
  SequenceNode& leaf(uint32_t number) noexcept { return leaves_[number]; }
  const SequenceNode& inner(uint32_t number) const noexcept { return inners_[number].node; }
  const SequenceNode& child(const SequenceNode& node, uint32_t slot) const noexcept {
    const uint32_t number = children(node).numbers[slot];
    return node.level == 1 ? leaf(number) : inner(number);
  }
  SequenceNode& child(const SequenceNode& node, uint32_t slot) noexcept {
    return Own(std::as_const(*this).child(node, slot));
  }
  // REQUIRES: the node is not the root.
  const SequenceNode& parent(const SequenceNode& node) const noexcept {
    return inner(NodeOf(node.place));
  }
  SequenceNode& parent(const SequenceNode& node) noexcept {
    return Own(std::as_const(*this).parent(node));
  }

  enum class Side : uint8_t { kLeft, kRight };
  // The next leaf on this side; null at the end.
  template <Side kSide>
  const SequenceNode* BesideLeaf(const SequenceNode& leaf) const noexcept {
    const SequenceNode* node = &leaf;
    uint64_t beside = 0;
    while (beside == 0) {
      if (node->is_root()) return nullptr;
      const uint64_t before = BitsBefore(SlotOf(node->place));
      const uint64_t own = BitOf(SlotOf(node->place));
      node = &parent(*node);
      beside = node->live & (kSide == Side::kLeft ? before : ~(before | own));
    }
    uint32_t slot = kSide == Side::kLeft ? HighestBit(beside) : LowestBit(beside);
    while (true) {
      node = &child(*node, slot);
      if (node->level == 0) return node;
      slot = kSide == Side::kLeft ? HighestBit(node->live) : LowestBit(node->live);
    }
  }

  // Brings all of a child closer, for a search that would wait for one part after the other. The
  // few nodes of higher levels are close.
  void PrefetchChild(const SequenceNode& node, uint32_t slot) const noexcept {
    const uint32_t number = children(node).numbers[slot];
    if (node.level == 1) {
      PrefetchAll<offsetof(SequenceLeaf, numbers)>(leaf_slots_.hot(number));
      Prefetch(&leaf(number));
    } else if (node.level == 2) {
      PrefetchAll<sizeof(SequenceChildren)>(inner_slots_.hot(number));
      PrefetchAll<sizeof(Inner)>(&inners_[number]);
    }
  }

  // The slots of a leaf, and of an inner node.
  const SequenceLeaf& slots(const SequenceNode& leaf) const noexcept {
    PLEAT_DCHECK(leaf.level == 0);
    return *reinterpret_cast<const SequenceLeaf*>(leaf_slots_.hot(leaf.number));
  }
  SequenceLeaf& slots(const SequenceNode& leaf) noexcept {
    return const_cast<SequenceLeaf&>(std::as_const(*this).slots(leaf));
  }
  const SequenceChildren& children(const SequenceNode& node) const noexcept {
    PLEAT_DCHECK(node.level > 0);
    return *reinterpret_cast<const SequenceChildren*>(inner_slots_.hot(node.number));
  }
  SequenceChildren& children(const SequenceNode& node) noexcept {
    return const_cast<SequenceChildren&>(std::as_const(*this).children(node));
  }

  // The members of a leaf with the smallest and the largest key.
  uint32_t FirstOf(const SequenceNode& leaf) const noexcept {
    return slots(leaf).numbers[LowestBit(leaf.live)];
  }
  uint32_t LastOf(const SequenceNode& leaf) const noexcept {
    return slots(leaf).numbers[(leaf.end() - 1) % kSlots];  // as in SpanOf()
  }

  // A node without a live slot and without a parent.
  SequenceNode& Make(uint32_t level) {
    const uint32_t number = level == 0 ? leaf_slots_.Allocate() : inner_slots_.Allocate();
    PLEAT_CHECK(number < kNodesMax);
    SequenceNode& node = level == 0 ? leaves_.Add(number) : inners_.Add(number).node;
    node.live = 0;
    node.place = kNoPlace;
    node.number = number & (kNodesMax - 1);
    node.level = level & 63;
    if (level > 0) {
      std::ranges::fill(inners_[number].leaf_counts, uint8_t{0});
      std::ranges::fill(children(node).counts, 0);
      std::ranges::fill(children(node).times, kNever);
    }
    return node;
  }
  void Free(SequenceNode& node) noexcept {
    const uint32_t number = node.number;
    if (node.level == 0) {
      leaf_slots_.Free(number);
      leaves_.Remove(number);
    } else {
      inner_slots_.Free(number);
      inners_.Remove(number);
    }
  }

  // --- Counts of members, of an inner node's children.

  uint32_t CountAt(const SequenceNode& node, uint32_t slot) const noexcept {
    return node.level == 1 ? leaf_counts(node)[slot] : children(node).counts[slot];
  }
  void SetCount(const SequenceNode& node, uint32_t slot, uint32_t count) noexcept {
    if (node.level == 1) {
      inners_[node.number].leaf_counts[slot] = static_cast<uint8_t>(count);
    } else {
      children(node).counts[slot] = count;
    }
  }
  // Brings closer what LowerLeafCount() will change.
  void PrefetchCount(uint32_t place) const noexcept {
    if (place == kNoPlace) return;
    const Inner& parent = inners_[NodeOf(place)];
    Prefetch(&parent.node);
    Prefetch(&parent.leaf_counts[SlotOf(place)]);
  }
  // Those of the children before `slot`.
  uint32_t CountBefore(const SequenceNode& node, uint32_t slot) const noexcept {
    return node.level == 1 ? SumBefore(leaf_counts(node), slot)
                           : SumBefore(children(node).counts, slot);
  }
  // See SlotAt().
  uint32_t ChildAt(const SequenceNode& node, uint32_t& rank) const noexcept {
    return node.level == 1 ? SlotAt(leaf_counts(node), node.live, rank)
                           : SlotAt(children(node).counts, node.live, rank);
  }
  // Adds to the counts of the node that has this place and of all its ancestors.
  void AddCount(uint32_t place, uint32_t count) noexcept {
    if (place == kNoPlace) return;
    Inner& parent = inners_[NodeOf(place)];
    if (parent.node.level == 1) {
      uint8_t& leaf_count = parent.leaf_counts[SlotOf(place)];
      leaf_count = static_cast<uint8_t>(leaf_count + count);
      place = parent.node.place;
    }
    AddInnerCount(place, count);
  }
  // Takes one from the count of a leaf that has a parent, and from that of an inner node and of all its
  // ancestors. The first one returns what it leaves, and the place that the second one wants.
  struct Lowered {
    uint32_t count;
    uint32_t parent;
  };
  Lowered LowerLeafCount(uint32_t place) noexcept {
    Inner& parent = inners_[NodeOf(place)];
    return {--parent.leaf_counts[SlotOf(place)], parent.node.place};
  }
  void LowerCounts(uint32_t place) noexcept { AddInnerCount(place, UINT32_MAX); }

  // Ends the process unless the free lists account for every node. Returns how many there are.
  size_t CheckWhole() const { return leaf_slots_.CheckWhole() + inner_slots_.CheckWhole(); }

 private:
  struct alignas(64) Inner {
    uint8_t leaf_counts[kSlots];  // if the children are leaves; one cache line
    SequenceNode node;
  };

  SequenceChildren& children(uint32_t inner) noexcept {
    return *reinterpret_cast<SequenceChildren*>(inner_slots_.hot(inner));
  }
  const uint8_t (&leaf_counts(const SequenceNode& node) const noexcept)[kSlots] {
    return inners_[node.number].leaf_counts;
  }
  [[gnu::always_inline]] void AddInnerCount(uint32_t place, uint32_t count) noexcept {
    while (place != kNoPlace) {
      const uint32_t node = NodeOf(place);
      children(node).counts[SlotOf(place)] += count;
      place = inner(node).place;
    }
  }

  static constexpr uint32_t kNodesMax = 1U << 26;

  Slab<NoCold, 8> leaf_slots_;
  Slab<NoCold, 6> inner_slots_;
  SideArray<SequenceNode> leaves_;
  SideArray<Inner> inners_;
};

static_assert(sizeof(SequenceNode) == 16 && sizeof(SequenceChildren) == 1024);

}  // namespace pleat::inline v0_1
