// What must hold of a SequenceTree, for tests.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/live/sequence_node.h"
#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

// Goes through one tree, from front to back.
template <SequenceMembers Members>
class SequenceCheck {
 public:
  // `last`: the number of the tree's last leaf.
  SequenceCheck(const SequenceNodes& nodes, Members& members, uint32_t last)
      : nodes_(nodes), members_(members), last_(last) {}

  // Ends the process unless the tree is whole and has `size` members. O(size).
  void CheckTree(const SequenceNode& root, uint32_t size) {
    const SequenceNode& last = nodes_.leaf(last_);
    PLEAT_CHECK(CheckNode(root) + CountBits(last.live) == size);
    PLEAT_CHECK(seen_ == size);
  }

 private:
  // Returns how many members below the node an ancestor counts: those of the last leaf are not.
  uint32_t CheckNode(const SequenceNode& node) {
    PLEAT_CHECK(node.live != 0);
    if (node.level == 0) {
      for (uint64_t bits = node.live; bits != 0; bits &= bits - 1) {
        CheckMember(node, LowestBit(bits));
      }
      return node.number == last_ ? 0 : CountBits(node.live);
    }
    PLEAT_CHECK(std::ranges::is_sorted(nodes_.children(node).times));
    uint32_t counted = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      PLEAT_CHECK(node.Lives(slot) || nodes_.CountAt(node, slot) == 0);
      if (node.Lives(slot)) CheckChild(node, slot);
      counted += nodes_.CountAt(node, slot);
    }
    return counted;
  }

  void CheckMember(const SequenceNode& leaf, uint32_t slot) {
    const auto& slots = nodes_.slots(leaf);
    const uint32_t number = slots.numbers[slot];
    const SequenceKey key = members_.KeyOf(number);
    PLEAT_CHECK(slots.rough[slot] == (key.time - slots.origin).count() >> slots.shift);
    PLEAT_CHECK(members_.PlaceOf(number) == leaf.PlaceAt(slot));
    PLEAT_CHECK(seen_++ == 0 || last_key_ < key);
    last_key_ = key;
  }

  void CheckChild(const SequenceNode& node, uint32_t slot) {
    const SequenceChildren& children = nodes_.children(node);
    const SequenceNode& child = nodes_.child(node, slot);
    PLEAT_CHECK(child.place == node.PlaceAt(slot) && child.level + 1 == node.level);
    PLEAT_CHECK(child.number == children.numbers[slot]);
    if (slot != LowestBit(node.live)) {
      PLEAT_CHECK(last_key_.time <= children.times[slot]);
      PLEAT_CHECK(children.times[slot] <= FirstTime(child));
    }
    PLEAT_CHECK(nodes_.CountAt(node, slot) == CheckNode(child));
  }

  EngineTime FirstTime(const SequenceNode& node) const noexcept {
    const SequenceNode* leaf = &node;
    while (leaf->level > 0) leaf = &nodes_.child(*leaf, LowestBit(leaf->live));
    return members_.KeyOf(nodes_.slots(*leaf).numbers[LowestBit(leaf->live)]).time;
  }

  const SequenceNodes& nodes_;
  Members& members_;
  const uint32_t last_;
  uint32_t seen_ = 0;  // members
  SequenceKey last_key_;
};

}  // namespace pleat::inline v0_1
