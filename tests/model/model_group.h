// What the two halves of the reference model, folding and delivery, have in common: a group, as it is
// while it is open and as it is handed out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pleat/outcome.h>
#include <pleat/time.h>
#include <pleat/trace.h>
#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

// A group, open or closed, or what it hands out. `events` are the numbers given to Fold(), in the order
// of the calls: they are the state.
struct ModelGroup {
  std::string key;
  std::vector<uint64_t> events;
  EngineTime opened;      // stamp of the event that opened it, which need not be the smallest
  EngineTime first;       // smallest stamp
  EngineTime last;        // largest stamp
  uint64_t position = 0;  // of the event that opened it

  EngineTime quiet_deadline;         // the latest stamp + quiet period
  EngineTime closing_time = kNever;  // of the folder, or stated
  EngineTime edge;        // the latest edge of its events: grid instants up to here have passed
  bool news = false;      // whether something was folded in since its last emission
  uint32_t revision = 0;  // its emissions so far; of an emission: with itself

  // Of emissions only.
  EngineTime closed;
  Reason reason = Reason::kQuiet;
  bool partial = false;
  EmissionId id;
  std::optional<EmissionId> corrects = std::nullopt;
};

// A step of such a group, as a trace tells it; the group is named by its position.
inline TraceRecord StepOf(TraceStep step, const ModelGroup& group, EngineTime at) {
  TraceRecord record;
  static_cast<GroupInfo&>(record) = {
      .count = group.events.size(), .first = group.first, .last = group.last};
  record.step = step;
  record.group = group.position;
  record.at = at;
  record.key = group.key;
  return record;
}

}  // namespace pleat::inline v0_1
