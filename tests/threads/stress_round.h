// One engine under all public calls from several threads at once, and everything that has to hold of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <pleat/outcome.h>

#include "tests/threads/tally.h"

namespace pleat::inline v0_1 {

// What has come up in some rounds, so that a test can tell whether it was hard enough.
struct StressSeen {
  std::set<FoldOutcome> outcomes;
  std::set<Reason> reasons;
  uint64_t operations = 0;
  Tally counts;
};

// Has `threads` threads do `operations` calls in all, drawn from `seed`. Returns what was wrong, if anything.
std::optional<std::string> RunStressRound(uint64_t seed, int threads, uint64_t operations,
                                          StressSeen& seen);

}  // namespace pleat::inline v0_1
