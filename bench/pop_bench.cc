// Closing and taking a million groups that are all due.
//
//   pop/uniform_1M/pleat          Advance() past all of them, then Pop() of one partition into a buffer, in
//                                 lots of 256, one partition after the other
//   pop/uniform_1M/pleat_ordered  the same with Pop(): one order over all partitions
//   pop/uniform_1M/absl_erase     find, move the value out and erase, key by key, from an
//                                 absl::flat_hash_map<std::string, Fields> of the same groups; the keys come
//                                 in the order in which pleat emits them
//   pop_burst/uniform_1M/pleat    Advance() with a budget of 1,024 until all is closed: how long one such
//                                 call holds its locks. Here the quiet period is a day, so that all
//                                 deadlines lie within 1/4096 of it: the worst case for slots
//
// The groups were opened one after the other and then hit at random, so that they fall due in an order
// that has nothing to do with where they lie; a million events a second, with a quiet period of two, so
// that the last one comes just before the first group would have closed. Timed: closing and taking, and adding up what was taken, by
// which the contestants are compared. Not timed: opening and folding.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <benchmark/benchmark.h>
#include <pleat/stats.h>

#include "bench/pleat_folds.h"
#include "bench/rivals.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr Duration kQuiet = std::chrono::seconds(2);
constexpr EngineTime kAllDue = kStart + 3 * kDay;

// What was taken, in any order.
class Taken {
 public:
  void Add(std::string_view key, const Fields& fields) {
    uint64_t tail;
    std::memcpy(&tail, key.data() + key.size() - sizeof(tail), sizeof(tail));
    ++groups_;
    events_ += fields.count;
    contents_ += (tail | 1) * fields.mask;
  }
  friend bool operator==(const Taken&, const Taken&) = default;

 private:
  size_t groups_ = 0;
  uint64_t events_ = 0;
  uint64_t contents_ = 0;
};

// As many as there are groups.
size_t Events(const Stream& stream) { return std::min(stream.size(), stream.keys().size()); }

Taken Expected(const Stream& stream) {
  Model model(stream.keys().size());
  model.Fold(stream, Events(stream));
  Taken taken;
  for (size_t i = 0; i < model.groups().size(); ++i) taken.Add(stream.keys()[i], model.groups()[i]);
  return taken;
}

void Fill(Folded& folded, Stream& stream) {
  folded.OpenAll(stream.keys(), kStart, 1);
  FoldInBatches(folded.folder(),
                stream.Stamped(0, Events(stream), kStart + Duration(stream.keys().size())));
}

void PopPleat(benchmark::State& state, bool ordered) {
  Stream& stream = UniformStream();
  for (auto _ : state) {
    Folded folded({.quiet_period = kQuiet, .max_wait = kForever});
    Fill(folded, stream);
    Taken taken;
    EmissionBuffer<Fields> lot;
    const auto take_all = [&](PartitionRange from) {
      while (!folded.folder().Pop(kBatch, lot, from).empty()) {
        for (const auto& emission : lot.emissions()) taken.Add(emission.key, emission.state);
      }
    };
    const Spent spent = Timed([&] {
      folded.engine().Advance(kAllDue);
      if (ordered) return take_all({});
      for (int p = 0; p < folded.engine().partitions(); ++p) take_all(PartitionRange::One(p));
    });
    Report(state, spent, stream.keys().size());
    if (taken != Expected(stream)) return Fail(state, "not what was folded in");
  }
}

// The keys by when they were last hit: the order in which their groups fall due.
std::vector<uint32_t> ByDeadline(const Stream& stream) {
  std::vector<size_t> last(stream.keys().size());
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 0; i < Events(stream); ++i) last[stream.order()[i]] = stream.keys().size() + i;
  std::vector<uint32_t> keys(last.size());
  std::iota(keys.begin(), keys.end(), 0);
  std::sort(keys.begin(), keys.end(), [&](uint32_t a, uint32_t b) { return last[a] < last[b]; });
  return keys;
}

void EraseAbsl(benchmark::State& state) {
  Stream& stream = UniformStream();
  const Stream due(stream.keys(), ByDeadline(stream));
  for (auto _ : state) {
    absl::flat_hash_map<std::string, Fields> map;
    for (size_t i = 0; i < stream.keys().size(); ++i) map[Text(stream.keys()[i])].Fold({0});
    for (const Event& event : stream.Stamped(0, Events(stream), kStart)) {
      map[Text(event.key)].Fold(event.event);
    }
    Taken taken;
    const Spent spent = Timed([&] {
      for (const Event& event : due.events()) {
        const auto found = map.find(Text(event.key));
        const Fields fields = found->second;
        map.erase(found);
        taken.Add(event.key, fields);
      }
    });
    Report(state, spent, due.size());
    if (!map.empty() || taken != Expected(stream)) return Fail(state, "not what was folded in");
  }
}

void PopBurst(benchmark::State& state) {
  constexpr size_t kBudget = 1024;
  Stream& stream = UniformStream();
  for (auto _ : state) {
    Folded folded;
    Fill(folded, stream);
    BasicHistogram<3> calls_ns;
    const Spent spent = Timed([&] {
      for (bool done = false; !done;) {
        const Stopwatch call;
        done = folded.engine().Advance(kAllDue, kBudget);
        calls_ns.Add(call.nanoseconds());
      }
    });
    Report(state, spent, stream.keys().size());
    state.counters["call_p50_ns"] = static_cast<double>(calls_ns.ValueAt(0.5));
    state.counters["call_p99_ns"] = static_cast<double>(calls_ns.ValueAt(0.99));
    state.counters["call_max_ns"] = static_cast<double>(calls_ns.max());
    if (folded.folder().sizes().ready_emissions != stream.keys().size()) {
      return Fail(state, "groups were left open");
    }
  }
}

BENCHMARK_CAPTURE(PopPleat, by_partition, false)
    ->Name("pop/uniform_1M/pleat")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK_CAPTURE(PopPleat, ordered, true)
    ->Name("pop/uniform_1M/pleat_ordered")
    ->Iterations(1)
    ->UseManualTime();
BENCHMARK(EraseAbsl)->Name("pop/uniform_1M/absl_erase")->Iterations(1)->UseManualTime();
BENCHMARK(PopBurst)->Name("pop_burst/uniform_1M/pleat")->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace pleat::bench
