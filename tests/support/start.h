// Where the time of most tests starts, on both clocks.
#pragma once

#include <chrono>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline const EngineTime kT0 = FromUnix(std::chrono::seconds(1'700'000'000));
inline const LeaseTime kLease0 = LeaseTime(kT0);

}  // namespace pleat::inline v0_1
