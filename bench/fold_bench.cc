// The fold alone, on preloaded groups: one call an event, no batching, one thread.
//
//   fold/uniform_1M/pleat_single  Folder::Fold, 16 partitions, deadlines included
//   fold/uniform_1M/absl_upsert   a plain loop of absl::flat_hash_map<std::string, int64_t> upserts:
//                                 no deadlines, no lock, no pop; the yardstick
#include <absl/container/flat_hash_map.h>
#include <benchmark/benchmark.h>
#include <pleat/folder.h>

#include "bench/workloads.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

struct Touch {
  uint64_t field;
};
struct Fields {
  uint64_t count = 0;
  uint64_t mask = 0;
  void Fold(const Touch& touch) noexcept {
    ++count;
    mask |= uint64_t{1} << (touch.field % 64);
  }
};

void PleatSingle(benchmark::State& state) {
  const KeyedWorkload& work = Uniform1M();
  const EngineTime start = FromUnix(1'700'000'000s);
  auto engine = *Engine::Open({.partitions = 16});
  Folder<Touch, Fields> folder(*engine, "fold", {.quiet_period = 24h, .max_hold = kForever});
  for (const std::string& key : work.keys) folder.Fold(key, {0}, start);
  int64_t at = 0;
  for (auto _ : state) {
    for (uint32_t event : work.events) {
      folder.Fold(work.keys[event], {event}, start + Duration{++at});
    }
  }
  if (folder.sizes().open_groups != work.keys.size()) state.SkipWithError("groups are missing");
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(work.events.size()));
  state.counters["accounted_bytes_per_group"] =
      static_cast<double>(folder.sizes().bytes) / static_cast<double>(work.keys.size());
}

void AbslUpsert(benchmark::State& state) {
  const KeyedWorkload& work = Uniform1M();
  absl::flat_hash_map<std::string, int64_t> map;
  for (const std::string& key : work.keys) map[key] = 0;
  for (auto _ : state) {
    for (uint32_t event : work.events) ++map[work.keys[event]];
  }
  if (map.size() != work.keys.size()) state.SkipWithError("keys are missing");
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(work.events.size()));
}

BENCHMARK(PleatSingle)->Name("fold/uniform_1M/pleat_single")->UseRealTime();
BENCHMARK(AbslUpsert)->Name("fold/uniform_1M/absl_upsert")->UseRealTime();

}  // namespace
}  // namespace pleat::bench
