// How evenly a hash spreads keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pleat::inline v0_1 {

// How many of `keys` fall into one of `places` at most: the mean and six standard deviations. Of a
// billion places one gets more.
inline size_t MostInOnePlace(size_t keys, size_t places) noexcept {
  const double mean = static_cast<double>(keys) / static_cast<double>(places);
  return std::min(keys, static_cast<size_t>(std::ceil(mean + 6 * std::sqrt(mean))));
}

}  // namespace pleat::inline v0_1
