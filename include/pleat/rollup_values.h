// The answers of the reads of a rollup counter (rollup.h).
#pragma once

#include <cstddef>
#include <string>

#include <pleat/delta.h>
#include <pleat/export.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The sum of all counted events with stamps before `as_of`.
struct EventualCount {
  Amount amount;
  EngineTime as_of = kBeginningOfTime;  // an end of a window
  Duration lag{0};                      // from as_of to the engine's time
};

// The sum of all events counted so far.
struct AccurateCount {
  Amount amount;

  // The amount includes the final windows, which end at or before this instant.
  EngineTime checkpoint = kBeginningOfTime;
  // Whether the store's checkpoint is included; always true without a store. If false, call
  // Publish() first.
  bool loaded = true;
};

struct AddedCount {
  AddOutcome outcome = AddOutcome::kStopped;
  AccurateCount value;  // right after this event, whatever the outcome
};

// One counter in the answer of Top().
struct TopCount {
  std::string key;
  Amount amount;
};

// The result of one Publish().
struct Publication {
  size_t published = 0;  // checkpoints that the store kept
  size_t failed = 0;     // counters that stayed as they were; ledger() says why
  bool more = false;     // counters are left to load or publish; failed ones count
};

}  // namespace pleat::inline v0_1
