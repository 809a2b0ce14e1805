// What the reads of a rollup counter answer (rollup.h).
#pragma once

#include <cstddef>
#include <string>

#include <pleat/delta.h>
#include <pleat/export.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// What a counter came to by `as_of`: by all events with earlier stamps that were counted.
struct EventualCount {
  Amount amount;
  EngineTime as_of = kBeginningOfTime;  // an end of a window
  Duration lag{0};                      // from as_of to the engine's time
};

// What a counter comes to with all events that were counted so far.
struct AccurateCount {
  Amount amount;

  // Of it: by frozen windows, which are those before `checkpoint`.
  EngineTime checkpoint = kBeginningOfTime;
  // Whether the store's checkpoint is included; always without a store. If not: Publish() first.
  bool loaded = true;
};

struct AddedCount {
  AddOutcome outcome = AddOutcome::kStopped;
  AccurateCount value;  // at the event's own place in the order of input, whatever the outcome
};

// One counter of a Top().
struct TopCount {
  std::string key;
  Amount amount;
};

// What one Publish() has done.
struct Publication {
  size_t published = 0;  // checkpoints that the store kept
  size_t failed = 0;     // counters that stayed where they were; ledger() says why
  bool more = false;     // there is more to do, also if only for those that failed
};

}  // namespace pleat::inline v0_1
