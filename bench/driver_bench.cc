// How late an emission reaches who waits for it: driver/lateness_1M, with ticks of 1 ms, and tick_16ms.
//
// The real clock, a million open groups, and load: one thread keeps folding batches of 256 as fast as it can, most
// of them into keys that never go quiet. The other million keys are hit at random, twice in a quiet period
// on average; so seven in eight of them are open at any time, and every second some 70,000 groups close,
// at instants that have nothing to do with each other. A second thread runs the driver's io_context, where a
// consumer pops. Lateness runs from a group's deadline to its handler, by the driver's clock.
//
// Goals: the 99th percentile within one tick and 1 ms; nothing early.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/folder.h>
#include <pleat/stats.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

// With --quick, as many groups close per second, of fewer.
struct Scale {
  Duration quiet = Tiny() ? 50ms : Quick() ? 1s : 4s;
  Duration run = 3 * quiet;
  size_t busy_keys = 200'000 * static_cast<size_t>(quiet / 1ms) / 4'000;
  size_t keys = 6 * busy_keys;

  // Folds per second into keys that may go quiet.
  double calm_rate() const {
    return 2 * static_cast<double>(keys - busy_keys) / std::chrono::duration<double>(quiet).count();
  }
};

// Pops for as long as the consumer lives.
class Popper {
 public:
  Popper(Driver& driver, const Folder<Touch, Fields>& folder)
      : driver_(driver), consumer_(driver, folder) {
    Next();
  }

  BasicHistogram<3> lateness_us;
  uint64_t early = 0;

 private:
  void Next() {
    consumer_.async_pop_many(1024, [this](auto error, const auto& emissions) {
      if (error) return;
      const EngineTime now = driver_.now();
      for (const auto& emission : emissions) {
        if (now < emission.closed) {
          ++early;
        } else {
          lateness_us.Add(static_cast<uint64_t>((now - emission.closed).count()));
        }
      }
      Next();
    });
  }

  Driver& driver_;
  Consumer<Fields> consumer_;
};

// Opens all groups; the deadlines of the calm ones are spread over a quiet period from `first` on.
void OpenGroups(Folder<Touch, Fields>& folder, const Keys& keys, const Scale& scale,
                EngineTime first) {
  std::mt19937_64 random(7);
  std::vector<Event> batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool busy = i < scale.busy_keys;
    const auto offset =
        busy ? scale.quiet : Duration(random() % static_cast<uint64_t>(scale.quiet.count()));
    batch.push_back({keys[i], first - scale.quiet + offset, {0}});
    if (batch.size() == kBatch || i + 1 == keys.size()) {
      folder.FoldBatch(batch);
      batch.clear();
    }
  }
}

// Folds until `run` is over; returns how many events.
size_t KeepFolding(Folder<Touch, Fields>& folder, const Keys& keys, const Scale& scale,
                   const Driver& driver) {
  std::mt19937_64 random(11);
  const Stopwatch watch;
  std::array<Event, kBatch> batch;
  size_t events = 0;
  double calm = 0;
  for (double seconds = 0; seconds < std::chrono::duration<double>(scale.run).count();
       seconds = watch.seconds()) {
    const EngineTime now = driver.now();
    for (Event& event : batch) {
      const bool is_calm = calm < seconds * scale.calm_rate();
      if (is_calm) ++calm;
      const size_t key = is_calm ? scale.busy_keys + random() % (keys.size() - scale.busy_keys)
                                 : events % scale.busy_keys;
      event = {keys[key], now, {events}};
      ++events;
    }
    folder.FoldBatch(batch);
  }
  return events;
}

void Lateness(benchmark::State& state, Duration tick) {
  const Scale scale;
  const Keys keys = Keys::Make(scale.keys, 20);
  for (auto _ : state) {
    Folded folded({.quiet_period = scale.quiet, .max_wait = kForever});
    Driver driver(folded.engine(), {.tick = tick});
    OpenGroups(folded.folder(), keys, scale, driver.now() + scale.quiet / 2);
    const size_t groups = folded.size();
    Popper popper(driver, folded.folder());
    DriverThread thread = driver.RunThread();
    size_t events = 0;
    const Spent spent = Timed([&] { events = KeepFolding(folded.folder(), keys, scale, driver); });
    const size_t groups_after = folded.size();
    thread.Stop();

    Report(state, spent, events);
    const auto& lateness = popper.lateness_us;
    state.counters["p50_us"] = static_cast<double>(lateness.ValueAt(0.5));
    state.counters["p99_us"] = static_cast<double>(lateness.ValueAt(0.99));
    state.counters["max_us"] = static_cast<double>(lateness.max());
    state.counters["wake_p99_us"] = static_cast<double>(driver.stats().lateness_us.ValueAt(0.99));
    state.counters["early"] = static_cast<double>(popper.early);
    state.counters["emissions"] = static_cast<double>(lateness.count());
    state.counters["groups"] = static_cast<double>(std::min(groups, groups_after));
    if (popper.early > 0) return Fail(state, "an emission was early");
    if (lateness.count() == 0) return Fail(state, "nothing was emitted");
    if (!folded.folder().ledger().Balances()) return Fail(state, "the ledger does not add up");
  }
}

BENCHMARK_CAPTURE(Lateness, tick_1ms, Duration(1ms))
    ->Name("driver/lateness_1M")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Lateness, tick_16ms, Duration(16ms))
    ->Name("driver/lateness_1M/tick_16ms")
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace pleat::bench
