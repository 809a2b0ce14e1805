// How late the end of a member reaches who watches it, when nothing else happens:
// window_lateness/1M.
//
// The probe of redis#15620: 1,000 series of one member each with one deadline, among a million
// other members that live for a day, and nobody reads. A driver moves time by the real clock, in
// ticks of 1 ms, on a thread of its own; a listener has the changes of the probes read there.
// Lateness runs from the deadline to the read, by the driver's clock. There are several such
// deadlines, one after the other; what keys of Redis do beside it is in live_set_servers.cc.
//
// Goals: nothing early, the 99th percentile within one tick and 1 ms.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/asio/post.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/stats.h>

#include "bench/live_set_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

constexpr size_t kProbes = 1000;

// Reads the ends of the probes for as long as it lives.
class ProbeWatcher final : public ChangeListener {
 public:
  ProbeWatcher(Driver& driver, LiveSet<>& live_set)
      : driver_(driver), live_set_(live_set), any_(live_set.any()) {
    std::vector<SeriesCount> none;
    cursor_ = live_set_.Watch(kScope, none);
    any_.AddListener(*this, kScope);
  }
  ~ProbeWatcher() { any_.RemoveListener(*this); }
  ProbeWatcher(const ProbeWatcher&) = delete;
  ProbeWatcher& operator=(const ProbeWatcher&) = delete;

  void MayHaveChanges() noexcept override {
    if (posted_.exchange(true)) return;
    boost::asio::post(driver_.get_executor(), [this] {
      posted_ = false;
      ReadAll();
    });
  }

  size_t ends() const { return ends_.load(); }
  // Returns whether there were `ends` within ten seconds.
  bool WaitFor(size_t ends) {
    std::unique_lock lock(mutex_);
    return has_read_.wait_for(lock, 10s, [&] { return ends_.load() >= ends; });
  }

  // To be asked for when the driver's thread has stopped.
  BasicHistogram<3> lateness_us;
  uint64_t early = 0;

 private:
  static constexpr WatchScope kScope{.name = "probe", .is_prefix = true};

  void ReadAll() {
    constexpr size_t kAtOnce = 64;
    std::vector<Change<NoPayload>> changes;
    ReadChanges read;
    do {
      changes.clear();
      read = live_set_.Read(kScope, cursor_, kAtOnce, changes);
      const EngineTime now = driver_.now();
      for (const Change<NoPayload>& change : changes) Note(change, now);
    } while (read == ReadChanges::kMore);
    {
      const std::lock_guard lock(mutex_);
    }
    has_read_.notify_one();
  }
  void Note(const ChangeInfo& change, EngineTime now) {
    if (!IsEnd(change.cause)) return;
    if (now < change.at) ++early;
    lateness_us.Add(static_cast<uint64_t>(std::max(now - change.at, Duration{0}).count()));
    ++ends_;
  }

  Driver& driver_;
  LiveSet<>& live_set_;
  AnyLiveSet any_;
  ChangeCursor cursor_;
  std::atomic<bool> posted_ = false;
  std::atomic<size_t> ends_ = 0;
  std::mutex mutex_;
  std::condition_variable has_read_;
};

// Adds probes that end together, half a second from now, and waits for all ends or for ten seconds.
// Returns whether they came.
bool Probe(const Driver& driver, LiveSet<>& live_set, ProbeWatcher& watcher) {
  const size_t before = watcher.ends();
  const EngineTime stamp = driver.now() + (Tiny() ? 20ms : 500ms) + 137us - kDay;
  for (size_t i = 0; i < kProbes; ++i) {
    live_set.Add("probe " + std::to_string(i), {.id = "0123456789abcdef"}, stamp);
  }
  return watcher.WaitFor(before + kProbes);
}

void Lateness(benchmark::State& state) {
  const size_t others = Tiny() ? 4096 : Quick() ? kMillion / 4 : kMillion;
  for (auto _ : state) {
    Living living;
    Driver driver(*living.engine);
    Population population(others, others / 10);
    population.MoveTo(driver.now());
    population.ForAll([&](auto events) { living.AddInBatches(events); });
    ProbeWatcher watcher(driver, living.live_set);
    DriverThread thread = driver.RunThread();
    bool all = true;
    const Stopwatch watch;
    const int rounds = Quick() ? 1 : 10;
    for (int i = 0; i < rounds && all; ++i) all = Probe(driver, living.live_set, watcher);
    const double seconds = watch.seconds();
    thread.Stop();

    Report(state, {.seconds = seconds}, kProbes * static_cast<size_t>(rounds));
    state.counters["p50_us"] = static_cast<double>(watcher.lateness_us.ValueAt(0.5));
    state.counters["p99_us"] = static_cast<double>(watcher.lateness_us.ValueAt(0.99));
    state.counters["max_us"] = static_cast<double>(watcher.lateness_us.max());
    state.counters["early"] = static_cast<double>(watcher.early);
    state.counters["announced"] = static_cast<double>(watcher.ends()) / rounds;
    if (!all) return Fail(state, "an end was not announced");
    if (watcher.early > 0) return Fail(state, "an end was early");
    if (living.live_set.ledger().live != others) return Fail(state, "another member ended");
  }
}

BENCHMARK(Lateness)->Name("window_lateness/1M/pleat")->Apply(OneRun);

}  // namespace
}  // namespace pleat::bench
