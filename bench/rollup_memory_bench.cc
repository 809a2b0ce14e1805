// What a counter costs in memory: rollup_memory/16_byte_keys/counter, of a million counters with
// one open window each and no ids; and rollup_memory/16_byte_keys/folder, of as many open groups
// with a counter of 8 bytes as their state.
//
// bytes_per_key is what the process holds more of than before the engine was made, by the kernel's
// count, which includes everything; accounted_bytes_per_key is what max_bytes is held against. Both
// get one event for each key. What there is after a second event of each, in the same window and
// the same group, is not more: touched_bytes_per_key.
#include <benchmark/benchmark.h>

#include "bench/memory.h"
#include "bench/rollup_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

constexpr size_t kBytesPerKeyMax = 160;

// Opens something for each key with `take(contestant, events)`.
template <class Contestant, class Input, class Take, class Size>
void KeyBytes(benchmark::State& state, const Take& take, const Size& size) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    const auto keys = static_cast<double>(plays.size());
    WarmPages(plays.size() * kBytesPerKeyMax);
    const ResidentMemory before = MeasureMemory();
    const auto grown = [&] {
      const auto now = static_cast<double>(MeasureMemory().bytes);
      return (now - static_cast<double>(before.bytes)) / keys;
    };
    Contestant contestant;
    const auto add = [&](std::span<const Input> events) { return take(contestant, events); };
    Report(state, plays.ForAll<Input>(add), plays.size());
    state.counters["bytes_per_key"] = grown();
    plays.ForAll<Input>(add);
    state.counters["touched_bytes_per_key"] = grown();
    state.counters["accounted_bytes_per_key"] = static_cast<double>(size(contestant)) / keys;
  }
}

void CounterBytes(benchmark::State& state) {
  KeyBytes<Counted, CounterInput>(
      state, [](Counted& counted, auto events) { return counted.AddInBatches(events); },
      [&](const Counted& counted) {
        const RollupSizes sizes = counted.counter.sizes();
        if (sizes.keys != CounterKeys() || sizes.open != CounterKeys()) {
          Fail(state, "counters are missing");
        }
        return sizes.bytes;
      });
}

void GroupBytes(benchmark::State& state) {
  KeyBytes<Summed<Play>, FoldInput>(
      state, [](Summed<Play>& summed, auto events) { return summed.FoldInBatches(events); },
      [&](const Summed<Play>& summed) {
        const Sizes sizes = summed.folder.sizes();
        if (sizes.open_groups != CounterKeys()) Fail(state, "groups are missing");
        return sizes.bytes;
      });
}

const bool registered = [] {
  RunOnce(benchmark::RegisterBenchmark("rollup_memory/16_byte_keys/counter", CounterBytes));
  RunOnce(benchmark::RegisterBenchmark("rollup_memory/16_byte_keys/folder", GroupBytes));
  return true;
}();

}  // namespace
}  // namespace pleat::bench
