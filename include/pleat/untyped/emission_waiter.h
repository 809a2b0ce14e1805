// EmissionWaiter: the part of a PopWaiter (wait_pop.h) without types. It counts emissions, dead
// letters and deadlines that it hears of, as *news*, and has threads wait for more.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>
#include <pleat/untyped/alarm.h>
#include <pleat/untyped/any_collection.h>

namespace pleat::inline v0_1 {

// Thread safety: any thread may call any function at any time. Destroying needs exclusion.
// Ownership: a handle of the collection, which keeps no thread waiting when it is closed or its
// engine is gone: see done().
// REQUIRES: made and destroyed outside of fold functions; otherwise ends the program.
class PLEAT_EXPORT EmissionWaiter {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  explicit EmissionWaiter(const AnyCollection& collection, PartitionRange of = {});
  ~EmissionWaiter();
  EmissionWaiter(const EmissionWaiter&) = delete;
  EmissionWaiter& operator=(const EmissionWaiter&) = delete;

  // The count of news so far. Take the mark first, then look for what there is to do, then
  // wait: so nothing that comes in between is missed.
  uint64_t Mark() noexcept;

  // Waits until there is news since `mark` (an emission, a dead letter, Wake(), or an earlier
  // deadline if alarm() is the engine's), or done(), or `until` has come; SteadyTime::max() is
  // never. Returns if it was one of the former. From inside a fold function it returns at once.
  bool WaitSince(uint64_t mark, SteadyTime until) noexcept;

  // Counts as news: tells a loop of something else, such as a signal.
  void Wake() noexcept;

  // From its return on nobody waits, and who waits returns. Idempotent.
  void Stop() noexcept;

  // Whether to wait no more: stopped, or the collection is closed, or its engine is gone.
  bool done() const noexcept;

  // For Engine::SetAlarm(): earlier deadlines are news from then on. To be removed before the
  // waiter's end.
  EngineAlarm& alarm() noexcept;

 private:
  struct Room;

  const std::unique_ptr<Room> room_;
};

}  // namespace pleat::inline v0_1
