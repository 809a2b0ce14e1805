#include "engine/rollup/counter_windows.h"

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

uint32_t CounterWindows::CounterOf(const EventRef& event) const {
  return counters_.Find(event.key, event.hash);
}

void CounterWindows::Add(const RollupTurn& turn) {
  const EngineTime start = windowing().StartOf(turn.stamp);
  PLEAT_CHECK(windowing().EndOf(start) > windowing().FrontierAt(turn.now));
  if (!AddInside(turn, start)) AddOutside(turn, start);
}

// Adds the event to the window inside the counter, or begins one there. Returns false if that
// cannot be.
bool CounterWindows::AddInside(const RollupTurn& turn, EngineTime start) {
  if (clears_.on() || turn.delta.kind() != Delta::Kind::kInteger) return false;
  Counter& counter = counters_.ChangeKept(turn.number);
  const int64_t delta = turn.delta.whole();
  if (start > counter.start) {
    if (counter.count > 0) MoveOut(turn.number);
    counter.start = start;
    counter.count = 1;
    counter.sum = delta;
    ++inside_;
    NoteOpened(turn, start);
  } else {
    int64_t sum;
    if (!CounterTable::IsInside(counter, start) || counter.count == UINT32_MAX ||
        __builtin_add_overflow(counter.sum, delta, &sum)) {
      return false;
    }
    counter.sum = sum;
    ++counter.count;
  }
  ledger_.NoteAdded(static_cast<uint64_t>(delta));
  return true;
}

void CounterWindows::AddOutside(const RollupTurn& turn, EngineTime start) {
  Counter& counter = counters_.ChangeKept(turn.number);
  if (counter.count > 0 && counter.start <= start) MoveOut(turn.number);
  counter.start = std::max(counter.start, start);
  uint32_t number = counters_.FindWindow(counter, 0, start);
  if (number == kNone) {
    number = counters_.NewWindow(turn.number, 0, start);
    counters_.Chain(number);
    NoteOpened(turn, start);
  }
  Window& window = counters_.ChangeKeptWindow(number);
  PLEAT_CHECK(!window.closed);
  if (turn.clears) return clears_.AddClear(number, turn.stamp);
  if (clears_.on()) clears_.AddEvent(number, turn.stamp, turn.delta);
  const int64_t before = window.total.whole;
  window.total.Add(turn.delta);
  const auto delta = static_cast<uint64_t>(window.total.whole) - static_cast<uint64_t>(before);
  ledger_.NoteAdded(delta);
  Account& account = counters_.AccountOf(counter);
  ++account.open_count;
  account.irregular |=
      !window.total.plain() || IsFar(window.total.whole, kOpenBits) ||
      __builtin_add_overflow(account.open_sum, static_cast<int64_t>(delta), &account.open_sum);
}

uint32_t CounterWindows::MoveOut(uint32_t number) {
  const Counter& before = counters_.at(number);
  const uint32_t count = before.count;
  const int64_t sum = before.sum;
  const bool may_have_ended = before.start < clock_.floor();
  const uint32_t window = counters_.MoveOut(number);
  --inside_;
  if (may_have_ended) [[unlikely]] {
    counters_.ChangeKeptWindow(window).closed = clock_.IsEnded(EndOf(counters_.window(window)));
  }
  Account& account = counters_.AccountOf(counters_.ChangeKept(number));
  account.open_count += count;
  account.irregular |=
      IsFar(sum, kOpenBits) || __builtin_add_overflow(account.open_sum, sum, &account.open_sum);
  return window;
}

// The counter has a new window, and with it those of further resolutions, if they are new, too.
void CounterWindows::NoteOpened(const RollupTurn& turn, EngineTime start) {
  ++ledger_.windows_opened;
  ++ledger_.windows;
  ++ledger_.open;
  windowing().NoteOpened(turn.stamp);
  lists_.Append({windowing().EndOf(start), 0}, turn.number, turn.position);
  for (size_t i = 1; i < windowing().resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const EngineTime coarse = windowing().StartOf(turn.stamp, resolution);
    if (counters_.FindWindow(counters_.at(turn.number), resolution, coarse) != kNone) continue;
    windowing().NoteOpened(turn.stamp, resolution);
    counters_.Chain(counters_.NewWindow(turn.number, resolution, coarse));
    ++ledger_.windows;
    ++ledger_.open;
    lists_.Append({windowing().EndOf(coarse, resolution), resolution}, turn.number, turn.position);
  }
}

void CounterWindows::AddToFurther(const Window& window) {
  const Counter& counter = counters_.at(window.counter);
  for (size_t i = 1; i < windowing().resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const uint32_t coarse =
        counters_.FindWindow(counter, resolution, windowing().StartOf(window.start, resolution));
    PLEAT_CHECK(coarse != kNone && !counters_.window(coarse).closed);
    counters_.ChangeKeptWindow(coarse).total.Merge(window.total);
  }
}

WindowLists::Name CounterWindows::LastOf(const Counter& counter) const noexcept {
  WindowLists::Name last{windowing().EndOf(counter.start), 0};
  for (size_t i = 1; i < windowing().resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const EngineTime start = windowing().StartOf(counter.start, resolution);
    last = std::max(last, WindowLists::Name{windowing().EndOf(start, resolution), resolution});
  }
  return last;
}

}  // namespace pleat::inline v0_1
