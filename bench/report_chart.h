// The picture of docs/benchmarks.svg.
#pragma once

#include <string>

#include "bench/report_results.h"

namespace pleat::bench {

// Bars of events per second on an axis of powers of ten: the whole job by workload, the fold alone
// beneath. Readable on light and dark; no script, no fonts of its own.
std::string Chart(const Results& results);

// 12,345,678 as "12.3 M"; two or three digits that count.
std::string Short(double figure);

}  // namespace pleat::bench
