// An EngineAlarm wakes whoever sleeps until an engine's next deadline. Adapters to event loops
// derive from it; `Driver` in asio.h is one.
#pragma once

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Each function tells that there is something to do earlier than the engine said before.
//
// Thread safety: the engine calls each function from any thread, one call at a time; calls of
// different functions may overlap. They come under locks: set a flag, wake a loop, and return.
// A function may ask the engine for now(), NextDeadline() and NextLeaseDeadline(); other calls are
// answered like calls from a fold function (see Engine). Throwing terminates the program.
// Ownership: the engine borrows the alarm from Engine::SetAlarm() to Engine::RemoveAlarm().
class EngineAlarm {
 public:
  // Earlier than Engine::NextDeadline().
  virtual void DeadlineIsEarlier(EngineTime deadline) noexcept = 0;

  // Earlier than Engine::NextLeaseDeadline().
  virtual void LeaseDeadlineIsEarlier(LeaseTime deadline) noexcept = 0;

 protected:
  ~EngineAlarm() = default;
};

}  // namespace pleat::inline v0_1
