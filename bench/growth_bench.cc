// Opening groups, from none to ten million, and what they hold of memory then.
//
//   growth/0_to_10M/pleat_batch        FoldBatch, 256 new keys a call
//   growth/0_to_10M/pleat_single       Fold, one new key a call
//   growth/0_to_10M/pleat_small_pages  Fold, in an engine with HugePages::kOff
//   growth/0_to_10M/pleat_reserved     Fold, after Folder::Reserve() of as many groups
//   memory/16_byte_keys/1M, /10M       groups with keys of 16 bytes and a counter of 8 bytes as their state
//
// For growth every single call is timed, by two clocks: max_pause_us is the longest by the wall clock,
// which is longer where the machine gave the processor to somebody else meanwhile; max_pause_cpu_us is
// the longest by the thread's own time, page faults included: of pages that the host has backed already,
// see WarmPages(). Reading the clocks is part of items_per_second, which matters least for pleat_batch.
// Three passes with the same hashes do the same work call by call; all figures are the first one's, but
// for max_pause_repeated_us: of the calls, each as short as the shortest of its three, the longest by the
// thread's own time. What the machine does to a thread at random is left out there, since a guest's
// processor time goes on while the host has the processor.
//
// rss_bytes_per_group is what the process holds more of than before the engine was made, by the kernel's
// count. accounted_bytes_per_group is what max_bytes is held against.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/stats.h>

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

constexpr int kPasses = 3;

struct Pauses {
  std::vector<uint32_t> shortest_cpu_ns;  // of each call, over the passes so far
  size_t calls = 0;
  double seconds = 0;  // of all calls together
  BasicHistogram<3> wall_ns = {};
  BasicHistogram<3> cpu_ns = {};
};

template <class Call>
void Time(Pauses& pauses, Call call) {
  const uint64_t begin = ThreadNanoseconds();
  const Stopwatch watch;
  call();
  const uint64_t wall = watch.nanoseconds();
  const uint64_t cpu = ThreadNanoseconds() - begin;
  uint32_t& shortest = pauses.shortest_cpu_ns[pauses.calls++];
  shortest = static_cast<uint32_t>(std::min<uint64_t>(shortest, cpu));
  pauses.cpu_ns.Add(cpu);
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

struct Contestant {
  bool batch = false;
  bool reserved = false;
  HugePages huge_pages = HugePages::kOffered;
};

Folded NewFolded(const Contestant& contestant) {
  return Folded({.quiet_period = kDay, .max_wait = kForever},
                {.huge_pages = contestant.huge_pages, .internals = {.hash_key = {{1, 2}}}});
}

// Returns whether there was memory for them.
bool OpenGroups(Folder<Touch, Fields>& folder, const Contestant& contestant, size_t groups,
                Pauses& pauses) {
  if (contestant.reserved && !folder.Reserve(groups).ok()) return false;
  ForNewGroups(groups, 20, [&](std::span<const Event> events) {
    if (!contestant.batch) {
      for (const Event& event : events) {
        Time(pauses, [&] { folder.Fold(event.key, event.event, event.at); });
      }
      return;
    }
    for (; !events.empty(); events = events.subspan(std::min(kBatch, events.size()))) {
      Time(pauses, [&] { folder.FoldBatch(events.first(std::min(kBatch, events.size()))); });
    }
  });
  return true;
}

void Growth(benchmark::State& state, const Contestant& contestant) {
  const size_t groups = Groups(state, 10 * kMillion);
  for (auto _ : state) {
    WarmPages(groups * kBytesPerGroupMax);
    Pauses pauses{.shortest_cpu_ns = std::vector<uint32_t>(groups, UINT32_MAX)};
    {
      const ResidentMemory before = MeasureMemory();
      Folded folded = NewFolded(contestant);
      if (!OpenGroups(folded.folder(), contestant, groups, pauses))
        return Fail(state, "the memory is missing");
      ReportMemory(state, folded.folder(), before);
      if (folded.size() != groups) return Fail(state, "groups are missing");
    }
    Report(state, {.seconds = pauses.seconds}, groups);
    state.counters["p50_pause_us"] = static_cast<double>(pauses.wall_ns.ValueAt(0.5)) / 1e3;
    state.counters["p9999_pause_us"] = static_cast<double>(pauses.wall_ns.ValueAt(0.9999)) / 1e3;
    state.counters["max_pause_us"] = static_cast<double>(pauses.wall_ns.max()) / 1e3;
    state.counters["max_pause_cpu_us"] = static_cast<double>(pauses.cpu_ns.max()) / 1e3;
    for (int pass = 1; pass < kPasses; ++pass) {
      Folded folded = NewFolded(contestant);
      pauses.calls = 0;
      if (!OpenGroups(folded.folder(), contestant, groups, pauses))
        return Fail(state, "the memory is missing");
    }
    pauses.shortest_cpu_ns.resize(pauses.calls);
    state.counters["max_pause_repeated_us"] =
        static_cast<double>(*std::ranges::max_element(pauses.shortest_cpu_ns)) / 1e3;
  }
}

void Memory(benchmark::State& state, size_t full) {
  const size_t groups = Groups(state, full);
  for (auto _ : state) {
    WarmPages(groups * kBytesPerGroupMax);
    const ResidentMemory before = MeasureMemory();
    auto engine = *Engine::Open({});
    Folder<Touch, Counter> folder(*engine, "count", {.quiet_period = kDay, .max_wait = kForever});
    Spent spent;
    ForNewGroups(groups, 16, [&](std::span<const Event> events) {
      spent += Timed([&] { folder.FoldBatch(events); });
    });
    Report(state, spent, groups);
    ReportMemory(state, folder, before);
    if (folder.sizes().open_groups != groups) return Fail(state, "groups are missing");
  }
}

BENCHMARK_CAPTURE(Growth, batch, Contestant{.batch = true})
    ->Name("growth/0_to_10M/pleat_batch")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Growth, single, Contestant{})
    ->Name("growth/0_to_10M/pleat_single")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Growth, small_pages, Contestant{.huge_pages = HugePages::kOff})
    ->Name("growth/0_to_10M/pleat_small_pages")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(Growth, reserved, Contestant{.reserved = true})
    ->Name("growth/0_to_10M/pleat_reserved")
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
