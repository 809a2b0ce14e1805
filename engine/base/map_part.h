// A part of a map, for a list that is told a part at a time and behind which nothing is remembered.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

namespace pleat::inline v0_1 {

// Calls `see(key, value)` for up to `max` elements of an ordered map from texts that lie behind
// `cursor`, and moves `cursor` behind them: it is empty at the beginning, and again when no element
// is left. Elements may come and go between two calls. O(log elements + max).
template <class Map, class See>
void SeePart(const Map& map, std::string& cursor, size_t max, const See& see) {
  // A mark and the key that was seen last, so that the cursor behind the empty key is not empty.
  auto at = cursor.empty() ? map.begin() : map.upper_bound(cursor.substr(1));
  for (; max > 0 && at != map.end(); --max, ++at) {
    see(at->first, at->second);
    cursor.assign(1, '>').append(at->first);
  }
  if (at == map.end()) cursor.clear();
}

}  // namespace pleat::inline v0_1
