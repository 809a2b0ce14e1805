// In a file of its own, so that no compiler sees both halves of a pair and warns of a mismatch.
#include "tests/support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> count{0};
std::atomic<size_t> bytes{0};
}  // namespace

size_t pleat::AllocationCount() noexcept { return count.load(std::memory_order_relaxed); }
size_t pleat::AllocatedBytes() noexcept { return bytes.load(std::memory_order_relaxed); }

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLEAT_TEST_KEEP_OPERATOR_NEW
#endif
#endif

#ifdef PLEAT_TEST_KEEP_OPERATOR_NEW
bool pleat::CountsAllocations() noexcept { return false; }
#else
bool pleat::CountsAllocations() noexcept { return true; }

void* operator new(size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(size, std::memory_order_relaxed);
  if (void* p = std::malloc(size)) return p;
  std::abort();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
