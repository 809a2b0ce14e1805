#include "engine/rollup/shared_count.h"

#include <bit>

namespace pleat::inline v0_1 {

// A reader that sees one of the words sees the odd version as well.
void SharedCount::Write(const Amount& amount, EngineTime as_of) noexcept {
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  const uint64_t flags =
      uint64_t{amount.integer} | uint64_t{amount.saturated} << 1 | uint64_t{amount.none} << 2;
  const auto time = static_cast<uint64_t>(as_of.time_since_epoch().count());  // less than 60 bits
  const std::array<uint64_t, kWords> words = {amount.count, static_cast<uint64_t>(amount.sum),
                                              std::bit_cast<uint64_t>(amount.real),
                                              time << 3 | flags};
  for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

}  // namespace pleat::inline v0_1
