// Rollup counters as contestants, folders beside them, and what goes into both. Every contestant
// gets the same events of the same keys, in the same order, with the same stamps, and time moves at
// the same events.
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/folder.h>
#include <pleat/rollup.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {

using CounterInput = KeyedEvent<CounterEvent>;

// What a folder counts that has no ids.
struct Play {
  int64_t delta;
};
using FoldInput = KeyedEvent<Play>;

// The state of a folder that comes to what a counter comes to. The folder itself counts events.
struct Sum {
  int64_t sum = 0;

  void Fold(const Play& play) noexcept { sum += play.delta; }
  void Fold(const CounterEvent& event) noexcept { sum += event.delta.whole(); }
};

enum class Ids { kNone, kOfEvents };

// Keys of 16 bytes, and what each of them comes to by all events: the plain answer, which
// contestants are held against.
class Plays {
 public:
  struct Total {
    uint64_t count = 0;
    int64_t sum = 0;

    friend bool operator==(const Total&, const Total&) = default;
  };

  explicit Plays(size_t keys, Ids ids = Ids::kNone)
      : ids_(ids), keys_(Keys::Make(keys, 16)), totals_(keys) {}

  size_t size() const { return keys_.size(); }
  std::string_view key(size_t i) const { return keys_[i]; }
  Total total(size_t i) const { return totals_[i]; }
  const std::vector<Total>& totals() const { return totals_; }
  uint64_t events() const { return events_; }
  // The stamp of the next event.
  EngineTime now() const { return now_; }
  void MoveTo(EngineTime now) { now_ = now; }
  // For how long an id has to be remembered, so that there are as many of them as keys.
  Duration id_life() const { return Duration(keys_.size()); }

  // Hands `n` events, a microsecond each, to `take` in spans of 256 Ki; draw(i) says of which key
  // the i-th is. Returns what `take` took: events are made before, with their texts behind each
  // other, so that they are read front to back.
  template <class Input, class Draw, class Take>
  Spent ForEvents(size_t n, const Draw& draw, const Take& take) {
    constexpr size_t kAtOnce = size_t{256} * 1024;
    Spent spent;
    std::vector<Input> events;
    events.reserve(std::min(n, kAtOnce));
    std::string text;
    text.reserve(std::min(n, kAtOnce) * 32);
    for (size_t i = 0; i < n;) {
      events.clear();
      text.clear();
      for (; i < n && events.size() < kAtOnce; ++i) {
        Make(draw(i), text, events.emplace_back());
        now_ += Duration{1};
      }
      spent += take(std::span<const Input>(events));
    }
    return spent;
  }
  // One event of each key.
  template <class Input, class Take>
  Spent ForAll(const Take& take) {
    return ForEvents<Input>(size(), [](size_t i) { return i; }, take);
  }
  // `n` events of keys by chance; the same ones for the same `seed`.
  template <class Input, class Take>
  Spent ForSome(size_t n, uint64_t seed, const Take& take) {
    return ForEvents<Input>(n, [&](size_t i) { return Some(seed, i); }, take);
  }
  size_t Some(uint64_t seed, size_t i) const { return Scatter(seed << 32 | i) % size(); }

  // Whether the contestant has these counters or groups, of which it looks at every 16th.
  bool Agrees(const RollupCounter& counter) const {
    const RollupLedger ledger = counter.ledger();
    if (counter.sizes().keys != size() || ledger.added != events_ || !ledger.Balances()) {
      return false;
    }
    return AgreesByKey([&](std::string_view key) {
      const Amount amount = counter.Accurate(key).amount;
      return Total{amount.count, amount.sum};
    });
  }
  template <class Event>
  bool Agrees(const Folder<Event, Sum>& folder) const {
    const Ledger ledger = folder.ledger();
    if (ledger.open != size() || ledger.opened + ledger.folded != events_) return false;
    return AgreesByKey([&](std::string_view key) {
      const auto group = folder.Peek(key);
      return group ? Total{group->count, group->state.sum} : Total{};
    });
  }

 private:
  template <class Find>
  bool AgreesByKey(const Find& find) const {
    for (size_t i = 0; i < size(); i += 16) {
      if (find(key(i)) != total(i)) return false;
    }
    return true;
  }

  template <class Input>
  void Make(size_t key, std::string& text, Input& event) {
    const auto delta = static_cast<int64_t>(events_ % 7) + 1;
    event.key = Append(text, keys_[key]);
    event.at = now_;
    event.event.delta = delta;
    if constexpr (requires { event.event.id; }) {
      if (ids_ == Ids::kOfEvents) event.event.id = AppendId(text);
    }
    ++totals_[key].count;
    totals_[key].sum += delta;
    ++events_;
  }
  // 16 bytes that no other event has.
  std::string_view AppendId(std::string& text) const {
    const std::array<uint64_t, 2> id = {Scatter(events_), events_};
    return Append(text, {reinterpret_cast<const char*>(id.data()), sizeof(id)});
  }
  static KeyView Append(std::string& text, std::string_view part) {
    text += part;
    return {text.data() + text.size() - part.size(), part.size()};
  }

  Ids ids_;
  Keys keys_;
  std::vector<Total> totals_;
  uint64_t events_ = 0;
  EngineTime now_ = kStart;
};

// An engine with one counter. No window of the default options closes within a benchmark.
struct Counted {
  explicit Counted(const RollupOptions& options = {.windows = {kDay}, .allowed_lateness = kDay})
      : engine(*Engine::Open({})), counter(*engine, "counter", options) {}

  // Remembers ids for as long as a folder does that accepts no older event.
  static RollupOptions WithIds(Duration life) {
    return {.windows = {kDay}, .allowed_lateness = life, .deduplication_window = life};
  }

  // Time moves to the first of the events: to the same instants with every contestant.
  Spent AddInBatches(std::span<const CounterInput> events) {
    return Timed([&] {
      engine->Advance(events.front().at);
      AddBatches(counter, events);
    });
  }
  Spent AddOneByOne(std::span<const CounterInput> events) {
    return Timed([&] {
      engine->Advance(events.front().at);
      for (const CounterInput& e : events) counter.Add(e.key, e.event.delta, e.at, e.event.id);
    });
  }
  static void AddBatches(RollupCounter& counter, std::span<const CounterInput> events) {
    while (!events.empty()) {
      const size_t n = std::min(kBatch, events.size());
      counter.AddBatch(events.first(n));
      events = events.subspan(n);
    }
  }

  std::unique_ptr<Engine> engine;
  RollupCounter counter;
};

// An engine with one folder whose groups come to the same; none closes within a benchmark.
template <class Event>
struct Summed {
  using Rules = FoldRules<Event, Sum>;

  explicit Summed(const FolderOptions& options = kPlain, Rules rules = {})
      : engine(*Engine::Open({})), folder(*engine, "folder", options, std::move(rules)) {}

  Spent FoldInBatches(std::span<const KeyedEvent<Event>> events) {
    return Timed([&] {
      engine->Advance(events.front().at);
      while (!events.empty()) {
        const size_t n = std::min(kBatch, events.size());
        folder.FoldBatch(events.first(n));
        events = events.subspan(n);
      }
    });
  }
  Spent FoldOneByOne(std::span<const KeyedEvent<Event>> events) {
    return Timed([&] {
      engine->Advance(events.front().at);
      for (const KeyedEvent<Event>& e : events) folder.Fold(e.key, e.event, e.at);
    });
  }

  std::unique_ptr<Engine> engine;
  Folder<Event, Sum> folder;
};

// Answers retries as a counter does: kDuplicate, or kConflict for another delta.
inline Summed<CounterEvent> SummedWithIds(Duration life) {
  Summed<CounterEvent>::Rules rules;
  rules.id = [](const CounterEvent& event) { return event.id; };
  rules.content = [](const CounterEvent& event) {
    return static_cast<uint64_t>(event.delta.whole());
  };
  FolderOptions options = kPlain;
  options.late.allowed_lateness = life;
  return Summed<CounterEvent>(options, std::move(rules));
}

// Two threads, started once, that work on one half of the events each. They wait at a barrier, so
// that Run() takes as long as the slower one.
class TwoThreads {
 public:
  using Work = std::function<void(std::span<const CounterInput>)>;

  explicit TwoThreads(Work work) : work_(std::move(work)) {
    for (const size_t half : {size_t{0}, size_t{1}}) {
      threads_.emplace_back([this, half] {
        for (;;) {
          gate_.arrive_and_wait();
          if (stop_) return;
          const size_t middle = events_.size() / 2;
          const uint64_t begin = ThreadNanoseconds();
          work_(half == 0 ? events_.first(middle) : events_.subspan(middle));
          cpu_seconds_[half] = static_cast<double>(ThreadNanoseconds() - begin) * 1e-9;
          gate_.arrive_and_wait();
        }
      });
    }
  }
  ~TwoThreads() {
    stop_ = true;
    gate_.arrive_and_wait();
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

  // By processor time: that of the thread that needed more of it.
  Spent Run(std::span<const CounterInput> events) {
    events_ = events;
    Spent spent = Timed([&] {
      gate_.arrive_and_wait();
      gate_.arrive_and_wait();
    });
    spent.cpu_seconds = std::max(cpu_seconds_[0], cpu_seconds_[1]);
    return spent;
  }

 private:
  Work work_;
  std::barrier<> gate_{3};
  std::array<double, 2> cpu_seconds_{};
  std::span<const CounterInput> events_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

inline size_t CounterKeys() { return Tiny() ? 4096 : 1'000'000; }

// One benchmark that measures its own time, once.
inline void RunOnce(benchmark::internal::Benchmark* run) {
  run->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace pleat::bench
