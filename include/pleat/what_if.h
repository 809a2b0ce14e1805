// A WhatIfRow tells how a stream of events folds with one quiet period. An Analyzer makes such rows
// from a log, GapStats from a running collection.
#pragma once

#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct WhatIfRow {
  Duration quiet_period{0};

  // The share of the events that fold; 0 if there are none.
  double folding_ratio = 0;

  // How many emissions there are, groups that are open at the end included; and how many a second,
  // over the time from the first event to the last.
  uint64_t emissions = 0;
  double emissions_per_second = 0;

  // From the event that opens a group to the instant at which the group closes. No event of the
  // group waits longer. Its last event waits the quiet period, which is the least that folding can
  // add.
  Duration delay_p50{0};
  Duration delay_p99{0};

  // The most groups that are open at a time.
  uint64_t open_peak = 0;

  friend bool operator==(const WhatIfRow&, const WhatIfRow&) = default;
};

}  // namespace pleat::inline v0_1
