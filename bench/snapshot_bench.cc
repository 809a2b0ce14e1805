// The costs of snapshots, and of a restart from one. Groups with keys of 20 bytes and a counter as state.
//
//   snapshot/10M/folding/plain       one thread folds batches of 256 events, keys hit uniformly, at half of the rate
//   snapshot/10M/folding/compressed  that the same loop reaches; when each batch begins is decided beforehand. First
//                                    alone; then while a second thread takes a snapshot of another such engine into
//                                    a file and syncs it, which takes the same machine but no lock; then of this one
//   snapshot/10M/recovery            two threads restore the snapshot; before that, two threads open the same groups by
//                                    FoldBatch
//   snapshot/1M/stalled/bounded      the sink takes nothing while one thread folds once into each of a million groups, in
//   snapshot/1M/stalled/unbounded    batches of 256: with the usual bound of the copies, and with none
//   snapshot/state_directory_open    folding with a directory open, and no snapshot being taken, beside an engine
//                                    without one: eight rounds each, by turns; the better half of them
//
// PLEAT_BENCH_GROUPS says how many groups, PLEAT_BENCH_DIR where files go; 10 million, and the directory of
// temporary files. With --quick a quarter of a million. The same with Redis is in snapshot_servers.cc.
//
// Counters of folding/*: events a second alone and beside each snapshot, and the ratio; of one FoldBatch() call, the
// p99.9 and the longest, by the wall clock and by the thread's own, which stands still while the machine does something
// else; the same from the instant at which it should have begun; the process's memory at its peak (VmHWM) less that
// before, in bytes and in shares of one partition; bytes of the snapshot for each group; and how long the snapshot
// took, beside writing and syncing as many bytes. Of stalled/*: what the groups hold, what was copied at most, and by
// how much the process's memory has grown when all groups are folded into, and is then at its peak; p99.9 and the
// longest call.
#include "bench/snapshot_bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/engine.h>
#include <pleat/snapshot.h>
#include <pleat/state_directory.h>
#include <pleat/stats.h>

#include "bench/memory.h"
#include "bench/stopwatch.h"

namespace pleat::bench {
namespace {

constexpr size_t kBatchEvents = 256;

struct Groups {
  explicit Groups(const Keys& all) : keys(all) {}

  // Opens those of [begin, end).
  void Open(size_t begin, size_t end) {
    std::array<TickEvent, kBatchEvents> batch;
    for (size_t i = begin; i < end;) {
      size_t size = 0;
      for (; size < kBatchEvents && i < end; ++i) batch[size++] = {keys[i], kStart, {}};
      folder.FoldBatch({batch.data(), size});
    }
  }
  void OpenOnTwoThreads() {
    std::thread other([&] { Open(0, keys.size() / 2); });
    Open(keys.size() / 2, keys.size());
    other.join();
  }
  // Folds a batch into groups by chance.
  void FoldSome() {
    std::array<TickEvent, kBatchEvents> batch;
    for (TickEvent& event : batch) event = {keys[Scatter(next++) % keys.size()], kStart, {}};
    folder.FoldBatch(batch);
  }

  const Keys& keys;
  uint64_t next = 0;
  std::unique_ptr<Engine> engine = *Engine::Open({});
  Folder<Tick, Ticks> folder{*engine, "ticks", {.quiet_period = kDay, .max_wait = kForever}};
};

// The most memory that the process had since ForgetPeak(); 0 where the kernel does not tell.
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }
size_t PeakBytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

// A file; counts what was written.
class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path)
      : file_(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600)) {}
  ~FileSink() { close(file_); }

  absl::Status Append(std::string_view bytes) override {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t written = write(file_, bytes.data(), bytes.size());
      if (written < 0) return absl::InternalError("cannot write");
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }
  bool Sync() { return fsync(file_) == 0; }
  size_t bytes() const { return bytes_; }

 private:
  const int file_;
  size_t bytes_ = 0;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FileSource() { close(file_); }
  absl::StatusOr<size_t> Read(std::span<char> room) override {
    const ssize_t got = read(file_, room.data(), room.size());
    if (got < 0) return absl::InternalError("cannot read");
    return static_cast<size_t>(got);
  }

 private:
  const int file_;
};

// Takes a snapshot into a file and syncs it, in a thread of its own.
class Taking {
 public:
  Taking(Engine& engine, const std::string& path, bool compress) : sink(path) {
    thread_ = std::thread([this, &engine, compress] {
      const Stopwatch watch;
      status_ = TakeSnapshot(engine, sink, {.compress = compress});
      if (!sink.Sync()) status_ = absl::InternalError("cannot sync");
      seconds = watch.seconds();
      done = true;
    });
  }
  ~Taking() { Join().IgnoreError(); }

  absl::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

  FileSink sink;
  double seconds = 0;
  std::atomic<bool> done = false;

 private:
  absl::Status status_;
  std::thread thread_;
};

// Seconds to write and sync as many bytes.
double WriteAndSync(const std::string& path, size_t bytes) {
  const std::string piece(1 << 20, 'x');
  const Stopwatch watch;
  FileSink sink(path);
  for (size_t done = 0; done < bytes; done += piece.size()) {
    if (!sink.Append(std::string_view(piece).substr(0, bytes - done)).ok()) return 0;
  }
  return sink.Sync() ? watch.seconds() : 0;
}

struct Folding {
  size_t events = 0;
  double seconds = 0;
  BasicHistogram<3> call_ns;
  BasicHistogram<3> call_cpu_ns;
  BasicHistogram<3> late_ns;

  double PerSecond() const { return static_cast<double>(events) / seconds; }
};

// Folds batches, `per_second` events of them, or as many as go if that is 0, for as long as `goes_on(seconds)`.
template <class GoesOn>
void FoldAtRate(Groups& groups, double per_second, const GoesOn& goes_on, Folding& folding) {
  const double gap_ns = per_second == 0 ? 0 : 1e9 * kBatchEvents / per_second;
  const Stopwatch watch;
  for (double due_ns = 0; goes_on(watch.seconds()); due_ns += gap_ns) {
    uint64_t begun = watch.nanoseconds();
    while (begun < static_cast<uint64_t>(due_ns)) begun = watch.nanoseconds();
    const uint64_t cpu_begun = ThreadNanoseconds();
    groups.FoldSome();
    folding.call_cpu_ns.Add(ThreadNanoseconds() - cpu_begun);
    const uint64_t done = watch.nanoseconds();
    folding.events += kBatchEvents;
    folding.call_ns.Add(done - begun);
    if (per_second > 0) folding.late_ns.Add(done - static_cast<uint64_t>(due_ns));
  }
  folding.seconds = watch.seconds();
}

void ReportFolding(benchmark::State& state, const char* suffix, const Folding& folding) {
  const auto tell = [&](const char* name, double value) {
    state.counters[std::string(name) + suffix] = value;
  };
  tell("per_second", folding.PerSecond());
  tell("call_p999_ns", static_cast<double>(folding.call_ns.ValueAt(0.999)));
  tell("call_cpu_p50_ns", static_cast<double>(folding.call_cpu_ns.ValueAt(0.5)));
  tell("call_cpu_p999_ns", static_cast<double>(folding.call_cpu_ns.ValueAt(0.999)));
  tell("call_cpu_max_ns", static_cast<double>(folding.call_cpu_ns.max()));
  tell("call_max_ns", static_cast<double>(folding.call_ns.max()));
  tell("late_p999_ns", static_cast<double>(folding.late_ns.ValueAt(0.999)));
}

void WhileFolding(benchmark::State& state, bool compress) {
  const double seconds_alone = Tiny() ? 0.01 : Quick() ? 0.25 : 3;
  const Keys keys = Keys::Make(SnapshotGroups(), kSnapshotKeyBytes);
  for (auto _ : state) {
    const DiskDirectory disk;
    Groups groups(keys);
    const size_t empty = MeasureMemory().bytes;
    groups.OpenOnTwoThreads();
    const auto for_seconds = [&](double seconds) { return seconds < seconds_alone; };
    Folding peak;
    FoldAtRate(groups, 0, for_seconds, peak);
    Folding alone;
    FoldAtRate(groups, peak.PerSecond() / 2, for_seconds, alone);

    const auto fold_beside = [&](Taking& taking) {
      Folding folding;
      FoldAtRate(groups, peak.PerSecond() / 2, [&](double) { return !taking.done; }, folding);
      return folding;
    };
    Folding beside_another;
    {
      Groups another(keys);
      another.OpenOnTwoThreads();
      Taking taking(*another.engine, disk.path() + "/another", compress);
      beside_another = fold_beside(taking);
    }

    const size_t held = MeasureMemory().bytes;
    ForgetPeak();
    Taking taking(*groups.engine, disk.path() + "/snapshot", compress);
    const Folding beside = fold_beside(taking);
    const size_t peak_bytes = PeakBytes();
    if (!taking.Join().ok()) return Fail(state, "no snapshot");

    const auto share = static_cast<double>(held - empty) / groups.engine->partitions();
    const double extra = peak_bytes > held ? static_cast<double>(peak_bytes - held) : 0;
    Report(state, {.seconds = taking.seconds}, keys.size());
    state.counters["peak_per_second"] = peak.PerSecond();
    ReportFolding(state, "_alone", alone);
    ReportFolding(state, "_beside", beside);
    ReportFolding(state, "_beside_another", beside_another);
    state.counters["throughput_ratio"] = beside.PerSecond() / alone.PerSecond();
    state.counters["extra_bytes"] = extra;
    state.counters["extra_partitions"] = extra / share;
    state.counters["bytes_per_group"] =
        static_cast<double>(taking.sink.bytes()) / static_cast<double>(keys.size());
    state.counters["disk_seconds"] = WriteAndSync(disk.path() + "/raw", taking.sink.bytes());
    const size_t events = peak.events + alone.events + beside_another.events + beside.events;
    if (groups.folder.ledger().folded != events) return Fail(state, "an event was lost");
  }
}

void Recovery(benchmark::State& state) {
  const Keys keys = Keys::Make(SnapshotGroups(), kSnapshotKeyBytes);
  for (auto _ : state) {
    const DiskDirectory disk;
    const std::string path = disk.path() + "/snapshot";
    Spent opening;
    {
      Groups groups(keys);
      opening = Timed([&] { groups.OpenOnTwoThreads(); });
      FileSink sink(path);
      const absl::Status taken = TakeSnapshot(*groups.engine, sink);
      if (!taken.ok() || !sink.Sync()) return Fail(state, "no snapshot");
    }
    // The kernel's work of handing out pages should be the same for both.
    MeasureMemory();
    Groups again(keys);
    FileSource source(path);
    bool restored = false;
    const Spent recovery = Timed([&] {
      auto restore = Restore::Begin(*again.engine, source);
      if (!restore.ok()) return;
      std::thread other([&] { (*restore)->Work(); });
      (*restore)->Work();
      other.join();
      restored = (*restore)->Finish().ok();
    });
    Report(state, {.seconds = recovery.seconds}, keys.size());
    state.counters["opening_seconds"] = opening.seconds;
    state.counters["ratio"] = recovery.seconds / opening.seconds;
    if (!restored || again.folder.sizes().open_groups != keys.size()) {
      return Fail(state, "groups were lost");
    }
  }
}

// Takes nothing until it is let go.
class StalledSink final : public ByteSink {
 public:
  absl::Status Append(std::string_view) override {
    stalls_ = true;
    stalls_.notify_all();
    let_go_.wait(false);
    return absl::OkStatus();
  }
  void WaitUntilItStalls() { stalls_.wait(false); }
  void LetGo() {
    let_go_ = true;
    let_go_.notify_all();
  }

 private:
  std::atomic<bool> stalls_ = false;
  std::atomic<bool> let_go_ = false;
};

void Stalled(benchmark::State& state, uint64_t max_copy_bytes) {
  const Keys keys = Keys::Make(std::min<size_t>(SnapshotGroups(), 1'000'000), kSnapshotKeyBytes);
  for (auto _ : state) {
    Groups groups(keys);
    const size_t empty = MeasureMemory().bytes;
    groups.OpenOnTwoThreads();
    const size_t held = MeasureMemory().bytes;
    ForgetPeak();
    StalledSink sink;
    std::thread taker([&] {
      TakeSnapshot(*groups.engine, sink, {.max_copy_bytes = max_copy_bytes}).IgnoreError();
    });
    sink.WaitUntilItStalls();
    BasicHistogram<3> call_ns;
    const Stopwatch watch;
    std::array<TickEvent, kBatchEvents> batch;
    for (size_t i = 0; i < keys.size();) {
      size_t size = 0;
      for (; size < kBatchEvents && i < keys.size(); ++i) batch[size++] = {keys[i], kStart, {}};
      const uint64_t begun = watch.nanoseconds();
      groups.folder.FoldBatch({batch.data(), size});
      call_ns.Add(watch.nanoseconds() - begun);
    }
    const double seconds = watch.seconds();
    const size_t peak = PeakBytes();
    const size_t after = MeasureMemory().bytes;
    sink.LetGo();
    taker.join();
    const auto more = [&](size_t bytes) {
      return bytes > held ? static_cast<double>(bytes - held) : 0;
    };
    Report(state, {.seconds = seconds}, keys.size());
    state.counters["held_bytes"] = static_cast<double>(held - empty);
    state.counters["most_copy_bytes"] =
        static_cast<double>(SnapshotCopiesOf(*groups.engine).most_bytes);
    state.counters["extra_bytes"] = more(peak);
    state.counters["extra_bytes_after"] = more(after);
    state.counters["call_p999_ns"] = static_cast<double>(call_ns.ValueAt(0.999));
    state.counters["call_max_ns"] = static_cast<double>(call_ns.max());
    if (groups.folder.ledger().folded != keys.size()) return Fail(state, "an event was lost");
  }
}

void StateDirectoryOpen(benchmark::State& state) {
  constexpr size_t kRounds = 8;
  const size_t groups_count = std::min<size_t>(SnapshotGroups(), 1'000'000);
  const Keys keys = Keys::Make(groups_count, kSnapshotKeyBytes);
  const size_t batches = Tiny() ? 16 : groups_count / kBatchEvents;
  for (auto _ : state) {
    const DiskDirectory disk;
    Groups plain(keys);
    Groups kept(keys);
    auto directory = StateDirectory::Open(disk.path() + "/state");
    if (!directory.ok() || !(*directory)->Recover(*kept.engine).ok())
      return Fail(state, "no state directory");
    std::array<std::array<double, kRounds>, 2> seconds{};
    for (Groups* groups : {&plain, &kept}) groups->Open(0, keys.size());
    for (size_t round = 0; round < kRounds; ++round) {
      for (const size_t which : {round % 2, 1 - round % 2}) {
        Groups& groups = which == 0 ? plain : kept;
        seconds[which][round] = Timed([&] {
                                  for (size_t i = 0; i < batches; ++i) groups.FoldSome();
                                }).cpu_seconds;
      }
    }
    std::array<double, 2> better_half{};
    for (const size_t which : {0, 1}) {
      std::ranges::sort(seconds[which]);
      for (size_t i = 0; i < kRounds / 2; ++i) better_half[which] += seconds[which][i];
    }
    Report(state, {.seconds = better_half[1]}, kRounds / 2 * batches * kBatchEvents);
    state.counters["throughput_ratio"] = better_half[0] / better_half[1];
  }
}

void Once(benchmark::internal::Benchmark* run) {
  run->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(WhileFolding, plain, false)->Name("snapshot/10M/folding/plain")->Apply(Once);
BENCHMARK_CAPTURE(WhileFolding, compressed, true)
    ->Name("snapshot/10M/folding/compressed")
    ->Apply(Once);
BENCHMARK(Recovery)->Name("snapshot/10M/recovery")->Apply(Once);
BENCHMARK_CAPTURE(Stalled, bounded, SnapshotOptions::kMaxCopyBytes)
    ->Name("snapshot/1M/stalled/bounded")
    ->Apply(Once);
BENCHMARK_CAPTURE(Stalled, unbounded, UINT64_MAX)
    ->Name("snapshot/1M/stalled/unbounded")
    ->Apply(Once);
BENCHMARK(StateDirectoryOpen)->Name("snapshot/state_directory_open")->Apply(Once);

}  // namespace
}  // namespace pleat::bench
