// One engine under all public calls from several threads at once, and everything that has to hold of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <pleat/outcome.h>

namespace pleat::inline v0_1 {

// What has come up in some rounds, so that a test can tell whether it was hard enough.
struct StressSeen {
  std::set<FoldOutcome> outcomes;
  std::set<Reason> reasons;
  uint64_t operations = 0;
  uint64_t events = 0;
  uint64_t popped = 0;
  uint64_t acked = 0;
  uint64_t stale = 0;
  uint64_t clamped = 0;
  uint64_t ran_out = 0;
  uint64_t nacked = 0;
  uint64_t dropped = 0;
  uint64_t retried = 0;
  uint64_t cancelled = 0;
  uint64_t told = 0;     // listeners and alarms
  uint64_t gone = 0;     // engines destroyed while calls were under way
  uint64_t folders = 0;  // opened meanwhile
};

// Has `threads` threads do `operations` calls in all, drawn from `seed`. Returns what was wrong, if anything.
std::optional<std::string> RunStressRound(uint64_t seed, int threads, uint64_t operations,
                                          StressSeen& seen);

}  // namespace pleat::inline v0_1
