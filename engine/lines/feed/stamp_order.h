// Keeps StampCounts. One thread notes stamps, any thread reads and saves them.
#pragma once

#include <algorithm>
#include <atomic>

#include <pleat/json.h>
#include <pleat/stored.h>

#include "engine/base/counter.h"
#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {

class StampOrder {
 public:
  // Notes the stamp of the next event.
  void Note(EngineTime at) noexcept {
    const EngineTime newest = newest_.load(std::memory_order_relaxed);
    if (at < oldest_.load(std::memory_order_relaxed)) oldest_.store(at, std::memory_order_relaxed);
    if (at < newest) return NoteBehind(newest - at);
    newest_.store(at, std::memory_order_relaxed);
    newest_is_of_earlier_input_.store(false, std::memory_order_relaxed);
  }

  void StartInput() noexcept { newest_is_of_earlier_input_.store(true, std::memory_order_relaxed); }

  EngineTime newest() const noexcept { return newest_.load(std::memory_order_relaxed); }

  StampCounts counts() const noexcept {
    return {oldest_.load(std::memory_order_relaxed),
            newest_.load(std::memory_order_relaxed),
            out_of_order_.value(),
            most_behind_.load(std::memory_order_relaxed),
            behind_input_.value(),
            /*assumed_utc=*/false};
  }

  // By any thread.
  void Save(FieldWriter& out) const {
    const StampCounts now = counts();
    out(now.oldest, now.newest, now.out_of_order, now.most_behind, now.behind_input);
    out(newest_is_of_earlier_input_.load(std::memory_order_relaxed));
  }
  // REQUIRES: nobody notes.
  void Load(FieldReader& in) {
    oldest_.store(ReadTime(in), std::memory_order_relaxed);
    newest_.store(ReadTime(in), std::memory_order_relaxed);
    Duration most_behind{0};
    bool earlier = false;
    out_of_order_.Load(in);
    in(most_behind);
    behind_input_.Load(in);
    in(earlier);
    most_behind_.store(most_behind, std::memory_order_relaxed);
    newest_is_of_earlier_input_.store(earlier, std::memory_order_relaxed);
  }

 private:
  void NoteBehind(Duration behind) noexcept {
    out_of_order_.Add(1);
    if (newest_is_of_earlier_input_.load(std::memory_order_relaxed)) behind_input_.Add(1);
    most_behind_.store(std::max(behind, most_behind_.load(std::memory_order_relaxed)),
                       std::memory_order_relaxed);
  }

  std::atomic<EngineTime> oldest_{kEndOfTime};
  std::atomic<EngineTime> newest_{kBeginningOfTime};
  std::atomic<bool> newest_is_of_earlier_input_{false};
  Counter out_of_order_;
  std::atomic<Duration> most_behind_{Duration(0)};
  Counter behind_input_;
};

}  // namespace pleat::inline v0_1
