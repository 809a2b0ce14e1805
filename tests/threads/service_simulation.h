// A whole service, on one thread and a clock of its own, from one seed: producers fold bursts, a driver moves the
// engine's time, workers own ranges of partitions, lease or pop, and some of them die; an operator looks after the
// dead letters. Deadlines, wake-ups and work are what keeps it going, as in a real one; nobody polls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/threads/tally.h"

namespace pleat::inline v0_1 {

struct ServiceOutcome {
  std::optional<std::string> failure;
  uint64_t digest = 0;  // of everything that was handed out, in order
};

// Counts in `seen` what has come up.
ServiceOutcome RunService(uint64_t seed, Tally& seen);

}  // namespace pleat::inline v0_1
