// The seeds that a random test runs; where one fails, the message names it.
//
//   PLEAT_SEED=17        in the environment: only this one
//   PLEAT_SEED=17+1000   as many from there on
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {

// Calls `run(seed)` with `count` seeds from `first` on, up to the first that fails. Returns whether
// the environment has chosen none, so that the test may expect to have seen everything.
template <class Run>
bool ForEachSeed(uint64_t first, uint64_t count, const Run& run) {
  const char* const chosen = std::getenv("PLEAT_SEED");
  if (chosen != nullptr) {
    char* end = nullptr;
    first = std::strtoull(chosen, &end, 10);
    count = *end == '+' ? std::strtoull(end, nullptr, 10) : 1;
  }
  for (uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(first + i));
    run(first + i);
  }
  return chosen == nullptr;
}

// Of a test that takes another seed each time, and says which.
inline uint64_t AnySeed() {
  const char* const chosen = std::getenv("PLEAT_SEED");
  return chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
}

}  // namespace pleat::inline v0_1
