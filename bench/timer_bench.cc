// What deadlines cost a fold: the same batches on the same open groups,
//
//   timers/uniform_1M/with_deadlines  with a quiet period of a minute and a driver that calls Advance() after
//                                     every 1,024 events, which is every millisecond of the engine's time:
//                                     a million events a second on a million groups
//   timers/uniform_1M/without         with no deadline at all (quiet period and max wait forever) and
//                                     nobody to call Advance()
//
// A key is hit once a second on average, so no group goes quiet, but each surfaces once a minute, is found
// to be due later, and moves to a later slot: one visit for 60 events. The groups were opened over the
// minute before, so that as many surface in each millisecond of the run as in any other. The run is shorter
// than a minute: some keys do not occur in the stream, and those must not close either.
#include <benchmark/benchmark.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr Duration kQuiet = std::chrono::minutes(1);
constexpr size_t kEventsPerAdvance = 1024;
constexpr size_t kPasses = 4;  // over at most 4 million events: 16 s

void FoldAndAdvance(Folded& folded, std::span<const Event> events) {
  while (!events.empty()) {
    const size_t n = std::min(kEventsPerAdvance, events.size());
    FoldInBatches(folded.folder(), events.first(n));
    folded.engine().Advance(events[n - 1].at);
    events = events.subspan(n);
  }
}

void Timers(benchmark::State& state, bool deadlines) {
  Stream& stream = UniformStream();
  const size_t groups = stream.keys().size();
  for (auto _ : state) {
    Folded folded({.quiet_period = deadlines ? kQuiet : kForever, .max_wait = kForever});
    const double step_us = static_cast<double>(kQuiet.count()) / static_cast<double>(groups);
    folded.OpenAll(stream.keys(), kStart - kQuiet + Duration(1000), step_us);
    folded.OpenAll(stream.keys(), kStart);  // none closes in the run's first seconds

    EngineTime now = kStart;
    Spent spent;
    for (size_t pass = 0; pass < kPasses; ++pass) {
      const std::span<const Event> events = stream.Stamped(0, stream.size(), now);
      now += Duration(stream.size());
      spent += Timed([&] {
        if (deadlines) {
          FoldAndAdvance(folded, events);
        } else {
          FoldInBatches(folded.folder(), events);
        }
      });
    }
    Report(state, spent, kPasses * stream.size());

    const Ledger ledger = folded.folder().ledger();
    if (ledger.open != groups || ledger.folded != groups + kPasses * stream.size()) {
      return Fail(state, "a group has closed, or an event was lost");
    }
  }
}

BENCHMARK_CAPTURE(Timers, with, true)
    ->Name("timers/uniform_1M/with_deadlines")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Timers, without, false)
    ->Name("timers/uniform_1M/without")
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace pleat::bench
