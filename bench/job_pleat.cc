// pleat at the whole job: pleat_batch on one thread, pleat_batch_2t on two.
//
// A tick is Advance() with no budget, which only moves time; Pop() of one partition, which closes what is due and
// hands it out; and FoldBatch() of the tick's events, 256 at a time, once their names are numbers. Each
// thread owns one partition; more would only make the runs of a batch shorter. With two threads each
// reads a stream of its own, as from a log partitioned by key, and the two meet once a tick, where time
// moves. Nothing else is shared, so neither waits for a batch of the other's.
#include <barrier>
#include <thread>

#include <pleat/batch.h>
#include <pleat/folder.h>

#include "bench/job.h"

namespace pleat::bench {
namespace {

// Reads events and has their names' numbers folded: the part of the work that each thread does for itself.
// It pops the same keys, and so knows the names of what it pops.
class Worker {
 public:
  Worker(Folder<NameNumbers, NameSet> folder, int partition)
      : folder_(folder), partition_(partition) {}

  void Pop(int64_t tick, Emissions& emissions) {
    for (size_t popped = kAtOnce; popped == kAtOnce;) {
      const auto batch = folder_.Pop(kAtOnce, popped_, PartitionRange::One(partition_));
      for (auto& emission : batch) {
        emissions.Add(emission.key, tick, dictionary_.NamesOf(emission.state));
      }
      popped = batch.size();
    }
  }

  void Fold(std::span<const JobEvent> events) {
    for (size_t i = 0; i < events.size(); i += kAtOnce) {
      batch_.clear();
      for (const JobEvent& event : events.subspan(i, std::min(kAtOnce, events.size() - i))) {
        batch_.push_back({event.key, event.at, dictionary_.Numbers(event.event)});
      }
      folder_.FoldBatch(batch_);
    }
  }

 private:
  static constexpr size_t kAtOnce = 256;  // to fold and to pop; popping 64 to 1,024 is alike

  Folder<NameNumbers, NameSet> folder_;
  int partition_;
  NameDictionary dictionary_;
  std::vector<KeyedEvent<NameNumbers>> batch_;
  EmissionBuffer<NameSet> popped_;
};

class Store {
 public:
  Store(const Job& job, int threads)
      : engine_(*Engine::Open({.partitions = threads})),
        folder_(*engine_, "job",
                {.quiet_period = std::chrono::seconds(job.quiet), .max_wait = kForever}) {}

  // Returns whether anything may be due.
  bool MoveTime(int64_t tick) {
    const EngineTime now = FromUnix(std::chrono::seconds(tick));
    std::ignore = engine_->Advance(now, 0);
    return engine_->NextDeadline().value_or(kNever) <= now;
  }

  Worker MakeWorker(int partition) { return Worker(folder_, partition); }

  double BytesPerGroup() const {
    const Sizes sizes = folder_.sizes();
    return static_cast<double>(sizes.bytes) / static_cast<double>(sizes.open_groups);
  }

 private:
  std::unique_ptr<Engine> engine_;
  Folder<NameNumbers, NameSet> folder_;
};

// One thread and one partition.
class SingleStore : public Store {
 public:
  explicit SingleStore(const Job& job) : Store(job, 1) {}

  void Poll(int64_t tick, Emissions& emissions) {
    if (MoveTime(tick)) worker_.Pop(tick, emissions);
  }
  void Fold(const Tick& tick) { worker_.Fold(tick.events); }

 private:
  Worker worker_ = MakeWorker(0);
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
  SingleStore store(job);
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
  std::barrier tick_starts(kThreads, [&]() noexcept {
    if (next > 0 && job.ticks[next].events.empty() && !job.ticks[next - 1].events.empty()) {
      clock.Pause();
      result.bytes_per_group = store.BytesPerGroup();
      clock.Resume();
    }
    due = store.MoveTime(job.ticks[next++].at);
  });
  double cpu_seconds[kThreads];
  const auto work = [&](int thread) {
    const JobClock own;
    Worker worker = store.MakeWorker(thread);
    for (const Tick& tick : streams[thread].ticks) {
      tick_starts.arrive_and_wait();
      if (due) worker.Pop(tick.at, emissions[thread]);
      worker.Fold(tick.events);
    }
    cpu_seconds[thread] = own.CpuSeconds();
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  result.seconds = clock.Seconds();
  result.cpu_seconds = *std::max_element(cpu_seconds, cpu_seconds + kThreads);
  for (const Emissions& part : emissions) result.emissions.Add(part);
  return result;
}

}  // namespace pleat::bench
