// A row of the what-if table: what a stream of events comes to with one quiet period. An Analyzer makes
// the table from a log, GapStats from a running collection.
#pragma once

#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct WhatIfRow {
  Duration quiet_period{0};
  double folding_ratio = 0;         // of the events, those that folded; 0 if there are none
  uint64_t emissions = 0;           // what is open at the end included
  double emissions_per_second = 0;  // over the time from the first event to the last

  // Of emissions: from the event that opened the group to the instant at which it closes. No event of the
  // group waits longer, and its last one waits the quiet period, the least that folding can add.
  Duration delay_p50{0};
  Duration delay_p99{0};

  uint64_t open_peak = 0;  // the most groups that were open at a time

  friend bool operator==(const WhatIfRow&, const WhatIfRow&) = default;
};

}  // namespace pleat::inline v0_1
