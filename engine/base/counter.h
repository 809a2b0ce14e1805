// A count that one thread adds to and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

#include <pleat/stored.h>

namespace pleat::inline v0_1 {

class Counter {
 public:
  void Add(uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // REQUIRES: nobody adds.
  void Load(FieldReader& in) noexcept { value_.store(in.Number(), std::memory_order_relaxed); }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace pleat::inline v0_1
