// Merging, for the model: a reducer is a plain walk over all events of a group, done once the result is
// wanted. Written from docs/command-line.md and json.h; shares no code with engine/lines.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/model/plain_folder.h"
#include "tests/model/plain_path.h"

namespace pleat::inline v0_1 {

struct PlainMerge {
  std::string name;
  std::string reducer;
  PlainPath path;      // empty: the whole event, also for count()
  uint64_t bound = 0;  // 0: the reducer's default
  std::string separator = ",";
};

struct PlainMerged {
  std::string json;
  bool saturated = false;
  bool cut = false;
};

PlainMerged Merged(const PlainMerge& merge, const PlainEvents& events);

// The `bound` events with the largest stamps, oldest first; of equal ones the latest to arrive.
PlainMerged NewestOf(uint64_t bound, const PlainEvents& events);

// Whether two merges differ only in which percentile of a path they tell.
bool ArePercentilesOfOne(const PlainMerge& a, const PlainMerge& b);

// Whether the event has a value there that the reducer does not take.
bool Mismatches(const PlainMerge& merge, const PlainJson& event);

// The members at the top of events that are not among `taken`, in order of first appearance, null ignored:
// each as a merge `reducer` of its own. At most 1,024, and whether there were more.
struct PlainRest {
  std::vector<PlainMerge> merges;
  bool cut = false;
};
PlainRest RestOf(const PlainEvents& events, const std::string& reducer,
                 const std::set<std::string>& taken);

}  // namespace pleat::inline v0_1
