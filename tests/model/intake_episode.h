// Episodes of an intake: events, drawn, that come in batches to a folder, a live set and a counter, whose
// emissions, changes and counts are held against those of another way that has to give the same.
#pragma once

#include <optional>
#include <string>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

// Each returns what differs, or nothing.

// Batches of any size through an intake, against one event after the other into each collection.
std::optional<std::string> TryIntakeBatches(Choices& choices);

// Events out of order within the bound, against the same events stably sorted, without a bound.
std::optional<std::string> TryIntakeDisorder(Choices& choices);

// Events out of order beyond the bound, with little memory, a future limit and a clock, in batches of
// any size and over restarts from snapshots, against single events without a restart.
std::optional<std::string> TryIntakeRestarts(Choices& choices);

}  // namespace pleat::inline v0_1
