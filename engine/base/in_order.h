// Shows the items of a large set in order, without a list of all of them: the set is gone through
// again and again, and each round keeps those that come next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace pleat::inline v0_1 {

// How many items a round should keep at least, of a set of `size`: few beside the set, and of a
// small one all.
inline size_t RoomForRound(size_t size) noexcept { return std::max<size_t>(size / 8, 16 * 1024); }

// Calls `show(item)` for the items that `list(add)` gives to `add`, in ascending order. `list` is
// called once a round and gives the items in any order, as they are or as something that compares
// with an item and becomes one; no two are equal. Each round shows at least `room` of them, if there
// are so many, and keeps less than twice as many. No item is shown twice. One that `list` does not
// give in every round may be missed; there is a round more for each `room` of them that ever come.
// Takes memory for `size` items, or for twice `room` if that is less, and grows where there are more.
template <class Item, class List, class Show>
void ShowInOrder(size_t size, size_t room, const List& list, const Show& show) {
  const auto kept = static_cast<std::ptrdiff_t>(room);
  std::vector<Item> next;
  next.reserve(std::min(size, 2 * room));
  std::optional<Item> shown;  // the last one
  std::optional<Item> bound;  // of this round: all that come later are dropped
  do {
    next.clear();
    bound.reset();
    list([&](const auto& item) {
      if ((shown && !(*shown < item)) || (bound && !(item < *bound))) return;
      next.push_back(static_cast<Item>(item));
      if (next.size() < 2 * room) return;
      std::nth_element(next.begin(), next.begin() + kept - 1, next.end());
      next.erase(next.begin() + kept, next.end());
      bound = next.back();
    });
    std::sort(next.begin(), next.end());
    for (const Item& item : next) show(item);
    if (!next.empty()) shown = next.back();
  } while (bound);
}

}  // namespace pleat::inline v0_1
