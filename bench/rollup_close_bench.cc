// Two writers, while windows close and are published, and while none do.
//
//   rollup_close/1M/while_closing     a third thread closes the first window of each key, pops it
//                                     and publishes it
//   rollup_close/1M/while_none_close  the same events, but time stands still
//
//   close_seconds       how long the third thread was at it
//   share_of_closing    which share of the writers' time that is
//
// A million keys, and a million events a second of stamps; windows of a minute, an allowed lateness of
// ten seconds. Both cases begin at the instant at which the first window is final, with that window
// and the next one open for each key, and last until the next one ends: 50 events a key, all of
// which go into windows that are open already. So the writers do the same in both, and per 60
// events a window closes, a million of them at one instant.
//
// Each writer goes through one half of the same two million events, time and again: all of them
// are stamped within two seconds. The third thread does what a driver and a consumer do: Advance()
// with the budget of a driver's turn, Pop(1000), Publish(1000), until nothing is left. It needs a
// processor of its own: where there are only two, the rate by the wall clock is the lower by what
// it takes from the writers, and that by processor time shows what the writers themselves lose.
//
// At the end every key has one published checkpoint, and a sample is compared with a plain array.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/rollup_stream.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

constexpr size_t kEventsPerKey = 50;
constexpr size_t kEventsPerKeyAtOnce = 2;

// --quick has fewer keys, but as many events for each, so that as large a share of them closes.
size_t ClosingKeys() { return Quick() ? std::min<size_t>(CounterKeys(), 250'000) : CounterKeys(); }

// Windows have as many microseconds as there are keys, times 60. The stamps begin with a window.
class Minutes {
 public:
  explicit Minutes(size_t keys) : minute_(Duration(60 * keys)), second_(Duration(keys)) {}

  RollupOptions Options(std::shared_ptr<CheckpointStore> store) const {
    return {.windows = {minute_}, .allowed_lateness = 10 * second_, .store = std::move(store)};
  }
  EngineTime first() const {
    const auto n = kStart.time_since_epoch() / minute_;
    return EngineTime(n * minute_);
  }
  EngineTime second() const { return first() + minute_; }
  // The instant at which the first window is final.
  EngineTime final_time() const { return second() + 10 * second_; }

 private:
  Duration minute_;
  Duration second_;
};

// Counters of which each has two windows open.
struct Scene {
  Scene()
      : minutes(ClosingKeys()),
        plays(ClosingKeys()),
        store(std::make_shared<MemoryCheckpointStore>()),
        counted(minutes.Options(store)) {
    const auto add = [&](auto events) { return counted.AddInBatches(events); };
    plays.MoveTo(minutes.first());
    plays.ForAll<CounterInput>(add);
    plays.ForSome<CounterInput>(plays.size(), 1, add);
    totals = plays.totals();
    while (counted.counter.Publish(1000).more) {
    }
    plays.MoveTo(minutes.second());
    plays.ForAll<CounterInput>(add);
    // What the writers add: more of the second window, kept to be added again and again.
    plays.MoveTo(minutes.final_time());
    const size_t events = kEventsPerKeyAtOnce * plays.size();
    for (size_t i = 0; i < events; ++i) texts.append(plays.key(plays.Some(2, i)));
    for (size_t i = 0; i < events; ++i) {
      const KeyView key(texts.data() + i * kKeyBytes, kKeyBytes);
      input.push_back({key, minutes.final_time() + Duration(i), {}});
    }
  }

  static constexpr size_t kKeyBytes = 16;
  Minutes minutes;
  Plays plays;
  std::shared_ptr<MemoryCheckpointStore> store;
  Counted counted;
  std::vector<Plays::Total> totals;
  std::string texts;
  std::vector<CounterInput> input;
};

// Closes, pops and publishes all that is due.
struct Closing {
  size_t popped = 0;
  size_t published = 0;
  double seconds = 0;

  void Run(Scene& scene) {
    constexpr size_t kBudget = 4096;
    constexpr size_t kAtOnce = 1000;
    RollupCounter& counter = scene.counted.counter;
    const Stopwatch watch;
    for (bool more = true; more;) {
      more = !scene.counted.engine->Advance(scene.minutes.final_time(), kBudget);
      const size_t lot = counter.Pop(kAtOnce).size();
      const Publication publication = counter.Publish(kAtOnce);
      popped += lot;
      published += publication.published;
      more |= lot > 0 || publication.more;
    }
    seconds = watch.seconds();
  }
};

bool Agrees(const Scene& scene, const Closing& closing, bool closes, size_t added) {
  const size_t keys = scene.plays.size();
  const RollupLedger ledger = scene.counted.counter.ledger();
  const size_t closed = closes ? keys : 0;
  if (!ledger.Balances() || ledger.added != scene.plays.events() + added) return false;
  if (ledger.made_final != closed || ledger.open != 2 * keys - closed) return false;
  if (closing.popped != closed || closing.published != closed) return false;
  if (scene.store->size() != closed) return false;
  for (size_t i = 0; closes && i < keys; i += 16) {
    const auto checkpoint = scene.store->Load(scene.plays.key(i));
    if (!checkpoint.ok()) return false;
    const Plays::Total total{checkpoint->amount.count, checkpoint->amount.sum};
    if (checkpoint->until != scene.minutes.second() || total != scene.totals[i]) return false;
  }
  return true;
}

void TwoWriters(benchmark::State& state, bool closes) {
  const size_t rounds = Tiny() ? 2 : kEventsPerKey / kEventsPerKeyAtOnce;
  for (auto _ : state) {
    Scene scene;
    Closing closing;
    TwoThreads writers([&](std::span<const CounterInput> events) {
      for (size_t round = 0; round < rounds; ++round) {
        Counted::AddBatches(scene.counted.counter, events);
      }
    });
    std::atomic<bool> begun = false;
    std::thread third([&] {
      begun.wait(false);
      if (closes) closing.Run(scene);
    });
    begun = true;
    begun.notify_one();
    const Spent spent = writers.Run(scene.input);
    third.join();
    const size_t events = rounds * scene.input.size();
    Report(state, spent, events);
    if (closes) {
      state.counters["close_seconds"] = closing.seconds;
      state.counters["share_of_closing"] = closing.seconds / spent.seconds;
    }
    if (!Agrees(scene, closing, closes, events)) return Fail(state, "windows or events were lost");
  }
}

const bool registered = [] {
  RunOnce(benchmark::RegisterBenchmark("rollup_close/1M/while_closing", TwoWriters, true));
  RunOnce(benchmark::RegisterBenchmark("rollup_close/1M/while_none_close", TwoWriters, false));
  return true;
}();

}  // namespace
}  // namespace pleat::bench
