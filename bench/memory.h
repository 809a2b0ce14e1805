// What this process holds of the machine's memory, as the kernel counts it.
#pragma once

#include <cstddef>

namespace pleat::bench {

struct ResidentMemory {
  size_t bytes = 0;       // in memory
  size_t huge_bytes = 0;  // of these, on huge pages
};

// Gives back first what the allocator holds on to, so that memory freed by an earlier benchmark is not
// taken for memory that the next one did not need.
ResidentMemory MeasureMemory();

}  // namespace pleat::bench
