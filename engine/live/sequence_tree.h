// A SequenceTree keeps the members of one large series in the order of their keys, and counts them.
// SequenceTrees has the nodes of all trees of a book.
//
// A tree is a B-tree whose nodes run sparse before anything moves (sequence_node.h has their
// layout). A member knows its leaf and slot, and a node its parent and slot there: its *place*.
//
// - To append a member is to write the next slot of the last leaf. The members there are counted
//   in no ancestor, until another leaf becomes the last one: no search looks at these counts.
// - To erase one is to clear its bit, and to lower the counts of its ancestors: no search.
// - To insert one in the middle moves the entries up to the nearest dead slot. A full node splits.
// - When neighbours have become sparse, as many of them as fit become one. Only then do members get
//   new places for reasons that are not their own: with random refreshes, one for every five. A
//   member takes two slots then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/live/sequence_check.h"
#include "engine/live/sequence_node.h"
#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

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
  using Children = SequenceChildren;
  using Entry = SequenceEntry;
  using Side = SequenceNodes::Side;

  SequenceTrees(Pages& pool, Members& members) : nodes_(pool), members_(members) {}

  // A tree of these members, which are in order and at least one.
  SequenceTree Make(std::span<const uint32_t> numbers) {
    Node& leaf = nodes_.Make(0);
    Begin(leaf, numbers.front(), numbers.back());
    SequenceTree tree{leaf.number, leaf.number};
    for (const uint32_t number : numbers) Append(tree, number, members_.PlaceOf(number));
    return tree;
  }

  // Frees the nodes. O(nodes).
  void Clear(const SequenceTree& tree) noexcept { FreeAll(nodes_.Own(Root(tree))); }

  uint32_t Front(const SequenceTree& tree) const noexcept {
    const Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, LowestBit(node->live));
    return nodes_.FirstOf(*node);
  }
  uint32_t Back(const SequenceTree& tree) const noexcept {
    return nodes_.LastOf(nodes_.leaf(tree.last));
  }

  // REQUIRES: the member's key is the largest. `place` is its own.
  void Append(SequenceTree& tree, uint32_t number, uint32_t& place) {
    Node& leaf = nodes_.leaf(tree.last);
    const uint32_t slot = leaf.end();
    if (slot < kSlots) [[likely]]
      return SetMember(leaf, slot, number, place);
    Add(tree, leaf, slot, {.number = number, .time = TimeOf(number)});
  }

  void Insert(SequenceTree& tree, uint32_t number) {
    const SequenceKey key = members_.KeyOf(number);
    if (members_.KeyOf(Back(tree)) < key) return Append(tree, number, members_.PlaceOf(number));
    const Spot spot = SpotFor(tree, key);
    Add(tree, nodes_.Own(*spot.node), spot.slot, {.number = number, .time = key.time});
  }

  // Takes out the member that has this place. Does not look at its key.
  void Erase(SequenceTree& tree, uint32_t place) {
    PLEAT_DCHECK(settled());
    Node& leaf = nodes_.leaf(NodeOf(place));
    PLEAT_DCHECK(leaf.Lives(SlotOf(place)));
    leaf.live &= ~BitOf(SlotOf(place));
    if (leaf.number == tree.last) {
      if (leaf.live == 0) DropLast(tree, leaf);
    } else {
      const auto [left, parent] = nodes_.LowerLeafCount(leaf.place);
      nodes_.LowerCounts(parent);
      if (IsWorthALook(left)) [[unlikely]]
        AfterLoss(tree, leaf);
    }
  }

  // Moves a member to the end; the caller has changed its key. Its old slot stays live until Settle(),
  // which comes before anything else but more of these: it clears many slots at once, in rounds, so
  // that the cache misses of a round overlap. REQUIRES: as Append().
  void MoveToBackUnsettled(SequenceTree& tree, uint32_t number, uint32_t& place) {
    if (NodeOf(place) == tree.last) {
      nodes_.leaf(tree.last).live &= ~BitOf(SlotOf(place));
    } else {
      Prefetch(&nodes_.leaf(NodeOf(place)));
      left_[left_count_++] = {&tree, place};
      if (left_count_ == left_.size()) Settle();
    }
    Append(tree, number, place);
  }
  void Settle() {
    if (left_count_ == 0) return;
    if (left_count_ == 1) {
      left_count_ = 0;
      return Erase(*left_[0].tree, left_[0].place);
    }
    std::array<uint32_t, kLeftMax> parents;  // the places of the leaves' parents
    for (uint32_t i = 0; i < left_count_; ++i) PrefetchParent(left_[i].place);
    for (uint32_t i = 0; i < left_count_; ++i) parents[i] = ClearSlot(left_[i]);
    for (uint32_t i = 0; i < left_count_; ++i) nodes_.LowerCounts(parents[i]);
    left_count_ = 0;
    while (sparse_count_ > 0) {
      const Sparse sparse = sparse_[--sparse_count_];
      if (sparse.leaf != kNoPlace) AfterLoss(*sparse.tree, nodes_.leaf(sparse.leaf));
    }
  }
  bool settled() const noexcept { return left_count_ == 0; }
  // How many members have a time before `time`.
  uint32_t Rank(const SequenceTree& tree, EngineTime time) const noexcept {
    uint32_t rank = 0;
    const Node* node = &Root(tree);
    while (node->level > 0) {
      const uint32_t slot = nodes_.children(*node).ChildFor(node->live, time);
      nodes_.PrefetchChild(*node, slot);
      rank += nodes_.CountBefore(*node, slot);
      node = &nodes_.child(*node, slot);
    }
    return rank + CountBefore(*node, {time, 0});
  }

  // How many members precede the one that has this place.
  uint32_t RankOf(uint32_t place) const noexcept {
    const Node* node = &nodes_.leaf(NodeOf(place));
    uint32_t rank = CountBits(node->live & BitsBefore(SlotOf(place)));
    for (; !node->is_root(); node = &nodes_.parent(*node)) {
      rank += nodes_.CountBefore(nodes_.parent(*node), SlotOf(node->place));
    }
    return rank;
  }

  // The member that `rank` others precede.
  uint32_t At(const SequenceTree& tree, uint32_t rank) const noexcept {
    const Spot spot = SpotAt(tree, rank);
    return nodes_.slots(*spot.node).numbers[spot.slot];
  }

  // Calls `visit(number)` from the member of this rank on, until it returns false.
  template <class Visit>
  void ForEachFrom(const SequenceTree& tree, uint32_t rank, const Visit& visit) const {
    const Spot spot = SpotAt(tree, rank);
    uint64_t bits = spot.node->live & ~BitsBefore(spot.slot);
    for (const Node* leaf = spot.node; leaf != nullptr;) {
      for (; bits != 0; bits &= bits - 1) {
        if (!visit(nodes_.slots(*leaf).numbers[LowestBit(bits)])) return;
      }
      leaf = nodes_.BesideLeaf<Side::kRight>(*leaf);
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
        if (!visit(nodes_.slots(*leaf).numbers[HighestBit(bits)])) return;
      }
      leaf = nodes_.BesideLeaf<Side::kLeft>(*leaf);
      if (leaf != nullptr) bits = leaf->live;
    }
  }

  // Ends the process unless the tree is one of `size` members; for tests. O(size).
  void CheckWhole(const SequenceTree& tree, uint32_t size) const {
    const Node& root = Root(tree);
    PLEAT_CHECK(root.is_root() && (root.level == 0 || CountBits(root.live) > 1));
    PLEAT_CHECK(tree.last == LastLeaf(tree));
    SequenceCheck<Members>(nodes_, members_, tree.last).CheckTree(root, size);
  }
  size_t CheckNodes() const { return nodes_.CheckWhole(); }  // of all trees; returns how many

 private:
  // Neighbours that have no more live slots than this together become one node, and take in others
  // beside them as long as all fit. So a merged node and its neighbours lose at least 48 entries
  // before one is merged again. A higher limit: fewer dead slots, and members that move more often.
  static constexpr uint32_t kMergedMax = 16;
  // A node with no more live slots makes room at its end by moving its entries together; one with
  // more gets a sibling.
  static constexpr uint32_t kCompactMax = 32;

  // Slots that members have left, and leaves that may be worth merging once these slots are cleared.
  static constexpr uint32_t kLeftMax = 32;
  struct Left {
    SequenceTree* tree;
    uint32_t place;
  };
  struct Sparse {
    SequenceTree* tree;
    uint32_t leaf;  // or kNoPlace: it has gone
  };
  void PrefetchParent(uint32_t place) const noexcept {
    nodes_.PrefetchCount(nodes_.leaf(NodeOf(place)).place);
  }

  struct Spot {
    const Node* node;
    uint32_t slot;
  };

  const Node& Root(const SequenceTree& tree) const noexcept {
    const bool leaf = (tree.root & SequenceTree::kInner) == 0;
    return leaf ? nodes_.leaf(tree.root) : nodes_.inner(tree.root - SequenceTree::kInner);
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

  // How many members of a leaf are before `key`.
  uint32_t CountBefore(const Node& leaf, const SequenceKey& key) const noexcept {
    const auto& slots = nodes_.slots(leaf);
    const auto [before, same] = slots.Compare(leaf.live, key.time);
    if (same == 0 || (slots.shift == 0 && key.position == 0)) return CountBits(before);
    std::array<uint32_t, kSlots> numbers;
    uint32_t count = 0;
    for (uint64_t bits = same; bits != 0; bits &= bits - 1) {
      numbers[count++] = slots.numbers[LowestBit(bits)];
    }
    return CountBits(before) + search_.CountBefore({numbers.data(), count}, key);
  }

  // The slot of the first live member that a key is before, or the one behind the last live member
  // that the key is behind.
  Spot SpotFor(const SequenceTree& tree, const SequenceKey& key) const noexcept {
    const Node* node = &Root(tree);
    while (node->level > 0) {
      node = &nodes_.child(*node, nodes_.children(*node).ChildFor(node->live, key.time));
    }
    const uint32_t before = CountBefore(*node, key);
    if (before < CountBits(node->live)) return {node, BitAt(node->live, before)};
    // The leaves behind this one may have members of the same time.
    if (const Spot spot = SpotAmongEqualTimes(tree, key); spot.node != nullptr) return spot;
    return {node, node->end()};
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
    const Node* node = &Root(tree);
    while (node->level > 0) node = &nodes_.child(*node, nodes_.ChildAt(*node, rank));
    return {node, BitAt(node->live, rank)};
  }

  // --- Entries.

  void SetMember(Node& leaf, uint32_t slot, uint32_t number, uint32_t& place) noexcept {
    auto& slots = nodes_.slots(leaf);
    slots.SetRough(slot, TimeOf(number), leaf.live);
    slots.numbers[slot] = number;
    leaf.live |= BitOf(slot);
    place = leaf.PlaceAt(slot);
  }

  void Set(Node& node, uint32_t slot, const Entry& entry) noexcept {
    if (node.level == 0) {
      return SetMember(node, slot, entry.number, members_.PlaceOf(entry.number));
    }
    node.live |= BitOf(slot);
    Children& children = nodes_.children(node);
    children.times[slot] = entry.time;
    children.numbers[slot] = entry.number;
    nodes_.SetCount(node, slot, entry.count);
    nodes_.child(node, slot).place = node.PlaceAt(slot);
  }

  // The same, and keeps the times in order: of dead slots and of a first child they may be changed.
  void Put(Node& node, uint32_t slot, const Entry& entry) noexcept {
    Set(node, slot, entry);
    if (node.level == 0) return;
    EngineTime* const times = nodes_.children(node).times;
    for (uint32_t i = slot; i > 0 && times[i - 1] > entry.time; --i) times[i - 1] = entry.time;
    for (uint32_t i = slot + 1; i < kSlots && times[i] < entry.time; ++i) times[i] = entry.time;
  }

  Entry Take(Node& node, uint32_t slot) noexcept {
    node.live &= ~BitOf(slot);
    if (node.level == 0) return {.number = nodes_.slots(node).numbers[slot]};
    const Children& children = nodes_.children(node);
    const Entry entry{.number = children.numbers[slot],
                      .count = nodes_.CountAt(node, slot),
                      .time = children.times[slot]};
    nodes_.SetCount(node, slot, 0);
    return entry;
  }

  // Counts what has come into the node. In the ancestors: not what is in the last leaf.
  void AddCount(const SequenceTree& tree, const Node& node, uint32_t count) noexcept {
    if (node.level > 0 || node.number != tree.last) nodes_.AddCount(node.place, count);
  }

  // For those whose places are about to change.
  void PrefetchEntries(const Node& node, uint64_t slots) const noexcept {
    for (uint64_t bits = node.live & slots; bits != 0; bits &= bits - 1) {
      const uint32_t slot = LowestBit(bits);
      node.level == 0 ? members_.Prefetch(nodes_.slots(node).numbers[slot])
                      : Prefetch(&nodes_.child(node, slot));
    }
  }

  // --- Growth.

  // Puts `entry` between the live slots before `slot` and those from `slot` on.
  void Add(SequenceTree& tree, Node& node, uint32_t slot, const Entry& entry) {
    if (slot < kSlots && !node.Lives(slot)) {
      Put(node, slot, entry);
      AddCount(tree, node, entry.count);
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
  // well: it is the older of the two that keeps the entries. Who adds in the middle finds a dead slot
  // beside each member.
  void Split(SequenceTree& tree, Node& node, uint32_t slot, const Entry& entry) {
    const bool last = node.level == 0 && node.number == tree.last;
    const uint32_t begin = last || slot == kSlots ? std::max(slot, kSlots / 2) : kSlots / 2;
    Node& right = AddSibling(tree, node, begin < kSlots ? TimeAt(node, begin) : entry.time);
    const uint32_t step = node.level == 0 && !last && begin == kSlots / 2 ? 2 : 1;
    PrefetchEntries(node, step == 1 ? ~BitsBefore(begin) : ~uint64_t{0});
    uint32_t moved = 0;
    for (uint32_t i = begin; i < kSlots; ++i) {
      const Entry old = Take(node, i);
      Set(right, (i - begin) * step, old);
      moved += old.count;
    }
    for (uint32_t i = begin - 1; step > 1 && i > 0; --i) Set(node, i * step, Take(node, i));
    AddCount(tree, node, 0 - moved);
    AddCount(tree, right, moved);
    const bool goes_left = slot <= begin && begin < kSlots;
    goes_left ? Add(tree, node, std::min(slot * step, kSlots - 1), entry)
              : Add(tree, right, (slot - begin) * step, entry);
  }

  // A node without entries, directly behind `node`, for members from `time` on.
  Node& AddSibling(SequenceTree& tree, Node& node, EngineTime time) {
    if (node.is_root()) AddRoot(tree, node);
    Node& sibling = nodes_.Make(node.level);
    if (node.level == 0) nodes_.slots(sibling).Begin(time, nodes_.slots(node).SpanOf(node.live));
    Add(tree, nodes_.parent(node), SlotOf(node.place) + 1,
        {.number = sibling.number, .count = 0, .time = time});
    if (node.level == 0 && node.number == tree.last) {
      tree.last = sibling.number;
      AddCount(tree, node, CountBits(node.live));
    }
    return sibling;
  }

  void AddRoot(SequenceTree& tree, Node& old) {
    Node& root = nodes_.Make(old.level + 1);
    Put(root, 0,
        {.number = old.number,
         .count = CountOf(tree, old),
         .time = TimeAt(old, LowestBit(old.live))});
    SetRoot(tree, root);
  }
  // What an ancestor counts there.
  uint32_t CountOf(const SequenceTree& tree, const Node& node) const noexcept {
    if (node.level > 0) return nodes_.CountBefore(node, kSlots);
    return node.number == tree.last ? 0 : CountBits(node.live);
  }
  EngineTime TimeAt(const Node& node, uint32_t slot) const noexcept {
    if (node.level > 0) return nodes_.children(node).times[slot];
    return TimeOf(nodes_.slots(node).numbers[slot]);
  }
  // Members between these two will come into a leaf that has none.
  void Begin(const Node& leaf, uint32_t first, uint32_t last) noexcept {
    nodes_.slots(leaf).Begin(TimeOf(first), (TimeOf(last) - TimeOf(first)).count());
  }
  EngineTime TimeOf(uint32_t member) const noexcept { return members_.KeyOf(member).time; }

  // --- Loss.

  // Members go one by one: every fourth time is soon enough to look beside a sparse leaf.
  static bool IsWorthALook(uint32_t count) noexcept { return count < kMergedMax && count % 4 == 0; }
  uint32_t ClearSlot(const Left& left) noexcept {  // returns the place of the parent
    Node& leaf = nodes_.leaf(NodeOf(left.place));
    PLEAT_DCHECK(leaf.Lives(SlotOf(left.place)));
    leaf.live &= ~BitOf(SlotOf(left.place));
    const auto [count, parent] = nodes_.LowerLeafCount(leaf.place);
    if (IsWorthALook(count)) [[unlikely]]
      sparse_[sparse_count_++] = {left.tree, leaf.number};
    return parent;
  }

  // The last leaf has run empty: the one before it is the last one then.
  void DropLast(SequenceTree& tree, Node& leaf) {
    AfterLoss(tree, leaf);
    tree.last = LastLeaf(tree);
    const Node& last = nodes_.leaf(tree.last);
    nodes_.AddCount(last.place, 0 - CountBits(last.live));
  }

  // Entries of the node have gone.
  void AfterLoss(SequenceTree& tree, Node& node) {
    if (node.is_root()) {
      PLEAT_DCHECK(node.live != 0);
      if (node.level > 0 && CountBits(node.live) == 1) DropRoot(tree, node);
      return;
    }
    Node& parent = nodes_.parent(node);
    const uint32_t slot = SlotOf(node.place);
    if (node.live == 0) {
      Drop(parent, slot);
      AfterLoss(tree, parent);
    } else if (MergeAround(tree, parent, slot)) {
      AfterLoss(tree, parent);
    }
  }

  void Drop(Node& parent, uint32_t slot) noexcept {
    Node& child = nodes_.child(parent, slot);
    for (uint32_t i = 0; i < sparse_count_; ++i) {
      if (child.level == 0 && sparse_[i].leaf == child.number) sparse_[i].leaf = kNoPlace;
    }
    Take(parent, slot);
    nodes_.Free(child);
  }

  void DropRoot(SequenceTree& tree, Node& root) {
    Node& child = nodes_.child(root, LowestBit(root.live));
    nodes_.Free(root);
    SetRoot(tree, child);
    AfterLoss(tree, child);
  }

  // How many slots of a child are live. The last leaf counts as full: it is left alone.
  uint32_t UsedOf(const SequenceTree& tree, const Node& parent, uint32_t slot) const noexcept {
    if (parent.level > 1) return CountBits(nodes_.child(parent, slot).live);
    const bool last = nodes_.leaf(tree.last).place == parent.PlaceAt(slot);
    return last ? kSlots : nodes_.CountAt(parent, slot);
  }

  // Children beside each other that will be one.
  struct Run {
    uint32_t first;  // slots of the parent
    uint32_t last;
    uint32_t used;
  };

  // Takes the less full one of the run's two neighbours into the run, if all is at most `limit`.
  bool Extend(const SequenceTree& tree, const Node& parent, Run& run,
              uint32_t limit) const noexcept {
    const uint64_t before = parent.live & BitsBefore(run.first);
    const uint64_t behind = parent.live & ~BitsBefore(run.last) & ~BitOf(run.last);
    const uint32_t left = before == 0 ? kSlots : UsedOf(tree, parent, HighestBit(before));
    const uint32_t right = behind == 0 ? kSlots : UsedOf(tree, parent, LowestBit(behind));
    if (run.used + std::min(left, right) > limit) return false;
    left < right ? run.first = HighestBit(before) : run.last = LowestBit(behind);
    run.used += std::min(left, right);
    return true;
  }

  // Makes one node of a sparse child and its neighbours, if they are sparse, too.
  bool MergeAround(const SequenceTree& tree, Node& parent, uint32_t slot) {
    Run run{slot, slot, UsedOf(tree, parent, slot)};
    if (!Extend(tree, parent, run, kMergedMax)) return false;
    while (Extend(tree, parent, run, kSlots)) continue;
    Merge(tree, parent, run);
    return true;
  }

  // Into a new node, because that lies in the lowest page with room. So after a spike the other
  // pages run empty.
  void Merge(const SequenceTree& tree, Node& parent, const Run& run) {
    const uint64_t slots = parent.live & BitsBefore(run.last + 1) & ~BitsBefore(run.first);
    for (uint64_t bits = slots; bits != 0; bits &= bits - 1) {
      PrefetchEntries(nodes_.child(parent, LowestBit(bits)), ~uint64_t{0});
    }
    Node& into = nodes_.Make(parent.level - 1);
    if (into.level == 0) {
      Begin(into, nodes_.FirstOf(nodes_.child(parent, run.first)),
            nodes_.LastOf(nodes_.child(parent, run.last)));
    }
    for (uint64_t bits = slots; bits != 0; bits &= bits - 1) {
      MoveAll(parent, LowestBit(bits), into);
      Drop(parent, LowestBit(bits));
    }
    Set(parent, run.first,
        {.number = into.number,
         .count = CountOf(tree, into),
         .time = nodes_.children(parent).times[run.first]});
  }

  // Moves the entries of the child in this slot to the end of `into`.
  void MoveAll(const Node& parent, uint32_t slot, Node& into) noexcept {
    Node& from = nodes_.child(parent, slot);
    if (from.level > 0) {
      // The time of a node's first child means nothing, but now that child is first no more.
      EngineTime& first = nodes_.children(from).times[LowestBit(from.live)];
      first = std::min(first, nodes_.children(parent).times[slot]);
    }
    for (uint32_t end = into.end(); from.live != 0; ++end) {
      Set(into, end, Take(from, LowestBit(from.live)));
    }
  }

  // Moves the entries to the first slots.
  void Compact(Node& node) noexcept {
    PrefetchEntries(node, ~uint64_t{0});
    if (node.level == 0) Begin(node, nodes_.FirstOf(node), nodes_.LastOf(node));
    uint32_t end = 0;
    for (uint64_t bits = node.live; bits != 0; bits &= bits - 1, ++end) {
      Set(node, end, Take(node, LowestBit(bits)));
    }
    if (node.level > 0) {
      std::ranges::fill(std::span(nodes_.children(node).times).subspan(end), kNever);
    }
  }

  void FreeAll(Node& node) noexcept {
    for (uint64_t bits = node.level == 0 ? 0 : node.live; bits != 0; bits &= bits - 1) {
      FreeAll(nodes_.child(node, LowestBit(bits)));
    }
    nodes_.Free(node);
  }

  SequenceNodes nodes_;
  Members& members_;
  SequenceSearch<Members> search_{members_};
  std::array<Left, kLeftMax> left_;  // those in the last leaf of their tree are not among them
  uint32_t left_count_ = 0;
  std::array<Sparse, kLeftMax> sparse_;
  uint32_t sparse_count_ = 0;
};

}  // namespace pleat::inline v0_1
