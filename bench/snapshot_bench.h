// The setting of all benchmarks of snapshots: groups with keys of 20 bytes and a counter as state.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <pleat/folder.h>

#include "bench/disk_directory.h"
#include "bench/settings.h"
#include "bench/stream.h"

namespace pleat::bench {

struct Tick {};
struct Ticks {
  uint64_t count = 0;

  void Fold(const Tick&) noexcept { ++count; }
  template <class F>
  void Stored(F& f) {
    f(count);
  }
};
using TickEvent = KeyedEvent<Tick>;

// PLEAT_BENCH_GROUPS in the environment says otherwise.
inline size_t SnapshotGroups() {
  const char* wanted = std::getenv("PLEAT_BENCH_GROUPS");
  if (wanted != nullptr) return std::strtoull(wanted, nullptr, 10);
  return Tiny() ? 4096 : Quick() ? 250'000 : 10'000'000;
}
constexpr size_t kSnapshotKeyBytes = 20;

}  // namespace pleat::bench
