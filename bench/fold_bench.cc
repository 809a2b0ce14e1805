// The fold alone, on a million groups that are open already, beside what else one could write.
//
//   fold/uniform_1M/*, fold/zipf_1M/*
//     pleat_single          Folder::Fold, one event a call
//     pleat_batch           Folder::FoldBatch, 256 events a call
//     pleat_batch_2t        the same from two threads on one folder, each with its own events: the rate
//                           is that of both together, by the wall clock, until the slower one is done
//     absl_upsert           ++map[key] on an absl::flat_hash_map<std::string, int64_t>: the yardstick
//     multi_index           Boost.MultiIndex, hashed by key and ordered by deadline, behind a mutex
//     map_and_set           std::unordered_map and std::set, behind a mutex
//     steady_timer_per_key  a boost::asio::steady_timer for each key
//
// Timed: reading the events front to back and folding each. Not timed: making the events, opening the
// groups, a first stretch of folding to warm up, starting threads. After the warm-up the groups are
// compared with a plain array, before anything is timed, and again after it.
//
// Each repetition has contestants of its own, new, because whole engines differ with where their memory
// happens to lie.
#include <benchmark/benchmark.h>

#include "bench/pleat_folds.h"
#include "bench/rivals.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

template <class Contestant>
void FoldOnOpenGroups(benchmark::State& state, Stream& (*stream_of)(), size_t events) {
  Stream& stream = stream_of();
  if (Quick()) events /= 8;
  for (auto _ : state) {
    Contestant contestant(stream.keys());
    Model model(stream);
    EngineTime now = kStart;
    // Folds the first `n` events, stamped anew, and returns the seconds it took.
    const auto fold = [&](size_t n) {
      const std::span<const Event> part = stream.Stamped(0, n, now);
      now += Duration(n);
      const Stopwatch watch;
      contestant.Fold(part);
      return watch.seconds();
    };

    const size_t warm_up = std::min(events, stream.size()) / 4;
    fold(warm_up);
    model.Fold(warm_up);
    if (!model.Agrees(contestant)) return Fail(state, "groups are wrong after the warm-up");

    double seconds = 0;
    for (size_t left = events; left > 0;) {
      const size_t n = std::min(left, stream.size());
      seconds += fold(n);
      left -= n;
    }
    for (size_t left = events; left > 0;) {
      const size_t n = std::min(left, stream.size());
      model.Fold(n);
      left -= n;
    }
    if (!model.Agrees(contestant)) return Fail(state, "groups are wrong at the end");
    Report(state, seconds, events);
    if constexpr (std::is_base_of_v<Folded, Contestant>) {
      state.counters["accounted_bytes_per_group"] = contestant.AccountedBytesPerGroup();
    }
  }
}

constexpr size_t kMillion = 1'000'000;

// As many events as take about a second.
template <class Contestant>
void Register(const char* contestant, size_t events) {
  for (const auto& [workload, stream] :
       {std::pair{"uniform_1M", &UniformStream}, std::pair{"zipf_1M", &ZipfStream}}) {
    const std::string name = std::string("fold/") + workload + "/" + contestant;
    benchmark::RegisterBenchmark(name.c_str(), FoldOnOpenGroups<Contestant>, stream, events)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

const bool registered = [] {
  Register<PleatSingle>("pleat_single", 8 * kMillion);
  Register<PleatBatch>("pleat_batch", 32 * kMillion);
  Register<PleatBatch2T>("pleat_batch_2t", 48 * kMillion);
  Register<AbslUpsert>("absl_upsert", 8 * kMillion);
  Register<MultiIndex>("multi_index", kMillion);
  Register<MapAndSet>("map_and_set", kMillion);
  Register<SteadyTimerPerKey>("steady_timer_per_key", kMillion);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
