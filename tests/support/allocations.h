// Counts allocations, for the tests of calls that promise to make none. Linking allocations.cc replaces
// operator new of the whole program.
#pragma once

#include <cstddef>

namespace pleat {

// How often operator new was called so far, by any thread; and for how many bytes, with those that
// were given back.
size_t AllocationCount() noexcept;
size_t AllocatedBytes() noexcept;

// False where nothing can be counted: Clang's ThreadSanitizer keeps an operator new of its own. Tests
// skip themselves there.
bool CountsAllocations() noexcept;

}  // namespace pleat
