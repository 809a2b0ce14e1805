// Numbers that a test takes from the environment: to run longer, or to repeat one seed.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pleat::inline v0_1 {

inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace pleat::inline v0_1
