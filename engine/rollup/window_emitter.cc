#include "engine/rollup/window_emitter.h"

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

void WindowEmitter::HandOut(uint32_t number, Reason reason, EngineTime ripe, uint64_t order,
                            bool by_event, const Instant& at) {
  Window& window = counters_.ChangeKeptWindow(number);
  PLEAT_CHECK(!window.closed && ripe <= clock_.now());
  ++ledger_.emissions[IndexOf(reason)];
  if (!window.correction) {
    --ledger_.open;
    ledger_.windows_closed += window.resolution == 0;
  }
  window.closed = 1;
  window.ready = 1;
  clock_.windowing().NoteShown(window.start, static_cast<uint8_t>(window.resolution),
                               /*more=*/true);
  window.generation = outbox_.next_generation() & ((uint64_t{1} << 56) - 1);
  outbox_.Push({.ripe = ripe,
                .order = order,
                .generation = 0,
                .entry = number,
                .by_event = by_event,
                .tag = static_cast<uint8_t>(reason)},
               at);
}

OutboxEntries::Rank WindowEmitter::RankOf(uint32_t entry) const noexcept {
  const Window& window = counters_.window(entry);
  const WindowLists::Name name{windows_.EndOf(window), static_cast<uint8_t>(window.resolution)};
  return {name.end, OrderOf(name, window.total.arrival)};
}

}  // namespace pleat::inline v0_1
