// Options that a user leaves out cause no warning, whatever the user's flags.
#include <pleat/analysis.h>
#include <pleat/engine.h>
#include <pleat/metrics.h>
#include <pleat/options.h>

using namespace std::chrono_literals;

const pleat::EngineOptions kEngine{.partitions = 4};
const pleat::FolderOptions kFolder{
    .quiet_period = 5min, .max_hold = 1h, .leases = {.max_deliveries = 3}};
const pleat::AnalyzerOptions kAnalyzer{.max_hold = 1h};
const pleat::CollectionMetrics kMetrics{.collection = "edits"};
