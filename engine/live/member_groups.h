// MemberGroups puts numbered members that come in any order into the order of their keys, group by
// group: for loading, where the sizes of the groups are known before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/live/sequence_search.h"

namespace pleat::inline v0_1 {

class MemberGroups {
 public:
  // The next group, counted from 0, has so many members.
  void AddGroup(uint32_t size) {
    PLEAT_CHECK(groups_.size() < UINT32_MAX);
    groups_.push_back({.begin = total_, .end = total_});
    total_ += size;
  }
  uint64_t total() const noexcept { return total_; }

  // All groups are there. Returns whether there was room in the group. Members take memory as they
  // come, however large the groups are said to be.
  bool Add(size_t group, const SequenceKey& key, uint32_t number) {
    Group& its = groups_[group];
    if (its.end == EndOf(group)) return false;
    ++its.end;
    items_.push_back({key, number, static_cast<uint32_t>(group)});
    return true;
  }

  // Puts each member where its group is. REQUIRES: total() members were added.
  void Gather() {
    PLEAT_CHECK(items_.size() == total_);
    for (Group& group : groups_) group.end = group.begin;
    for (size_t group = 0; group < groups_.size(); ++group) {
      for (uint64_t& end = groups_[group].end; end < EndOf(group);) {
        Item& item = items_[static_cast<size_t>(end)];
        if (item.group == group) {
          ++end;
        } else {
          std::swap(item, items_[static_cast<size_t>(groups_[item.group].end++)]);
        }
      }
    }
  }

  // Sets `numbers` to those of the group, in the order of their keys. Returns whether no two keys are
  // equal. REQUIRES: Gather() was called.
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
    uint64_t end;  // behind those that were added, or are in their places
  };
  struct Item {
    SequenceKey key;
    uint32_t number;
    uint32_t group;
  };

  uint64_t EndOf(size_t group) const noexcept {
    return group + 1 < groups_.size() ? groups_[group + 1].begin : total_;
  }

  uint64_t total_ = 0;
  std::vector<Group> groups_;
  std::vector<Item> items_;
};

}  // namespace pleat::inline v0_1
