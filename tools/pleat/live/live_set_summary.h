// The result of a run of `pleat live` in figures: the ledger for machines, a few lines for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/json_live_set.h>
#include <pleat/time.h>

#include "tools/pleat/summary_text.h"

namespace pleat::cli {

// All counts of a run, which always add up (docs/command-line.md, Statistics of live sets).
struct LiveSetTotals {
  LineCounts lines;
  LiveSetLedger members;
  uint64_t output = 0;  // lines written
  StampCounts stamps;
  bool stated = false;                        // events state their time
  bool selects = false;                       // the run may exclude lines
  std::optional<Duration> clock_behind = {};  // see EngineJob
};

// One JSON object in a line, its members in a fixed order.
std::string StatsJson(const LiveSetTotals& totals);

// `fate`: of the output, such as "written".
std::string HumanSummary(const LiveSetTotals& totals, const RunEffort& effort,
                         std::string_view fate);

}  // namespace pleat::cli
