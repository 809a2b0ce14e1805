// A RollupTurn is one event or clear in the slow path of a counter, with all that the steps find out
// about it.
#pragma once

#include <cstdint>
#include <string_view>

#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "engine/base/instant.h"
#include "engine/table/event_ids.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

struct RollupTurn {
  const EventRef& event;
  const Instant& at;
  Delta delta;
  std::string_view id;
  EventIds::Name name;  // if there is an id
  bool clears;
  EngineTime now;
  uint64_t position;
  uint32_t number;   // the counter, or kNone
  EngineTime stamp;  // that the event counts with
};

}  // namespace pleat::inline v0_1
