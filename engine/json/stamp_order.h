// Keeps StampCounts. One thread notes stamps, any thread reads.
#pragma once

#include <algorithm>
#include <atomic>

#include <pleat/json.h>

#include "engine/json/counter.h"

namespace pleat::inline v0_1 {

class StampOrder {
 public:
  // Notes the stamp of the next event.
  void Note(EngineTime at) noexcept {
    const EngineTime newest = newest_.load(std::memory_order_relaxed);
    if (at < oldest_.load(std::memory_order_relaxed)) oldest_.store(at, std::memory_order_relaxed);
    if (at < newest) return NoteBehind(newest - at);
    newest_.store(at, std::memory_order_relaxed);
    newest_is_of_earlier_input_ = false;
  }

  void StartInput() noexcept { newest_is_of_earlier_input_ = true; }

  StampCounts counts() const noexcept {
    return {oldest_.load(std::memory_order_relaxed), newest_.load(std::memory_order_relaxed),
            out_of_order_.value(), most_behind_.load(std::memory_order_relaxed),
            behind_input_.value()};
  }

 private:
  void NoteBehind(Duration behind) noexcept {
    out_of_order_.Add(1);
    if (newest_is_of_earlier_input_) behind_input_.Add(1);
    most_behind_.store(std::max(behind, most_behind_.load(std::memory_order_relaxed)),
                       std::memory_order_relaxed);
  }

  std::atomic<EngineTime> oldest_{kEndOfTime};
  std::atomic<EngineTime> newest_{kBeginningOfTime};
  bool newest_is_of_earlier_input_ = false;
  Counter out_of_order_;
  std::atomic<Duration> most_behind_{Duration(0)};
  Counter behind_input_;
};

}  // namespace pleat::inline v0_1
