// Redis loading what it saved, beside snapshot_bench.cc. Absent where Redis is not installed.
//
//   snapshot/10M/redis_recovery  the recipe's state for as many keys of 20 bytes: a sorted set of them by
//                                deadline, and a set of one member for each. SAVE writes it as an RDB, on the same disk;
//                                timed is DEBUG RELOAD into the empty server. The file is in the page cache, as pleat's is.
//                                10 million take some minutes in all, 2.6 GB of memory and 0.6 GB of disk
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "bench/server_pipeline.h"
#include "bench/settings.h"
#include "bench/snapshot_bench.h"
#include "bench/stopwatch.h"

namespace pleat::bench {
namespace {

constexpr size_t kDepth = 1000;
constexpr std::chrono::minutes kOneCall{20};  // at most; loading 10 M keys takes one to two
constexpr const char* kProgram = "redis-server";
constexpr auto kIgnore = [](const redisReply&) {};

void Reload(benchmark::State& state) {
  const Keys keys = Keys::Make(SnapshotGroups(), kSnapshotKeyBytes);
  for (auto _ : state) {
    const DiskDirectory disk;
    RedisServer server(FindProgram(kProgram),
                       {"--dir", disk.path(), "--enable-debug-command", "yes"});
    server.set_patience(kOneCall);
    ServerPipeline pipeline(server);
    const std::string due = std::to_string((kStart + kDay).time_since_epoch().count());
    for (size_t i = 0; i < keys.size(); ++i) {
      pipeline.Send(std::array<std::string_view, 4>{"ZADD", "pending", due, keys[i]}, kDepth,
                    kIgnore);
      pipeline.Send(std::array<std::string_view, 3>{"SADD", keys[i], "1"}, kDepth, kIgnore);
    }
    pipeline.Finish(kIgnore);
    const double held = server.UsedMemory();
    server.Call({"SAVE"});
    server.Call({"FLUSHALL", "SYNC"});
    const Spent spent = Timed([&] { server.Call({"DEBUG", "RELOAD", "NOSAVE", "NOFLUSH"}); });
    Report(state, {.seconds = spent.seconds}, keys.size());
    state.counters["bytes_per_group"] = held / static_cast<double>(keys.size());
    if (server.Call({"DBSIZE"})->integer != static_cast<long long>(keys.size()) + 1) {
      return Fail(state, "keys were lost");
    }
  }
}

const bool registered = [] {
  if (FindProgram(kProgram).empty()) return false;
  benchmark::RegisterBenchmark("snapshot/10M/redis_recovery", Reload)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace pleat::bench
