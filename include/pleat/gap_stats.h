// GapStats: what other quiet periods would have done with the events of a running collection.
//
//   pleat::Folder<Edit, Edits> edits(
//       *engine, "edits", {.quiet_period = 5min, .max_hold = 1h, .measure = {.gap_stats = true}});
//   ...
//   const auto stats = edits.gap_stats();
//   for (const auto quiet : {30s, 1min, 5min, 20min}) Print(stats->WhatIf(quiet));
//
// For each event the gap is measured: how far engine time, when the event is folded, is past the latest stamp of
// its key. A quiet period folds the events whose gap is shorter. So the folding ratio of every quiet period
// is read off the histogram of gaps, to within a tenth of a percentage point, without simulating any.
//
// Of a collection that has folded millions of events one in eight is counted, for eight: what is read for a quiet
// period shorter than the one in use may then be off by a tenth of a percentage point, at the very most.
//
// That the key of a closed group comes back after a gap can only be seen if its last stamp is still remembered:
// max_ghosts such keys are. For gaps from `known_to` on some were forgotten; what WhatIf() answers for a
// quiet period longer than that is too low a ratio.
//
// What depends on how gaps follow each other, delays and what is open, a histogram of gaps does not tell. It
// was measured at the quiet period in use; for others it is that, scaled as it would be if the gaps of a
// key came in no order. docs/quiet-period.md says how far off that is on real logs.
#pragma once

#include <cstdint>

#include <pleat/export.h>
#include <pleat/histogram.h>
#include <pleat/time.h>
#include <pleat/what_if.h>

namespace pleat::inline v0_1 {

// Thread safety: plain data. 300 KB: keep it off small stacks. Of two collections, or two processes: `+=`.
struct GapStats {
  GapHistogram gaps;  // in microseconds, of events whose key's last stamp was known
  uint64_t events =
      0;  // all that were measured; those without a gap are the first of their key, or come
          // after one that is forgotten
  Duration known_to = kForever;   // every gap shorter than this was seen
  EngineTime first = kEndOfTime;  // the smallest stamp of an event, and the largest
  EngineTime last = kBeginningOfTime;

  // Measured at the quiet period and max hold in use.
  Duration quiet_period{0};
  Duration max_hold = kForever;
  Histogram spans;       // of groups that closed: microseconds from the opening to the latest stamp
  Histogram fold_sizes;  // of emissions: how many events each holds
  uint64_t open_peak = 0;  // the most groups that were open at a time

  // What `quiet` and `max_hold` would have done: with the ratio, and emissions per second, exact up to the
  // resolution of the histogram if `max_hold` is kForever, the rest an estimate. Microseconds of work.
  // REQUIRES: both are above zero.
  PLEAT_EXPORT WhatIfRow WhatIf(Duration quiet, Duration max_hold = kForever) const;

  PLEAT_EXPORT GapStats& operator+=(const GapStats& other);
};

}  // namespace pleat::inline v0_1
