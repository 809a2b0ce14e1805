// An episode of a live set against its model: a configuration and a list of operations, both
// drawn from one source of choices. The same operations go to both, and after every one of them all
// that can be observed must agree: the answer, the time, counts, lists, ranks, the order of series,
// and the ledger. A restart in the midst changes none of these, and the reader of changes either goes on
// or is told that it has missed some.
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
#include <string_view>
#include <vector>

#include <pleat/batch.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/time.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

struct LiveSetConfig {
  EngineOptions engine;
  LiveSetOptions live_set;

  std::vector<std::string> series;
  std::vector<std::string> ids;
  bool has_ttls = false;      // events name TTLs of their own
  bool has_versions = false;  // some events have versions
  uint64_t payloads = 1;      // so many different ones
  int64_t stride = 1;         // typical microseconds between two events
  size_t batch = 100;         // at most so many events
  bool by_range = false;      // batches are for a range of partitions
  // Whether all that is due is visited before counts are compared. Without that only reads are.
  bool settles = true;
};
std::ostream& operator<<(std::ostream& out, const LiveSetConfig& config);

enum class LiveSetVerb {
  kAdd,
  kBatch,
  kTouch,
  kImport,
  kRemove,
  kRemoveRange,
  kSetTtl,
  kClear,
  kAdvance,
  kAdvanceSome,
  kStop,
  kRestart,  // a snapshot, the end of the engine, and another engine that goes on from there
  kSetOptions,
};

// What an event says; series and id by their index in the configuration.
struct LiveSetEventOp {
  size_t series = 0;
  size_t id = 0;
  EngineTime at;
  Duration ttl{0};
  std::optional<uint64_t> version = {};
  uint64_t payload = 0;
};

struct LiveSetOp {
  LiveSetVerb verb = LiveSetVerb::kAdd;
  LiveSetEventOp event = {};                // also the series, id, stamp and TTL of calls
  EngineTime to = {};                       // the end of a range
  std::vector<LiveSetEventOp> events = {};  // of a batch or an import
  PartitionRange range = {};                // of a batch
  bool names_time = false;                  // of a removal
  bool only_if_not_newer = false;
  bool later_wins = false;
  size_t budget = SIZE_MAX;
  bool skips = false;  // a restart: numbers, as after the end of a process
  bool reads = false;  // a restart: the changes, before time visits anything
  std::optional<LiveSetOptions> options =
      std::nullopt;  // to set, or of the engine behind a restart
  // Of the reads that follow: how far after the engine's time; members a page.
  Duration ahead{0};
  size_t page = 1;
};
std::ostream& operator<<(std::ostream& out, const LiveSetOp& op);

// Limits are drawn for one partition only: elsewhere the model has none.
LiveSetConfig DrawLiveSetConfig(Choices& choices, Axis axis, int partitions);

// Some `count` operations, fewer if the choices come to their end.
std::vector<LiveSetOp> DrawLiveSetOps(Choices& choices, const LiveSetConfig& config, size_t count);

// What was seen at all, so that a test cannot become empty without anyone noticing.
struct LiveSetSeen {
  std::set<LiveSetOutcome> outcomes;
  std::set<LiveSetControl> controls;
  std::set<std::string_view> causes;
  uint64_t restarts = 0;
  uint64_t resyncs = 0;  // of a reader that a restart has left behind
};

// Draws an episode of some `count` operations and runs it. Nothing, or what differed, with the
// configuration and the operations that are needed to see it.
std::optional<std::string> TryLiveSetEpisode(Choices& choices, Axis axis, int partitions,
                                             size_t count, LiveSetSeen& seen);

}  // namespace pleat::inline v0_1
