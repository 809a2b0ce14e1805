// The paths of a plan that no line has led to so far. After a few lines there are usually none
// left; from then on a line costs one comparison.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/lines/scan/scanner.h"

namespace pleat::inline v0_1 {

class UnseenPaths {
 public:
  explicit UnseenPaths(int slots) : slots_(static_cast<size_t>(slots)) {
    std::iota(slots_.begin(), slots_.end(), 0);
  }

  // `slots`: of the paths that no line has led to. REQUIRES: they are ascending.
  UnseenPaths(bool any_line, std::vector<int> slots)
      : any_line_(any_line), slots_(std::move(slots)) {}

  // After a good line.
  void Note(const Scanner& line) {
    if (slots_.empty()) return;
    any_line_ = true;
    std::erase_if(slots_, [&](int slot) { return line.value(slot).kind != Value::Kind::kAbsent; });
  }

  // Takes over what `other` has seen.
  void Note(const UnseenPaths& other) {
    any_line_ |= other.any_line_;
    std::erase_if(slots_, [&](int slot) { return !other.Has(slot); });
  }

  // Whether Note(other) would change anything.
  bool WouldNote(const UnseenPaths& other) const {
    if (slots_.empty()) return false;
    return any_line_ < other.any_line_ ||
           !std::ranges::all_of(slots_, [&](int slot) { return other.Has(slot); });
  }

  bool Has(int slot) const { return std::ranges::binary_search(slots_, slot); }

  // Whether there was a good line at all. REQUIRES: Has() is true of some slot.
  bool any_line() const noexcept { return any_line_; }

 private:
  bool any_line_ = false;
  std::vector<int> slots_;  // ascending
};

}  // namespace pleat::inline v0_1
