// What the order of a live set's series costs (engine/live/sequence.h), by the size of the series.
// All series together have a million members, or as many as the one series has. Members are entries of
// 64 bytes; which one an operation is about is random, and so is which entries a series has.
//
//   sequence/append/N         members come one after the other, from none to all
//   sequence/refresh/N        a member becomes the newest; nothing is fetched ahead
//   sequence/refresh_ahead/N  the same, but what the next refreshes need is fetched before
//   sequence/move/N           a member gets a random time among the others': erase and insert
//   sequence/rank/N           how many members are older than a random time
//
// bytes_per_member is what the pool of pages holds at the end: all but the entries themselves and the
// 16 bytes of a series.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "engine/live/sequence.h"

namespace pleat::bench {
namespace {

struct alignas(64) Member {
  SequenceKey key;
  uint32_t place;
  uint32_t series;
};

// In pages of 64 KiB as the entries of the engine's tables.
class Members {
 public:
  explicit Members(uint32_t size) : numbers_(size) {
    for (uint32_t& number : numbers_) number = slab_.Allocate();
  }

  const std::vector<uint32_t>& numbers() const { return numbers_; }
  const Member& at(uint32_t number) const {
    return *reinterpret_cast<const Member*>(slab_.hot(number));
  }
  Member& at(uint32_t number) { return *reinterpret_cast<Member*>(slab_.hot(number)); }

  const SequenceKey& KeyOf(uint32_t number) const { return at(number).key; }
  uint32_t& PlaceOf(uint32_t number) { return at(number).place; }
  void Prefetch(uint32_t number) const { pleat::Prefetch(&at(number)); }

 private:
  std::vector<uint32_t> numbers_;
  PagePool pages_;
  Slab<> slab_{pages_, sizeof(Member)};
};

// Series of one size.
class Series {
 public:
  explicit Series(uint32_t size)
      : size_(size), members_(Total(size)), order_(members_.numbers()), all_(Total(size) / size) {
    std::ranges::shuffle(order_, random_);
    for (uint32_t i = 0; i < order_.size(); ++i) {
      members_.at(order_[i]).series = static_cast<uint32_t>(i % all_.size());
    }
  }
  ~Series() {
    for (Sequence& sequence : all_) pool_.Clear(sequence);
  }
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  size_t members() const { return order_.size(); }
  double bytes_per_member() const {
    return static_cast<double>(pages_.held_bytes()) / static_cast<double>(members());
  }

  void AppendAll() {
    for (const uint32_t number : order_) {
      members_.at(number).key = Next();
      pool_.Insert(SeriesOf(number), number);
    }
  }

  // As many members as there are, by chance: some more than once.
  std::vector<uint32_t> Draw() {
    std::vector<uint32_t> numbers(members());
    std::uniform_int_distribution<size_t> any(0, members() - 1);
    for (uint32_t& number : numbers) number = members_.numbers()[any(random_)];
    return numbers;
  }
  // Times between the oldest and the newest stamp.
  std::vector<EngineTime> DrawTimes(size_t count) {
    std::vector<EngineTime> times(count);
    const auto last = static_cast<int64_t>(position_);
    std::uniform_int_distribution<int64_t> any(last - static_cast<int64_t>(2 * members()), last);
    for (EngineTime& time : times) time = EngineTime{Duration{any(random_)}};
    return times;
  }

  void Refresh(std::span<const uint32_t> numbers) {
    for (const uint32_t number : numbers) RefreshOne(number);
  }
  void RefreshAhead(std::span<const uint32_t> numbers) {
    constexpr size_t kFar = 24;
    constexpr size_t kNear = 12;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i + kFar < numbers.size()) members_.Prefetch(numbers[i + kFar]);
      if (i + kNear < numbers.size()) {
        pool_.Prefetch(SeriesOf(numbers[i + kNear]));
      }
      members_.at(numbers[i]).key = Next();
      pool_.MoveToBackUnsettled(SeriesOf(numbers[i]), numbers[i], members_.PlaceOf(numbers[i]));
    }
    pool_.Settle();
  }
  void Move(std::span<const uint32_t> numbers, std::span<const EngineTime> times) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      Sequence& sequence = SeriesOf(numbers[i]);
      pool_.Erase(sequence, numbers[i]);
      members_.at(numbers[i]).key = {times[i], ++position_};
      pool_.Insert(sequence, numbers[i]);
    }
  }
  uint64_t Rank(std::span<const uint32_t> series, std::span<const EngineTime> times) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < series.size(); ++i) {
      sum += pool_.Rank(all_[series[i] % all_.size()], times[i]);
    }
    return sum;
  }
  // Whether every series is whole and has all its members.
  bool IsWhole() const {
    for (const Sequence& sequence : all_) {
      pool_.CheckWhole(sequence);
      if (sequence.size() != size_) return false;
    }
    return true;
  }

 private:
  static uint32_t Total(uint32_t size) {
    const uint32_t least = Tiny() ? 4096 : 1'000'000;
    return std::max(size, least / size * size);
  }

  Sequence& SeriesOf(uint32_t number) { return all_[members_.at(number).series]; }
  SequenceKey Next() {
    ++position_;
    return {EngineTime{Duration{position_}}, position_};
  }
  void RefreshOne(uint32_t number) {
    members_.at(number).key = Next();
    pool_.MoveToBack(SeriesOf(number), number);
  }

  const uint32_t size_;
  std::mt19937_64 random_{1};
  uint64_t position_ = 0;
  Members members_;
  std::vector<uint32_t> order_;  // in which they were added
  PagePool pages_;
  SequencePool<Members> pool_{pages_, members_};
  std::vector<Sequence> all_;
};

void Finish(benchmark::State& state, const Series& series, Spent spent) {
  Report(state, spent, series.members());
  state.counters["ns"] = spent.cpu_seconds * 1e9 / static_cast<double>(series.members());
  state.counters["bytes_per_member"] = series.bytes_per_member();
  if (!series.IsWhole()) Fail(state, "a series has lost a member");
}

// The size of the series; a large one is less large with --tiny or --quick.
uint32_t SizeOf(benchmark::State& state) {
  const int64_t most = Tiny() ? 4096 : Quick() ? 1 << 20 : INT64_MAX;
  return static_cast<uint32_t>(std::min(state.range(0), most));
}

void Append(benchmark::State& state) {
  for (auto _ : state) {
    Series series(SizeOf(state));
    Finish(state, series, Timed([&] { series.AppendAll(); }));
  }
}

// Runs `work(series, numbers)` on series that have been refreshed at random for long.
template <class Work>
void OnRefreshed(benchmark::State& state, Work work) {
  for (auto _ : state) {
    Series series(SizeOf(state));
    series.AppendAll();
    for (int i = 0; i < 3; ++i) series.RefreshAhead(series.Draw());
    const std::vector<uint32_t> numbers = series.Draw();
    Finish(state, series, work(series, numbers));
  }
}

using Numbers = const std::vector<uint32_t>&;

void Refresh(benchmark::State& state) {
  OnRefreshed(state, [](Series& series, Numbers numbers) {
    return Timed([&] { series.Refresh(numbers); });
  });
}

void RefreshAhead(benchmark::State& state) {
  OnRefreshed(state, [](Series& series, Numbers numbers) {
    return Timed([&] { series.RefreshAhead(numbers); });
  });
}

void Move(benchmark::State& state) {
  OnRefreshed(state, [](Series& series, Numbers numbers) {
    const std::vector<EngineTime> times = series.DrawTimes(numbers.size());
    return Timed([&] { series.Move(numbers, times); });
  });
}

void Rank(benchmark::State& state) {
  OnRefreshed(state, [](Series& series, Numbers numbers) {
    const std::vector<EngineTime> times = series.DrawTimes(numbers.size());
    return Timed([&] { benchmark::DoNotOptimize(series.Rank(numbers, times)); });
  });
}

const bool registered = [] {
  using Run = void (*)(benchmark::State&);
  for (const auto& [name, run] : {std::pair<const char*, Run>{"sequence/append", Append},
                                  {"sequence/refresh", Refresh},
                                  {"sequence/refresh_ahead", RefreshAhead},
                                  {"sequence/move", Move},
                                  {"sequence/rank", Rank}}) {
    auto* benchmark = benchmark::RegisterBenchmark(name, run);
    benchmark->Iterations(1)->UseManualTime();
    const int64_t largest = 16 << 20;
    for (int64_t size = 1; size <= largest; size *= 4) benchmark->Arg(size);
  }
  return true;
}();

}  // namespace
}  // namespace pleat::bench
