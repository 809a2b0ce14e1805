// How much memory this process holds, as the kernel counts it.
#pragma once

#include <cstddef>

namespace pleat::inline v0_1 {

// Gives back first what the allocator holds on to, so that what was freed is not counted.
size_t ResidentBytes();

}  // namespace pleat::inline v0_1
