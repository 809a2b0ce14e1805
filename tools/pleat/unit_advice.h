// Whether the unit of event times, as --time-unit states it, is likely wrong.
#pragma once

#include <string>

#include <pleat/json.h>

namespace pleat::cli {

// A sentence if `unit` puts all events, from `oldest` to `newest`, before 1990 or after 2100; else
// nothing. No log is of such a time, but a log whose unit is wrong is.
std::string AdviceOnUnit(TimeUnit unit, EngineTime oldest, EngineTime newest);

}  // namespace pleat::cli
