// The contest: the whole job of the Redis recipe, by pleat and by what is used instead.
//
//   job/{uniform_1M,zipf_1M,wikiticker}/X with X one of
//     pleat_batch, pleat_batch_2t   job_pleat.cc
//     expert                        job_expert.cc
//     multi_index, map_and_set      job_alternatives.cc
//     redis_recipe, redis_lua, valkey_recipe
//                                   job_servers.cc; absent where the server is not installed
//
// Before a contestant is timed it does a small job of the same shape, and every emission is compared with
// pleat's; pleat's own with those of map_and_set, the plainest of all. What the timed passes emit is
// compared by counts and a hash. Any difference is an error and fails the program.
//
// The long jobs are done once by all but pleat and the expert, whatever repetitions are asked for: they take
// up to two minutes, over which a busy machine evens out.
//
// An item is an event. Time is that of the whole job, polls and the last pops included; making the
// events, starting a server and taking an empty store down are outside.
#include <map>
#include <set>
#include <stdexcept>

#include <benchmark/benchmark.h>

#include "bench/job.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

// One input, made once it is needed, and what pleat makes of it.
struct Expected {
  Job job;
  Emissions emissions;
};

const Expected& Full(const JobInput& input) {
  static std::map<std::string_view, Expected> known;
  auto found = known.find(input.name);
  if (found == known.end()) {
    Job job = input.make();
    Emissions emissions = PleatBatch(job, false).emissions;
    found = known.emplace(input.name, Expected{std::move(job), std::move(emissions)}).first;
  }
  return found->second;
}

void RequireEqual(const Emissions& theirs, const Emissions& expected, const char* which) {
  const std::string difference = Emissions::Difference(theirs, expected);
  if (!difference.empty()) {
    throw std::runtime_error(std::string("emissions differ, ") + which + ": " + difference);
  }
}

// Once for each, however many repetitions there are.
void CheckSmall(const JobInput& input, Contestant contestant) {
  static std::set<std::pair<std::string_view, Contestant>> checked;
  if (checked.contains({input.name, contestant})) return;
  const Job job = input.make_small();
  const Contestant reference = contestant == PleatBatch ? MapAndSet : PleatBatch;
  RequireEqual(contestant(job, true).emissions, reference(job, true).emissions, "small job");
  checked.emplace(input.name, contestant);
}

void Run(benchmark::State& state, const JobInput& input, Contestant contestant) try {
  CheckSmall(input, contestant);
  const auto& [job, expected] = Full(input);
  double seconds = 0;
  double cpu_seconds = 0;
  double bytes_per_group = 0;
  for (auto _ : state) {
    const JobResult result = contestant(job, false);
    RequireEqual(result.emissions, expected, "timed pass");
    state.SetIterationTime(result.seconds);
    seconds += result.seconds;
    cpu_seconds += result.cpu_seconds;
    bytes_per_group = result.bytes_per_group;
  }
  const auto events = static_cast<double>(job.events.size());
  const auto passes = static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(job.events.size()));
  state.counters["ns_per_event"] = seconds * 1e9 / (passes * events);
  state.counters["emissions"] = static_cast<double>(expected.groups());
  if (cpu_seconds > 0) state.counters["items_per_cpu_second"] = passes * events / cpu_seconds;
  if (bytes_per_group > 0) state.counters["bytes_per_group"] = bytes_per_group;
} catch (const std::exception& error) {
  Fail(state, error.what());
}

struct Entry {
  const char* name;
  Contestant contestant;
  const char* needs = nullptr;  // a program
  bool is_fast = false;
};

constexpr Entry kContestants[] = {
    {"pleat_batch", PleatBatch, nullptr, true},
    {"pleat_batch_2t", PleatBatch2Threads, nullptr, true},
    {"expert", Expert, nullptr, true},
    {"multi_index", MultiIndex},
    {"map_and_set", MapAndSet},
#ifdef PLEAT_BENCH_SERVERS
    {"redis_recipe", RedisRecipe, "redis-server"},
    {"redis_lua", RedisLua, "redis-server"},
    {"valkey_recipe", ValkeyRecipe, "valkey-server"},
#endif
};

const bool all_registered = [] {
  for (const JobInput& input : JobInputs()) {
    for (const Entry& entry : kContestants) {
      if (entry.needs != nullptr && FindProgram(entry.needs).empty()) continue;
      const std::string name = std::string("job/") + input.name + "/" + entry.name;
      auto* const registered =
          benchmark::RegisterBenchmark(name.c_str(), Run, input, entry.contestant);
      registered->UseManualTime()->Unit(benchmark::kMillisecond);
      if (input.is_long && !entry.is_fast) registered->Repetitions(1);
    }
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
