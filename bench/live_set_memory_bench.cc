// What a member of a live set costs in memory: window_memory/SHAPE/pleat. What the same sorted
// sets cost Redis is in live_set_servers.cc. The shapes are 1 series of a million members, 1,000 of
// 200, 100,000 of ten, and 2,000 of 15.
//
// Ids have 16 bytes, names of series 14, and there is no payload. bytes_per_member is what the
// process holds more of than before the engine was made, by the kernel's count, which includes
// everything, after as many refreshes by chance as there are members; added_bytes_per_member before
// these. drained_bytes_per_member is what is left when all have expired, by the same count.
#include <string>

#include <benchmark/benchmark.h>

#include "bench/live_set_stream.h"
#include "bench/memory.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

void MemberBytes(benchmark::State& state, const LiveSetShape& full) {
  const LiveSetShape shape = full.Shrunk();
  const size_t members = shape.series * shape.members_each;
  const auto grown_since = [&](const ResidentMemory& before) {
    const auto now = static_cast<double>(MeasureMemory().bytes);
    return (now - static_cast<double>(before.bytes)) / static_cast<double>(members);
  };
  for (auto _ : state) {
    Population population(members, shape.series);
    const ResidentMemory before = MeasureMemory();
    Living living;
    const auto in_batches = [&](auto events) { living.AddInBatches(events); };
    Report(state, population.ForAll(in_batches), members);
    state.counters["added_bytes_per_member"] = grown_since(before);
    population.ForSome(members, 1, in_batches);
    state.counters["bytes_per_member"] = grown_since(before);
    state.counters["accounted_bytes_per_member"] =
        static_cast<double>(living.live_set.sizes().bytes) / static_cast<double>(members);
    if (!population.Agrees(living.live_set)) return Fail(state, "wrong members");
    living.engine->Advance(population.now() + kDay);
    state.counters["drained_bytes_per_member"] = grown_since(before);
    if (living.live_set.sizes().members != 0) return Fail(state, "members are left");
  }
}

const bool registered = [] {
  for (const LiveSetShape& shape : kLiveSetShapes) {
    const std::string name = std::string("window_memory/") + shape.name + "/pleat";
    OneRun(benchmark::RegisterBenchmark(name.c_str(), MemberBytes, shape));
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
