// Tells of an episode that failed by the few operations that are needed to see the fault. `run` runs
// an episode of such operations, and returns nothing or what differed, as text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pleat::inline v0_1 {

// Leaves out ever smaller parts of the list for as long as it still fails.
template <class Op, class Run>
std::vector<Op> Shrunk(std::vector<Op> ops, const Run& run) {
  for (size_t part = ops.size() / 2; part > 0; part /= 2) {
    for (size_t from = 0; from < ops.size();) {
      std::vector<Op> fewer = ops;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, ops.size() - from)));
      if (run(fewer)) {
        ops = std::move(fewer);
      } else {
        from += part;
      }
    }
  }
  return ops;
}

template <class Config, class Op, class Run>
std::string StoryOf(const Config& config, const std::vector<Op>& fewer, const std::string& failure,
                    const Run& run) {
  std::ostringstream out;
  out << failure << "\n  " << config << "\n  shrunk to:\n";
  constexpr size_t kShown = 60;
  for (size_t i = 0; i < std::min(fewer.size(), kShown); ++i) {
    out << "    " << i << ": " << fewer[i] << "\n";
  }
  if (fewer.size() > kShown) out << "    ... and " << fewer.size() - kShown << " more\n";
  out << "  where " << run(fewer).value_or("it passes");
  return out.str();
}

}  // namespace pleat::inline v0_1
