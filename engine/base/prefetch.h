// Brings a cache line closer, for somebody who will write to it soon.
#pragma once

#include <cstddef>

namespace pleat::inline v0_1 {

inline void Prefetch(const void* line) noexcept {
  __builtin_prefetch(line, /*for writing*/ 1);
  // Without this g++ 12 finds that a function which only prefetches does nothing, and drops the
  // call.
  asm volatile("");
}

// The same for all lines of some bytes.
template <size_t kSize>
void PrefetchAll(const void* bytes) noexcept {
  constexpr size_t kLine = 64;
  const auto* const begin = static_cast<const std::byte*>(bytes);
  for (size_t i = 0; i < kSize; i += kLine) Prefetch(begin + i);
  Prefetch(begin + kSize - 1);
}

}  // namespace pleat::inline v0_1
