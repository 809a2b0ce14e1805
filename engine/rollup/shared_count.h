// A SharedCount is the frozen part of a counter where readers find it without a lock: what a
// CounterRef reads. Its book writes it under the partition's lock, whenever a window of the counter
// is frozen.
//
// Readers use a version, which is odd while somebody writes (a sequence lock): they read again if
// it has changed meanwhile. Each word is atomic, so that a torn read is thrown away, not undefined.
// (H.-J. Boehm, "Can seqlocks get along with programming language memory models?", 2012.)
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <pleat/rollup_values.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// What all counters of a book have in common: up to when its windows are frozen.
struct FrozenTime {
  std::atomic<EngineTime> time = kBeginningOfTime;
};

// One cache line, so that a read of one counter among many waits for nothing else.
class alignas(64) SharedCount {
 public:
  explicit SharedCount(std::shared_ptr<const FrozenTime> book) noexcept : book_(std::move(book)) {}

  // The counter comes to `amount` by its windows before `as_of`. By one thread at a time.
  void Write(const Amount& amount, EngineTime as_of) noexcept;
  // By any thread. `now`: the engine's time.
  EventualCount Read(EngineTime now) const noexcept;

 private:
  static constexpr size_t kWords = 4;  // count, sum, the sum as a double, time with flags

  const std::shared_ptr<const FrozenTime> book_;
  std::atomic<uint64_t> version_{0};
  std::array<std::atomic<uint64_t>, kWords> words_{};
};
static_assert(sizeof(SharedCount) == 64);

// The book's time is read first: all windows up to then had been written before. So if the count
// itself is from before, nothing has changed since. Few instructions: a processor that waits for
// the line of one count goes on to the next ones as far as its window of instructions reaches.
inline EventualCount SharedCount::Read(EngineTime now) const noexcept {
  constexpr auto kAcquire = std::memory_order_acquire;
  const EngineTime frozen = book_->time.load(kAcquire);
  for (;;) {
    const uint64_t version = version_.load(kAcquire);
    const uint64_t count = words_[0].load(kAcquire);
    const uint64_t sum = words_[1].load(kAcquire);
    const uint64_t real = words_[2].load(kAcquire);
    const uint64_t time = words_[3].load(kAcquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) [[unlikely]]
      continue;
    const EngineTime as_of =
        std::max(frozen, EngineTime{Duration{static_cast<int64_t>(time) >> 2}});
    return {.amount = {.count = count,
                       .sum = static_cast<int64_t>(sum),
                       .real = std::bit_cast<double>(real),
                       .integer = (time & 1) != 0,
                       .saturated = (time & 2) != 0},
            .as_of = as_of,
            .lag = std::max(now - as_of, Duration{0})};
  }
}

}  // namespace pleat::inline v0_1
