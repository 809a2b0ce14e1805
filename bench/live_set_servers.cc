// Redis beside live sets: the recipe with sorted sets, over a unix socket, pipelined. See
// live_set_bench.cc, live_set_memory_bench.cc and live_set_lateness_bench.cc for the same with
// pleat. Absent where Redis is not installed.
//
//   window/10M/redis_zadd      ZADD page GT <stamp> <id>, 1,000 to a pipeline: a million of those
//                              events, on as many members. Its processor time is the server's
//   window_memory/SHAPE/redis  used_memory without the buffers of clients, less that of an empty one
//   window_lateness/1M/redis   1,000 keys with one PEXPIREAT among a million that live for a day, and
//                              a subscriber of their keyspace events (Ex) who looks each millisecond,
//                              for 20 seconds at most. (Members of sorted sets have no such events.)
//                              An end that is not told of by then counts as that late
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <pleat/stats.h>

#include "bench/live_set_stream.h"
#include "bench/server_pipeline.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

constexpr size_t kDepth = 1000;
constexpr const char* kProgram = "redis-server";

constexpr auto kIgnore = [](const redisReply&) {};

class SortedSets {
 public:
  SortedSets() : server_(FindProgram(kProgram)), empty_bytes_(HeldBytes()) {}

  void Add(std::span<const LiveSetInput> events) {
    for (const LiveSetInput& e : events) {
      const std::string stamp = Score(e.at);
      pipeline_.Send(std::array<std::string_view, 5>{"ZADD", e.key, "GT", stamp, e.event.id},
                     kDepth, kIgnore);
    }
    pipeline_.Finish(kIgnore);
  }
  // The same of one series, many members to a command.
  void AddTogether(std::span<const LiveSetInput> events) {
    for (; !events.empty(); events = events.subspan(std::min(kDepth, events.size()))) {
      const auto part = events.first(std::min(kDepth, events.size()));
      std::vector<std::string> stamps;
      std::vector<std::string_view> command = {"ZADD", part[0].key, "GT"};
      stamps.reserve(part.size());
      for (const LiveSetInput& e : part) {
        command.push_back(stamps.emplace_back(Score(e.at)));
        command.push_back(e.event.id);
      }
      pipeline_.Send(command, 4, kIgnore);
    }
    pipeline_.Finish(kIgnore);
  }

  bool Agrees(const Population& population) {
    const auto size = static_cast<long long>(population.size() / population.series());
    if (server_.Call({"ZCARD", population.name(0)})->integer != size) return false;
    if (server_.Call({"DBSIZE"})->integer != static_cast<long long>(population.series())) {
      return false;
    }
    for (size_t i = 0; i < population.size(); i += 1024) {
      const auto score = server_.Call({"ZSCORE", population.NameOf(i), population.id(i)});
      if (score->type == REDIS_REPLY_NIL || score->str != Score(population.stamp(i))) return false;
    }
    for (uint64_t i = 0; i < 8; ++i) {
      const EngineTime since = population.SomeTime(i);
      const auto count =
          server_.Call({"ZCOUNT", population.name(0), "(" + Score(since), "+inf"})->integer;
      if (count != static_cast<long long>(population.CountSince(since))) return false;
    }
    return true;
  }
  double GrownBytes() { return HeldBytes() - empty_bytes_; }
  double UsedCpuSeconds() { return server_.UsedCpuSeconds(); }

 private:
  static std::string Score(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }

  double HeldBytes() {
    const auto reply = server_.Call({"INFO", "memory"});
    const std::string_view info(reply->str, reply->len);
    const auto field = [&](std::string_view name) {
      return std::strtod(info.data() + info.find(name) + name.size(), nullptr);
    };
    return field("\nused_memory:") - field("\nmem_clients_normal:");
  }

  RedisServer server_;
  ServerPipeline pipeline_{server_};
  double empty_bytes_;
};

void Refresh(benchmark::State& state) {
  const size_t members = Tiny() ? 4096 : Quick() ? kMillion / 4 : 10 * kMillion;
  const size_t events = std::min(members, kMillion);
  for (auto _ : state) {
    SortedSets sets;
    Population population(members, 1);
    population.ForAll([&](auto all) { sets.AddTogether(all); });
    population.ForSome(events, 1, [&](auto some) { sets.Add(some); });
    const double cpu_before = sets.UsedCpuSeconds();
    Spent spent = population.ForSome(events, 2, [&](auto some) { sets.Add(some); });
    spent.cpu_seconds = sets.UsedCpuSeconds() - cpu_before;
    Report(state, spent, events);
    if (Quick() && !Tiny()) state.SetLabel("--quick: a quarter of a million members");
    if (!sets.Agrees(population)) return Fail(state, "wrong members");
  }
}

void MemberBytes(benchmark::State& state, const LiveSetShape& full) {
  const LiveSetShape shape = full.Shrunk();
  const size_t members = shape.series * shape.members_each;
  for (auto _ : state) {
    SortedSets sets;
    Population population(members, shape.series);
    Report(state, population.ForAll([&](auto all) { sets.Add(all); }), members);
    population.ForSome(members, 1, [&](auto some) { sets.Add(some); });
    state.counters["bytes_per_member"] = sets.GrownBytes() / static_cast<double>(members);
    if (!sets.Agrees(population)) return Fail(state, "wrong members");
  }
}

// --- Keys that expire

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How late the ends of `probes` keys that expire at `deadline` are told of, as far as they are
// before `patience` is over.
BasicHistogram<3> LatenessOf(RedisServer& server, size_t probes, steady_clock::time_point deadline,
                             milliseconds patience) {
  BasicHistogram<3> lateness_us;
  server.Call({"SUBSCRIBE", "__keyevent@0__:expired"});
  while (lateness_us.count() < probes) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline + patience - steady_clock::now());
    if (left <= milliseconds(0) || !server.WaitForReply(left)) break;
    (void)server.Read();
    const auto late = steady_clock::now() - deadline;
    lateness_us.Add(static_cast<uint64_t>(
        std::max<int64_t>(0, std::chrono::duration_cast<Duration>(late).count())));
  }
  return lateness_us;
}

void Lateness(benchmark::State& state) {
  constexpr size_t kProbes = 1000;
  const size_t others = Tiny() ? 4096 : Quick() ? kMillion / 4 : kMillion;
  const milliseconds patience(Tiny() ? 20 : Quick() ? 2000 : 20'000);
  for (auto _ : state) {
    RedisServer server(FindProgram(kProgram));
    ServerPipeline pipeline(server);
    server.Call({"CONFIG", "SET", "notify-keyspace-events", "Ex"});
    const Keys ids = Keys::Make(others, 16);
    for (size_t i = 0; i < others; ++i) {
      pipeline.Send(std::array<std::string_view, 5>{"SET", ids[i], "", "EX", "86400"}, kDepth,
                    kIgnore);
    }
    pipeline.Finish(kIgnore);
    const auto wall = std::chrono::system_clock::now() + milliseconds(500);
    const auto deadline = steady_clock::now() + milliseconds(500);
    const std::string at =
        std::to_string(std::chrono::duration_cast<milliseconds>(wall.time_since_epoch()).count());
    for (size_t i = 0; i < kProbes; ++i) {
      const std::string probe = "probe " + std::to_string(i);
      pipeline.Send(std::array<std::string_view, 5>{"SET", probe, "", "PXAT", at}, kDepth, kIgnore);
    }
    pipeline.Finish(kIgnore);

    const Stopwatch watch;
    BasicHistogram<3> lateness_us = LatenessOf(server, kProbes, deadline, patience);
    const double announced = static_cast<double>(lateness_us.count());
    while (lateness_us.count() < kProbes) {
      lateness_us.Add(static_cast<uint64_t>(std::chrono::microseconds(patience).count()));
    }
    Report(state, {.seconds = watch.seconds()}, kProbes);
    state.counters["p50_us"] = static_cast<double>(lateness_us.ValueAt(0.5));
    state.counters["p99_us"] = static_cast<double>(lateness_us.ValueAt(0.99));
    state.counters["max_us"] = static_cast<double>(lateness_us.max());
    state.counters["announced"] = announced;
  }
}

// Whatever repetitions are asked for: these take their time.
void Once(benchmark::internal::Benchmark* run) {
  OneRun(run);
  run->Repetitions(1);
}

const bool registered = [] {
  if (FindProgram(kProgram).empty()) return false;
  Once(benchmark::RegisterBenchmark("window/10M/redis_zadd", Refresh));
  for (const LiveSetShape& shape : kLiveSetShapes) {
    const std::string name = std::string("window_memory/") + shape.name + "/redis";
    Once(benchmark::RegisterBenchmark(name.c_str(), MemberBytes, shape));
  }
  Once(benchmark::RegisterBenchmark("window_lateness/1M/redis", Lateness));
  return true;
}();

}  // namespace
}  // namespace pleat::bench
