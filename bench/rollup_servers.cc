// Redis beside a counter: rollup/1M/redis_lua, over a unix socket, pipelined. See rollup_bench.cc
// for the same with pleat. Absent where Redis is not installed.
//
// One script takes 128 events. Of each it sets a key made of counter and id, with NX and an expiry,
// and if that was not there, adds the delta to the field of the window, in the hash of the counter:
// SET counter:id '' NX PX <expiry>, HINCRBY counter <window> <delta>. So a retry counts once, and
// windows add up. The client says which window; four scripts are under way. Nothing refuses late
// events, closes windows or counts events apart from their sum, all of which a counter does; and
// the expiry is longer than the run, so that Redis never has to forget an id.
//
// Timed are a million events with ids of their own, on a million counters that are there; processor
// time is the server's alone. Before that both count 80,000 events of 1,000 keys in eight windows,
// of which every fourth comes twice, and the sum of each window of each key has to be the same.
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/rollup_stream.h"
#include "bench/server_pipeline.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

constexpr const char* kProgram = "redis-server";

// ARGV: the expiry in milliseconds, then of each event the counter, the id, the window and the
// delta.
constexpr std::string_view kAddScript = R"(
local call, expiry = redis.call, ARGV[1]
for i = 2, #ARGV, 4 do
  if call('SET', ARGV[i] .. ':' .. ARGV[i + 1], '', 'NX', 'PX', expiry) then
    call('HINCRBY', ARGV[i], ARGV[i + 2], ARGV[i + 3])
  end
end
)";

class RedisCounters {
 public:
  explicit RedisCounters(Duration window)
      : server_(FindProgram(kProgram)),
        window_(window),
        add_(server_.Call({"SCRIPT", "LOAD", kAddScript})->str) {}

  void Add(std::span<const CounterInput> events) {
    for (; !events.empty(); events = events.subspan(std::min(kAtOnce, events.size()))) {
      const auto part = events.first(std::min(kAtOnce, events.size()));
      std::array<Number, 2 * kAtOnce> numbers;
      command_ = {"EVALSHA", add_, "0", "3600000"};
      for (size_t i = 0; i < part.size(); ++i) {
        command_.push_back(part[i].key);
        command_.push_back(part[i].event.id);
        command_.push_back(numbers[2 * i].Of(WindowOf(part[i].at)));
        command_.push_back(numbers[2 * i + 1].Of(part[i].event.delta.whole()));
      }
      pipeline_.Send(command_, kDepth, kIgnore);
    }
    pipeline_.Finish(kIgnore);
  }

  // The sum of each window, by its number.
  std::map<int64_t, int64_t> WindowsOf(std::string_view key) {
    std::map<int64_t, int64_t> windows;
    const auto reply = server_.Call({"HGETALL", key});
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
      windows[std::atoll(reply->element[i]->str)] = std::atoll(reply->element[i + 1]->str);
    }
    return windows;
  }
  double UsedCpuSeconds() { return server_.UsedCpuSeconds(); }

 private:
  static constexpr size_t kAtOnce = 128;
  static constexpr size_t kDepth = 4;  // scripts
  static constexpr auto kIgnore = [](const redisReply&) {};

  // Digits, where they stay until they are sent.
  class Number {
   public:
    std::string_view Of(int64_t number) {
      const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr;
      return {digits_.data(), static_cast<size_t>(end - digits_.data())};
    }

   private:
    std::array<char, 20> digits_;
  };

  int64_t WindowOf(EngineTime at) const { return at.time_since_epoch() / window_; }

  RedisServer server_;
  ServerPipeline pipeline_{server_};
  Duration window_;
  std::string add_;
  std::vector<std::string_view> command_;
};

// Whether both come to the same in every window of every key. Retries come right behind the lot in
// which their event was.
bool BothAgree() {
  constexpr Duration kWindow = std::chrono::milliseconds(10);
  constexpr size_t kLot = 10'000;
  constexpr size_t kLots = 8;
  Plays plays(1000, Ids::kOfEvents);
  RedisCounters redis(kWindow);
  Counted counted({.windows = {kWindow}, .allowed_lateness = kDay, .deduplication_window = kDay});
  const auto add_to_both = [&](std::span<const CounterInput> events) {
    const Spent spent = counted.AddInBatches(events);
    redis.Add(events);
    return spent;
  };
  for (size_t lot = 0; lot < kLots; ++lot) {
    plays.ForSome<CounterInput>(kLot, lot, [&](std::span<const CounterInput> events) {
      std::vector<CounterInput> retries;
      for (size_t i = 0; i < events.size(); i += 4) retries.push_back(events[i]);
      return add_to_both(events) += add_to_both(retries);
    });
  }
  counted.counter.CloseAll();
  std::map<std::string, std::map<int64_t, int64_t>, std::less<>> windows;
  for (const auto& e : counted.counter.Pop(SIZE_MAX)) {
    windows[e.key][e.state.start.time_since_epoch() / kWindow] = e.state.amount.sum;
  }
  if (counted.counter.ledger().duplicate != kLots * kLot / 4) return false;
  for (size_t i = 0; i < plays.size(); ++i) {
    if (windows[std::string(plays.key(i))] != redis.WindowsOf(plays.key(i))) return false;
  }
  return windows.size() == plays.size();
}

void RedisLua(benchmark::State& state) {
  const size_t keys = Tiny() ? 4096 : Quick() ? 250'000 : 1'000'000;
  for (auto _ : state) {
    if (!BothAgree()) return Fail(state, "pleat and Redis disagree");
    Plays plays(keys, Ids::kOfEvents);
    RedisCounters redis(kDay);
    const auto add = [&](auto events) { return Timed([&] { redis.Add(events); }); };
    plays.ForAll<CounterInput>(add);
    const double cpu_before = redis.UsedCpuSeconds();
    Spent spent = plays.ForSome<CounterInput>(keys, 2, add);
    spent.cpu_seconds = redis.UsedCpuSeconds() - cpu_before;
    Report(state, spent, keys);
    if (Quick() && !Tiny()) state.SetLabel("--quick: a quarter of a million counters");
    const int64_t day = kStart.time_since_epoch() / kDay;
    for (size_t i = 0; i < keys; i += 1024) {
      const std::map<int64_t, int64_t> expected = {{day, plays.total(i).sum}};
      if (redis.WindowsOf(plays.key(i)) != expected) return Fail(state, "wrong sums");
    }
  }
}

const bool registered = [] {
  if (!FindProgram(kProgram).empty()) {
    RunOnce(benchmark::RegisterBenchmark("rollup/1M/redis_lua", RedisLua));
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
