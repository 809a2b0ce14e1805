// NumberSet: a set of numbers that are dense, as those of a slab.
#pragma once

#include <cstdint>
#include <vector>

namespace pleat::inline v0_1 {

class NumberSet {
 public:
  // Returns whether it was not there.
  bool Insert(uint32_t number) {
    if (Contains(number)) return false;
    if (number >= has_.size()) has_.resize(number + 1);
    has_[number] = true;
    return true;
  }
  bool Contains(uint32_t number) const { return number < has_.size() && has_[number]; }

 private:
  std::vector<bool> has_;
};

}  // namespace pleat::inline v0_1
