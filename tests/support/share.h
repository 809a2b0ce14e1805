// How much a long test does: a share in `./dev test`, less under a sanitizer, which makes everything many
// times slower, and the whole in `./dev check whole`.
//
//   PLEAT_WHOLE=1   in the environment: the whole, whatever the build
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {

inline bool IsWhole() { return std::getenv("PLEAT_WHOLE") != nullptr; }

struct Shares {
  uint64_t whole;
  uint64_t usual;
  uint64_t sanitized;
};

inline uint64_t ShareOf(const Shares& shares) {
  if (IsWhole()) return shares.whole;
  return kSanitized ? shares.sanitized : shares.usual;
}

}  // namespace pleat::inline v0_1
