// From lines of JSON to windows that are final, beside folding with as many emissions.
//
//   rollup_ndjson/W/rollup  the whole path of `pleat rollup` from text to text: strict validation,
//                           watermark, counting, windows that become final, printing; one thread
//   rollup_ndjson/W/fold    the same of `pleat fold`, which counts or sums the same
//
// W is higgs, keyed by userB, counted: 202,990 windows of 15 minutes, and 204,445 groups with a
// quiet period of five, which is 0.7 % more. Or events_56, keyed by id, with sums of n: a window of
// a day and a group for each of 100,000 keys. The lines are those of ndjson_bench.cc, and both are
// handed the same blocks, in the order of their stamps, so that no event is late. What comes out
// are the lines of either command without further flags, those of a fold with "_fold".
#include <algorithm>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <pleat/json.h>
#include <pleat/json_rollup.h>

#include "bench/settings.h"
#include "bench/workloads.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

struct Case {
  const LineWorkload& (*work)();
  const char* key;
  const char* time;
  const char* value;  // empty: counts
  TimeUnit unit;
  Duration quiet;
  Duration window;
};

constexpr Case kHiggs = {.work = Higgs,
                         .key = "userB",
                         .time = "timestamp",
                         .value = "",
                         .unit = TimeUnit::kSeconds,
                         .quiet = 5min,
                         .window = 15min};
constexpr Case kEvents56 = {.work = Events56,
                            .key = "id",
                            .time = "ts",
                            .value = "n",
                            .unit = TimeUnit::kMilliseconds,
                            .quiet = 24h,
                            .window = 24h};

EventSpec EventsOf(const Case& c) {
  EventSpec event;
  event.key = {{.name = "key", .path = c.key}};  // "id" is that of an emission
  event.time = c.time;
  event.time_unit = c.unit;
  return event;
}

std::unique_ptr<JsonFolder> OpenFold(Engine& engine, const Case& c) {
  FoldSpec spec;
  spec.event = EventsOf(c);
  spec.folder.quiet_period = c.quiet;
  const bool sums = *c.value != '\0';
  Merge merge;
  merge.name = sums ? "sum" : "count";
  merge.reducer = sums ? Reducer::kSum : Reducer::kCount;
  merge.path = c.value;
  spec.merges = {merge};
  return *JsonFolder::Open(engine, "lines", spec);
}

std::unique_ptr<JsonRollup> OpenRollup(Engine& engine, const Case& c) {
  RollupSpec spec;
  spec.event = EventsOf(c);
  spec.value = c.value;
  spec.rollup.windows = {c.window};
  spec.rollup.allowed_lateness = 1min;
  return *JsonRollup::Open(engine, "lines", spec);
}

size_t Take(JsonFolder& folder, JsonLines& lines) {
  return folder.Fold(lines, SIZE_MAX, kBeginningOfTime, [](const UnusualLine&) { return false; });
}
size_t Take(JsonRollup& rollup, JsonLines& lines) {
  return rollup.Add(lines, SIZE_MAX, kBeginningOfTime, [](const UnusualLine&) { return false; });
}
// Each event once, in what came out; none was late.
bool IsWhole(const JsonFolder& folder, size_t lines, size_t emissions) {
  const Ledger ledger = folder.ledger();
  return ledger.opened + ledger.folded == lines && ledger.opened == emissions;
}
bool IsWhole(const JsonRollup& rollup, size_t lines, size_t emissions) {
  const RollupLedger ledger = rollup.ledger();
  return ledger.added == lines && ledger.windows == emissions && ledger.open == 0;
}

template <class Collection>
void Run(benchmark::State& state, const Case& c,
         std::unique_ptr<Collection> (*open)(Engine&, const Case&)) {
  const LineWorkload& work = c.work();
  size_t printed = 0;
  for (auto _ : state) {
    auto engine = *Engine::Open(EngineOptionsFor(EventsOf(c)));
    auto collection = open(*engine, c);
    JsonLines lines(collection->plan());
    size_t emissions = 0;
    const auto drain = [&] {
      emissions +=
          collection->Pop(SIZE_MAX, [&](std::string_view text) { printed += text.size(); });
    };
    for (std::string_view block : work.blocks) {
      lines.Read(block);
      Take(*collection, lines);
      drain();
    }
    collection->CloseAll();
    drain();
    if (!IsWhole(*collection, work.lines.size(), emissions)) {
      return Fail(state, "not every line came out");
    }
    state.counters["emissions"] = static_cast<double>(emissions);
  }
  const auto rounds = static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(rounds * static_cast<int64_t>(work.lines.size()));
  state.SetBytesProcessed(rounds * static_cast<int64_t>(work.text.size()));
  state.counters["bytes_per_line_out"] =
      static_cast<double>(printed) / static_cast<double>(rounds) / state.counters["emissions"];
  state.SetLabel(work.real ? "real lines" : "generated lines");
}

void Fold(benchmark::State& state, const Case& c) { Run(state, c, OpenFold); }
void Rollup(benchmark::State& state, const Case& c) { Run(state, c, OpenRollup); }

const bool registered = [] {
  for (const auto& [name, c] : {std::pair{"higgs", kHiggs}, {"events_56", kEvents56}}) {
    const std::string start = std::string("rollup_ndjson/") + name;
    benchmark::RegisterBenchmark((start + "/rollup").c_str(), Rollup, c)->UseRealTime();
    benchmark::RegisterBenchmark((start + "/fold").c_str(), Fold, c)->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
