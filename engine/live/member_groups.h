// MemberGroups puts numbered members that come in any order into the order of their keys, group by
// group: for loading, where the sizes of the groups are known before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

class MemberGroups {
 public:
  // The next group, counted from 0, has so many members.
  void AddGroup(uint32_t size) {
    groups_.push_back({.begin = total_, .end = total_});
    total_ += size;
  }
  uint64_t total() const noexcept { return total_; }
  // All groups are there. REQUIRES: there is memory for total() members.
  void Begin() { items_.resize(static_cast<size_t>(total_)); }

  // Returns whether there was room in the group.
  bool Add(size_t group, const SequenceKey& key, uint32_t number) {
    Group& its = groups_[group];
    const uint64_t end = group + 1 < groups_.size() ? groups_[group + 1].begin : total_;
    if (its.end == end) return false;
    items_[static_cast<size_t>(its.end++)] = {key, number};
    return true;
  }

  // Sets `numbers` to those of the group, in the order of their keys. Returns whether no two keys
  // are equal.
  bool Sort(size_t group, std::vector<uint32_t>& numbers) {
    const auto begin = items_.begin() + static_cast<ptrdiff_t>(groups_[group].begin);
    const auto end = items_.begin() + static_cast<ptrdiff_t>(groups_[group].end);
    std::ranges::sort(begin, end, {}, &Item::key);
    numbers.clear();
    for (auto it = begin; it != end; ++it) numbers.push_back(it->number);
    return std::ranges::adjacent_find(begin, end, {}, &Item::key) == end;
  }

 private:
  struct Group {
    uint64_t begin;
    uint64_t end;  // behind those that were added
  };
  struct Item {
    SequenceKey key;
    uint32_t number;
  };

  uint64_t total_ = 0;
  std::vector<Group> groups_;
  std::vector<Item> items_;
};

}  // namespace pleat::inline v0_1
