// What is timed, and by which clock. Benchmarks time exactly what they mean to (UseManualTime), because a
// million groups have to be set up for each second of measuring.
//
// items_per_second is by the wall clock. The counter items_per_cpu_second is by the thread's own time,
// which stands still while the machine gives the processor to somebody else: on a machine that is not ours
// alone it is the steadier one to compare by. Of several threads it is the busiest one's; time that a
// thread sleeps, waiting for another, is not in it.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

namespace pleat::bench {

inline uint64_t ThreadNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// By the wall clock.
class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(nanoseconds()) * 1e-9; }
  uint64_t nanoseconds() const {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Spent {
  double seconds = 0;
  double cpu_seconds = 0;

  Spent& operator+=(const Spent& other) {
    seconds += other.seconds;
    cpu_seconds += other.cpu_seconds;
    return *this;
  }
};

// Runs `work` and says what it took, by both clocks.
template <class Work>
Spent Timed(Work work) {
  const uint64_t cpu = ThreadNanoseconds();
  const Stopwatch watch;
  work();
  const double seconds = watch.seconds();
  return {seconds, static_cast<double>(ThreadNanoseconds() - cpu) * 1e-9};
}

// The one iteration (all of ours are Iterations(1)) took `spent`, in which `items` were done.
inline void Report(benchmark::State& state, Spent spent, size_t items) {
  state.SetIterationTime(spent.seconds);
  state.SetItemsProcessed(static_cast<int64_t>(items));
  if (spent.cpu_seconds > 0) {
    state.counters["items_per_cpu_second"] = static_cast<double>(items) / spent.cpu_seconds;
  }
}

}  // namespace pleat::bench
