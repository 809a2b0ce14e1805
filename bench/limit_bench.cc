// What the memory allows: the bound that every fold is measured against. No table, no key, no hash; only
// the cache lines that a fold cannot avoid, in the order it meets them, as many in flight as one core
// can have.
//
//   limit/one_line   read, change and write one random line of 64 bytes in 2 GiB
//   limit/two_lines  read one random line of 128 MiB; what it says chooses a line of 2 GiB, which is read,
//                    changed and written: an index and its entry
//
// Software pipelined: the line that is changed now was prefetched `depth` steps ago. The best of several
// depths and of the processor's kinds of prefetch is taken (the counter `depth`, the label), found by
// short runs before the timed one. Huge pages are asked for. On a machine without the memory both are
// made smaller, and the label says so.
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kIndexBytes = 128 * kMiB;
constexpr size_t kEntryBytes = 2048 * kMiB;

struct alignas(64) Line {
  uint64_t words[8];
};

// A power of two of zeroed lines, on huge pages where the kernel gives them, all of them touched.
class Lines {
 public:
  explicit Lines(size_t bytes) : bytes_(bytes), mapped_bytes_(bytes + 2 * kMiB) {
    mapped_ =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) std::abort();
    void* aligned = mapped_;
    size_t space = mapped_bytes_;
    lines_ = static_cast<Line*>(std::align(2 * kMiB, bytes, aligned, space));
    madvise(lines_, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < size(); i += 64) lines_[i].words[0] = 0;
  }
  ~Lines() { munmap(mapped_, mapped_bytes_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  size_t size() const { return bytes_ / sizeof(Line); }
  Line& operator[](size_t i) { return lines_[i]; }

  // One of them, chosen by `random`.
  Line& At(uint64_t random) { return lines_[random & (size() - 1)]; }

 private:
  size_t bytes_;
  size_t mapped_bytes_;
  void* mapped_;
  Line* lines_;
};

// The cheapest sequence that is random enough to have no locality: one multiplication, one shift.
class Sequence {
 public:
  uint64_t Next() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return state_ >> 32;
  }

 private:
  uint64_t state_ = 1;
};

void Change(Line& line, uint64_t with) {
  ++line.words[0];
  line.words[1] |= with;
}

// A ring of what is in flight. 256 slots: a power of two above every depth.
template <class T>
class Ring {
 public:
  T& operator[](size_t i) { return slots_[i % kSlots]; }

 private:
  static constexpr size_t kSlots = 256;
  std::array<T, kSlots> slots_{};
};

// Into which caches a line is fetched: what __builtin_prefetch calls locality.
enum class Fetch : uint8_t { kPast = 0, kSecond = 2, kAll = 3 };

template <Fetch kFetch>
void Prefetch(const Line* line) {
  __builtin_prefetch(line, 0, static_cast<int>(kFetch));
}

class OneLine {
 public:
  explicit OneLine(size_t shrink) : entries_(kEntryBytes / shrink) {}

  template <Fetch kFetch>
  void Run(size_t events, size_t depth) {
    Sequence& random = random_;
    Ring<Line*> flying;
    for (size_t i = 0; i < events + depth; ++i) {
      if (i < events) {
        Prefetch<kFetch>(flying[i] = &entries_.At(random.Next()));
      }
      if (i >= depth) Change(*flying[i - depth], i);
    }
    benchmark::ClobberMemory();
  }

 private:
  Sequence random_;
  Lines entries_;
};

class TwoLines {
 public:
  explicit TwoLines(size_t shrink) : index_(kIndexBytes / shrink), entries_(kEntryBytes / shrink) {
    for (size_t i = 0; i < index_.size(); ++i) index_[i].words[0] = Scatter(i);
  }

  // The two stages are half of `depth` apart, so that as many index lines as entries are in flight.
  template <Fetch kFetch>
  void Run(size_t events, size_t depth) {
    Sequence& random = random_;
    Ring<const Line*> tags;
    Ring<Line*> flying;
    const size_t half = depth / 2;
    for (size_t i = 0; i < events + 2 * half; ++i) {
      if (i < events) {
        Prefetch<kFetch>(tags[i] = &index_.At(random.Next()));
      }
      if (i >= half && i < events + half) {
        // The number of the step leads from one line to many entries, as one bucket does.
        const uint64_t number = (tags[i - half]->words[0] + i) * 0x9e3779b97f4a7c15;
        Prefetch<kFetch>(flying[i - half] = &entries_.At(number >> 32));
      }
      if (i >= 2 * half) Change(*flying[i - 2 * half], i);
    }
    benchmark::ClobberMemory();
  }

 private:
  Sequence random_;
  Lines index_;
  Lines entries_;
};

// By how much all sizes are divided so that they fit into what is free, with a quarter to spare.
size_t ShrinkToFit() {
  if (Tiny()) return 64;
  std::ifstream file("/proc/meminfo");
  size_t free_kib = 0;
  for (std::string name; file >> name;
       file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (name == "MemAvailable:") file >> free_kib;
  }
  size_t shrink = 1;
  while (shrink < 64 && (kEntryBytes + kIndexBytes) / shrink > free_kib * 1024 / 4 * 3) shrink *= 2;
  return shrink;
}

// One way to go about it.
struct Way {
  Fetch fetch = Fetch::kAll;
  size_t depth = 0;
};

template <class Access>
Spent Run(Access& access, size_t events, Way way) {
  return Timed([&] {
    switch (way.fetch) {
      case Fetch::kAll: return access.template Run<Fetch::kAll>(events, way.depth);
      case Fetch::kSecond: return access.template Run<Fetch::kSecond>(events, way.depth);
      case Fetch::kPast: return access.template Run<Fetch::kPast>(events, way.depth);
    }
  });
}

template <class Access>
Way BestWay(Access& access, size_t events) {
  Way best;
  double least = std::numeric_limits<double>::infinity();
  for (Fetch fetch : {Fetch::kAll, Fetch::kSecond, Fetch::kPast}) {
    for (size_t depth : {8, 12, 16, 24, 32, 48, 64, 96, 128}) {
      const double seconds = Run(access, events, Way{fetch, depth}).cpu_seconds;
      if (seconds < least) least = seconds, best = {fetch, depth};
    }
  }
  return best;
}

template <class Access>
void Limit(benchmark::State& state) {
  const size_t events = Shrunk(Quick() ? 8'000'000 : 32'000'000);
  const size_t shrink = ShrinkToFit();
  for (auto _ : state) {
    Access access(shrink);
    const Way way = BestWay(access, events / 32);
    Report(state, Run(access, events, way), events);
    state.counters["depth"] = static_cast<double>(way.depth);
    state.SetLabel(way.fetch == Fetch::kAll      ? "prefetched into all caches"
                   : way.fetch == Fetch::kSecond ? "prefetched into the second cache"
                                                 : "prefetched past the second cache");
  }
  if (shrink > 1) {
    state.SetLabel((Tiny() ? "--tiny: 1/" : "memory is short: 1/") + std::to_string(shrink) +
                   " of the size");
  }
}

BENCHMARK(Limit<OneLine>)->Name("limit/one_line")->Iterations(1)->UseManualTime();
BENCHMARK(Limit<TwoLines>)->Name("limit/two_lines")->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace pleat::bench
