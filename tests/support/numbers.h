// The plainest thing to fold: numbers, and a state that remembers each of them.
#pragma once

#include <vector>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

struct Number {
  int value;
};

struct Values {
  std::vector<int> all;
  void Fold(const Number& number) noexcept { all.push_back(number.value); }
};

}  // namespace pleat::inline v0_1
