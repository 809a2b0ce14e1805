// How much work a randomized test does. Sanitizer builds are five to twenty times slower, so their
// test presets set PLEAT_TEST_VOLUME, a percentage; without it a test does all of its work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace pleat_test {

// `full`, or the share of it that PLEAT_TEST_VOLUME asks for, and at least 1.
inline int64_t ScaledVolume(int64_t full) {
  const char* percent = std::getenv("PLEAT_TEST_VOLUME");
  if (percent == nullptr) return full;
  return std::max<int64_t>(1, full * std::atoll(percent) / 100);
}

}  // namespace pleat_test
