// A SharedCount is a copy of the sum of a counter's final windows, which a CounterRef reads
// without a lock. The book writes the copy under the partition's lock, whenever a window of the
// counter is final.
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

// The instant up to which all windows of a book are final.
struct FinalTime {
  std::atomic<EngineTime> time = kBeginningOfTime;
};

// One cache line, so that a read of one counter among many waits for one line.
class alignas(64) SharedCount {
 public:
  explicit SharedCount(std::shared_ptr<const FinalTime> book) noexcept : book_(std::move(book)) {}

  // Writes `amount`, the sum of the counter's windows before `as_of`. By one thread at a time.
  void Write(const Amount& amount, EngineTime as_of) noexcept;
  // By any thread. `now`: the engine's time.
  EventualCount Read(EngineTime now) const noexcept;

 private:
  static constexpr size_t kWords = 4;  // count, sum, the sum as a double, time with flags

  const std::shared_ptr<const FinalTime> book_;
  std::atomic<uint64_t> version_{0};
  std::array<std::atomic<uint64_t>, kWords> words_{};
};
static_assert(sizeof(SharedCount) == 64);

// Reads the book's time first: all windows that became final by then had been written before. So if
// the count has an earlier time, no window was final in between. The code is short: while a
// processor waits for the line of one count, it can begin the next reads.
inline EventualCount SharedCount::Read(EngineTime now) const noexcept {
  constexpr auto kAcquire = std::memory_order_acquire;
  const EngineTime final_until = book_->time.load(kAcquire);
  for (;;) {
    const uint64_t version = version_.load(kAcquire);
    const uint64_t count = words_[0].load(kAcquire);
    const uint64_t sum = words_[1].load(kAcquire);
    const uint64_t real = words_[2].load(kAcquire);
    const uint64_t time = words_[3].load(kAcquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) [[unlikely]]
      continue;
    const EngineTime as_of =
        std::max(final_until, EngineTime{Duration{static_cast<int64_t>(time) >> 3}});
    return {.amount = {.count = count,
                       .sum = static_cast<int64_t>(sum),
                       .real = std::bit_cast<double>(real),
                       .integer = (time & 1) != 0,
                       .saturated = (time & 2) != 0,
                       .none = (time & 4) != 0},
            .as_of = as_of,
            .lag = std::max(now - as_of, Duration{0})};
  }
}

}  // namespace pleat::inline v0_1
