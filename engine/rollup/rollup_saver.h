// A RollupSaver writes a rollup book as bytes while the book changes: time and counts; each counter
// with its windows; the windows of emissions whose counter does not keep them; the lists of windows;
// the counters that wait for the store; ids; the outbox.
//
// The cut itself costs little, whatever the number of counters, windows and ids. Written then, beside
// time and counts: the outbox, as bytes that name no window, with the order of its emissions by
// window; and the numbers of the counters that wait for the store. Counters and windows come strip by
// strip, and are kept as they were if they change before (CounterTable). The lists stay as they were,
// because they only grow at their ends (WindowLists).
//
// In the bytes, counters are numbered in the order in which they come, and windows whose emissions
// wait have the number of the emission in the outbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/copies.h"
#include "engine/outbox/outbox.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_table.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/window_emitter.h"
#include "engine/rollup/window_lists.h"
#include "engine/table/place_numbers.h"

namespace pleat::inline v0_1 {

class RollupSaver final : private CounterTable::Saver, private Copies::Holder {
 public:
  // The parts of the book. All outlive the saver; `store` may be null.
  struct Parts {
    const RollupClock& clock;
    CounterWindows& windows;
    CounterIds& ids;
    const Publications* store;
    const Forgetter& forgetter;
    const WindowEmitter& emitter;
    Outbox& outbox;
    const BookLedger& ledger;
  };
  // `copies` also go to Begin().
  RollupSaver(const Parts& parts, Copies& copies);
  ~RollupSaver() override;  // gives up what is left
  RollupSaver(const RollupSaver&) = delete;
  RollupSaver& operator=(const RollupSaver&) = delete;

  // See Book::BeginSave() and Book::SaveNext().
  void Begin(FieldWriter& out, Copies& copies);
  bool Next(FieldWriter& out);
  // Begin() has come to the entry of the outbox's next emission. The window is written elsewhere.
  void NoteEmission(uint32_t window);

 private:
  static constexpr uint32_t kNone = CounterTable::kNone;
  enum Part { kCounters, kLooseWindows, kLists, kListsSaved, kWaiting, kIds, kOutbox };

  size_t SaveCounter(FieldWriter& out, uint32_t number) const override;
  void SaveLoose(FieldWriter& out, uint32_t number) const override;
  size_t SaveChain(FieldWriter& out, uint32_t head) const;
  void SaveWindow(FieldWriter& out, uint32_t number) const;
  void Free() noexcept override;
  bool SaveLists(FieldWriter& out);
  bool SaveWaiting(FieldWriter& out);

  const RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  CounterIds& ids_;
  const Publications* const store_;
  const Forgetter& forgetter_;
  const WindowEmitter& emitter_;
  Outbox& outbox_;
  const BookLedger& ledger_;

  // What is written piece by piece, as it was at Begin() if it does not lie elsewhere.
  Part part_ = kCounters;
  size_t next_ = 0;               // of the part, if that is a vector
  PlaceNumbers saved_;            // counters that were written
  const uint32_t released_next_;  // the forgetter's
  std::vector<WindowLists::Rest> lists_;
  uint64_t arrival_ = 0;           // of the list's latest entry
  std::vector<uint32_t> waiting_;  // counters, for the store
  const bool has_ids_;
  std::vector<FieldWriter::Piece> pieces_;  // of the outbox
  // Of emissions in the outbox, by window; those of other windows are not touched, so that most of
  // this takes no memory. And how many emissions there are.
  std::unique_ptr<uint32_t[]> order_;
  uint32_t emissions_ = 0;
};

}  // namespace pleat::inline v0_1
