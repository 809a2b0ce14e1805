// Wall-clock seconds. Benchmarks time with it exactly what they mean to (UseManualTime), because a
// million groups have to be set up for each second of measuring.
#pragma once

#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

namespace pleat::bench {

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

// The one iteration (all of ours are Iterations(1)) took `seconds`, in which `items` were done.
inline void Report(benchmark::State& state, double seconds, size_t items) {
  state.SetIterationTime(seconds);
  state.SetItemsProcessed(static_cast<int64_t>(items));
}

}  // namespace pleat::bench
