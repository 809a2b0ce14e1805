// The fold alone, on a million groups that are open already, beside what else one could write.
//
//   fold/uniform_1M/*, fold/zipf_1M/*
//     pleat_single          Folder::Fold, one event a call
//     pleat_batch           Folder::FoldBatch, 256 events a call
//     pleat_single_gaps, pleat_batch_gaps   the same with MeasureOptions::gap_stats
//     pleat_batch_2t        the same as pleat_batch from two threads on one folder, each with its own events: the rate
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
// happens to lie. (With --quick, a pair of repetitions.)
#include <memory>
#include <string>
#include <type_traits>

#include <benchmark/benchmark.h>

#include "bench/pleat_folds.h"
#include "bench/rivals.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

// A contestant with an open group for every key, and what they must hold.
template <class Contestant>
struct Opened {
  explicit Opened(const Keys& keys) : contestant(keys), model(keys.size()) {}

  // Folds the first `n` events, stamped anew, round after round. Returns what that took.
  Spent Fold(Stream& stream, size_t n) {
    Spent spent;
    for (size_t left = n; left > 0;) {
      const std::span<const Event> part = stream.Stamped(0, std::min(left, stream.size()), now);
      now += Duration(part.size());
      left -= part.size();
      spent += TimedFold(contestant, part);
    }
    model.Fold(stream, n);
    return spent;
  }
  bool Agrees(const Keys& keys) const { return model.Agrees(keys, contestant); }

  Contestant contestant;
  Model model;
  EngineTime now = kStart;
};

template <class Contestant>
void FoldOnOpenGroups(benchmark::State& state, Stream& (*stream_of)(), size_t events) {
  // Opening a million groups takes longer than a glance at them, so --quick keeps them for the next
  // workload, which has the same keys.
  static std::unique_ptr<Opened<Contestant>> kept;
  Stream& stream = stream_of();
  events = Shrunk(Quick() ? events / 8 : events);
  for (auto _ : state) {
    const bool is_new = kept == nullptr;
    auto opened = is_new ? std::make_unique<Opened<Contestant>>(stream.keys()) : std::move(kept);

    opened->Fold(stream, std::min(events, stream.size()) / 4);  // to warm up
    if (!opened->Agrees(stream.keys())) return Fail(state, "wrong groups after the warm-up");
    Report(state, opened->Fold(stream, events), events);
    if (!opened->Agrees(stream.keys())) return Fail(state, "wrong groups at the end");

    if constexpr (std::is_base_of_v<Folded, Contestant>) {
      state.counters["accounted_bytes_per_group"] = opened->contestant.AccountedBytesPerGroup();
    }
    if (Quick() && is_new) kept = std::move(opened);
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
  Register<SingleFolds>("pleat_single", 8 * kMillion);
  Register<BatchFolds>("pleat_batch", 32 * kMillion);
  Register<WithGaps<SingleFolds>>("pleat_single_gaps", 8 * kMillion);
  Register<WithGaps<BatchFolds>>("pleat_batch_gaps", 32 * kMillion);
  Register<BatchFolds2T>("pleat_batch_2t", 48 * kMillion);
  Register<AbslUpserts>("absl_upsert", 8 * kMillion);
  Register<MultiIndexFolds>("multi_index", kMillion);
  Register<MapAndSetFolds>("map_and_set", kMillion);
  Register<SteadyTimerFolds>("steady_timer_per_key", kMillion);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
