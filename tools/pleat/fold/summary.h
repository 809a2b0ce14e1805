// The result of a run of `pleat fold` in figures: the ledger for machines, a few lines for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/json.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "tools/pleat/summary_text.h"

namespace pleat::cli {

// All counts of a run, whose lines and groups always add up (docs/command-line.md, Statistics).
struct RunTotals {
  LineCounts lines;
  StampCounts stamps;
  Ledger groups;
  bool stated = false;   // events state their time
  bool selects = false;  // the run may exclude lines
  std::optional<MergeMismatch> mismatch = {};
  std::optional<Duration> clock_behind = {};  // see EngineJob
  uint64_t saturated = 0;  // emissions of this run with a sum at the end of its range

  // Groups that were neither closed nor cancelled when the run ended.
  uint64_t open() const;

  // folded / events; 0 when there was no event.
  double FoldingRatio() const;
};

// One JSON object in a line, its members in a fixed order.
std::string StatsJson(const RunTotals& totals);

// `fate`: of the emissions, such as "written".
std::string HumanSummary(const RunTotals& totals, const RunEffort& effort, std::string_view fate);

}  // namespace pleat::cli
