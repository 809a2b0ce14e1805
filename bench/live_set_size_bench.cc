// What an operation on a live set costs by the size of its series: window_size/N, for series of
// N = 1, 4, 16 ... members, and of ten million. All series together have four million members, or
// as many as the one series has, so that a larger series does not mean a larger table.
//
//   items_per_second    refreshes by AddBatch, of members by chance
//   add_ns              AddBatch of new members, from none to all, in the order of their stamps
//   add_shuffled_ns     the same with stamps in no order
//   refresh_ns          the refreshes by AddBatch
//   refresh_single_ns   the same by Add
//   count_ns, count_since_ns   of a series by chance; since a time by chance
//   expire_ns           Advance, a millisecond at a time, until all members have ended
//
// All are processor time of one operation. Members of one series lie all over the tables. Each run
// compares the members and some counts with a plain array.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/live_set_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

// Of all series together, unless one alone is larger.
size_t Total() { return Tiny() ? 1024 : size_t{1} << (Quick() ? 18 : 22); }

void Note(benchmark::State& state, const char* operation, Spent spent, size_t n) {
  state.counters[std::string(operation) + "_ns"] = spent.cpu_seconds * 1e9 / static_cast<double>(n);
}

// Of series by chance, since times by chance.
template <class Read>
Spent TimedReads(const Population& population, size_t n, const Read& read) {
  std::vector<std::pair<std::string_view, EngineTime>> draws;
  draws.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    draws.emplace_back(population.name(Scatter(i) % population.series()), population.SomeTime(~i));
  }
  size_t sum = 0;
  const Spent spent = Timed([&] {
    for (const auto& [series, time] : draws) sum += read(series, time);
  });
  benchmark::DoNotOptimize(sum);
  return spent;
}

// All of `population`, which falls due from a day after kStart on.
Spent TimedExpiry(Living& living, const Population& population) {
  const EngineTime end = population.now() + kDay;
  return Timed([&] {
    for (EngineTime t = kStart + kDay; t < end; t += std::chrono::milliseconds(1)) {
      living.engine->Advance(t);
    }
    living.engine->Advance(end);
  });
}

bool AddShuffled(benchmark::State& state, size_t members, size_t series) {
  Living living;
  Population population(members, series);
  Note(state, "add_shuffled",
       population.ForAllShuffled([&](auto events) { living.AddInBatches(events); }), members);
  return population.Agrees(living.live_set);
}

bool RunAll(benchmark::State& state, size_t members, size_t series) {
  Living living;
  LiveSet<>& live_set = living.live_set;
  Population population(members, series);
  const auto in_batches = [&](auto events) { living.AddInBatches(events); };
  const auto one_by_one = [&](std::span<const LiveSetInput> events) {
    for (const LiveSetInput& e : events) live_set.Add(e.key, e.event, e.at);
  };
  Note(state, "add", population.ForAll(in_batches), members);
  population.ForSome(members, 1, in_batches);  // until the order is far from that of adding
  const Spent refreshes = population.ForSome(members, 2, in_batches);
  Report(state, refreshes, members);
  Note(state, "refresh", refreshes, members);
  const size_t some = std::min(members, kMillion);
  Note(state, "refresh_single", population.ForSome(some, 3, one_by_one), some);
  const auto count = [&](auto name, EngineTime) { return live_set.Count(name); };
  const auto count_since = [&](auto name, EngineTime time) {
    return live_set.CountSince(name, time);
  };
  Note(state, "count", TimedReads(population, some, count), some);
  Note(state, "count_since", TimedReads(population, some, count_since), some);
  if (!population.Agrees(live_set)) return false;
  Note(state, "expire", TimedExpiry(living, population), members);
  return live_set.sizes().members == 0 && live_set.ledger().expired == members;
}

void SeriesSize(benchmark::State& state) {
  const auto asked = static_cast<size_t>(state.range(0));
  const size_t size = Quick() ? std::min(asked, Total()) : asked;
  const size_t series = std::max<size_t>(Total() / size, 1);
  for (auto _ : state) {
    const bool agrees =
        AddShuffled(state, size * series, series) && RunAll(state, size * series, series);
    if (!agrees) return Fail(state, "wrong members or counts");
  }
}

const bool registered = [] {
  auto* const run = benchmark::RegisterBenchmark("window_size", SeriesSize);
  OneRun(run);
  run->Repetitions(1);  // whatever is asked for: all sizes together take minutes
  for (int64_t size = 1; size <= 4 << 20; size *= 4) run->Arg(size);
  run->Arg(10'000'000);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
