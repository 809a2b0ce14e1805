// Live sets as contestants, and what goes into them. Every contestant gets the same events of
// the same members with the same stamps.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/live_set.h>

#include "bench/pleat_folds.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {

using LiveSetInput = KeyedEvent<LiveSetEvent<NoPayload>>;

inline constexpr size_t kMillion = 1'000'000;

// Series, and members in each, whose memory is measured.
struct LiveSetShape {
  const char* name;
  size_t series;
  size_t members_each;

  // The same with fewer of both for --tiny.
  LiveSetShape Shrunk() const {
    if (!Tiny()) return *this;
    return {name, std::min<size_t>(series, 16), std::min<size_t>(members_each, 256)};
  }
};
inline constexpr LiveSetShape kLiveSetShapes[] = {{"1x1M", 1, kMillion},
                                                  {"1000x200", 1000, 200},
                                                  {"100000x10", 100'000, 10},
                                                  {"2000x15", 2000, 15}};

// An engine with one live set. Limits are shared out among partitions, and one series is to have
// ten million members.
struct Living {
  Living() : engine(*Engine::Open({})), live_set(*engine, "live_set", kOptions) {}

  void AddInBatches(std::span<const LiveSetInput> events) {
    while (!events.empty()) {
      const size_t n = std::min(kBatch, events.size());
      live_set.AddBatch(events.first(n));
      events = events.subspan(n);
    }
  }

  static constexpr LiveSetOptions kOptions = {
      .ttl = kDay, .limits = {.max_members = 400 * kMillion, .max_bytes = size_t{64} << 30}};
  std::unique_ptr<Engine> engine;
  LiveSet<> live_set;
};

// Members with ids of 16 bytes, in series that all have the same number of them, and the stamp that
// each of them has: the plain answer, which contestants are held against.
class Population {
 public:
  Population(size_t members, size_t series)
      : ids_(Keys::Make(members, 16)), names_(Names(series)), stamps_(members) {}

  size_t size() const { return ids_.size(); }
  size_t series() const { return names_.size(); }
  std::string_view id(size_t member) const { return ids_[member]; }
  std::string_view name(size_t series) const { return names_[series]; }
  std::string_view NameOf(size_t member) const { return names_[member % names_.size()]; }
  EngineTime stamp(size_t member) const { return stamps_[member]; }
  // The stamp of the next event.
  EngineTime now() const { return now_; }
  void MoveTo(EngineTime now) { now_ = now; }

  // Hands `n` events to `take` in spans of 64 Ki; draw(i) says of which member the i-th is, and
  // when. An `Input` of the type Event has the id as its key. Returns what `take` took: events are
  // made before, with their texts behind each other, so that they are read front to back.
  struct Drawn {
    size_t member;
    EngineTime at;
  };
  template <class Input, class Draw, class Take>
  Spent ForEvents(size_t n, const Draw& draw, const Take& take) {
    constexpr size_t kAtOnce = size_t{64} * 1024;
    Spent spent;
    std::vector<Input> events;
    events.reserve(std::min(n, kAtOnce));
    std::string text;
    text.reserve(std::min(n, kAtOnce) * 32);
    for (size_t i = 0; i < n;) {
      events.clear();
      text.clear();
      for (; i < n && events.size() < kAtOnce; ++i) {
        const auto [member, at] = draw(i);
        stamps_[member] = at;
        now_ = std::max(now_, at + Duration{1});
        Make(member, at, text, events.emplace_back());
      }
      spent += Timed([&] { take(std::span<const Input>(events)); });
    }
    return spent;
  }
  // One event of each member, a microsecond each; or all at one instant.
  template <class Input = LiveSetInput, class Take>
  Spent ForAll(const Take& take) {
    return ForEvents<Input>(size(), [&](size_t i) { return Drawn{i, now_}; }, take);
  }
  template <class Take>
  Spent ForAllAtOnce(const Take& take) {
    const auto draw = [at = now_](size_t i) { return Drawn{i, at}; };
    return ForEvents<LiveSetInput>(size(), draw, take);
  }
  // One event of each member, at times in no order.
  template <class Take>
  Spent ForAllShuffled(const Take& take) {
    const auto draw = [&](size_t i) { return Drawn{i, kStart + Duration(Scatter(i) % size())}; };
    return ForEvents<LiveSetInput>(size(), draw, take);
  }
  // `n` events of members by chance, a microsecond each; the same ones for the same `seed`.
  template <class Input = LiveSetInput, class Take>
  Spent ForSome(size_t n, uint64_t seed, const Take& take) {
    const auto draw = [&](size_t i) { return Drawn{Scatter(seed << 32 | i) % size(), now_}; };
    return ForEvents<Input>(n, draw, take);
  }

  // A time between kStart and now, by chance.
  EngineTime SomeTime(uint64_t seed) const {
    return kStart + Duration(Scatter(seed) % static_cast<uint64_t>((now_ - kStart).count()));
  }
  // How many members of the first series have later stamps.
  size_t CountSince(EngineTime since) const {
    size_t count = 0;
    for (size_t i = 0; i < size(); i += series()) count += stamps_[i] > since ? 1 : 0;
    return count;
  }

  // Whether the live set has these members, of which it looks at every 16th.
  bool Agrees(const LiveSet<>& live_set) const {
    if (live_set.sizes().members != size() || live_set.sizes().series != series()) return false;
    if (!live_set.ledger().Balances()) return false;
    if (live_set.Count(name(0)) != size() / series()) return false;
    for (size_t i = 0; i < size(); i += 16) {
      const auto found = live_set.Find(NameOf(i), ids_[i]);
      if (!found || found->stamp != stamps_[i]) return false;
    }
    for (uint64_t i = 0; i < 8; ++i) {
      const EngineTime since = SomeTime(i);
      if (live_set.CountSince(name(0), since) != CountSince(since)) return false;
    }
    return true;
  }

 private:
  void Make(size_t member, EngineTime at, std::string& text, LiveSetInput& event) const {
    event.key = Append(text, NameOf(member));
    event.at = at;
    event.event.id = Append(text, ids_[member]);
  }
  void Make(size_t member, EngineTime at, std::string& text, Event& event) const {
    event = {Append(text, ids_[member]), at, {0}};
  }
  static KeyView Append(std::string& text, std::string_view part) {
    text += part;
    return {text.data() + text.size() - part.size(), part.size()};
  }
  static std::vector<std::string> Names(size_t count) {
    std::vector<std::string> names(count);
    for (size_t i = 0; i < count; ++i) names[i] = "page " + std::to_string(100'000'000 + i);
    return names;
  }

  Keys ids_;
  std::vector<std::string> names_;
  std::vector<EngineTime> stamps_;
  EngineTime now_ = kStart;
};

// One benchmark that measures its own time, once.
inline void OneRun(benchmark::internal::Benchmark* run) {
  run->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace pleat::bench
