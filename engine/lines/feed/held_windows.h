// Windows of a counter that were taken out of the engine before anybody has asked for them, to make
// room there. They are stored with the counter, as if they were still inside.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>
#include <pleat/emission.h>
#include <pleat/rollup_values.h>
#include <pleat/stored.h>
#include <pleat/untyped/any_collection.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class HeldWindows {
 public:
  // Under the lock of the partition that the window leaves: a snapshot has it here or there.
  void Add(const ClosedGroup& emission);

  // Hands out up to `max`, in order, with the key and the state that each came with; they are gone
  // then. Returns how many.
  size_t Take(size_t max, AnyCollection::Take take);

  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

 private:
  struct Held {
    ClosedGroup emission;  // its key and state are these:
    std::string key;
    CountedWindow window;

    template <class F>
    void Stored(F& f) {
      // A sum that no number is part of is stored as an integer that is saturated and 0, as no other is.
      Amount& amount = window.amount;
      bool saturated = amount.saturated || amount.none;
      f(key, window.start, window.end, amount.count, amount.sum, amount.real, amount.integer,
        saturated);
      amount.none = saturated && amount.integer && amount.sum == 0;
      amount.saturated = saturated && !amount.none;
      f(emission.count, emission.first, emission.last, emission.closed, emission.reason,
        emission.revision, emission.partial);
      f(emission.id.partition, emission.id.generation);
      bool corrects = emission.corrects.has_value();
      EmissionId corrected = emission.corrects.value_or(EmissionId{});
      f(corrects, corrected.partition, corrected.generation);
      emission.corrects = corrects ? std::optional(corrected) : std::nullopt;
    }
  };

  mutable Lock lock_;  // held for no other lock
  std::deque<Held> windows_ ABSL_GUARDED_BY(lock_);
};

}  // namespace pleat::inline v0_1
