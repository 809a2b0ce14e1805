// A Forgetter forgets counters whose last window is over for long enough, with their values. A
// counter that somebody holds then, by a CounterRef or because the store lacks its value, is
// *released*, and forgotten once nobody holds it.
//
// Writes this column of the ledger: forgotten.
#pragma once

#include <cstdint>
#include <set>

#include "engine/rollup/book_ledger.h"
#include "engine/rollup/counter_windows.h"
#include "engine/rollup/publications.h"
#include "engine/rollup/rollup_clock.h"
#include "engine/rollup/shared_counts.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class Forgetter {
 public:
  // The other parts of the book. All outlive the forgetter; `store` may be null.
  struct Parts {
    const RollupClock& clock;
    CounterWindows& windows;
    SharedCounts& shared;
    Publications* store;
    BookLedger& ledger;
  };
  explicit Forgetter(const Parts& parts)
      : clock_(parts.clock),
        windows_(parts.windows),
        counters_(parts.windows.counters()),
        shared_(parts.shared),
        store_(parts.store),
        ledger_(parts.ledger) {}

  // The counter of a key, or kNone; one that is over is gone, whether somebody has visited it or not.
  uint32_t FindLive(const PackedKey& key, uint64_t hash) const {
    const uint32_t number = counters_.Find(key, hash);
    const bool may_be_gone = number != CounterTable::kNone && clock_.forgets();
    return may_be_gone && IsOver(number) && !IsHeld(number) ? CounterTable::kNone : number;
  }
  // Whether the counter is due to be forgotten, unless it is held. REQUIRES: counters are forgotten.
  bool IsOver(uint32_t number) const;
  bool IsHeld(uint32_t number) const {
    return (store_ != nullptr && !store_->At(number).idle()) || shared_.IsHeld(number);
  }

  void ForgetUnlessHeld(uint32_t number);
  // Forgets some of the counters that were released; or all of them that are over.
  void ForgetReleased();
  void ForgetAllReleased();
  // The options of the clock have changed: each counter waits where a later visit finds it by these.
  // What is over by them is due. O(counters). REQUIRES: all that was due by those of before is gone.
  void WaitAnew();
  void Release(uint32_t number) { released_.insert(number); }
  bool IsReleased(uint32_t number) const { return released_.contains(number); }
  bool has_released() const noexcept { return !released_.empty(); }
  // Where the next look at them begins.
  uint32_t released_next() const noexcept { return released_next_; }
  void set_released_next(uint32_t number) noexcept { released_next_ = number; }

 private:
  void Forget(uint32_t number);
  bool Look(uint32_t number);

  const RollupClock& clock_;
  CounterWindows& windows_;
  CounterTable& counters_;
  SharedCounts& shared_;
  Publications* const store_;
  BookLedger& ledger_;
  std::set<uint32_t> released_;
  uint32_t released_next_ = 0;
};

}  // namespace pleat::inline v0_1
