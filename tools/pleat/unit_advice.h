// What to say of event times: whether the unit that --time-unit states is likely wrong, and that a
// zone was assumed.
#pragma once

#include <string>
#include <string_view>

#include <pleat/json.h>

namespace pleat::cli {

// A sentence if `unit` puts all events, from `oldest` to `newest`, before 1990 or after 2100; else
// nothing. No log is of such a time, but a log whose unit is wrong is.
std::string AdviceOnUnit(TimeUnit unit, EngineTime oldest, EngineTime newest);

// Where a time stated no zone, and no --time-zone was given.
inline constexpr std::string_view kAssumedUtc =
    "times without a zone were read as UTC; --time-zone states another";

}  // namespace pleat::cli
