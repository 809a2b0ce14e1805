// A live set whose one series has ten million members, beside folding on as many keys; the same
// with a sorted set of Redis is in live_set_servers.cc.
//
//   window/10M/add_batch     LiveSet::AddBatch, 256 events a call, each a refresh
//   window/10M/fold_batch    Folder::FoldBatch of the same events, with the ids as keys
//   window/10M/add_single    LiveSet::Add of the same events
//   window/10M/fold_single   Folder::Fold of the same events
//   window/10M/count         LiveSet::Count
//   window/10M/count_since   LiveSet::CountSince, at times by chance
//
// Ids have 16 bytes; which one an event is about is random. Timed as in fold_bench.cc: not timed
// are making the events, adding the members, and a warm-up of as many refreshes as there are
// members, so that the order of stamps has nothing to do with where members lie. Stamps grow by a
// microsecond an event. With --quick there are a million members.
//
// At the end the stamps of members, and counts since several times, are compared with a plain
// array.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/live_set_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

size_t Members() { return Tiny() ? 4096 : Quick() ? kMillion : 10 * kMillion; }
size_t BatchEvents() { return std::min(Members(), 8 * kMillion); }
size_t SingleEvents() { return std::min(Members(), 2 * kMillion); }

class Members10M {
 public:
  Members10M() : population_(Members(), 1) {
    const auto add = [this](auto events) { living_.AddInBatches(events); };
    population_.ForAll(add);
    population_.ForSome(population_.size(), 1, add);
  }

  Living& living() { return living_; }
  Population& population() { return population_; }

 private:
  Living living_;
  Population population_;
};

// Runs `measure(members)`, which reports what it took.
template <class Measure>
void OnMembers(benchmark::State& state, const Measure& measure) {
  for (auto _ : state) {
    Members10M members;
    measure(members);
    if (!members.population().Agrees(members.living().live_set)) {
      return Fail(state, "wrong members");
    }
  }
}

void AddBatch(benchmark::State& state) {
  OnMembers(state, [&](Members10M& members) {
    const Spent spent = members.population().ForSome(
        BatchEvents(), 2, [&](auto events) { members.living().AddInBatches(events); });
    Report(state, spent, BatchEvents());
  });
}

void AddSingle(benchmark::State& state) {
  OnMembers(state, [&](Members10M& members) {
    LiveSet<>& live_set = members.living().live_set;
    const Spent spent =
        members.population().ForSome(SingleEvents(), 2, [&](std::span<const LiveSetInput> events) {
          for (const LiveSetInput& e : events) live_set.Add(e.key, e.event, e.at);
        });
    Report(state, spent, SingleEvents());
  });
}

void Count(benchmark::State& state) {
  OnMembers(state, [&](Members10M& members) {
    const LiveSet<>& live_set = members.living().live_set;
    size_t sum = 0;
    const Spent spent = Timed([&] {
      for (size_t i = 0; i < SingleEvents(); ++i)
        sum += live_set.Count(members.population().name(0));
    });
    Report(state, spent, SingleEvents());
    if (sum != SingleEvents() * Members()) Fail(state, "wrong counts");
  });
}

void CountSince(benchmark::State& state) {
  OnMembers(state, [&](Members10M& members) {
    const LiveSet<>& live_set = members.living().live_set;
    const Population& population = members.population();
    std::vector<EngineTime> since(SingleEvents());
    for (size_t i = 0; i < since.size(); ++i) since[i] = population.SomeTime(i);
    size_t sum = 0;
    const Spent spent = Timed([&] {
      for (const EngineTime time : since) sum += live_set.CountSince(population.name(0), time);
    });
    benchmark::DoNotOptimize(sum);
    Report(state, spent, since.size());
  });
}

// `fold(folder, events)` on as many open groups.
template <class Fold>
void OnGroups(benchmark::State& state, size_t n, const Fold& fold) {
  for (auto _ : state) {
    Folded folded;
    Population groups(Members(), 1);
    const auto in_batches = [&](std::span<const Event> events) {
      FoldInBatches(folded.folder(), events);
    };
    groups.ForAll<Event>(in_batches);
    groups.ForSome<Event>(groups.size(), 1, in_batches);
    Report(state,
           groups.ForSome<Event>(
               n, 2, [&](std::span<const Event> events) { fold(folded.folder(), events); }),
           n);
    const Ledger ledger = folded.folder().ledger();
    if (ledger.open != groups.size() || ledger.folded != groups.size() + n) {
      return Fail(state, "a group or an event was lost");
    }
    for (size_t i = 0; i < groups.size(); i += 16) {
      const auto group = folded.folder().Peek(groups.id(i));
      if (!group || group->last != groups.stamp(i)) return Fail(state, "wrong groups");
    }
  }
}

void FoldBatch(benchmark::State& state) {
  OnGroups(state, BatchEvents(),
           [](auto& folder, std::span<const Event> events) { FoldInBatches(folder, events); });
}

void FoldSingle(benchmark::State& state) {
  OnGroups(state, SingleEvents(),
           [](auto& folder, std::span<const Event> events) { FoldOneByOne(folder, events); });
}

const bool registered = [] {
  OneRun(benchmark::RegisterBenchmark("window/10M/add_batch", AddBatch));
  OneRun(benchmark::RegisterBenchmark("window/10M/fold_batch", FoldBatch));
  OneRun(benchmark::RegisterBenchmark("window/10M/add_single", AddSingle));
  OneRun(benchmark::RegisterBenchmark("window/10M/fold_single", FoldSingle));
  OneRun(benchmark::RegisterBenchmark("window/10M/count", Count));
  OneRun(benchmark::RegisterBenchmark("window/10M/count_since", CountSince));
  return true;
}();

}  // namespace
}  // namespace pleat::bench
