// An episode of presence against its model: a configuration and a list of operations, both drawn from
// one source of choices. The same operations go to both, and after every one of them all that can be
// observed must agree: the answer, the time, counts, lists, users, the order of series, the changes,
// and the ledger. A restart in the midst changes none of these, and a watcher either goes on or is told
// that it has missed changes.
//
// As in live_set_episode.h, any part of the list is a valid episode too. So an operation names no
// generation, but says which one it means; and watchers come and go by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/change.h>
#include <pleat/engine.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>

#include "tests/model/choices.h"

namespace pleat::inline v0_1 {

struct PresenceConfig {
  EngineOptions engine;
  PresenceOptions presence;

  std::vector<std::string> series;
  std::vector<std::string> users;
  std::vector<std::string> connections;
  uint64_t metadata = 1;   // so many different ones
  int64_t stride = 1;      // typical microseconds between two calls
  size_t crowd = 20;       // at most so many users enter at once
  bool few_bytes = false;  // max_bytes matters
  // Whether all that is due is visited before counts are compared. Without that only reads are.
  bool settles = true;
};
std::ostream& operator<<(std::ostream& out, const PresenceConfig& config);

enum class PresenceVerb {
  kEnter,
  kBeat,
  kUpdate,
  kLeave,
  kCrowd,  // several users enter
  kAdvance,
  kAdvanceSome,
  kWatch,
  kRead,
  kStop,
  kClose,
  kSetOptions,
  kRestart  // a snapshot, the end of the engine, and another engine that goes on from there
};

// The generation that a call names.
enum class Meant {
  kLatest,      // given to this connection
  kOneBefore,   // likewise
  kNeighbours,  // the latest that was given in the series
  kZero,
  kLargest  // that there can be
};

struct PresenceOp {
  PresenceVerb verb = PresenceVerb::kEnter;
  size_t series = 0;
  size_t user = 0;
  size_t connection = 0;
  uint64_t metadata = 0;
  EngineTime at;
  Meant generation = Meant::kLatest;
  size_t crowd = 0;
  size_t budget = SIZE_MAX;
  bool skips = false;  // a restart: numbers, as after the end of a process
  std::optional<PresenceOptions> options =
      std::nullopt;  // to set, or of the engine behind a restart
  // Of watching: one of a few watchers, of a series or of so many bytes of its name; changes a read.
  size_t watcher = 0;
  std::optional<size_t> prefix = {};
  size_t max = 1;
  // Of the reads that follow: how far after the engine's time; users a page.
  Duration ahead{0};
  size_t page = 1;
};
std::ostream& operator<<(std::ostream& out, const PresenceOp& op);

PresenceConfig DrawPresenceConfig(Choices& choices, Axis axis, int partitions);

// Some `count` operations, fewer if the choices come to their end.
std::vector<PresenceOp> DrawPresenceOps(Choices& choices, const PresenceConfig& config,
                                        size_t count);

// What was seen at all, so that a test cannot become empty without anyone noticing.
struct PresenceSeen {
  std::set<PresenceOutcome> outcomes;
  std::set<std::string_view> causes;
  std::set<ReadChanges> reads;
  uint64_t restarts = 0;
  uint64_t resyncs = 0;  // of watchers that a restart has left behind
};

// Draws an episode of some `count` operations and runs it. Nothing, or what differed, with the
// configuration and the operations that are needed to see it.
std::optional<std::string> TryPresenceEpisode(Choices& choices, Axis axis, int partitions,
                                              size_t count, PresenceSeen& seen);

}  // namespace pleat::inline v0_1
