// Folding for the model of `pleat fold`: event time, one partition, and no laziness. The moment time
// moves, everything due happens, instant by instant, so that emissions come about in the very order in
// which they are handed out and the next one's generation is simply the number of those before it.
//
// A group is the list of its events. What they mean is not known here: a function of the list says
// whether it meets the condition. This is written from docs/semantics.md apart from fold_model and shares
// nothing with it: where the engine differs from both, it is wrong; where the two differ, look into the
// document.
//
// Not modelled: arrival time, limits on bytes held and on keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "tests/model/plain_learner.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct PlainEvent {
  std::string key;
  std::string shown;  // the key, with its numbers as they came
  EngineTime at;
  std::shared_ptr<const PlainJson> json;
  size_t bytes = 0;                    // what it adds to the weight of its group
  std::optional<Duration> own_quiet;   // else the folder's quiet period
  std::optional<EngineTime> close_at;  // stated for its group
  std::string key_class;               // for learning one; empty: none
  bool starts = false;
  bool ends = false;
  std::optional<std::string> id;
  std::string content;  // tells a retry of an id from a conflict
};

using PlainEvents = std::vector<PlainEvent>;

struct PlainEmission {
  std::string key;
  PlainEvents events;
  EngineTime first;  // smallest stamp
  EngineTime last;   // largest stamp
  EngineTime closed;
  Reason reason;
  uint64_t generation = 0;
  uint32_t revision = 1;
  bool partial = false;
  std::optional<uint64_t> corrects;  // a generation
};

class PlainFolder {
 public:
  using Condition = std::function<bool(const PlainEvents&)>;

  PlainFolder(const EngineOptions& engine, const FolderOptions& folder, Condition condition)
      : engine_(engine), folder_(folder), condition_(std::move(condition)) {
    if (folder.quiet_floor > Duration{0}) {
      learner_.emplace(folder.quiet_floor, folder.quiet_period);
    }
  }

  FoldOutcome Fold(const PlainEvent& event);

  // For an event that only says so: its stamp moves time, then the open group of its key goes. False if
  // it lies beyond the future limit: then nothing has changed.
  bool Flush(const std::string& key, EngineTime at);
  bool Cancel(const std::string& key, EngineTime at);

  // Time moves on, and what is due happens.
  void Advance(EngineTime now) { MoveTime(now); }

  void CloseAll();

  // What was handed out since the last call, in order.
  std::vector<PlainEmission> Take() { return std::exchange(out_, {}); }

  Ledger ledger() const;

 private:
  struct Group {
    PlainEvents events;
    size_t bytes = 0;
    uint64_t position = 0;    // among all groups, in the order of opening
    EngineTime opened;        // its stamp
    EngineTime quiet_due;     // the latest that any event asks for
    EngineTime closing;       // no later than this, by the grid of the folder or as stated last
    EngineTime next_partial;  // the first instant of its grid that has not passed
    bool changed = true;      // since its last emission
    uint32_t revisions = 0;
  };
  using Groups = std::map<std::string, Group>;

  // When something happens next to an open group, or would if nothing else came; and its position.
  using Next = std::pair<EngineTime, uint64_t>;

  struct Taken {
    EngineTime at;
    std::string content;
  };
  struct Emitted {
    uint64_t generation;
    EngineTime final;
  };

  bool TooFarAhead(EngineTime at) const;
  void MoveTime(EngineTime to);
  void PassInstant(Groups::iterator open, EngineTime to);
  bool MakeRoom();
  Groups::iterator OpenGroup(const PlainEvent& event);
  void AddEvent(Groups::iterator open, const PlainEvent& event);
  void CloseBehind(Groups::iterator open, const PlainEvent& event);
  void CloseByTime(Groups::iterator open);
  void Close(Groups::iterator open, Reason reason, EngineTime closed);
  void Drop(Groups::iterator open);
  void Correct(const PlainEvent& event);
  void Emit(Groups::iterator open, Reason reason, EngineTime closed);

  EngineTime HoldDue(const Group& group) const;
  EngineTime NextOfGrid(EngineTime opened) const;
  EngineTime Deadline(const Group& group) const;
  EngineTime FirstInstantAfter(const Group& group, EngineTime now) const;
  Next NextOf(const Group& group) const;

  const EngineOptions engine_;
  const FolderOptions folder_;
  const Condition condition_;

  EngineTime time_ = kBeginningOfTime;
  Groups open_;
  std::map<Next, std::string> agenda_;  // of every open group; its key
  std::vector<PlainEmission> out_;
  std::map<std::string, Emitted> emitted_;                      // the last one of each key
  std::map<std::pair<std::string, std::string>, Taken> taken_;  // by key and id
  std::optional<PlainLearner> learner_;                         // with a floor
  uint64_t groups_ = 0;                                         // ever opened
  Ledger ledger_;                                               // without `open`
};

}  // namespace pleat::inline v0_1
