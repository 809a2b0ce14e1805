// A WindowCloser closes windows, and lets go of what is over. Time makes windows final, in visits that have a
// budget; a call can end before that what is open:
//
//   an event opens it ---> open --+--- frontier reaches its end -----------> final: handed out,
//                                 |                                          part of the value
//                                 +--- BeginClosing() ---> ended: handed out --> final
//
// A final window is kept for the retention, and with a store at least until the store has it; then
// the window goes, and at last the counter (Forgetter).
//
// Why nothing lands in a final window. The book's time only grows. An event is judged by it under
// the lock, and added under the same lock: a stamp that is not late lies behind the frontier. The
// frontier follows the book's time, so it has moved before any window is read.
//
// Writes these columns of the ledger: final, ended, checkpointed, delta_checkpointed; and lowers
// pending and delta_pending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <absl/functional/function_ref.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

#include "engine/base/budget.h"
#include "engine/base/instant.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_values.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/shared_counts.h"
#include "engine/rollup/window_emitter.h"
#include "engine/rollup/window_lists.h"

namespace pleat::inline v0_1 {

class WindowCloser {
 public:
  // The other parts of the book. All outlive the closer.
  struct Parts {
    RollupClock& clock;
    CounterWindows& windows;
    CounterIds& ids;
    SharedCounts& shared;
    CounterValues& values;
    Forgetter& forgetter;
    WindowEmitter& emitter;
    BookLedger& ledger;
  };
  WindowCloser(const RollupOptions& options, const Parts& parts);

  // Handles all that is due by the book's time. The frontier has moved with that time already.
  // Returns whether that was all.
  bool Visit(const Instant& at, Budget& budget);
  void VisitAll(const Instant& at) {
    Budget budget;
    Visit(at, budget);
  }
  // The next time at which something is due.
  EngineTime NextDue() const noexcept;

  // From here to FinishClosing() all open windows are ended, in the order of their ends. What is
  // stamped before `floor`, which is not before any of their ends, has ended from now on.
  void BeginClosing(EngineTime floor, const Instant& at);
  // Ends the next windows. Returns whether those were all.
  bool EndNext(Budget& budget, const Instant& at) {
    return closing_ == nullptr || EndSome(budget, at);
  }
  void FinishClosing(const Instant& at) {
    Budget budget;
    EndNext(budget, at);
    closing_ = nullptr;
  }

 private:
  using Counter = CounterTable::Counter;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  using TakeEntry =
      absl::FunctionRef<void(const WindowLists::Name& name, const WindowLists::Entry& entry)>;
  bool TakeDue(WindowLists::Stage stage, Budget& budget, TakeEntry take);
  void Finalize(const WindowLists::Name& name, const WindowLists::Entry& entry, const Instant& at);
  void DropFinal(const WindowLists::Name& name, uint32_t counter);
  bool EndSome(Budget& budget, const Instant& at);
  void End(const WindowLists::Name& name, const WindowLists::Entry& entry, const Instant& at);
  uint32_t CopyOfInside(uint32_t counter);

  const bool has_store_;
  const bool corrects_;  // late events name the emission that they correct
  RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  WindowLists& lists_;
  CounterIds& ids_;
  SharedCounts& shared_;
  CounterValues& values_;
  Forgetter& forgetter_;
  WindowEmitter& emitter_;
  BookLedger& ledger_;
  // While all windows are being ended: their place in the order of emissions, and what is left of the
  // list that is being taken.
  struct Closing {
    uint64_t order = 0;
    WindowLists::Lists::iterator list;
    WindowLists::Rest rest;
  };
  std::unique_ptr<Closing> closing_;
};

}  // namespace pleat::inline v0_1
