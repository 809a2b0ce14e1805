// The quiet periods that people choose among, and which of them suit some data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Round ones from 1 us to 100 days, six or so to a power of ten, ascending.
std::span<const Duration> QuietLadder() noexcept;

// Of `ladder`, as indices: up to kGridPointsUsual, evenly spaced, from the shortest gap above 0 to past the longest. The
// few shortest gaps, one in 200, may lie below. If the gaps span few rungs, more on both sides. Without gaps, around
// the `span` of the data.
std::vector<size_t> RungsFor(std::span<const Duration> ladder, const GapHistogram& gaps,
                             Duration span);

}  // namespace pleat::inline v0_1
