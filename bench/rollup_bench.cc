// Counting on a million counters, beside folding the same events into as many groups; the same with
// Redis is in rollup_servers.cc.
//
//   rollup/1M/add_batch       RollupCounter::AddBatch, 256 events a call, without ids
//   rollup/1M/fold_batch      Folder::FoldBatch of the same events, into sums
//   rollup/1M/add_batch_ids   as add_batch, each event with an id of its own of 16 bytes
//   rollup/1M/fold_batch_ids  as fold_batch, with the same ids
//   rollup/1M/add_batch_2t    as add_batch, two threads on one counter, one half of the events each
//   rollup/1M/add_single      RollupCounter::Add of the same events, without ids
//   rollup/1M/fold_single     Folder::Fold of the same events
//   rollup/1M/eventual_ref    CounterRef::Eventual of counters by chance
//   rollup/1M/eventual_name   RollupCounter::Eventual of the same counters
//   rollup/1M/accurate_64     RollupCounter::Accurate of counters with 64 open windows each
//
// Keys have 16 bytes; which one an event is of is random. Timed as in fold_bench.cc: not timed are
// making the events, opening counters and groups, and a warm-up of as many events as there are
// keys. Stamps grow by a microsecond an event, and time follows every 256 Ki events. No window and
// no group closes; ids are remembered until there are as many as keys, and as many are forgotten
// as come.
//
// References are read in the order of their keys' events, as events are: what lies at random is
// only the counters. Of the million counters, 65,536 have 64 windows, which were opened one round
// after the other, as time does; with --quick 16,384.
//
// At the end what the keys come to is compared with a plain array.
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/rollup_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr size_t kMillion = 1'000'000;

size_t BatchEvents() { return Tiny() ? 8192 : Quick() ? kMillion : 8 * kMillion; }
size_t SingleEvents() { return Tiny() ? 4096 : Quick() ? kMillion / 2 : 4 * kMillion; }

// Opens what `contestant` has for every key, warms up, and reports what `n` more events take.
template <class Input, class Contestant, class Take>
void Measure(benchmark::State& state, Plays& plays, const Contestant& contestant, size_t n,
             const Take& take) {
  plays.ForAll<Input>(take);
  plays.ForSome<Input>(plays.size(), 1, take);
  Report(state, plays.ForSome<Input>(n, 2, take), n);
  if (!plays.Agrees(contestant)) Fail(state, "wrong sums");
}

void AddBatch(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Counted counted;
    Measure<CounterInput>(state, plays, counted.counter, BatchEvents(),
                          [&](auto events) { return counted.AddInBatches(events); });
  }
}

void AddBatchIds(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys(), Ids::kOfEvents);
    Counted counted(Counted::WithIds(plays.id_life()));
    Measure<CounterInput>(state, plays, counted.counter, BatchEvents(),
                          [&](auto events) { return counted.AddInBatches(events); });
  }
}

void AddBatch2T(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Counted counted;
    TwoThreads threads([&](auto events) { Counted::AddBatches(counted.counter, events); });
    Measure<CounterInput>(state, plays, counted.counter, BatchEvents(), [&](auto events) {
      counted.engine->Advance(events.front().at);
      return threads.Run(events);
    });
  }
}

void AddSingle(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Counted counted;
    Measure<CounterInput>(state, plays, counted.counter, SingleEvents(),
                          [&](auto events) { return counted.AddOneByOne(events); });
  }
}

void FoldBatch(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Summed<Play> summed;
    Measure<FoldInput>(state, plays, summed.folder, BatchEvents(),
                       [&](auto events) { return summed.FoldInBatches(events); });
  }
}

void FoldBatchIds(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys(), Ids::kOfEvents);
    Summed<CounterEvent> summed = SummedWithIds(plays.id_life());
    Measure<CounterInput>(state, plays, summed.folder, BatchEvents(),
                          [&](auto events) { return summed.FoldInBatches(events); });
  }
}

void FoldSingle(benchmark::State& state) {
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Summed<Play> summed;
    Measure<FoldInput>(state, plays, summed.folder, SingleEvents(),
                       [&](auto events) { return summed.FoldOneByOne(events); });
  }
}

// --- Reads

// Counters with a final window each, which was popped, and an open one.
class Finished {
 public:
  Finished() {
    const auto add = [&](auto events) { return counted_.AddInBatches(events); };
    plays_.ForAll<CounterInput>(add);
    plays_.ForSome<CounterInput>(plays_.size(), 1, add);
    totals_ = plays_.totals();
    plays_.MoveTo(kStart + hours(2));
    plays_.ForAll<CounterInput>(add);
    while (!counted_.counter.Pop(kPopped).empty()) {
    }
  }

  RollupCounter& counter() { return counted_.counter; }
  const Plays& plays() const { return plays_; }
  bool AllFinal() const { return counted_.counter.ledger().made_final == plays_.size(); }
  int64_t SumOf(size_t reads) const {
    int64_t sum = 0;
    for (size_t i = 0; i < reads; ++i) sum += totals_[plays_.Some(3, i)].sum;
    return sum;
  }

 private:
  static constexpr size_t kPopped = 1000;

  Plays plays_{CounterKeys()};
  Counted counted_{{.windows = {hours(1)}, .allowed_lateness = minutes(1)}};
  std::vector<Plays::Total> totals_;
};

void EventualByRef(benchmark::State& state) {
  const size_t reads = SingleEvents();
  for (auto _ : state) {
    Finished finished;
    std::vector<CounterRef> refs;
    for (size_t i = 0; i < finished.plays().size(); ++i) {
      refs.push_back(finished.counter().Ref(finished.plays().key(i)));
    }
    std::vector<CounterRef> in_order;
    in_order.reserve(reads);
    for (size_t i = 0; i < reads; ++i) in_order.push_back(refs[finished.plays().Some(3, i)]);
    int64_t sum = 0;
    const Spent spent = Timed([&] {
      for (const CounterRef& ref : in_order) sum += ref.Eventual().amount.sum;
    });
    Report(state, spent, reads);
    if (!finished.AllFinal() || sum != finished.SumOf(reads)) return Fail(state, "wrong sums");
  }
}

// Names of keys, behind each other in the order in which they are asked for.
class Names {
 public:
  void Add(std::string_view key) { text_ += key; }
  size_t size() const { return text_.size() / kBytes; }
  std::string_view operator[](size_t i) const { return {text_.data() + i * kBytes, kBytes}; }

 private:
  static constexpr size_t kBytes = 16;
  std::string text_;
};

void EventualByName(benchmark::State& state) {
  const size_t reads = SingleEvents();
  for (auto _ : state) {
    Finished finished;
    Names names;
    for (size_t i = 0; i < reads; ++i) names.Add(finished.plays().key(finished.plays().Some(3, i)));
    int64_t sum = 0;
    const Spent spent = Timed([&] {
      for (size_t i = 0; i < reads; ++i) {
        if (const auto found = finished.counter().Eventual(names[i])) sum += found->amount.sum;
      }
    });
    Report(state, spent, reads);
    if (!finished.AllFinal() || sum != finished.SumOf(reads)) return Fail(state, "wrong sums");
  }
}

void Accurate64(benchmark::State& state) {
  constexpr size_t kOpen = 64;
  const size_t broad = Tiny() ? 256 : Quick() ? 16'384 : 65'536;
  const size_t reads = SingleEvents() / 4;
  for (auto _ : state) {
    Plays plays(CounterKeys());
    Counted counted({.windows = {minutes(1)}, .allowed_lateness = hours(2)});
    const auto add = [&](auto events) { return counted.AddInBatches(events); };
    plays.ForAll<CounterInput>(add);
    for (size_t window = 1; window < kOpen; ++window) {
      plays.MoveTo(kStart + window * minutes(1));
      plays.ForEvents<CounterInput>(broad, [](size_t i) { return i; }, add);
    }
    Names names;
    int64_t expected = 0;
    for (size_t i = 0; i < reads; ++i) {
      names.Add(plays.key(plays.Some(3, i) % broad));
      expected += plays.total(plays.Some(3, i) % broad).sum;
    }
    int64_t sum = 0;
    const Spent spent = Timed([&] {
      for (size_t i = 0; i < reads; ++i) sum += counted.counter.Accurate(names[i]).amount.sum;
    });
    Report(state, spent, reads);
    if (counted.counter.sizes().open != plays.size() + (kOpen - 1) * broad || sum != expected) {
      return Fail(state, "wrong sums");
    }
  }
}

const bool registered = [] {
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/add_batch", AddBatch));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/fold_batch", FoldBatch));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/add_batch_ids", AddBatchIds));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/fold_batch_ids", FoldBatchIds));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/add_batch_2t", AddBatch2T));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/add_single", AddSingle));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/fold_single", FoldSingle));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/eventual_ref", EventualByRef));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/eventual_name", EventualByName));
  RunOnce(benchmark::RegisterBenchmark("rollup/1M/accurate_64", Accurate64));
  return true;
}();

}  // namespace
}  // namespace pleat::bench
