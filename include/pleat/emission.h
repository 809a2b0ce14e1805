// What a group hands out. Plain data, owned by whoever popped it; it never changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pleat/any_folder.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0 {

template <class State>
struct Emission {
  std::string key;
  State state;
  uint64_t count;    // events folded into it, at least 1
  EngineTime first;  // smallest stamp among them
  EngineTime last;   // largest stamp among them

  // For what time closed the deadline itself, whoever looked whenever, and for a partial its instant; for
  // what an event or a call brought about the engine's time then.
  EngineTime closed;
  Reason reason;
  EmissionId id;
  uint32_t
      revision;  // counts the emissions of one group, from 1; above it only with edges or partials
  bool partial;  // the group went on: reason kLeading or kPartial
  std::optional<EmissionId> corrects;  // of a correction: the key's last emission, if still known
};

// A copy of an open group, as Peek() or Scan() saw it.
template <class State>
struct OpenGroup {
  std::string key;
  State state;
  uint64_t count;
  EngineTime first;
  EngineTime last;
};

}  // namespace pleat::inline v0
