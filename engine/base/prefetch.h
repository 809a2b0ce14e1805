// Brings a cache line closer, for somebody who will write to it soon.
#pragma once

namespace pleat::inline v0_1 {

inline void Prefetch(const void* line) noexcept {
  __builtin_prefetch(line, /*for writing*/ 1);
  // Without this g++ 12 finds that a function which only prefetches does nothing, and drops the
  // call.
  asm volatile("");
}

}  // namespace pleat::inline v0_1
