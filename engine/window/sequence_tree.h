// A SequenceTree keeps the members of one large series in the order of their keys, and counts them.
// SequenceTrees has the nodes of all trees of a book.
//
// A tree is a B-tree whose nodes run sparse before anything moves (sequence_node.h has their
// layout). A member knows its leaf and slot, and a node its parent and slot there: its *place*.
//
// - To append a member is to write the next slot of the last leaf.
// - To erase one is to clear its bit, and to lower the counts of its ancestors: no search.
// - To insert one in the middle moves the entries up to the nearest dead slot. A full node splits.
// - When neighbours have become sparse, as many of them as fit become one. Only then do members get
//   new places for reasons that are not their own. A member that is refreshed at random moves so
//   less than once for each refresh.
//
// So erasing and appending n members again and again leaves some two slots for each of them.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/window/sequence_node.h"

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

// One tree: a value that its owner keeps and hands to SequenceTrees.
struct SequenceTree {
  uint32_t root;  // the number of a leaf, or kInner and the number of an inner node
  uint32_t last;  // the last leaf

  static constexpr uint32_t kInner = 1U << 31;
};

// No tree is ever empty: whoever erases the last member clears the tree instead.
template <SequenceMembers Members>
class SequenceTrees {
 public:
  using Node = SequenceNode;
  using Inner = SequenceInner;
  using Entry = SequenceEntry;

  SequenceTrees(PagePool& pool, Members& members) : nodes_(pool), members_(members) {}

  // A tree of these members, which are in order and at least one.
  SequenceTree Make(std::span<const uint32_t> numbers) {
    const uint32_t leaf = nodes_.Make(0).number;
    SequenceTree tree{leaf, leaf};
    for (const uint32_t number : numbers) Append(tree, number);
    return tree;
  }

  // Frees the nodes. O(nodes).
  void Clear(const SequenceTree& tree) noexcept { FreeAll(Root(tree)); }

  uint32_t Front(const SequenceTree& tree) const noexcept {
    const Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, LowestBit(node->live));
    return node->numbers[LowestBit(node->live)];
  }
  uint32_t Back(const SequenceTree& tree) const noexcept {
    const Node& leaf = nodes_.leaf(tree.last);
    return leaf.numbers[leaf.end() - 1];
  }

  // REQUIRES: the member's key is the largest.
  void Append(SequenceTree& tree, uint32_t number) {
    Node& leaf = nodes_.leaf(tree.last);
    Add(tree, leaf, leaf.end(), {members_.KeyOf(number).time, number});
  }

  void Insert(SequenceTree& tree, uint32_t number) {
    const SequenceKey key = members_.KeyOf(number);
    if (IsBehindAll(tree, key)) return Append(tree, number);
    const Spot spot = SpotFor(tree, key);
    Add(tree, *spot.node, spot.slot, {key.time, number});
  }

  // Takes out the member that has this place. Does not look at its key.
  void Erase(SequenceTree& tree, uint32_t place) {
    Node& leaf = nodes_.leaf(NodeOf(place));
    PLEAT_DCHECK(leaf.Lives(SlotOf(place)));
    leaf.live &= ~BitOf(SlotOf(place));
    nodes_.AddCount(leaf.place, UINT32_MAX);  // 1 less
    AfterLoss(tree, leaf);
    if (tree.last == kNoPlace) tree.last = LastLeaf(tree);
  }

  // REQUIRES: the member's key, which the caller has changed, is the largest now.
  void MoveToBack(SequenceTree& tree, uint32_t number) {
    const uint32_t place = members_.PlaceOf(number);
    Node& last = nodes_.leaf(tree.last);
    if (place == last.PlaceAt(last.end() - 1)) {
      return Put(last, SlotOf(place), {members_.KeyOf(number).time, number});
    }
    Erase(tree, place);
    Append(tree, number);
  }

  // How many members have a time before `time`.
  uint32_t Rank(const SequenceTree& tree, EngineTime time) const noexcept {
    uint32_t rank = 0;
    const Node* node = &Root(tree);
    while (node->level > 0) {
      const uint32_t slot = node->ChildFor(time);
      rank += nodes_.AsInner(*node).CountBefore(slot);
      node = &nodes_.child(*node, slot);
    }
    return rank + CountBits(node->live & BitsBefore(node->LowerBound(time)));
  }

  // How many members precede the one that has this place.
  uint32_t RankOf(uint32_t place) const noexcept {
    const Node* node = &nodes_.leaf(NodeOf(place));
    uint32_t rank = CountBits(node->live & BitsBefore(SlotOf(place)));
    for (; !node->is_root(); node = &nodes_.parent(*node)) {
      rank += nodes_.parent(*node).CountBefore(SlotOf(node->place));
    }
    return rank;
  }

  // The member that `rank` others precede.
  uint32_t At(const SequenceTree& tree, uint32_t rank) const noexcept {
    const Spot spot = SpotAt(tree, rank);
    return spot.node->numbers[spot.slot];
  }

  // Calls `visit(number)` from the member of this rank on, until it returns false.
  template <class Visit>
  void ForEachFrom(const SequenceTree& tree, uint32_t rank, const Visit& visit) const {
    const Spot spot = SpotAt(tree, rank);
    uint64_t bits = spot.node->live & ~BitsBefore(spot.slot);
    for (const Node* leaf = spot.node; leaf != nullptr;) {
      for (; bits != 0; bits &= bits - 1) {
        if (!visit(leaf->numbers[LowestBit(bits)])) return;
      }
      leaf = Beside<Side::kRight>(*leaf);
      if (leaf != nullptr) bits = leaf->live;
    }
  }

  // The same backward: first the member of this rank, then those before it.
  template <class Visit>
  void ForEachBackFrom(const SequenceTree& tree, uint32_t rank, const Visit& visit) const {
    const Spot spot = SpotAt(tree, rank);
    uint64_t bits = spot.node->live & (BitsBefore(spot.slot) | BitOf(spot.slot));
    for (const Node* leaf = spot.node; leaf != nullptr;) {
      for (; bits != 0; bits &= ~BitOf(HighestBit(bits))) {
        if (!visit(leaf->numbers[HighestBit(bits)])) return;
      }
      leaf = Beside<Side::kLeft>(*leaf);
      if (leaf != nullptr) bits = leaf->live;
    }
  }

  // Brings closer what Erase() and MoveToBack() of the member with this place will need. The place
  // may be an old one: whoever looks ahead may be overtaken.
  void PrefetchPlace(uint32_t place) const noexcept {
    if (nodes_.KnowsLeaf(NodeOf(place))) Prefetch(&nodes_.leaf(NodeOf(place)));
  }

  // Ends the process unless the tree is one of `size` members; for tests. O(size).
  void CheckWhole(const SequenceTree& tree, uint32_t size) const {
    const Node& root = Root(tree);
    PLEAT_CHECK(root.is_root() && (root.level == 0 || CountBits(root.live) > 1));
    PLEAT_CHECK(tree.last == LastLeaf(tree));
    Seen seen;
    PLEAT_CHECK(CheckNode(root, seen) == size);
  }
  // The same for the memory of all trees. Returns how many nodes there are.
  size_t CheckNodes() const { return nodes_.CheckWhole(); }

 private:
  // Neighbours that have no more live slots than this together become one node, and take in others
  // beside them as long as all fit. So a merged node and its neighbours lose at least 20 entries
  // before one is merged again. A higher limit: fewer dead slots, and members that move more often.
  static constexpr uint32_t kMergedMax = 44;
  // A node with no more live slots makes room at its end by moving its entries together; one with
  // more gets a sibling.
  static constexpr uint32_t kCompactMax = 32;

  enum class Side : uint8_t { kLeft, kRight };

  struct Spot {
    Node* node;
    uint32_t slot;
  };

  Node& Root(const SequenceTree& tree) const noexcept {
    return (tree.root & SequenceTree::kInner) == 0 ? nodes_.leaf(tree.root)
                                                   : nodes_.inner(tree.root - SequenceTree::kInner);
  }
  void SetRoot(SequenceTree& tree, Node& node) noexcept {
    node.place = kNoPlace;
    tree.root = node.level == 0 ? node.number : node.number | SequenceTree::kInner;
  }
  uint32_t LastLeaf(const SequenceTree& tree) const noexcept {
    const Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, HighestBit(node->live));
    return node->number;
  }

  // --- Search.

  bool IsBehindAll(const SequenceTree& tree, const SequenceKey& key) const noexcept {
    const Node& leaf = nodes_.leaf(tree.last);
    const uint32_t slot = leaf.end() - 1;
    if (leaf.times[slot] != key.time) return leaf.times[slot] < key.time;
    return members_.KeyOf(leaf.numbers[slot]) < key;
  }

  // The slot of the first live member that a key is before, or the one behind the last live member
  // that the key is behind.
  Spot SpotFor(const SequenceTree& tree, const SequenceKey& key) const noexcept {
    Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, node->ChildFor(key.time));
    const uint32_t bound = node->LowerBound(key.time);
    const uint64_t behind = node->live & ~BitsBefore(bound);
    const bool other_time = behind != 0 && node->times[LowestBit(behind)] != key.time;
    if (!other_time) {
      if (const Spot spot = SpotAmongEqualTimes(tree, key); spot.node != nullptr) return spot;
    }
    return {node, EndOf(node->live & BitsBefore(bound))};
  }

  // The same if members have the time of `key`, which their positions decide then; else a null node.
  // A binary search: O(log n) for each step.
  Spot SpotAmongEqualTimes(const SequenceTree& tree, const SequenceKey& key) const noexcept {
    const uint32_t begin = Rank(tree, key.time);
    uint32_t rank = begin;
    uint32_t end = Rank(tree, key.time + Duration{1});
    if (begin == end) return {nullptr, 0};
    while (rank < end) {
      const uint32_t middle = rank + (end - rank) / 2;
      members_.KeyOf(At(tree, middle)) < key ? rank = middle + 1 : end = middle;
    }
    if (rank == begin) return SpotAt(tree, rank);
    const Spot before = SpotAt(tree, rank - 1);
    return {before.node, before.slot + 1};
  }

  Spot SpotAt(const SequenceTree& tree, uint32_t rank) const noexcept {
    Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, nodes_.AsInner(*node).ChildAt(rank));
    return {node, BitAt(node->live, rank)};
  }

  // The next leaf on this side; null at the end.
  template <Side kSide>
  const Node* Beside(const Node& leaf) const noexcept {
    const Node* node = &leaf;
    uint64_t beside = 0;
    while (beside == 0) {
      if (node->is_root()) return nullptr;
      const uint64_t before = BitsBefore(SlotOf(node->place));
      const uint64_t own = BitOf(SlotOf(node->place));
      node = &nodes_.parent(*node);
      beside = node->live & (kSide == Side::kLeft ? before : ~(before | own));
    }
    uint32_t slot = kSide == Side::kLeft ? HighestBit(beside) : LowestBit(beside);
    while (true) {
      node = &nodes_.child(*node, slot);
      if (node->level == 0) return node;
      slot = kSide == Side::kLeft ? HighestBit(node->live) : LowestBit(node->live);
    }
  }

  // --- Entries.

  // Tells the entry in this slot where it lies.
  void TellPlace(Node& node, uint32_t slot) noexcept {
    uint32_t& place =
        node.level == 0 ? members_.PlaceOf(node.numbers[slot]) : nodes_.child(node, slot).place;
    place = node.PlaceAt(slot);
  }

  void Set(Node& node, uint32_t slot, const Entry& entry) noexcept {
    node.live |= BitOf(slot);
    node.times[slot] = entry.time;
    node.numbers[slot] = entry.number;
    if (node.level > 0) nodes_.AsInner(node).counts[slot] = entry.count;
    TellPlace(node, slot);
  }

  // The same, and keeps the times in order: of dead slots and of a first child they may be changed.
  void Put(Node& node, uint32_t slot, const Entry& entry) noexcept {
    Set(node, slot, entry);
    for (uint32_t i = slot; i > 0 && node.times[i - 1] > entry.time; --i) {
      node.times[i - 1] = entry.time;
    }
    for (uint32_t i = slot + 1; i < kSlots && node.times[i] < entry.time; ++i) {
      node.times[i] = entry.time;
    }
  }

  Entry Take(Node& node, uint32_t slot) noexcept {
    node.live &= ~BitOf(slot);
    Entry entry{node.times[slot], node.numbers[slot]};
    if (node.level > 0) entry.count = std::exchange(nodes_.AsInner(node).counts[slot], 0);
    return entry;
  }

  // For those whose places are about to change.
  void PrefetchEntries(const Node& node, uint64_t slots) const noexcept {
    for (uint64_t bits = node.live & slots; bits != 0; bits &= bits - 1) {
      const uint32_t slot = LowestBit(bits);
      node.level == 0 ? members_.Prefetch(node.numbers[slot]) : Prefetch(&nodes_.child(node, slot));
    }
  }

  // --- Growth.

  // Puts `entry` between the live slots before `slot` and those from `slot` on.
  void Add(SequenceTree& tree, Node& node, uint32_t slot, const Entry& entry) {
    if (slot < kSlots && !node.Lives(slot)) {
      Put(node, slot, entry);
      nodes_.AddCount(node.place, entry.count);
    } else if (~node.live == 0) {
      Split(tree, node, slot, entry);
    } else if (slot < kSlots) {
      Add(tree, node, MakeRoom(node, slot), entry);
    } else if (CountBits(node.live) > kCompactMax) {
      Add(tree, AddSibling(tree, node, entry.time), 0, entry);
    } else {
      Compact(node);
      Add(tree, node, node.end(), entry);
    }
  }

  // Moves the entries between `slot` and the nearest dead slot by one. Returns the slot that is
  // free then: `slot`, or the one before it.
  uint32_t MakeRoom(Node& node, uint32_t slot) noexcept {
    const uint64_t left = ~node.live & BitsBefore(slot);
    const uint64_t right = ~node.live & ~BitsBefore(slot);
    if (right == 0 || (left != 0 && slot - HighestBit(left) <= LowestBit(right) - slot)) {
      const uint32_t dead = HighestBit(left);
      PrefetchEntries(node, BitsBefore(slot) & ~BitsBefore(dead));
      for (uint32_t i = dead + 1; i < slot; ++i) Set(node, i - 1, Take(node, i));
      return slot - 1;
    }
    const uint32_t dead = LowestBit(right);
    PrefetchEntries(node, BitsBefore(dead) & ~BitsBefore(slot));
    for (uint32_t i = dead; i > slot; --i) Set(node, i, Take(node, i - 1));
    return slot;
  }

  // Makes two nodes of a full one. Who adds behind all others, or often near the end, fills nodes
  // well: it is the older of the two that keeps the entries.
  void Split(SequenceTree& tree, Node& node, uint32_t slot, const Entry& entry) {
    const bool last = node.level == 0 && node.number == tree.last;
    const uint32_t begin = last || slot == kSlots ? std::max(slot, kSlots / 2) : kSlots / 2;
    Node& right = AddSibling(tree, node, begin < kSlots ? node.times[begin] : entry.time);
    PrefetchEntries(node, ~BitsBefore(begin));
    uint32_t moved = 0;
    for (uint32_t i = begin; i < kSlots; ++i) {
      const Entry old = Take(node, i);
      Set(right, i - begin, old);
      moved += old.count;
    }
    nodes_.AddCount(node.place, 0 - moved);
    nodes_.AddCount(right.place, moved);
    const bool goes_left = slot <= begin && begin < kSlots;
    goes_left ? Add(tree, node, slot, entry) : Add(tree, right, slot - begin, entry);
  }

  // A node without entries, directly behind `node`, for members from `time` on.
  Node& AddSibling(SequenceTree& tree, Node& node, EngineTime time) {
    if (node.is_root()) AddRoot(tree, node);
    Node& sibling = nodes_.Make(node.level);
    Add(tree, nodes_.parent(node), SlotOf(node.place) + 1, {time, sibling.number, 0});
    if (node.level == 0 && node.number == tree.last) tree.last = sibling.number;
    return sibling;
  }

  void AddRoot(SequenceTree& tree, Node& old) {
    Node& root = nodes_.Make(old.level + 1);
    Put(root, 0, {old.times[0], old.number, MembersOf(old)});
    SetRoot(tree, root);
  }
  uint32_t MembersOf(const Node& node) const noexcept {
    return node.level == 0 ? CountBits(node.live) : nodes_.AsInner(node).CountBefore(kSlots);
  }

  // --- Loss.

  // Entries of the node have gone. Leaves kNoPlace in `tree.last` if that leaf has gone.
  void AfterLoss(SequenceTree& tree, Node& node) {
    if (node.is_root()) {
      PLEAT_DCHECK(node.live != 0);
      if (node.level > 0 && CountBits(node.live) == 1) DropRoot(tree, node);
      return;
    }
    Inner& parent = nodes_.parent(node);
    const uint32_t slot = SlotOf(node.place);
    // A leaf loses its members one by one: every eighth time is soon enough to look beside it.
    if (node.level == 0 && parent.counts[slot] % 8 != 0) return;
    if (node.live == 0) {
      Drop(tree, parent, slot);
      AfterLoss(tree, parent);
    } else if (MergeAround(tree, parent, slot)) {
      AfterLoss(tree, parent);
    }
  }

  void Drop(SequenceTree& tree, Inner& parent, uint32_t slot) noexcept {
    Node& child = nodes_.child(parent, slot);
    if (child.level == 0 && child.number == tree.last) tree.last = kNoPlace;
    Take(parent, slot);
    nodes_.Free(child);
  }

  void DropRoot(SequenceTree& tree, Node& root) {
    Node& child = nodes_.child(root, LowestBit(root.live));
    nodes_.Free(root);
    SetRoot(tree, child);
    AfterLoss(tree, child);
  }

  // How many slots of a child are live.
  uint32_t UsedOf(const Inner& parent, uint32_t slot) const noexcept {
    return parent.level == 1 ? parent.counts[slot] : CountBits(nodes_.child(parent, slot).live);
  }

  // Children beside each other that will be one.
  struct Run {
    uint32_t first;  // slots of the parent
    uint32_t last;
    uint32_t used;
  };

  // Takes the less full one of the run's two neighbours into the run, if all is at most `limit`.
  bool Extend(const Inner& parent, Run& run, uint32_t limit) const noexcept {
    const uint64_t before = parent.live & BitsBefore(run.first);
    const uint64_t behind = parent.live & ~BitsBefore(run.last) & ~BitOf(run.last);
    const uint32_t left = before == 0 ? kSlots : UsedOf(parent, HighestBit(before));
    const uint32_t right = behind == 0 ? kSlots : UsedOf(parent, LowestBit(behind));
    if (run.used + std::min(left, right) > limit) return false;
    left < right ? run.first = HighestBit(before) : run.last = LowestBit(behind);
    run.used += std::min(left, right);
    return true;
  }

  // Makes one node of a sparse child and its neighbours, if they are sparse, too.
  bool MergeAround(SequenceTree& tree, Inner& parent, uint32_t slot) {
    Run run{slot, slot, UsedOf(parent, slot)};
    if (!Extend(parent, run, kMergedMax)) return false;
    while (Extend(parent, run, kSlots)) continue;
    Merge(tree, parent, run);
    return true;
  }

  // Into a new node, because that lies in the lowest page with room. So after a spike the other
  // pages run empty.
  void Merge(SequenceTree& tree, Inner& parent, const Run& run) {
    const uint64_t slots = parent.live & BitsBefore(run.last + 1) & ~BitsBefore(run.first);
    for (uint64_t bits = slots; bits != 0; bits &= bits - 1) {
      PrefetchEntries(nodes_.child(parent, LowestBit(bits)), ~uint64_t{0});
    }
    Node& into = nodes_.Make(parent.level - 1);
    for (uint64_t bits = slots; bits != 0; bits &= bits - 1) {
      MoveAll(parent, LowestBit(bits), into);
      Drop(tree, parent, LowestBit(bits));
    }
    Set(parent, run.first, {parent.times[run.first], into.number, MembersOf(into)});
  }

  // Moves the entries of the child in this slot to the end of `into`.
  void MoveAll(Inner& parent, uint32_t slot, Node& into) noexcept {
    Node& from = nodes_.child(parent, slot);
    // The time of a node's first child means nothing, but now that child is first no more.
    EngineTime& first = from.times[LowestBit(from.live)];
    if (from.level > 0) first = std::min(first, parent.times[slot]);
    for (uint32_t end = into.end(); from.live != 0; ++end) {
      Set(into, end, Take(from, LowestBit(from.live)));
    }
  }

  // Moves the entries to the first slots.
  void Compact(Node& node) noexcept {
    PrefetchEntries(node, ~uint64_t{0});
    uint32_t end = 0;
    for (uint64_t bits = node.live; bits != 0; bits &= bits - 1, ++end) {
      if (LowestBit(bits) != end) Set(node, end, Take(node, LowestBit(bits)));
    }
    std::fill(node.times + end, node.times + kSlots, kNever);
  }

  void FreeAll(Node& node) noexcept {
    for (uint64_t bits = node.level == 0 ? 0 : node.live; bits != 0; bits &= bits - 1) {
      FreeAll(nodes_.child(node, LowestBit(bits)));
    }
    nodes_.Free(node);
  }

  // --- For tests.

  // What was seen so far of a tree that is checked from front to back.
  struct Seen {
    uint32_t members = 0;
    SequenceKey last;
  };

  // Returns how many members are below the node.
  uint32_t CheckNode(const Node& node, Seen& seen) const {
    PLEAT_CHECK(node.live != 0);
    PLEAT_CHECK(std::ranges::is_sorted(node.times));
    const uint32_t before = seen.members;
    for (uint64_t bits = node.live; bits != 0; bits &= bits - 1) {
      const uint32_t slot = LowestBit(bits);
      node.level == 0 ? CheckMember(node, slot, seen) : CheckChild(node, slot, seen);
    }
    for (uint32_t slot = 0; node.level > 0 && slot < kSlots; ++slot) {
      PLEAT_CHECK(node.Lives(slot) || nodes_.AsInner(node).counts[slot] == 0);
    }
    return seen.members - before;
  }

  void CheckMember(const Node& leaf, uint32_t slot, Seen& seen) const {
    const uint32_t number = leaf.numbers[slot];
    const SequenceKey key = members_.KeyOf(number);
    PLEAT_CHECK(members_.PlaceOf(number) == leaf.PlaceAt(slot));
    PLEAT_CHECK(leaf.times[slot] == key.time);
    PLEAT_CHECK(seen.members++ == 0 || seen.last < key);
    seen.last = key;
  }

  void CheckChild(const Node& node, uint32_t slot, Seen& seen) const {
    const Node& child = nodes_.child(node, slot);
    PLEAT_CHECK(child.place == node.PlaceAt(slot) && child.level + 1 == node.level);
    PLEAT_CHECK(child.number == node.numbers[slot]);
    if (slot != LowestBit(node.live)) {
      const Node* first = &child;
      while (first->level > 0) first = &nodes_.child(*first, LowestBit(first->live));
      PLEAT_CHECK(seen.last.time <= node.times[slot]);
      PLEAT_CHECK(node.times[slot] <= first->times[LowestBit(first->live)]);
    }
    PLEAT_CHECK(nodes_.AsInner(node).counts[slot] == CheckNode(child, seen));
  }

  SequenceNodes nodes_;
  Members& members_;
};

}  // namespace pleat::inline v0_1
