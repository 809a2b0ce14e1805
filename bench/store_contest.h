// What the contests of the event store share: the records, a store for them, and rounds of two
// contestants by turns.
//
// Records have a key of 12 bytes and a payload of 188, and come in batches of 256. Every contestant
// keeps the same ones, numbered from 0; whoever can be read is read back and compared.
//
// Counters of a contest, the medians of its rounds: `rival_per_second`, as items_per_second of the other
// contestant; `rival_ratio`, pleat's rate in the rival's, of two turns that followed each other; and
// `rival_cpu_ratio`, the same by processor time, where one thread does all the work of both.
//
// PLEAT_BENCH_DIR says where files go, as for snapshots.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>

#include "bench/disk_directory.h"
#include "bench/settings.h"
#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {

constexpr size_t kKeyBytes = 12;
constexpr size_t kPayloadBytes = 188;
constexpr size_t kRecordBytes = kKeyBytes + kPayloadBytes;
constexpr size_t kBatchRecords = 256;
constexpr int kPartitions = 64;

inline size_t StoreRecords(size_t full) {
  return Tiny() ? 4 * kBatchRecords : Quick() ? full / 8 : full;
}

inline void Require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// What records come to, in any order: whoever has kept the same ones has the same.
struct Tally {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(std::string_view key, std::string_view payload) {
    if (key.size() != kKeyBytes || payload.size() != kPayloadBytes) return;
    ++count;
    sum += Scatter(WordAt(key, 4) ^ Scatter(WordAt(payload, 0) ^ WordAt(payload, 180)));
  }
  static uint64_t WordAt(std::string_view text, size_t at) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof(word));
    return word;
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

// The record of each number, which is in its payload and draws its key.
class NumberedRecords {
 public:
  NumberedRecords() : keys_(Keys::Make(1 << 16, kKeyBytes)) {}

  // Those of [begin, end), in batches that end at a multiple of `lot` records, too. `take` gets each
  // batch, and whether a lot ends with it.
  template <class Take>
  void ForEachBatch(uint64_t begin, uint64_t end, uint64_t lot, const Take& take) {
    while (begin < end) {
      const uint64_t lot_end = std::min(end, (begin / lot + 1) * lot);
      const auto size = std::min<uint64_t>(kBatchRecords, lot_end - begin);
      for (uint64_t i = 0; i < size; ++i) Number(i, begin + i);
      begin += size;
      take(std::span<const StoreRecord>(batch_.data(), size), begin == lot_end);
    }
  }

  static Tally TallyOf(uint64_t count) {
    Tally tally;
    NumberedRecords().ForEachBatch(0, count, count, [&](const auto& batch, bool) {
      for (const StoreRecord& record : batch) tally.Add(record.key, record.payload);
    });
    return tally;
  }

 private:
  void Number(size_t place, uint64_t number) {
    char* const payload = bytes_.data() + place * kRecordBytes;
    const uint64_t scattered = Scatter(number);
    std::memcpy(payload, &number, sizeof(number));
    std::memcpy(payload + kPayloadBytes - sizeof(scattered), &scattered, sizeof(scattered));
    // As of an event that was just read: its bytes lie together, and in a cache.
    char* const key = payload + kPayloadBytes;
    std::ranges::copy(std::string_view(keys_[scattered % keys_.size()]), key);
    batch_[place] = {
        .key = {key, kKeyBytes}, .stamp = kStart, .id = {}, .payload = {payload, kPayloadBytes}};
  }

  Keys keys_;
  std::vector<char> bytes_ = std::vector<char>(kBatchRecords * kRecordBytes, 'x');
  std::array<StoreRecord, kBatchRecords> batch_;
};

// A store in a directory of its own, which goes with it. It is warm: its first file has begun, which takes
// some syncs, and is left out of the time as the start of a server is.
class ContestStore {
 public:
  explicit ContestStore(StoreDurability durability, int partitions = kPartitions) {
    auto store = EventStore::Open(disk_.path() + "/store",
                                  {.partitions = partitions, .durability = durability});
    Require(store.ok(), "no store");
    store_ = *std::move(store);
    const AppendWhere note{.note = StoreNote{.name = "warm", .value = {}}};
    Require(store_->AppendBatch({}, kStart, note).outcome == AppendOutcome::kAppended, "no note");
    Require(store_->Sync().ok(), "cannot sync");
  }

  EventStore* operator->() const { return store_.get(); }
  std::string path() const { return disk_.path() + "/store"; }

  void Append(std::span<const StoreRecord> batch) {
    const EngineTime appended = kStart + step_ * batches_.fetch_add(1, std::memory_order_relaxed);
    Require(store_->AppendBatch(batch, appended).taken == batch.size(), "records were refused");
  }
  // How much later each batch is appended than the one before; none, unless told.
  void set_step(Duration step) { step_ = step; }
  void Commit() { Require(store_->Commit().ok(), "no commit"); }
  void Sync() { Require(store_->Sync().ok(), "no sync"); }
  // All of these by one thread, which commits behind each lot.
  void AppendAll(uint64_t count, uint64_t lot) {
    records_.ForEachBatch(0, count, lot, [&](const auto& batch, bool lot_ends) {
      Append(batch);
      if (lot_ends) Commit();
    });
  }

  void AppendAllSyncedEverySecond(uint64_t count, uint64_t lot) {
    auto next_sync = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    records_.ForEachBatch(0, count, lot, [&](const auto& batch, bool lot_ends) {
      Append(batch);
      if (!lot_ends) return;
      Commit();
      if (std::chrono::steady_clock::now() < next_sync) return;
      Sync();
      next_sync += std::chrono::seconds(1);
    });
    Sync();
  }

  Tally Read(int partition) {
    Tally tally;
    for (uint64_t next = 0;; next = page_.next()) {
      const auto read = store_->Read(partition, next, 1 << 20, page_);
      Require(read.ok(), "cannot read");
      if (*read != ReadOutcome::kRecords) return tally;
      for (const StoredRecord& record : page_.records()) tally.Add(record.key, record.payload);
    }
  }
  Tally ReadAll() {
    Tally all;
    for (int partition = 0; partition < store_->partitions(); ++partition) {
      const Tally one = Read(partition);
      all.count += one.count;
      all.sum += one.sum;
    }
    return all;
  }
  Tally ReadInOrder() {
    Tally all;
    StoreReplay replay(*store_);
    for (;;) {
      const auto next = replay.Next();
      Require(next.ok(), "cannot read");
      if (*next != ReadOutcome::kRecords) return all;
      all.Add(replay.record().key, replay.record().payload);
    }
  }
  void RequireAll(uint64_t count) {
    Require(ReadAll() == NumberedRecords::TallyOf(count), "the store has other records");
  }

 private:
  DiskDirectory disk_;
  std::unique_ptr<EventStore> store_;
  NumberedRecords records_;
  Duration step_{0};
  std::atomic<int64_t> batches_ = 0;
  StorePage page_;
};

inline double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

inline size_t ContestRounds() { return Tiny() ? 1 : Quick() ? 3 : 5; }

// Rounds in which each contestant has a turn. Each begins every other round, so that other work on the
// machine slows both. Both do `items(round)` in the time that they return.
template <class Items, class Ours, class Rival>
void Contest(benchmark::State& state, size_t rounds, const Items& items, const Ours& ours,
             const Rival& rival) {
  std::array<std::vector<double>, 2> rates;
  std::vector<double> ratios;
  std::vector<double> cpu_ratios;
  for (size_t round = 0; round < rounds; ++round) {
    std::array<Spent, 2> spent;
    for (const size_t turn : {round % 2, 1 - round % 2}) {
      spent[turn] = turn == 0 ? ours(round) : rival(round);
      rates[turn].push_back(static_cast<double>(items(round)) / spent[turn].seconds);
    }
    ratios.push_back(spent[1].seconds / spent[0].seconds);
    if (spent[0].cpu_seconds > 0 && spent[1].cpu_seconds > 0) {
      cpu_ratios.push_back(spent[1].cpu_seconds / spent[0].cpu_seconds);
    }
  }
  Report(state, {.seconds = static_cast<double>(items(0)) / Median(rates[0])}, items(0));
  state.counters["rival_per_second"] = Median(rates[1]);
  state.counters["rival_ratio"] = Median(ratios);
  if (!cpu_ratios.empty()) state.counters["rival_cpu_ratio"] = Median(cpu_ratios);
}

// Runs a benchmark that throws when something is wrong.
template <class Run>
void RegisterContest(const std::string& name, const Run& run) {
  const auto guarded = [run](benchmark::State& state) {
    for (auto _ : state) {
      try {
        run(state);
      } catch (const std::exception& error) {
        return Fail(state, error.what());
      }
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), guarded)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// What is promised of a lot of kLotRecords, when it has been committed.
enum class LotPromise : uint8_t {
  kWritten,      // kProcess: a kill takes nothing; the power takes what is not in a full file
  kEverySecond,  // the same, and Sync() each second and once more at the end
  kSynced,       // kGroup: nothing takes it
};
constexpr uint64_t kLotRecords = 1000;

// store/NAME: one thread commits behind each lot. `rival(count)` keeps as many records with the same
// promise, checks them, and returns what keeping them took.
template <class Rival>
void RegisterLots(const std::string& name, LotPromise promise, const Rival& rival) {
  const auto run = [promise, rival](benchmark::State& state) {
    const size_t count = StoreRecords(promise == LotPromise::kSynced ? 200'000 : 1'000'000);
    const auto ours = [&](size_t) {
      const bool synced = promise == LotPromise::kSynced;
      ContestStore store(synced ? StoreDurability::kGroup : StoreDurability::kProcess);
      const Spent spent = Timed([&] {
        promise == LotPromise::kEverySecond ? store.AppendAllSyncedEverySecond(count, kLotRecords)
                                            : store.AppendAll(count, kLotRecords);
      });
      store.RequireAll(count);
      return spent;
    };
    Contest(
        state, ContestRounds(), [&](size_t) { return count; }, ours,
        [&](size_t) { return rival(count); });
  };
  RegisterContest("store/" + name, run);
}

}  // namespace pleat::bench
