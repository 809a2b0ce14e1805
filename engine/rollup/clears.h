// Clears keep what clears ask for, by window, if a counter has them (RollupOptions::clears): the
// events of an open window one by one, because a clear that comes later may lie between them; and the
// clear of a window, with the total of the events behind it, as long as the window is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <pleat/rollup_values.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/rollup/counter_table.h"
#include "engine/rollup/total.h"

namespace pleat::inline v0_1 {

class Clears {
  struct Event {
    EngineTime at;
    Delta delta;
  };

 public:
  using Window = CounterTable::Window;
  static constexpr size_t kEventBytes = sizeof(Event);

  explicit Clears(bool on) noexcept : on_(on) {}

  bool on() const noexcept { return on_; }
  size_t bytes() const noexcept { return bytes_; }

  void AddEvent(uint32_t window, EngineTime at, const Delta& delta);
  void AddClear(uint32_t window, EngineTime at);

  // Adds the total of a window to a sum. A clear in the window ends all that came before.
  void AddToSum(const Total& total, uint32_t window, Total& sum) const {
    const Detail* const detail = Find(window);
    if (detail != nullptr && detail->clear) {
      sum = detail->after;
    } else {
      sum.Merge(total);
    }
  }

  bool Has(uint32_t window) const { return on_ && details_.contains(window); }
  // No event comes any more between those of the window: its total and its clear say all.
  void DropEvents(uint32_t window);
  void Forget(uint32_t window) {
    if (on_) details_.erase(window);
  }

  // What is known of the window of this number. REQUIRES: Has(); on().
  void Save(FieldWriter& out, uint32_t number, const Window& window) const;
  void Load(FieldReader& in, uint32_t number, const Window& window, EngineTime end);

 private:
  struct Detail {
    std::vector<Event> events;  // in order of arrival
    std::optional<EngineTime> clear;
    Total after;  // of the events behind the clear
  };
  const Detail* Find(uint32_t window) const {
    if (!on_) return nullptr;
    const auto found = details_.find(window);
    return found == details_.end() ? nullptr : &found->second;
  }

  const bool on_;
  std::unordered_map<uint32_t, Detail> details_;  // by window
  size_t bytes_ = 0;                              // of events
};

}  // namespace pleat::inline v0_1
