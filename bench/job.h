// The whole job of the Redis recipe that pleat replaces: fold each event's key and field names, poll
// for the keys that have been quiet, pop them with their fields. `job/*` gives it to each contestant.
//
// A job is a list of ticks. At each tick a contestant first pops what has been quiet for the quiet
// period by then, and then folds the tick's events, all of which are stamped with the tick. So one
// that polls and one that keeps exact deadlines close the same groups at the same ticks, and what they
// emit can be compared in full. There is a tick wherever there are events, and behind the last event one
// each second, or whatever the input's step is, until every group has closed.
#pragma once

#include <time.h>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/untyped/any_folder.h>

#include "bench/job_names.h"

namespace pleat::bench {

using JobEvent = KeyedEvent<Names>;

struct Tick {
  int64_t at;  // seconds
  std::span<const JobEvent> events;
};

// Can be moved, not copied: it is full of views of itself.
struct Job {
  Job() = default;
  Job(Job&&) = default;

  // The events' keys one behind the other, as they lie in a buffer that was read: a pool of strings would
  // add a cache miss an event that is nobody's work.
  std::vector<char> key_bytes;
  std::vector<JobEvent> events;
  std::vector<Tick> ticks;
  int64_t quiet = 0;  // seconds
};

// An input in full (or what --quick makes of it), and a small one of the same shape for comparing every
// emission. Their sizes are in job_input.cc.
struct JobInput {
  const char* name;
  Job (*make)();
  Job (*make_small)();
  bool is_long = false;  // takes most contestants from seconds to minutes, so they do it once
};
std::span<const JobInput> JobInputs();

// What came out: every row, or in a timed pass just counts and a sum over all groups of a cheap hash of
// key, tick and names, which does not depend on the order. Two of them are equal if the same keys were
// popped at the same ticks with the same names. The sum costs every contestant the same: the names come
// as strings, and of the key it takes the last eight bytes.
class Emissions {
 public:
  explicit Emissions(bool keep_rows) : keep_rows_(keep_rows) {}

  void Add(std::string_view key, int64_t tick, std::span<const Name> names);
  void Add(const Emissions& other);
  uint64_t groups() const { return groups_; }

  // Empty if they are equal, else what differs first.
  static std::string Difference(Emissions a, Emissions b);

 private:
  struct Row {
    int64_t tick;
    std::string key;
    std::vector<Name> names;  // sorted
    auto operator<=>(const Row&) const = default;
    std::string Text() const;
  };

  bool keep_rows_;
  uint64_t groups_ = 0;
  uint64_t names_ = 0;
  uint64_t hash_ = 0;
  std::vector<Row> rows_;
};

struct JobResult {
  Emissions emissions;
  double seconds = 0;
  // Processor time of the one thread, of the one of two that needed more, or of the server, without its
  // client; 0 if not known. It stands still while the machine gives the processor to somebody else.
  double cpu_seconds = 0;
  double bytes_per_group = 0;  // when the last event was folded; 0 if not known
};

// Does the whole job once. Throws std::runtime_error if that is not possible.
using Contestant = JobResult (*)(const Job& job, bool keep_rows);

JobResult PleatBatch(const Job& job, bool keep_rows);
JobResult PleatBatch2Threads(const Job& job, bool keep_rows);
JobResult Expert(const Job& job, bool keep_rows);
JobResult MultiIndex(const Job& job, bool keep_rows);
JobResult MapAndSet(const Job& job, bool keep_rows);
JobResult RedisRecipe(const Job& job, bool keep_rows);
JobResult RedisLua(const Job& job, bool keep_rows);
JobResult ValkeyRecipe(const Job& job, bool keep_rows);

// Seconds since it was made, less those between Pause() and Resume(), by the wall clock and by the
// thread's own time.
class JobClock {
 public:
  void Pause() { elapsed_ = Elapsed(); }
  void Resume() { since_ = Now(); }
  double Seconds() const { return Elapsed().wall; }
  double CpuSeconds() const { return Elapsed().cpu; }

 private:
  struct Times {
    double wall;
    double cpu;
  };
  static Times Now() { return {Read(CLOCK_MONOTONIC), Read(CLOCK_THREAD_CPUTIME_ID)}; }
  static double Read(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  Times Elapsed() const {
    const Times now = Now();
    return {elapsed_.wall + now.wall - since_.wall, elapsed_.cpu + now.cpu - since_.cpu};
  }

  Times elapsed_{0, 0};
  Times since_ = Now();
};

// Drives a contestant with one thread. It has Poll(tick, emissions), Fold(tick) and BytesPerGroup(),
// which is called once, off the clock, behind the last event.
template <class Store>
JobResult RunTicks(const Job& job, bool keep_rows, Store& store) {
  JobResult result{Emissions(keep_rows)};
  JobClock clock;
  bool weighed = false;
  for (const Tick& tick : job.ticks) {
    if (tick.events.empty() && !weighed) {
      clock.Pause();
      result.bytes_per_group = store.BytesPerGroup();
      weighed = true;
      clock.Resume();
    }
    store.Poll(tick.at, result.emissions);
    store.Fold(tick);
  }
  result.seconds = clock.Seconds();
  result.cpu_seconds = clock.CpuSeconds();
  return result;
}

}  // namespace pleat::bench
