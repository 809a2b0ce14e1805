// Many small collections in one engine: 10,000 folders with one group each.
//
//   small/10k_folders   each is opened, takes an event, closes its group in one Advance(), and is popped
//
// Told are the milliseconds of each step, and after each what the process holds more of than before the
// engine was made, by the kernel's count; held_bytes is what the folders say of themselves when each has
// its group.
#include <chrono>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/folder.h>

#include "bench/memory.h"
#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

struct Hits {
  uint64_t count = 0;
  void Fold(const Touch&) noexcept { ++count; }
};

void SmallFolders(benchmark::State& state) {
  const size_t count = Quick() ? 1'000 : 10'000;
  for (auto _ : state) {
    const size_t before = MeasureMemory().bytes;
    const auto engine = *Engine::Open({});
    std::vector<Folder<Touch, Hits>> folders;
    folders.reserve(count);
    double seconds = 0;
    const auto step = [&](const std::string& name, const auto& work) {
      const Stopwatch watch;
      work();
      seconds += watch.seconds();
      state.counters[name + "_ms"] = watch.seconds() * 1e3;
      const size_t now = MeasureMemory().bytes;
      state.counters[name + "_bytes"] = static_cast<double>(now > before ? now - before : 0);
    };
    step("opened", [&] {
      for (size_t i = 0; i < count; ++i) {
        folders.emplace_back(*engine, std::to_string(i),
                             FolderOptions{.quiet_period = std::chrono::minutes(5),
                                           .max_wait = std::chrono::hours(1)});
      }
    });
    step("folded", [&] {
      for (auto& folder : folders) folder.Fold("key", {}, kStart);
    });
    size_t held = 0;
    for (const auto& folder : folders) held += folder.held_bytes();
    state.counters["held_bytes"] = static_cast<double>(held);
    step("closed", [&] { engine->Advance(kStart + std::chrono::minutes(5)); });
    size_t popped = 0;
    step("popped", [&] {
      for (auto& folder : folders) popped += folder.Pop(10).size();
    });
    if (popped != count) return Fail(state, "a group was lost");
    Report(state, {.seconds = seconds}, count);
  }
}

BENCHMARK(SmallFolders)->Name("small/10k_folders")->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace pleat::bench
