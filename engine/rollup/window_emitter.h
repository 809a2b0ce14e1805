// A WindowEmitter brings windows that close, and corrections, into the outbox, and says how emissions
// look. The window of an emission that waits stays in the table, in a chain or not.
//
// Writes these columns of the ledger: windows_closed and emissions; and lowers open, which
// CounterWindows raise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <pleat/outcome.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/instant.h"
#include "engine/outbox/outbox.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/rollup_clock.h"

namespace pleat::inline v0_1 {

class WindowEmitter {
 public:
  // The other parts of the book. All outlive the emitter.
  struct Parts {
    const RollupClock& clock;
    CounterWindows& windows;
    Outbox& outbox;
    BookLedger& ledger;
  };
  WindowEmitter(uint32_t partition, const Parts& parts)
      : partition_(partition),
        clock_(parts.clock),
        windows_(parts.windows),
        counters_(parts.windows.counters()),
        outbox_(parts.outbox),
        ledger_(parts.ledger) {}

  // The place of a window among those of its end, from the position of the window's first event.
  static uint64_t OrderOf(const WindowLists::Name& name, uint64_t arrival) noexcept {
    return uint64_t{name.resolution} << 60 | arrival;
  }
  void HandOut(uint32_t window, Reason reason, EngineTime ripe, uint64_t order, bool by_event,
               const Instant& at);

  // The emission that a correction corrects, by its generation, if that is known.
  std::optional<uint64_t> CorrectedBy(uint32_t correction) const {
    const auto found = corrects_.find(correction);
    return found == corrects_.end() ? std::nullopt : std::optional(found->second);
  }
  void NoteCorrected(uint32_t correction, uint64_t generation) {
    corrects_[correction] = generation;
  }

  // --- Emissions, as the outbox asks for them; see OutboxEntries

  OutboxEntries::HashedKey KeyOf(uint32_t entry) const noexcept {
    const CounterTable::Counter& counter = counters_.at(counters_.window(entry).counter);
    return {counter.key, counter.hash};
  }
  OutboxEntries::Rank RankOf(uint32_t entry) const noexcept;
  void Prefetch(uint32_t entry) const noexcept { counters_.PrefetchWindow(entry); }
  ClosedGroup Show(const Ready& ready) const noexcept;
  void Free(uint32_t entry) noexcept;

 private:
  using Window = CounterTable::Window;

  const uint32_t partition_;
  const RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  Outbox& outbox_;
  BookLedger& ledger_;
  std::unordered_map<uint32_t, uint64_t> corrects_;     // by correction: a generation
  mutable std::array<CountedWindow, kGivenMax> shown_;  // of the latest Show()s, in a ring
  mutable size_t next_shown_ = 0;
};

// Inline, because each emission that goes out pays for them.
inline ClosedGroup WindowEmitter::Show(const Ready& ready) const noexcept {
  const Window& window = counters_.window(ready.entry);
  CountedWindow& state = shown_[next_shown_++ % kGivenMax];
  state = {.start = window.start, .end = windows_.EndOf(window), .amount = window.total.amount()};
  ClosedGroup shown;
  shown.count = window.total.count;
  shown.first = state.start;
  shown.last = state.end;
  shown.key = counters_.at(window.counter).key.view();
  shown.state = &state;
  shown.closed = ready.ripe;
  shown.reason = static_cast<Reason>(ready.tag);
  shown.id = {.partition = partition_, .generation = ready.generation};
  if (!window.correction) return shown;
  if (const auto corrected = CorrectedBy(ready.entry)) {
    shown.corrects = EmissionId{partition_, *corrected};
  }
  return shown;
}

inline void WindowEmitter::Free(uint32_t entry) noexcept {
  Window& window = counters_.ChangeWindow(entry);
  window.ready = 0;
  clock_.windowing().NoteShown(window.start, static_cast<uint8_t>(window.resolution),
                               /*more=*/false);
  if (window.correction) corrects_.erase(entry);
  if (!window.chained) counters_.FreeWindow(entry);
}

}  // namespace pleat::inline v0_1
