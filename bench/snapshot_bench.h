// The setting of all benchmarks of snapshots: groups with keys of 20 bytes and a counter as state, and where
// files go.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <pleat/folder.h>

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

// A directory on the disk under test: that of PLEAT_BENCH_DIR in the environment, or of temporary files. It goes with
// all that is in it.
class DiskDirectory {
 public:
  DiskDirectory() {
    const char* const wanted = std::getenv("PLEAT_BENCH_DIR");
    path_ = wanted != nullptr ? wanted : std::filesystem::temp_directory_path().string();
    path_ += "/pleat-snapshot-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no directory for snapshots");
  }
  ~DiskDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DiskDirectory(const DiskDirectory&) = delete;
  DiskDirectory& operator=(const DiskDirectory&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace pleat::bench
