// The result of a run of `pleat fold` in figures: the ledger for machines, a few lines for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/json.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::cli {

// lines = events + bad
// events = opened + folded + late + refused + duplicate + conflict + corrected + control
// opened = emissions - partial - corrected + silent + cancelled + open
struct RunTotals {
  RunTotals(const LineCounts& counts, const StampCounts& stamps, const Ledger& ledger);

  uint64_t lines;
  uint64_t events;
  uint64_t bad;
  uint64_t late;
  uint64_t refused;
  uint64_t opened;
  uint64_t folded;
  uint64_t emissions;  // lines written
  uint64_t open;       // groups that were neither closed nor cancelled
  uint64_t mismatched;
  uint64_t duplicate;
  uint64_t conflict;
  uint64_t corrected;     // late events that were written by themselves
  uint64_t control;       // events that flushed or cancelled, or would have
  uint64_t cancelled;     // groups
  uint64_t silent;        // groups that closed without an emission, after their leading one
  uint64_t partial;       // emissions of groups that went on, leading ones included
  uint64_t late_folded;   // of `opened` and `folded`
  uint64_t out_of_order;  // events older than one before them,
  Duration most_behind;   // at most by so much

  double FoldingRatio() const;
};

// One JSON object in a line, its members in a fixed order.
std::string StatsJson(const RunTotals& totals);

// `bytes`: as read from the disk or the pipe. `fate`: of the emissions, such as "written".
std::string HumanSummary(const RunTotals& totals, uint64_t bytes, Duration took,
                         std::string_view fate);

}  // namespace pleat::cli
