// Options that a user leaves out cause no warning, whatever the user's flags.
#include <pleat/analysis.h>
#include <pleat/engine.h>
#include <pleat/metrics.h>
#include <pleat/options.h>

using namespace std::chrono_literals;

[[maybe_unused]] const pleat::EngineOptions kEngine{.partitions = 4};
[[maybe_unused]] const pleat::FolderOptions kFolder{
    .quiet_period = 5min, .max_wait = 1h, .leases = {.max_deliveries = 3}};
[[maybe_unused]] const pleat::AnalyzerOptions kAnalyzer{.max_wait = 1h};
[[maybe_unused]] const pleat::Statistic kStatistic{.name = "pages_open", .help = "Open pages."};
