#include "tools/pleat/unit_advice.h"

namespace pleat::cli {

std::string AdviceOnUnit(TimeUnit unit, EngineTime oldest, EngineTime newest) {
  using std::chrono::sys_days, std::chrono::year, std::chrono::January;
  constexpr EngineTime kEarliest = FromUnix(sys_days(year(1990) / January / 1).time_since_epoch());
  constexpr EngineTime kLatest = FromUnix(sys_days(year(2100) / January / 1).time_since_epoch());
  if (unit == TimeUnit::kNotStated || oldest > newest) return {};
  if (newest >= kEarliest && oldest < kLatest) return {};
  return "all events are of " + FormatTimestamp(oldest) + " to " + FormatTimestamp(newest) +
         "; is --time-unit right?";
}

}  // namespace pleat::cli
