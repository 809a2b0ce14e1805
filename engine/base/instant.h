// An Instant says when one operation happens: all that a book may know of time and order. It is
// taken once for each operation, under the partition's lock, by Partition::Do(), and nobody else
// can make one. Whatever changes a book asks for it; so nothing changes a book but what came
// through that door. The same operation with the same instant has the same result, today or in a
// replay.
#pragma once

#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

class Partition;

class Instant {
 public:
  const EngineTime now;     // the engine's time; of an event the time that includes it
  const LeaseTime leases;   // the time of leases
  const uint64_t position;  // counts operations: what happens at one time goes by it

 private:
  friend class Partition;
  constexpr Instant(EngineTime engine_time, LeaseTime lease_time, uint64_t position_taken) noexcept
      : now(engine_time), leases(lease_time), position(position_taken) {}
};

}  // namespace pleat::inline v0_1
