// A whole service, on one thread and a clock of its own, from one seed: producers fold bursts, a driver moves the
// engine's time, workers own ranges of partitions, lease or pop, and some of them die; an operator looks after the
// dead letters. Deadlines, wake-ups and work are what keeps it going, as in a real one; nobody polls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pleat::inline v0_1 {

// What has come up, so that a test can tell whether it was hard enough.
struct ServiceSeen {
  uint64_t events = 0;
  uint64_t acked = 0;
  uint64_t popped = 0;
  uint64_t cancelled = 0;
  uint64_t dropped = 0;
  uint64_t ran_out = 0;
  uint64_t stale_acks = 0;
  uint64_t delayed_nacks = 0;
  uint64_t clamped = 0;
  uint64_t extended = 0;
  uint64_t letters_retried = 0;
  uint64_t letters_dropped = 0;
  uint64_t overloaded = 0;
  uint64_t jumps = 0;
  uint64_t deaths = 0;
  uint64_t ranges_moved = 0;
  uint64_t turns_cut_short = 0;  // of the driver, by its budget
};

struct ServiceOutcome {
  std::optional<std::string> failure;
  uint64_t digest = 0;  // of everything that was handed out, in order
};

ServiceOutcome RunService(uint64_t seed, ServiceSeen& seen);

}  // namespace pleat::inline v0_1
