// An episode of the engine against the model: a configuration and a list of operations, both drawn
// from one source of choices. The same operations go to both, and after every one of them all that can
// be observed must agree: the answer, the time, the ledger, every field of every emission and their
// order.
//
// The operations carry all that they need, so that any part of the list is a valid episode too: when
// an episode fails, it can be shrunk by leaving out parts of it while it still fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <pleat/batch.h>
#include <pleat/emission.h>
#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/time.h>
#include <pleat/trace.h>
#include <pleat/untyped/any_folder.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

struct Config {
  EngineOptions engine;
  FolderOptions folder;

  // Which of FoldRules there are.
  bool starts = false;
  bool ends = false;
  uint64_t condition = 0;  // a group closes when its hash is a multiple of this; 0: no condition
  bool quiet_by_event = false;
  bool quiet_by_key = false;
  bool close_at = false;  // some events state when their group closes
  int64_t calendar = 0;   // closing times come from a calendar of such days; 0: there is none
  uint64_t classes = 0;   // keys are of one of so many; 0: of none
  bool has_ids = false;
  bool has_content = false;

  std::vector<std::string> keys;
  std::vector<std::string> ids;
  uint64_t mark_every = 1;  // one in so many events has each of the marks
  EngineTime start;
  int64_t stride = 1;     // typical microseconds between two events
  bool by_range = false;  // calls that take a range are given one
  size_t batch = 1;       // so many folds in a row become one FoldBatch; 1: Fold
  bool lends = false;     // emissions are leased
  Duration span{1};       // typical length of a lease
  // At the limit on the backlog an answer may depend on what has been closed so far, so that both sides
  // close all that is due before each operation, and operations come one by one.
  bool closes_at_once = false;
  bool drain = true;  // pop everything before the engine goes, or leave it all to the destructor
};
std::ostream& operator<<(std::ostream& out, const Config& config);

enum class Verb {
  kFold,
  kAdvance,
  kAdvanceSome,
  kAdvanceLeases,
  kPop,
  kLease,
  kAck,
  kNack,
  kExtend,
  kScanDead,
  kRetryDead,
  kDropDead,
  kPeek,
  kScan,
  kFlush,
  kCancel,
  kSetDeadline,
  kCloseAll,
  kStop,
  kSetOptions,
  kRestart,  // a snapshot, the end of the engine, and another engine that goes on from there
};

// What is changed in a token, so that it names nothing.
enum class Forgery { kNone, kEpoch, kLease, kGeneration, kCollection, kPartition, kPlace };

struct Op {
  Verb verb = Verb::kFold;
  size_t key = 0;  // index in Config::keys
  EngineTime
      at;  // the stamp, the time to advance to, a deadline, or what time leases are told it is
  uint64_t n = 0;  // the event's value; a budget; how many to pop or to scan at once; which token
  PartitionRange range;  // to pop or lease from; of a batch's first event: what it is told to fold

  // Of folds.
  bool starts = false;
  bool ends = false;
  Duration quiet{0};
  EngineTime close_at = kNever;
  size_t id = 0;  // index in Config::ids
  uint64_t content = 0;

  // Of leases.
  Duration span{0};  // how long; how far to extend; how much to delay
  Forgery forgery = Forgery::kNone;

  std::optional<FolderOptions> options = std::nullopt;  // to set
};
std::ostream& operator<<(std::ostream& out, const Op& op);

// What the weight of a group begins with.
size_t EmptyStateBytes();

// Every option that Open accepts, alone and together with others; at most some `keys_max` keys.
Config DrawConfig(Choices& choices, Axis axis, int partitions, size_t keys_max = SIZE_MAX);

// Some `count` operations, fewer if the choices come to their end.
std::vector<Op> DrawOps(Choices& choices, const Config& config, size_t count);

// What was seen at all, so that a test cannot become empty without anyone noticing.
struct Seen {
  std::set<FoldOutcome> outcomes;
  std::set<Reason> reasons;
  std::set<LeaseOutcome> lease_outcomes;
  std::set<DeadReason> deaths;
  std::set<TraceStep> steps;
};

// Draws an episode of some `count` operations and runs it. Nothing, or what differed, with the
// configuration and the operations that are needed to see it. Not for several threads: it counts
// the states that live anywhere.
std::optional<std::string> TryEpisode(Choices& choices, Axis axis, int partitions, size_t count,
                                      Seen& seen, size_t keys_max = SIZE_MAX);

}  // namespace pleat::inline v0_1
