// Opening groups, from none to ten million, and what they hold of memory then.
//
//   growth/0_to_10M/pleat_batch        FoldBatch, 256 new keys a call
//   growth/0_to_10M/pleat_single       Fold, one new key a call
//   growth/0_to_10M/pleat_small_pages  Fold, in an engine with HugePages::kOff
//   memory/16_byte_keys/1M, /10M       groups with keys of 16 bytes and a counter of 8 bytes as their state
//
// For growth every single call is timed, by two clocks: max_pause_us is the longest by the wall clock,
// which is longer where the machine gave the processor to somebody else meanwhile; max_pause_cpu_us is
// the longest by the thread's own time, page faults included: of pages that the host has backed already,
// see WarmPages(). Reading the clocks is part of
// items_per_second, which matters for pleat_single only.
//
// rss_bytes_per_group is what the process holds more of than before the engine was made, by the kernel's
// count. accounted_bytes_per_group is what max_bytes is held against.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/histogram.h>

#include "bench/memory.h"
#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr size_t kMillion = 1'000'000;
constexpr size_t kBytesPerGroupMax = 160;

// The state of `memory/*`.
struct Counter {
  uint64_t count = 0;
  void Fold(const Touch&) noexcept { ++count; }
};

struct Pauses {
  double seconds = 0;  // of all calls together
  BasicHistogram<3> wall_ns;
  BasicHistogram<3> cpu_ns;
};

template <class Call>
void Time(Pauses& pauses, Call call) {
  const uint64_t cpu = ThreadNanoseconds();
  const Stopwatch watch;
  call();
  const uint64_t wall = watch.nanoseconds();
  pauses.cpu_ns.Add(ThreadNanoseconds() - cpu);
  pauses.wall_ns.Add(wall);
  pauses.seconds += static_cast<double>(wall) * 1e-9;
}

// Hands the events that open the groups `0..count` to `open`, in spans of 64 Ki; keys are made on the
// way, so that not all of them lie in memory at once.
template <class Open>
void ForNewGroups(size_t count, size_t key_bytes, Open open) {
  constexpr size_t kAtOnce = 64 * 1024;
  std::string text(kAtOnce * key_bytes, 'k');
  std::vector<Event> events;
  events.reserve(kAtOnce);
  for (size_t i = 0; i < count;) {
    events.clear();
    for (char* key = text.data(); i < count && events.size() < kAtOnce; ++i, key += key_bytes) {
      const uint64_t own = Scatter(i);
      std::memcpy(key + key_bytes - sizeof(own), &own, sizeof(own));
      events.push_back({{key, key_bytes}, kStart + Duration(i), {0}});
    }
    open(std::span<const Event>(events));
  }
}

template <class State>
void ReportMemory(benchmark::State& state, const Folder<Touch, State>& folder,
                  const ResidentMemory& before) {
  const auto groups = static_cast<double>(folder.sizes().open_groups);
  const ResidentMemory after = MeasureMemory();
  const auto grown = static_cast<double>(after.bytes) - static_cast<double>(before.bytes);
  const auto huge = static_cast<double>(after.huge_bytes) - static_cast<double>(before.huge_bytes);
  state.counters["accounted_bytes_per_group"] = static_cast<double>(folder.sizes().bytes) / groups;
  state.counters["rss_bytes_per_group"] = grown / groups;
  state.counters["huge_page_share"] = huge / grown;
}

// --quick does with a tenth of ten million.
size_t Groups(benchmark::State& state, size_t groups) {
  if (Tiny()) return Shrunk(kMillion);
  if (!Quick() || groups <= kMillion) return groups;
  state.SetLabel("--quick: a tenth of the groups");
  return groups / 10;
}

void Growth(benchmark::State& state, bool batch, HugePages huge_pages) {
  const size_t groups = Groups(state, 10 * kMillion);
  for (auto _ : state) {
    WarmPages(groups * kBytesPerGroupMax);
    const ResidentMemory before = MeasureMemory();
    Folded folded({.quiet_period = kDay, .max_hold = kForever}, {.huge_pages = huge_pages});
    Pauses pauses;
    ForNewGroups(groups, 20, [&](std::span<const Event> events) {
      if (!batch) {
        for (const Event& event : events) {
          Time(pauses, [&] { folded.folder().Fold(event.key, event.event, event.at); });
        }
        return;
      }
      for (; !events.empty(); events = events.subspan(std::min(kBatch, events.size()))) {
        Time(pauses,
             [&] { folded.folder().FoldBatch(events.first(std::min(kBatch, events.size()))); });
      }
    });
    Report(state, {.seconds = pauses.seconds}, groups);
    state.counters["p50_pause_us"] = static_cast<double>(pauses.wall_ns.ValueAt(0.5)) / 1e3;
    state.counters["p9999_pause_us"] = static_cast<double>(pauses.wall_ns.ValueAt(0.9999)) / 1e3;
    state.counters["max_pause_us"] = static_cast<double>(pauses.wall_ns.max()) / 1e3;
    state.counters["max_pause_cpu_us"] = static_cast<double>(pauses.cpu_ns.max()) / 1e3;
    ReportMemory(state, folded.folder(), before);
    if (folded.size() != groups) return Fail(state, "groups are missing");
  }
}

void Memory(benchmark::State& state, size_t full) {
  const size_t groups = Groups(state, full);
  for (auto _ : state) {
    WarmPages(groups * kBytesPerGroupMax);
    const ResidentMemory before = MeasureMemory();
    auto engine = *Engine::Open({});
    Folder<Touch, Counter> folder(*engine, "count", {.quiet_period = kDay, .max_hold = kForever});
    Spent spent;
    ForNewGroups(groups, 16, [&](std::span<const Event> events) {
      spent += Timed([&] { folder.FoldBatch(events); });
    });
    Report(state, spent, groups);
    ReportMemory(state, folder, before);
    if (folder.sizes().open_groups != groups) return Fail(state, "groups are missing");
  }
}

BENCHMARK_CAPTURE(Growth, batch, true, HugePages::kOffered)
    ->Name("growth/0_to_10M/pleat_batch")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Growth, single, false, HugePages::kOffered)
    ->Name("growth/0_to_10M/pleat_single")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Growth, small_pages, false, HugePages::kOff)
    ->Name("growth/0_to_10M/pleat_small_pages")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Memory, 1M, kMillion)
    ->Name("memory/16_byte_keys/1M")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Memory, 10M, 10 * kMillion)
    ->Name("memory/16_byte_keys/10M")
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace pleat::bench
