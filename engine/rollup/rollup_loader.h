// A RollupLoader makes the parts of a rollup book what the bytes of a RollupSaver say.
//
// Counters come in the order of their numbers, and get numbers in this order again: their order is
// all that numbers mean. What follows from something else is not written, and so cannot contradict
// it: which windows are closed or over, the sums of open windows, what the store lacks. The rest is
// checked, at the end as a whole (RollupCheck).
//
// CounterRefs belong to the process: they are not written, and hold no counter after a restart.
#pragma once

#include <cstdint>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/hash.h"
#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_ids.h"
#include "engine/rollup/counter_values.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/forgetter.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/shared_counts.h"
#include "engine/rollup/window_emitter.h"
#include "engine/rollup/window_lists.h"

namespace pleat::inline v0_1 {

class RollupLoader {
 public:
  // The parts of the book, as new. All outlive the loader; `store` may be null.
  struct Parts {
    RollupClock& clock;
    CounterWindows& windows;
    CounterIds& ids;
    SharedCounts& shared;
    Publications* store;
    const CounterValues& values;
    Forgetter& forgetter;
    WindowEmitter& emitter;
    BookLedger& ledger;
  };
  // `hash_key` is that of the events' hashes. `corrects`: late events name the emission that they
  // correct.
  RollupLoader(const HashKey& hash_key, bool corrects, const Parts& parts);

  // All but the outbox, which is behind it.
  void Load(FieldReader& in);
  // The entry of the outbox's next emission.
  uint32_t NextEmission(FieldReader& in);
  // Whether every emission was met, and all that only emissions need was named by one.
  bool AllAreNamed() const;

 private:
  using Window = CounterTable::Window;
  static constexpr uint32_t kNone = CounterTable::kNone;

  struct Named {
    uint32_t emission;
    uint32_t window;
  };

  bool LoadCounter(FieldReader& in);
  void LoadKnown(FieldReader& in, uint32_t number, uint8_t flags);
  bool LoadLoose(FieldReader& in);
  void LoadWaiting(FieldReader& in, uint32_t number);
  void PlaceWaiting(FieldReader& in);
  void LoadChain(FieldReader& in, uint32_t counter, uint8_t chain);
  void LoadWindow(FieldReader& in, uint32_t counter, uint8_t chain);
  void LoadReleased(FieldReader& in);
  void LoadLists(FieldReader& in);
  void LoadList(FieldReader& in, WindowLists::Stage stage, const WindowLists::Name& name,
                bool first);
  void LoadQueue(FieldReader& in);
  uint32_t LoadNumber(FieldReader& in) const;

  const HashKey& hash_key_;
  const bool corrects_;
  RollupClock& clock_;
  const Windowing& windowing_;
  CounterWindows& windows_;
  CounterTable& counters_;
  CounterIds& ids_;
  SharedCounts& shared_;
  Publications* const store_;
  const CounterValues& values_;
  Forgetter& forgetter_;
  WindowEmitter& emitter_;
  BookLedger& ledger_;
  // Our own numbers, by those in the bytes.
  std::vector<uint32_t> numbers_;  // of counters
  uint32_t waiting_count_ = 0;     // of emissions in the outbox
  std::vector<Named> named_;       // as they come, so that wrong bytes allocate little
  std::vector<uint32_t> waiting_;  // windows, by their emission in the outbox
  uint32_t emissions_ = 0;         // how many of these were read
};

}  // namespace pleat::inline v0_1
