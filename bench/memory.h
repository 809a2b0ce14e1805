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

// Takes `bytes` of memory, touches them and gives them back. In a virtual machine the first touch of a page
// that the host has not backed yet takes ten times as long as any other; whoever times page faults
// after this times the kernel's work and not the host's.
void WarmPages(size_t bytes);

}  // namespace pleat::bench
