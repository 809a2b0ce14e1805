// How the rate of FoldBatch depends on the shape of its input. All on open groups, hit uniformly, one
// thread unless the name says otherwise; timed as in fold_bench.cc.
//
//   fold_batch_size/uniform_1M/N    N events a call
//   fold_keys/uniform_N/pleat_batch N open groups, from all in the cache to nothing in it
//   fold_key_bytes/uniform_1M/N     keys of N bytes; up to 23 lie inside the entry
//   hot_keys/N/pleat_batch[_2t]     only N keys, from one thread or two: everyone wants the same lock
//   hot_keys/N/pleat_single[_2t]    the same by Fold()
#include <string>

#include <benchmark/benchmark.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr size_t kMillion = 1'000'000;

// Goes over the stream until `events` are folded by `fold`, which says what it took, and reports; an eighth
// of the stream is warm-up.
template <class Fold>
void Run(benchmark::State& state, Stream& stream, Folded& folded, size_t events, Fold fold) {
  EngineTime now = kStart;
  const auto pass = [&](size_t n) {
    const std::span<const Event> part = stream.Stamped(0, n, now);
    now += Duration(n);
    return fold(part);
  };
  const size_t warm_up = stream.size() / 8;
  pass(warm_up);
  Spent spent;
  size_t done = 0;
  for (; done < events; done += stream.size()) spent += pass(stream.size());
  Report(state, spent, done);
  const Ledger ledger = folded.folder().ledger();
  if (ledger.open != stream.keys().size() || ledger.folded != warm_up + done) {
    Fail(state, "a group or an event was lost");
  }
}

size_t Events() { return Shrunk(Quick() ? kMillion : 8 * kMillion); }

void BatchSize(benchmark::State& state) {
  Stream& stream = UniformStream();
  const auto batch = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    Folded folded;
    folded.OpenAll(stream.keys(), kStart);
    Run(state, stream, folded, batch < 64 ? Events() / 4 : Events(),
        [&](std::span<const Event> events) {
          return Timed([&] { FoldInBatches(folded.folder(), events, batch); });
        });
  }
}

template <class Contestant>
void OnStream(benchmark::State& state, size_t keys, size_t key_bytes) {
  Stream stream = MakeUniformStream(keys, key_bytes, Shrunk(Quick() ? kMillion : 4 * kMillion));
  for (auto _ : state) {
    Contestant contestant(stream.keys());
    Run(state, stream, contestant, Events(),
        [&](std::span<const Event> events) { return TimedFold(contestant, events); });
  }
}

void KeyCount(benchmark::State& state, size_t keys) {
  if (Quick() && keys > kMillion) {
    keys /= 4;
    if (!Tiny()) state.SetLabel("--quick: a quarter of the keys");
  }
  OnStream<BatchFolds>(state, Shrunk(keys), 20);
}

void KeyBytes(benchmark::State& state) {
  OnStream<BatchFolds>(state, Shrunk(kMillion), static_cast<size_t>(state.range(0)));
}

template <class Contestant>
void HotKeys(benchmark::State& state, size_t keys) {
  OnStream<Contestant>(state, keys, 20);
}

benchmark::internal::Benchmark* OneRun(benchmark::internal::Benchmark* run) {
  return run->Iterations(1)->UseManualTime();
}

const bool registered = [] {
  OneRun(benchmark::RegisterBenchmark("fold_batch_size/uniform_1M", BatchSize))
      ->RangeMultiplier(4)
      ->Range(1, 1024);
  OneRun(benchmark::RegisterBenchmark("fold_key_bytes/uniform_1M", KeyBytes))
      ->Arg(8)
      ->Arg(16)
      ->Arg(23)
      ->Arg(24)
      ->Arg(40)
      ->Arg(100);
  for (const auto& [name, keys] : {std::pair{"10k", kMillion / 100},
                                   {"100k", kMillion / 10},
                                   {"1M", kMillion},
                                   {"10M", 10 * kMillion}}) {
    const std::string full = std::string("fold_keys/uniform_") + name + "/pleat_batch";
    OneRun(benchmark::RegisterBenchmark(full.c_str(), KeyCount, keys));
  }
  for (size_t keys : {size_t{1}, size_t{64}}) {
    const std::string start = "hot_keys/" + std::to_string(keys) + "/";
    OneRun(
        benchmark::RegisterBenchmark((start + "pleat_batch").c_str(), HotKeys<BatchFolds>, keys));
    OneRun(benchmark::RegisterBenchmark((start + "pleat_batch_2t").c_str(), HotKeys<BatchFolds2T>,
                                        keys));
    OneRun(
        benchmark::RegisterBenchmark((start + "pleat_single").c_str(), HotKeys<SingleFolds>, keys));
    OneRun(benchmark::RegisterBenchmark((start + "pleat_single_2t").c_str(), HotKeys<SingleFolds2T>,
                                        keys));
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
