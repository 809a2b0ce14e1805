// CounterWindows are the counters of a book with their windows: they keep in step the three places
// that know a window, which are the counter itself or its chains (CounterTable), the list of the
// window's end (WindowLists), and what clears know of it (Clears).
//
// Invariants, beside those of the parts:
//   - An open window has one entry in the list of its end.
//   - The account's sum of open windows is that of its chain, unless it says that it is not.
//
// Writes these columns of the ledger: windows, windows_opened, pending, delta_added, delta_pending, and
// open, which the emitter lowers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <pleat/rollup_options.h>
#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/clears.h"
#include "engine/rollup/counter_table.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/rollup_turn.h"
#include "engine/rollup/window_lists.h"
#include "engine/rollup/windowing.h"

namespace pleat::inline v0_1 {

class CounterWindows {
 public:
  using Counter = CounterTable::Counter;
  using Account = CounterTable::Account;
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  // `pool`, `clock` and `ledger` outlive the windows.
  CounterWindows(Pages& pool, const RollupOptions& options, const RollupClock& clock,
                 BookLedger& ledger)
      : clock_(clock),
        ledger_(ledger),
        has_store_(options.store != nullptr),
        clears_(options.clears),
        counters_(pool),
        lists_(pool) {}

  CounterTable& counters() noexcept { return counters_; }
  const CounterTable& counters() const noexcept { return counters_; }
  WindowLists& lists() noexcept { return lists_; }
  const WindowLists& lists() const noexcept { return lists_; }
  Clears& clears() noexcept { return clears_; }
  const Clears& clears() const noexcept { return clears_; }

  // --- Events

  // The counter of the event's key, or kNone.
  uint32_t CounterOf(const EventRef& event) const;
  // Whether an event with this stamp opens a window of a counter, which may be kNone.
  bool Opens(uint32_t counter, EngineTime stamp) const {
    if (counter == kNone) return true;
    const EngineTime start = windowing().StartOf(stamp);
    return !CounterTable::IsInside(counters_.at(counter), start) &&
           counters_.FindWindow(counters_.at(counter), 0, start) == kNone;
  }
  // At most so many bytes are needed for that: some of this may be there.
  size_t bytes_to_open() const noexcept {
    constexpr size_t kEach =
        CounterTable::kWindowBytes + WindowLists::kEntryBytes + WindowLists::kListBytes;
    return CounterTable::kAccountBytes + windowing().resolutions() * kEach;
  }
  // Adds an event or a clear to its window. REQUIRES: ChangeKept() of the counter is possible.
  void Add(const RollupTurn& turn);

  // --- Windows that close

  // The window inside goes outside, where older windows lie. Returns its number there.
  uint32_t MoveOut(uint32_t counter);
  // The window inside is over: an entry is left, in no chain.
  uint32_t TakeOut(uint32_t counter, EngineTime end) {
    Counter& of = counters_.ChangeKept(counter);
    const uint32_t number = counters_.NewWindow(counter, 0, of.start);
    Window& taken = counters_.ChangeKeptWindow(number);
    taken.total = CounterTable::TotalInside(of);
    if (clock_.IsEnded(end)) [[unlikely]]
      taken.closed = 1;
    of.count = 0;
    --inside_;
    return number;
  }
  // A window of the first resolution closes: those of further resolutions are sums of such windows,
  // and close after them.
  void AddToCoarse(const Window& window) {
    if (windowing().resolutions() > 1) AddToFurther(window);
  }
  // A window of the chain is not open any more.
  void LeaveOpen(Counter& counter, const Window& window) {
    Account& account = counters_.AccountOf(counter);
    account.open_count -= window.total.count;
    account.open_sum = static_cast<int64_t>(static_cast<uint64_t>(account.open_sum) -
                                            static_cast<uint64_t>(window.total.whole));
    // Without open windows in the chain, nothing is irregular any more.
    if (account.open_count == 0) {
      account.open_sum = 0;
      account.irregular = false;
    }
  }
  void DropEvents(uint32_t window) {
    if (!clears_.Has(window)) return;
    counters_.ChangeKept(counters_.window(window).counter);
    clears_.DropEvents(window);
  }
  // Keeps a final window, and removes one that was kept.
  void Keep(uint32_t number) {
    ++kept_;
    if (!counters_.window(number).chained) counters_.Chain(number);
  }
  void ReleaseKept(uint32_t number) {
    --kept_;
    Release(number);
  }
  // Removes a window that is not looked up any more; its emission may still wait.
  void Release(uint32_t number) {
    if (counters_.window(number).chained) counters_.Unchain(number);
    DropEvents(number);
    clears_.Forget(number);
    if (!counters_.window(number).ready) counters_.FreeWindow(number);
  }

  // --- Where windows lie

  EngineTime StartOf(const WindowLists::Name& name) const noexcept {
    return windowing().StartOf(name.end - Duration{1}, name.resolution);
  }
  EngineTime EndOf(const Window& window) const noexcept {
    return windowing().EndOf(window.start, window.resolution);
  }
  // The list of the counter's last window to end.
  WindowLists::Name LastOf(const Counter& counter) const noexcept;

  // Whether a sum has no room in so many bits. A final part of 62 bits and four million windows of
  // 40 bits saturate nowhere on their way, so the order of adding does not show.
  static constexpr int kFinalBits = 62;
  static constexpr int kOpenBits = 40;
  static constexpr bool IsFar(int64_t sum, int bits) noexcept {
    return sum >> bits != 0 && sum >> bits != -1;
  }

  // --- Counts

  size_t inside() const noexcept { return inside_; }
  size_t kept() const noexcept { return kept_; }
  size_t bytes() const noexcept {
    // A window inside goes outside where final ones are kept.
    constexpr size_t kOutside = CounterTable::kAccountBytes + CounterTable::kWindowBytes;
    return counters_.bytes() + (clock_.retains() || has_store_ ? inside_ * kOutside : 0) +
           ledger_.open * WindowLists::kEntryBytes + lists_.size() * WindowLists::kListBytes +
           clears_.bytes();
  }
  // For loading: there is one window more of these.
  void NoteInside() noexcept { ++inside_; }
  void NoteKept() noexcept { ++kept_; }

 private:
  const Windowing& windowing() const noexcept { return clock_.windowing(); }
  bool AddInside(const RollupTurn& turn, EngineTime start);
  void AddOutside(const RollupTurn& turn, EngineTime start);
  void NoteOpened(const RollupTurn& turn, EngineTime start);
  void AddToFurther(const Window& window);

  const RollupClock& clock_;
  BookLedger& ledger_;
  const bool has_store_;
  Clears clears_;
  CounterTable counters_;
  WindowLists lists_;
  size_t inside_ = 0;  // windows inside counters
  size_t kept_ = 0;    // final windows in chains
};

}  // namespace pleat::inline v0_1
