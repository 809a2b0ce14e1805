// An episode of a rollup counter against its model: a configuration and a list of operations, both
// drawn from one source of choices. The same operations go to both, and after every one of them all
// that can be observed must agree: the answer, the time, values, windows, emissions and the ledger.
//
// The operations carry all that they need, so that any part of the list is a valid episode too:
// when an episode fails, it can be shrunk by leaving out parts of it while it still fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <pleat/batch.h>
#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

struct RollupConfig {
  EngineOptions engine;
  RollupOptions rollup;

  std::vector<std::string> keys;
  std::vector<std::string> ids;
  std::vector<Delta> deltas;
  EngineTime start;
  int64_t stride = 1;     // typical microseconds between two events
  size_t batch = 8;       // at most so many events
  bool by_range = false;  // batches, and what takes emissions, are for a range of partitions
  // Whether all that is due is visited behind each operation; else by some of the reads only.
  bool settles = true;
};
std::ostream& operator<<(std::ostream& out, const RollupConfig& config);

enum class RollupVerb {
  kAdd,
  kAddAndGet,
  kBatch,
  kClear,
  kCloseAll,
  kAdvance,
  kAdvanceSome,
  kPop,
  kLease,
  kAck,
  kNack,
  kAdvanceLeases,
  kRef,
  kDropRef,
  kStop,
  kSetOptions,
  kRestart,  // a snapshot, the end of the engine, and another engine that goes on from there
};

// What an event says; key, id and delta by their index in the configuration.
struct RollupEventOp {
  size_t key = 0;
  size_t id = 0;
  size_t delta = 0;
  EngineTime at;
};

struct RollupOp {
  RollupVerb verb = RollupVerb::kAdd;
  RollupEventOp event = {};                // also the key and the stamp of calls
  std::vector<RollupEventOp> events = {};  // of a batch
  PartitionRange range = {};               // of a batch, and of what takes emissions
  size_t budget = SIZE_MAX;
  uint64_t n = 0;  // how many emissions; which lease
  // To set, or of the engine behind a restart.
  std::optional<RollupOptions> options = std::nullopt;
  // The reads that follow, unless nobody looks: how many of a top, a stamp, a resolution.
  bool looks = true;
  size_t top = 1;
  EngineTime around = {};
  Duration resolution{0};
};
std::ostream& operator<<(std::ostream& out, const RollupOp& op);

// Limits are drawn for one partition only: elsewhere the model has none.
RollupConfig DrawRollupConfig(Choices& choices, Axis axis, int partitions);

// Some `count` operations, fewer if the choices come to their end.
std::vector<RollupOp> DrawRollupOps(Choices& choices, const RollupConfig& config, size_t count);

// What was seen at all, so that a test cannot become empty without anyone noticing.
struct RollupSeen {
  std::set<AddOutcome> outcomes;
  std::set<Reason> reasons;
  bool corrected_one = false;  // a correction that names an emission
  bool forgot = false;
  bool saturated = false;
  size_t changes = 0;  // of options
};

// Draws an episode of some `count` operations and runs it. Nothing, or what differed, with the
// configuration and the operations that are needed to see it.
std::optional<std::string> TryRollupEpisode(Choices& choices, Axis axis, int partitions,
                                            size_t count, RollupSeen& seen);

// Draws an episode without limits and runs its events twice: by single calls in one partition; and
// with visits at other moments, in other batches, in `partitions` partitions. Nothing, or where
// outcomes or emissions differed.
std::optional<std::string> TryRollupReplay(Choices& choices, Axis axis, int partitions,
                                           size_t count);

}  // namespace pleat::inline v0_1
