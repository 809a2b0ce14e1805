// A RollupCheck tells whether the parts of a rollup book agree with each other: after tests, and after
// loading, where the bytes may say anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include <absl/functional/function_ref.h>
#include <pleat/time.h>

#include "engine/outbox/outbox.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_values.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/window_lists.h"

namespace pleat::inline v0_1 {

class RollupCheck {
 public:
  // The parts of the book. All outlive the check; `store` may be null.
  struct Parts {
    const RollupClock& clock;
    const CounterWindows& windows;
    const CounterIds& ids;
    const Publications* store;
    const CounterValues& values;
    const Outbox& outbox;
    const BookLedger& ledger;
  };
  explicit RollupCheck(const Parts& parts)
      : clock_(parts.clock),
        windows_(parts.windows),
        counters_(parts.windows.counters()),
        ids_(parts.ids),
        store_(parts.store),
        values_(parts.values),
        outbox_(parts.outbox),
        ledger_(parts.ledger) {}

  // Whether windows, lists and counts agree.
  bool Agrees() const {
    const Tally tally = TallyWindows();
    return CountsAgree(tally) && ListsAgree(tally);
  }
  // Stops the program if an invariant does not hold. O(all that is held).
  void CheckWhole() const;

 private:
  using Counter = CounterTable::Counter;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  struct Tally {
    uint64_t pending = 0;  // events in windows of the first resolution that are not final
    uint64_t delta = 0;    // and the sum of their deltas
    uint64_t open = 0;
    uint64_t open_first = 0;  // of these: of the first resolution
    uint64_t not_final = 0;   // open or ended
    size_t inside = 0;        // of these: inside counters
    uint64_t kept = 0;
    uint64_t kept_first = 0;
  };
  void CheckWindowsOf(const Counter& counter) const;
  Tally TallyWindows() const;
  bool CountsAgree(const Tally& tally) const;
  bool ListsAgree(const Tally& tally) const;
  bool HasCoarse(uint32_t number, EngineTime start) const;
  using SeeEntry = absl::FunctionRef<void(const WindowLists::Entry& entry, bool passed)>;
  void ForEachNeeded(WindowLists::Stage stage, const WindowLists::List& list, SeeEntry see) const;

  const RollupClock& clock_;
  const CounterWindows& windows_;
  const CounterTable& counters_;
  const CounterIds& ids_;
  const Publications* const store_;
  const CounterValues& values_;
  const Outbox& outbox_;
  const BookLedger& ledger_;
};

}  // namespace pleat::inline v0_1
