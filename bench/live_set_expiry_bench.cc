// A million members that expire at one instant, while another thread reads: window_expiry/SHAPE, of
// the shapes 1x1M (one series), 1000x1000 and 100000x10.
//
//   items_per_second      members ended, by Advance() with the budget of a driver's turn, 4,096
//   expire_over_add       what that took against adding them by AddBatch, by processor time
//   read_p99_refresh_ns   a read before, while AddBatch refreshes members
//   read_p99_idle_ns      a read before, when the engine does nothing else
//   read_p99_expire_ns    a read while members end
//   read_expire_over_refresh, read_expire_over_idle   the ratios of the latter
//
// A read is Count() of a series or Contains() of a member, by chance, every 10 us. A read that
// waits longer stands for those that would have come meanwhile, so that a long wait is not counted
// once only. Before the first member is ended, time is at the deadline: every read has to find
// nothing.
#include <array>
#include <atomic>
#include <semaphore>
#include <string>
#include <thread>

#include <benchmark/benchmark.h>
#include <pleat/stats.h>

#include "bench/live_set_stream.h"
#include "bench/memory.h"
#include "bench/settings.h"

namespace pleat::bench {
namespace {

enum Phase : int { kAdd, kRefresh, kIdle, kExpire, kOver };

// The thread that reads, for as long as it lives.
class Reader {
 public:
  Reader(const LiveSet<>& live_set, const Population& population)
      : live_set_(live_set), population_(population), thread_([this] { Run(); }) {}
  ~Reader() { Enter(kOver); }

  void Enter(Phase phase) { phase_.store(phase); }
  // Returns when that many more reads are done.
  void WaitForReads(uint64_t reads) {
    awaited_.store(reads_.load() + reads);
    has_read_.acquire();
  }
  // Ends the thread. Its figures can be asked for then.
  void Join() {
    Enter(kOver);
    thread_.join();
  }
  double p99_ns(Phase phase) const {
    return static_cast<double>(waits_ns_[static_cast<size_t>(phase)].ValueAt(0.99));
  }
  size_t expired_found() const { return expired_found_; }

 private:
  static constexpr uint64_t kPause = 10'000;  // ns

  void Run() {
    for (Phase phase; (phase = phase_.load()) != kOver;) {
      const Stopwatch pause;
      const uint64_t i = reads_.fetch_add(1);
      if (i >= awaited_.load()) {
        awaited_.store(UINT64_MAX);
        has_read_.release();
      }
      const size_t member = Scatter(i) % population_.size();
      const Stopwatch read;
      const bool found =
          i % 2 == 0 ? live_set_.Count(population_.NameOf(member)) > 0
                     : live_set_.Contains(population_.NameOf(member), population_.id(member));
      const uint64_t waited = read.nanoseconds();
      Note(phase, waited);
      if (found && phase == kExpire) ++expired_found_;
      while (pause.nanoseconds() < kPause) {
      }
    }
  }
  void Note(Phase phase, uint64_t waited) {
    auto& waits = waits_ns_[static_cast<size_t>(phase)];
    waits.Add(waited);
    for (; waited > kPause; waited -= kPause) waits.Add(waited - kPause);
  }

  const LiveSet<>& live_set_;
  const Population& population_;
  std::atomic<Phase> phase_{kAdd};
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> awaited_{UINT64_MAX};
  std::binary_semaphore has_read_{0};
  std::array<BasicHistogram<3>, kOver> waits_ns_;
  size_t expired_found_ = 0;
  std::jthread thread_;
};

constexpr size_t kBytesPerMemberMax = 160;

void ExpireAtOnce(benchmark::State& state, size_t series, size_t members_each) {
  constexpr size_t kBudget = 4096;
  if (Tiny()) series = std::min<size_t>(series, 16);
  const size_t members = Tiny()    ? 4096
                         : Quick() ? series * members_each / 4
                                   : series * members_each;
  for (auto _ : state) {
    WarmPages(members * kBytesPerMemberMax);
    Living living;
    Population population(members, series);
    Reader reader(living.live_set, population);
    const auto in_batches = [&](auto events) { living.AddInBatches(events); };
    const Spent add = population.ForAllAtOnce(in_batches);
    reader.Enter(kRefresh);
    const EngineTime due = population.now() + kDay;
    population.ForAllAtOnce(in_batches);
    reader.Enter(kIdle);
    reader.WaitForReads(Tiny() ? 100 : 20'000);
    const bool all_there = living.live_set.ledger().live == members;
    (void)living.engine->Advance(due, 0);
    reader.Enter(kExpire);
    const Spent expire = Timed([&] {
      while (!living.engine->Advance(due, kBudget)) {
      }
    });
    reader.Join();
    Report(state, expire, members);
    state.counters["expire_over_add"] = expire.cpu_seconds / add.cpu_seconds;
    state.counters["read_p99_idle_ns"] = reader.p99_ns(kIdle);
    state.counters["read_p99_refresh_ns"] = reader.p99_ns(kRefresh);
    state.counters["read_p99_expire_ns"] = reader.p99_ns(kExpire);
    state.counters["read_expire_over_refresh"] = reader.p99_ns(kExpire) / reader.p99_ns(kRefresh);
    state.counters["read_expire_over_idle"] = reader.p99_ns(kExpire) / reader.p99_ns(kIdle);
    const LiveSetLedger ledger = living.live_set.ledger();
    if (!all_there || ledger.expired != members || !ledger.Balances()) {
      return Fail(state, "members were lost or left");
    }
    if (reader.expired_found() > 0) return Fail(state, "a read found a member that had expired");
  }
}

const bool registered = [] {
  for (const auto& [name, series, members_each] :
       {LiveSetShape{"1x1M", 1, kMillion}, LiveSetShape{"1000x1000", 1000, 1000},
        LiveSetShape{"100000x10", 100'000, 10}}) {
    const std::string full = std::string("window_expiry/") + name;
    OneRun(benchmark::RegisterBenchmark(full.c_str(), ExpireAtOnce, series, members_each));
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
