// pleat at the whole job: pleat_batch on one thread, pleat_batch_2t on two.
//
// A tick is Advance() with no budget, which only moves time; PopPartition(), which closes what is due and
// hands it out; and one FoldBatch() of the tick's events. Each thread owns one partition; more would only
// make the runs of a batch shorter. With two threads each reads a stream of its own, as from a log partitioned
// by key, and the two meet once a tick, where time moves. Nothing else is shared, so neither waits for a
// batch of the other's.
#include <barrier>
#include <thread>

#include <absl/container/inlined_vector.h>
#include <pleat/folder.h>
#include <pleat/partition.h>

#include "bench/job.h"

namespace pleat::bench {
namespace {

// The set of names that an open group collects. Most groups stay within the inline part.
struct NameSet {
  absl::InlinedVector<Name, 12> names;

  void Fold(const Names& event) noexcept {
    for (const Name& name : event.names) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  size_t HeapBytes() const noexcept {
    return names.capacity() > 12 ? names.capacity() * sizeof(Name) : 0;
  }
};

class Store {
 public:
  Store(const Job& job, int threads)
      : engine_(*Engine::Open({.partitions = threads})),
        folder_(*engine_, "job",
                {.quiet_period = std::chrono::seconds(job.quiet), .max_hold = kForever}) {}

  // Returns whether anything may be due.
  bool MoveTime(int64_t tick) {
    const EngineTime now = FromUnix(std::chrono::seconds(tick));
    std::ignore = engine_->Advance(now, 0);
    return engine_->NextDeadline().value_or(kNever) <= now;
  }

  void Pop(int partition, int64_t tick, Emissions& emissions) {
    constexpr size_t kAtOnce = 256;
    for (size_t popped = kAtOnce; popped == kAtOnce;) {
      const auto batch = folder_.PopPartition(partition, kAtOnce);
      for (const auto& emission : batch) emissions.Add(emission.key, tick, emission.state.names);
      popped = batch.size();
    }
  }

  void Poll(int64_t tick, Emissions& emissions) {
    if (MoveTime(tick)) Pop(0, tick, emissions);
  }
  void Fold(const Tick& tick) { folder_.FoldBatch(tick.events); }

  double BytesPerGroup() const {
    const Sizes sizes = folder_.sizes();
    return static_cast<double>(sizes.bytes) / static_cast<double>(sizes.open_groups);
  }

 private:
  std::unique_ptr<Engine> engine_;
  Folder<Names, NameSet> folder_;
};

constexpr int kThreads = 2;

// The job of one thread's partition: the same ticks, with its own events only.
Job StreamOf(const Job& job, int thread) {
  Job stream;
  stream.events.reserve(job.events.size());
  for (const Tick& tick : job.ticks) {
    const size_t begin = stream.events.size();
    for (const JobEvent& event : tick.events) {
      if (PartitionOf(event.key, kThreads) == thread) stream.events.push_back(event);
    }
    stream.ticks.push_back({tick.at, std::span(stream.events).subspan(begin)});
  }
  return stream;
}

}  // namespace

JobResult PleatBatch(const Job& job, bool keep_rows) {
  Store store(job, 1);
  return RunTicks(job, keep_rows, store);
}

JobResult PleatBatch2Threads(const Job& job, bool keep_rows) {
  const Job streams[kThreads] = {StreamOf(job, 0), StreamOf(job, 1)};
  Emissions emissions[kThreads] = {Emissions(keep_rows), Emissions(keep_rows)};
  Store store(job, kThreads);
  JobClock clock;
  JobResult result{Emissions(keep_rows)};
  size_t next = 0;
  bool due = false;
  const size_t last_with_events = job.ticks.size() - static_cast<size_t>(job.quiet);
  std::barrier tick_starts(kThreads, [&]() noexcept {
    if (next == last_with_events) {
      clock.Pause();
      result.bytes_per_group = store.BytesPerGroup();
      clock.Resume();
    }
    due = store.MoveTime(job.ticks[next++].at);
  });
  const auto work = [&](int thread) {
    for (const Tick& tick : streams[thread].ticks) {
      tick_starts.arrive_and_wait();
      if (due) store.Pop(thread, tick.at, emissions[thread]);
      store.Fold(tick);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  result.seconds = clock.Seconds();
  for (const Emissions& part : emissions) result.emissions.Add(part);
  return result;
}

}  // namespace pleat::bench
