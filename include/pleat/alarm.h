// An EngineAlarm wakes whoever sleeps until an engine's next deadline. Adapters to event loops
// derive from it; `Driver` in asio.h is one.
#pragma once

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Thread safety: the engine calls it from any thread, one call at a time.
// Ownership: outlives its engine's use of it; see Engine::SetAlarm().
class EngineAlarm {
 public:
  // There is something to do at `deadline`, which is earlier than Engine::NextDeadline() or
  // NextLeaseDeadline() said before. Called under locks, by the thread that has brought it about:
  // set a flag, wake a loop, and return. The function may ask the engine for now(), NextDeadline()
  // and NextLeaseDeadline(); other calls are answered like calls from a fold function (see Engine).
  // Throwing terminates the program.
  virtual void DeadlineIsEarlier(EngineTime deadline) noexcept = 0;

 protected:
  ~EngineAlarm() = default;
};

}  // namespace pleat::inline v0_1
