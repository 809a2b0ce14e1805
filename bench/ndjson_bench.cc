// From lines of JSON to folded groups, beside what simdjson alone needs for the same lines.
//
//   ndjson/W/simdjson_lax    On-Demand, line by line, three members read, the rest not looked at
//   ndjson/W/simdjson_walk   On-Demand, line by line, every member visited and converted: all that its
//                            public interface can validate (not repeated names, nor big integers)
//   ndjson/W/simdjson_dom    the DOM parser, line by line: validates all but repeated names
//   ndjson/W/pleat_scan      our strict validation of every byte, repeated names included; picks out the
//                            same three members
//   ndjson/W/pleat_read      the same, and keys, times and values made ready to be folded: what
//                            `pleat fold --threads` does beside the thread that folds
//   ndjson/W/pleat_fold      the whole path of `pleat fold` from text to text: strict validation,
//                            watermark, fold, close, render; one thread
//
// W is higgs (keyed by userB; 36 % of the lines open a group, which is printed), events_56 or
// events_185 (keyed by id; 5 and 10 % do).
#include <simdjson.h>

#include <algorithm>
#include <span>
#include <string>

#include <benchmark/benchmark.h>
#include <pleat/json.h>

#include "bench/workloads.h"
#include "engine/lines/scan/scanner.h"

namespace pleat::bench {
namespace {

using namespace std::chrono_literals;

// What is read of a line.
struct Case {
  const LineWorkload& (*work)();
  const char* key;
  const char* time;
  const char* value;
  bool key_is_number;  // and then the value is text, else the other way round
  TimeUnit unit;
  Reducer reducer;
  Duration quiet;
};

constexpr Case kHiggs = {.work = Higgs,
                         .key = "userB",
                         .time = "timestamp",
                         .value = "interaction",
                         .key_is_number = true,
                         .unit = TimeUnit::kSeconds,
                         .reducer = Reducer::kSet,
                         .quiet = 5min};
constexpr Case kEvents56 = {.work = Events56,
                            .key = "id",
                            .time = "ts",
                            .value = "n",
                            .key_is_number = false,
                            .unit = TimeUnit::kMilliseconds,
                            .reducer = Reducer::kSum,
                            .quiet = 24h};
constexpr Case kEvents185 = [] {
  Case c = kEvents56;
  c.work = Events185;
  return c;
}();

void Report(benchmark::State& state, const LineWorkload& work) {
  const auto rounds = static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(rounds * static_cast<int64_t>(work.lines.size()));
  state.SetBytesProcessed(rounds * static_cast<int64_t>(work.text.size()));
  state.SetLabel(work.real ? "real lines" : "generated lines");
}

simdjson::padded_string_view Padded(std::string_view line) {
  return simdjson::padded_string_view(line.data(), line.size(), line.size() + kLinePaddingBytes);
}

void SimdjsonLax(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    int64_t sum = 0;
    for (std::string_view line : work.lines) {
      simdjson::ondemand::document document;
      int64_t number = 0;
      int64_t at = 0;
      std::string_view text;
      const bool good = parser.iterate(Padded(line)).get(document) == simdjson::SUCCESS &&
                        (c.key_is_number ? document[c.key].get(number)
                                         : document[c.key].get(text)) == simdjson::SUCCESS &&
                        document[c.time].get(at) == simdjson::SUCCESS &&
                        (c.key_is_number ? document[c.value].get(text)
                                         : document[c.value].get(number)) == simdjson::SUCCESS;
      if (!good) {
        state.SkipWithError("a line did not parse");
        return;
      }
      sum += number + at + static_cast<int64_t>(text.size());
    }
    benchmark::DoNotOptimize(sum);
  }
  Report(state, work);
}

// Visits a value and all within, converting every scalar. False for anything invalid.
bool Walk(simdjson::ondemand::value value, int64_t& sum) {
  using simdjson::ondemand::json_type;
  json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  switch (type) {
    case json_type::string: {
      std::string_view text;
      if (value.get_string().get(text) != simdjson::SUCCESS) return false;
      sum += static_cast<int64_t>(text.size());
      return true;
    }
    case json_type::number: {
      simdjson::ondemand::number number;
      if (value.get_number().get(number) != simdjson::SUCCESS) return false;
      sum += number.is_int64() ? number.get_int64() : 1;
      return true;
    }
    case json_type::boolean: {
      bool truth = false;
      return value.get_bool().get(truth) == simdjson::SUCCESS;
    }
    case json_type::null: {
      bool null = false;
      return value.is_null().get(null) == simdjson::SUCCESS && null;
    }
    case json_type::array:
      for (auto element : value.get_array()) {
        simdjson::ondemand::value inner;
        if (element.get(inner) != simdjson::SUCCESS || !Walk(inner, sum)) return false;
      }
      return true;
    case json_type::object:
      for (auto field : value.get_object()) {
        std::string_view name;
        simdjson::ondemand::value inner;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS ||
            field.value().get(inner) != simdjson::SUCCESS || !Walk(inner, sum)) {
          return false;
        }
        sum += static_cast<int64_t>(name.size());
      }
      return true;
  }
  return false;
}

void SimdjsonWalk(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    int64_t sum = 0;
    for (std::string_view line : work.lines) {
      simdjson::ondemand::document document;
      simdjson::ondemand::value root;
      if (parser.iterate(Padded(line)).get(document) != simdjson::SUCCESS ||
          document.get_value().get(root) != simdjson::SUCCESS || !Walk(root, sum) ||
          document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
        state.SkipWithError("a line did not parse");
        return;
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  Report(state, work);
}

void SimdjsonDom(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  simdjson::dom::parser parser;
  for (auto _ : state) {
    int64_t sum = 0;
    for (std::string_view line : work.lines) {
      simdjson::dom::element document;
      int64_t at = 0;
      if (parser.parse(line.data(), line.size(), false).get(document) != simdjson::SUCCESS ||
          document[c.time].get(at) != simdjson::SUCCESS) {
        state.SkipWithError("a line did not parse");
        return;
      }
      sum += at;
    }
    benchmark::DoNotOptimize(sum);
  }
  Report(state, work);
}

// In pieces of about the size in which lines are read to be folded.
void PleatScan(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  PathTree paths;
  for (const char* name : {c.key, c.time, c.value}) paths.Add({name});
  Scanner scanner(paths);
  constexpr size_t kLinesAtOnce = 256;
  for (auto _ : state) {
    size_t sum = 0;
    for (size_t first = 0; first < work.lines.size(); first += kLinesAtOnce) {
      const auto lines =
          std::span(work.lines).subspan(first, std::min(kLinesAtOnce, work.lines.size() - first));
      const char* const begin = lines.front().data();
      const char* const end = lines.back().data() + lines.back().size();
      bool good = scanner.Index({begin, static_cast<size_t>(end - begin)});
      for (std::string_view line : lines) {
        std::string_view wrong;
        good = good && scanner.ScanNext(line, wrong) && wrong.empty();
        sum += scanner.value(0).text.size();
      }
      if (!good) {
        state.SkipWithError("a line did not parse");
        return;
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  Report(state, work);
}

FoldSpec SpecOf(const Case& c) {
  FoldSpec spec;
  spec.event.key = {{.name = c.key, .path = c.key}};
  spec.folder.quiet_period = c.quiet;
  spec.event.time = c.time;
  spec.event.time_unit = c.unit;
  spec.merges = {{.name = "merged", .reducer = c.reducer, .path = c.value}};
  return spec;
}

void PleatRead(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  const FoldSpec spec = SpecOf(c);
  auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  auto folder = *JsonFolder::Open(*engine, "lines", spec);
  JsonLines lines(folder->plan());
  for (auto _ : state) {
    size_t read = 0;
    for (std::string_view block : work.blocks) {
      lines.Read(block);
      read += lines.left();
    }
    if (read != work.lines.size()) state.SkipWithError("not every line was read");
  }
  Report(state, work);
}

void PleatFold(benchmark::State& state, const Case& c) {
  const LineWorkload& work = c.work();
  const FoldSpec spec = SpecOf(c);
  std::string out;
  for (auto _ : state) {
    auto engine = *Engine::Open(EngineOptionsFor(spec.event));
    auto folder = *JsonFolder::Open(*engine, "lines", spec);
    size_t emissions = 0;
    const auto drain = [&] {
      out.clear();
      emissions += folder->Pop(SIZE_MAX, out);
      benchmark::DoNotOptimize(out.data());
    };
    for (std::string_view block : work.blocks) {
      folder->FoldLines(block, kBeginningOfTime, [](const UnusualLine&) { return false; });
      drain();
    }
    folder->CloseAll();
    drain();
    if (folder->counts().events != work.lines.size() || emissions != folder->ledger().opened) {
      state.SkipWithError("not every line was folded");
      return;
    }
    state.counters["emissions"] = static_cast<double>(emissions);
  }
  Report(state, work);
}

void Register(const std::string& name, const Case& c) {
  const auto add = [&](const char* contestant, void (*run)(benchmark::State&, const Case&)) {
    benchmark::RegisterBenchmark(("ndjson/" + name + "/" + contestant).c_str(), run, c)
        ->UseRealTime();
  };
  add("simdjson_lax", SimdjsonLax);
  add("simdjson_walk", SimdjsonWalk);
  add("simdjson_dom", SimdjsonDom);
  add("pleat_scan", PleatScan);
  add("pleat_read", PleatRead);
  add("pleat_fold", PleatFold);
}

const bool kRegistered = [] {
  Register("higgs", kHiggs);
  Register("events_56", kEvents56);
  Register("events_185", kEvents185);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
