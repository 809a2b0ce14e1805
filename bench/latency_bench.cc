// How long an event waits.
//
// At a given load: latency/uniform_1M/10_percent, 50_percent, 80_percent.
//
// Open loop: when each event arrives is decided beforehand (a Poisson process at the share of the peak that
// the name says) and does not depend on how the folding goes; an event that had to wait because an
// earlier one took long has its wait counted. A loop that only then sends the next event would leave
// out just those.
//
// One thread does what a service does: it takes what has arrived, copies it into a batch with the time of
// arrival as its stamp, and folds the batch when it holds 64 events or when its oldest one has waited for
// 50 us. Latency runs from an event's scheduled arrival to the return of the call that folded it. So
// at low load it is mostly those 50 us: what batching costs.
//
// The peak is what the same loop folds, measured just before, when every event is there already; the
// best of three rounds.
//
// Beside a consumer that catches up: latency/fold_beside_drain. A thread takes a backlog of a million emissions by
// Pop(1000) over all partitions, call after call; meanwhile another one folds, event after event. How long each
// Fold() took.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/stats.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr size_t kBatchMax = 64;
constexpr uint64_t kWaitMaxNs = 50'000;

// The instants of arrival, in nanoseconds from the start, of one round over the stream.
class Schedule {
 public:
  // With a rate of 0, everything is there from the beginning.
  Schedule(size_t events, double per_second) : arrivals_(events) {
    if (per_second == 0) return;
    std::mt19937_64 random(7);
    std::exponential_distribution<double> gap_ns(per_second * 1e-9);
    double at = 0;
    for (uint64_t& arrival : arrivals_) arrival = static_cast<uint64_t>(at += gap_ns(random));
  }

  // Round after round.
  uint64_t operator[](size_t i) const {
    return i / arrivals_.size() * arrivals_.back() + arrivals_[i % arrivals_.size()];
  }

 private:
  std::vector<uint64_t> arrivals_;
};

// Folds `events` events as they arrive. Returns the seconds it took.
double Serve(Folded& folded, const Stream& stream, const Schedule& schedule, size_t events,
             EngineTime start, BasicHistogram<3>& latency_ns) {
  std::array<Event, kBatchMax> batch;
  std::array<uint64_t, kBatchMax> arrivals;
  size_t size = 0;
  size_t next = 0;
  const Stopwatch watch;
  while (next < events || size > 0) {
    const uint64_t now = watch.nanoseconds();
    while (size < kBatchMax && next < events && schedule[next] <= now) {
      arrivals[size] = schedule[next];
      batch[size] = stream.events()[next % stream.size()];
      batch[size].at = start + Duration(now / 1000);
      ++size, ++next;
    }
    const bool last = next == events;
    if (size < kBatchMax && !(size > 0 && (last || now >= arrivals[0] + kWaitMaxNs))) continue;
    folded.folder().FoldBatch({batch.data(), size});
    const uint64_t done = watch.nanoseconds();
    for (size_t i = 0; i < size; ++i) latency_ns.Add(done - arrivals[i]);
    size = 0;
  }
  return watch.seconds();
}

constexpr size_t kPeakRounds = 3;

// Events per second when all are there from the beginning.
double Peak(Folded& folded, const Stream& stream) {
  const Schedule at_once(stream.size(), 0);
  double peak = 0;
  for (size_t round = 0; round < kPeakRounds; ++round) {
    BasicHistogram<3> ignored;
    const double seconds = Serve(folded, stream, at_once, stream.size(),
                                 kStart + static_cast<int>(round) * (kDay / 8), ignored);
    peak = std::max(peak, static_cast<double>(stream.size()) / seconds);
  }
  return peak;
}

void ReportLatency(benchmark::State& state, const BasicHistogram<3>& latency_ns) {
  state.counters["p50_ns"] = static_cast<double>(latency_ns.ValueAt(0.5));
  state.counters["p99_ns"] = static_cast<double>(latency_ns.ValueAt(0.99));
  state.counters["p999_ns"] = static_cast<double>(latency_ns.ValueAt(0.999));
  state.counters["max_ns"] = static_cast<double>(latency_ns.max());
}

void Latency(benchmark::State& state, double load) {
  Stream& stream = UniformStream();
  const double run_seconds = Tiny() ? 0.01 : Quick() ? 0.25 : 3;
  for (auto _ : state) {
    Folded folded;
    folded.OpenAll(stream.keys(), kStart);
    const double peak = Peak(folded, stream);
    const double rate = load * peak;
    const auto events = static_cast<size_t>(rate * run_seconds);
    const Schedule schedule(stream.size(), rate);
    BasicHistogram<3> latency_ns;
    const double seconds = Serve(folded, stream, schedule, events, kStart + kDay / 2, latency_ns);
    Report(state, {.seconds = seconds}, events);
    state.counters["peak_per_second"] = peak;
    ReportLatency(state, latency_ns);
    if (folded.folder().ledger().folded != kPeakRounds * stream.size() + events) {
      return Fail(state, "an event was lost");
    }
  }
}

void BesideDrain(benchmark::State& state) {
  constexpr size_t kPopMax = 1000;
  Stream& stream = UniformStream();
  for (auto _ : state) {
    Folded folded;
    folded.OpenAll(stream.keys(), kStart);
    folded.folder().CloseAll();
    folded.OpenAll(stream.keys(), kStart);
    std::atomic<bool> drained = false;
    size_t popped = 0;
    std::thread consumer([&] {
      for (size_t lot = kPopMax; lot > 0; popped += lot) lot = folded.folder().Pop(kPopMax).size();
      drained = true;
    });
    BasicHistogram<3> latency_ns;
    size_t events = 0;
    const Spent spent = Timed([&] {
      for (; !drained; ++events) {
        const Event& event = stream.events()[events % stream.size()];
        const Stopwatch watch;
        (void)folded.folder().Fold(event.key, event.event, kStart);
        latency_ns.Add(watch.nanoseconds());
      }
    });
    consumer.join();
    Report(state, spent, events);
    ReportLatency(state, latency_ns);
    state.counters["popped_per_second"] = static_cast<double>(popped) / spent.seconds;
    if (popped != stream.keys().size()) return Fail(state, "an emission was lost");
    if (folded.folder().ledger().folded != events) return Fail(state, "an event was lost");
  }
}

BENCHMARK_CAPTURE(Latency, low, 0.1)
    ->Name("latency/uniform_1M/10_percent")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Latency, middle, 0.5)
    ->Name("latency/uniform_1M/50_percent")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Latency, high, 0.8)
    ->Name("latency/uniform_1M/80_percent")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK(BesideDrain)->Name("latency/fold_beside_drain")->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace pleat::bench
