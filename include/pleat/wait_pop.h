// Waiting for emissions by a plain thread, without polling and without an event loop.
//
//   pleat::PopWaiter waiter(folder);         // any thread may wait on it, and several at once
//   while (!stopping) {
//     for (auto& e : waiter.WaitPop(100, std::chrono::steady_clock::now() + 1s)) Publish(e);
//   }
//   ...
//   waiter.Stop();                           // another thread: nobody waits from now on
//
// Somebody has to move the engine's time meanwhile. If that is the thread that waits, it sleeps
// until the next deadline, and is woken by an earlier one:
//
//   engine->SetAlarm(waiter.alarm());
//   for (;;) {
//     const auto mark = waiter.Mark();       // what comes from here on ends the wait below
//     engine->Advance(Now());
//     ...                                    // lease, publish, ack; dead letters: deaths() says
//     waiter.WaitSince(mark, SteadyTimeOf(engine->NextDeadline()));
//   }
//
// examples/11_plain_thread.cc is such a loop. No thread is started, and no clock is read but by the
// operating system, which wakes a thread when its time is over. That clock stands still while a
// machine is suspended, so a service on such a machine waits for some seconds at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/batch.h>
#include <pleat/emission_source.h>
#include <pleat/time.h>
#include <pleat/untyped/emission_waiter.h>

namespace pleat::inline v0_1 {

template <class State>
class PopWaiter final : public EmissionWaiter {
 public:
  explicit PopWaiter(const EmissionSource<State>& source, PartitionRange from = {})
      : EmissionWaiter(source.any(), from), source_(source), from_(from) {}

  // EmissionSource::Pop() of 1 to `max`; if there is nothing, waits for it until `until`, or until
  // done(). Empty only then. Several threads: each emission goes to one of them. (While others take
  // all that comes, a call may look once more behind `until`.)
  [[nodiscard]] std::vector<Emission<State>> WaitPop(size_t max, SteadyTime until) noexcept {
    return WaitFor(until, [&](EmissionSource<State>& source) {
      return source.Pop(std::max<size_t>(max, 1), from_);
    });
  }

  // The same with EmissionSource::Lease(). `now()` tells the LeaseTime of each look. An emission
  // comes back when somebody moves LeaseTime, by AdvanceLeases(): a driver, or the loop above.
  template <class Now>
  [[nodiscard]] std::vector<Leased<State>> WaitLease(size_t max, Duration visibility_timeout,
                                                     Now&& now, SteadyTime until) noexcept {
    return WaitFor(until, [&](EmissionSource<State>& source) {
      return source.Lease(std::max<size_t>(max, 1), visibility_timeout, now(), from_);
    });
  }

 private:
  template <class Take>
  auto WaitFor(SteadyTime until, const Take& take) noexcept {
    EmissionSource<State> source = source_;
    for (;;) {
      const uint64_t mark = Mark();
      auto taken = take(source);
      if (!taken.empty() || done() || !WaitSince(mark, until)) return taken;
    }
  }

  const EmissionSource<State> source_;
  const PartitionRange from_;
};

}  // namespace pleat::inline v0_1
