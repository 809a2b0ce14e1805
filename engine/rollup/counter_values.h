// CounterValues say what counters and their windows come to. A value is one number, the sum of the
// final windows, and what the open windows add to it.
//
// What counters come to is the sum of their final windows, but for clears and checkpoints of other
// instances. Reads tell the book the time, so that nothing is added later to what they call final.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/shared_counts.h"
#include "engine/rollup/total.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class CounterValues {
 public:
  using Counter = CounterTable::Counter;

  // The other parts of the book. All outlive the values; `store` may be null.
  struct Parts {
    RollupClock& clock;
    CounterWindows& windows;
    SharedCounts& shared;
    Publications* store;
    const Forgetter& forgetter;
  };
  explicit CounterValues(const Parts& parts)
      : clock_(parts.clock),
        windowing_(parts.clock.windowing()),
        windows_(parts.windows),
        counters_(parts.windows.counters()),
        shared_(parts.shared),
        store_(parts.store),
        forgetter_(parts.forgetter) {}

  // --- Reads

  std::optional<EventualCount> Eventual(const PackedKey& key, uint64_t hash, const Instant& at);
  AccurateCount Accurate(const PackedKey& key, uint64_t hash, const Instant& at);
  void History(const PackedKey& key, uint64_t hash, EngineTime from, EngineTime to,
               uint8_t resolution, const Instant& at, std::vector<CountedWindow>& out);
  using SeeTop = absl::FunctionRef<void(std::string_view key, const Amount& amount)>;
  void WindowAround(EngineTime around, uint8_t resolution, const Instant& at, SeeTop see);
  using SeeOpen = absl::FunctionRef<void(std::string_view key, const CountedWindow& window)>;
  void ScanOpen(const Instant& at, SeeOpen see);

  // Calls `see(total, window, start)` for the open windows of the first resolution, oldest first;
  // `window` is kNone for the one inside.
  using SeeWindow = absl::FunctionRef<void(const Total& total, uint32_t window, EngineTime start)>;
  void ForEachOpen(const Counter& counter, SeeWindow see) const;

  // --- What is final

  // Windows that begin before this are part of a checkpoint of the store.
  EngineTime CoveredUpTo(uint32_t number) const {
    return store_ == nullptr ? EngineTime::min() : store_->At(number).until;
  }
  // Whether a window that begins at `start` is to be kept until the store has it.
  bool IsUnpublished(uint32_t number, EngineTime start) const {
    return store_ != nullptr && start >= store_->At(number).until;
  }
  bool AllPublished() const noexcept { return store_ == nullptr || store_->undone() == 0; }
  // Whether a window that begins at `until` or later is final.
  bool HasFinalSince(uint32_t number, EngineTime until) const;
  // Up to when the counter speaks: it may be ahead of other counters while a visit is under way.
  EngineTime FinalUpTo(uint32_t number) const;
  // Adds a window to the sum of the final windows, unless a checkpoint of the store includes it.
  void AddFinal(Counter& counter, uint32_t window);

  // The count of a counter for reads without a lock. It is to be written whenever what the counter
  // comes to has changed, which is known up to `until` then.
  std::shared_ptr<const SharedCount> Share(uint32_t number);
  void WriteShared(uint32_t number, EngineTime until) {
    if (SharedCount* const shared = shared_.Find(number)) WriteTo(*shared, number, until);
  }

 private:
  using Account = CounterTable::Account;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  Total ValueBefore(uint32_t number, EngineTime until) const;
  Total ValueOf(uint32_t number) const;
  Total TotalOf(const Counter& counter, uint8_t resolution, EngineTime start) const;
  void WriteTo(SharedCount& shared, uint32_t number, EngineTime until) const {
    shared.Write(counters_.FinalOf(counters_.at(number)).amount(), until);
  }

  RollupClock& clock_;
  const Windowing& windowing_;
  CounterWindows& windows_;
  CounterTable& counters_;
  SharedCounts& shared_;
  Publications* const store_;
  const Forgetter& forgetter_;
};

}  // namespace pleat::inline v0_1
