// A Publisher takes the steps of Publish() in one book, which has a store. No lock is held during a
// call of the store, so each step looks its counter up again, and accepts all changes since the step
// before.
//
// Writes these columns of the ledger: published, store_errors, store_behind and store_conflicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_values.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

class Publisher {
 public:
  // The other parts of the book. All outlive the publisher.
  struct Parts {
    const RollupClock& clock;
    CounterWindows& windows;
    CounterValues& values;
    Forgetter& forgetter;
    Publications& store;
    BookLedger& ledger;
  };
  explicit Publisher(const Parts& parts)
      : clock_(parts.clock),
        windows_(parts.windows),
        counters_(parts.windows.counters()),
        values_(parts.values),
        forgetter_(parts.forgetter),
        store_(parts.store),
        ledger_(parts.ledger) {}

  // Appends the keys of up to `max` counters that the store and we may not agree on.
  void TakeUnpublished(size_t max, std::vector<std::string>& keys);
  // What comes of an answer of the store.
  enum class Step : uint8_t { kNothing, kFailed, kWanted, kKept };
  // The store has answered a Load(). kWanted: `ours` is to be published.
  Step TakeLoaded(const EventRef& counter, const absl::StatusOr<Checkpoint>& loaded,
                  Checkpoint& ours);
  // The store has answered a Publish() of `ours`. kKept: that is what it keeps.
  Step TakeKept(const EventRef& counter, const Checkpoint& ours,
                const absl::StatusOr<Checkpoint>& kept);

 private:
  using Counter = CounterTable::Counter;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  void Finish(uint32_t number);
  void Adopt(uint32_t number, Publications::State& state, EngineTime until, const Total& total);

  const RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  CounterValues& values_;
  Forgetter& forgetter_;
  Publications& store_;
  BookLedger& ledger_;
};

}  // namespace pleat::inline v0_1
