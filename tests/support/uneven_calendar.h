// A calendar whose windows have no length in common, in place of one with days of 23 hours: every
// multiple of `unit` is moved by a fifth of it or not at all, the same one always alike. So windows of
// multiples of `unit` are made of those of the unit itself.
#pragma once

#include <cstdint>
#include <utility>

#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct UnevenCalendar {
  Duration unit;

  int64_t NumberAt(EngineTime at, Duration length) const {
    int64_t number = FloorOf(at.time_since_epoch().count(), length.count());
    while (EdgeOf(number, length) > at) --number;
    while (EdgeOf(number + 1, length) <= at) ++number;
    return number;
  }
  EngineTime EdgeOf(int64_t number, Duration length) const {
    const EngineTime edge(number * length);
    const int64_t units = edge.time_since_epoch() / unit;
    return edge + unit / 5 * (units % 3 == 0 ? 0 : 1);
  }
  std::pair<EngineTime, EngineTime> operator()(EngineTime at, Duration length) const {
    const int64_t number = NumberAt(at, length);
    return {EdgeOf(number, length), EdgeOf(number + 1, length)};
  }

 private:
  static int64_t FloorOf(int64_t number, int64_t by) {
    return number / by - (number % by < 0 ? 1 : 0);
  }
};

// Gives the options, whose windows are multiples of the first one, such windows.
inline void MakeUneven(RollupOptions& options) {
  options.calendar = UnevenCalendar{options.windows.front()};
  options.calendar_name = "uneven";
}

}  // namespace pleat::inline v0_1
