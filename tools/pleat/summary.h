// What a run of `pleat fold` came to: the ledger for machines, a few lines for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/json.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0 {

// lines = events + bad; events = opened + folded + late + refused; opened = emissions + open.
struct RunTotals {
  RunTotals(const LineCounts& counts, const Ledger& ledger);

  uint64_t lines;
  uint64_t events;
  uint64_t bad;
  uint64_t late;
  uint64_t refused;
  uint64_t opened;
  uint64_t folded;
  uint64_t emissions;  // groups that were closed and handed to the output
  uint64_t open;       // groups that were not, whatever kept them
  uint64_t mismatched;

  double FoldingRatio() const;
};

// One JSON object in a line, its members in a fixed order.
std::string StatsJson(const RunTotals& totals);

// `bytes` as they were on the disk or in the pipe.
// `fate`: what became of the emissions, such as "written".
std::string HumanSummary(const RunTotals& totals, uint64_t bytes, Duration took,
                         std::string_view fate);

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

// 1234567 as "1.2 MB", and a rate per second.
std::string ByteText(double bytes);

}  // namespace pleat::inline v0
