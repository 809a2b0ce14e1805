// GapStats: how other quiet periods would have folded the events of a running collection.
//
//   pleat::Folder<Edit, Edits> edits(
//       *engine, "edits", {.quiet_period = 5min, .max_wait = 1h, .measure = {.gap_stats = true}});
//   ...
//   const auto stats = edits.gap_stats();
//   for (const auto quiet : {30s, 1min, 5min, 20min}) Print(stats->WhatIf(quiet));
//
// A gap is how far engine time, when an event is folded, is past the latest stamp of its key. A
// quiet period folds the events whose gap is shorter, so the histogram of gaps tells the folding
// ratio of every quiet period, to within a tenth of a percentage point, without a simulation.
//
// Limits of the answer:
// - After some millions of events, one event in eight is counted, for eight. The ratio of a quiet
//   period shorter than the one in use may then be off by another tenth of a percentage point.
// - The gap of a key whose group has closed is known only while its last stamp is remembered, for
//   measure.max_ghosts keys. For a quiet period longer than `known_to` the ratio is too low.
// - Delays and open groups depend on the order of gaps, which a histogram does not tell. They were
//   measured at the quiet period in use, and are scaled for others as if gaps came in no order.
//   docs/quiet-period.md says how far off that is on real logs.
#pragma once

#include <cstdint>

#include <pleat/export.h>
#include <pleat/histogram.h>
#include <pleat/time.h>
#include <pleat/what_if.h>

namespace pleat::inline v0_1 {

// Plain data of 300 KB: keep it off small stacks. The statistics of two collections, or of two
// processes, are added up with +=.
// Thread safety: distinct objects are independent. One object is for one thread at a time.
struct GapStats {
  // The gaps in microseconds, of events whose key's last stamp was known.
  GapHistogram gaps;

  // All events that were measured. Those without a gap are the first of their key, or come after
  // one that is forgotten.
  uint64_t events = 0;

  // Every gap shorter than this was seen.
  Duration known_to = kForever;

  // The smallest and the largest stamp of an event.
  EngineTime first = kEndOfTime;
  EngineTime last = kBeginningOfTime;

  // The quiet period and the max wait in use.
  Duration quiet_period{0};
  Duration max_wait = kForever;

  // Of groups that closed: microseconds from the opening to the latest stamp. Of emissions: how
  // many events each holds. And the most groups that were open at a time.
  Histogram spans;
  Histogram fold_sizes;
  uint64_t open_peak = 0;

  // The effect that the quiet period `quiet` would have had. The ratio and the emissions per second
  // are exact, up to the resolution of the histogram, if `max_wait` is kForever; the rest are
  // estimates.
  // Cost: microseconds.
  // REQUIRES: both are above zero.
  PLEAT_EXPORT WhatIfRow WhatIf(Duration quiet, Duration max_wait = kForever) const;

  PLEAT_EXPORT GapStats& operator+=(const GapStats& other);
};

}  // namespace pleat::inline v0_1
