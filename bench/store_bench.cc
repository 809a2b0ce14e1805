// The event store beside what the disk and the page cache do by themselves. Records of 200 bytes; see
// store_contest.h for the counters.
//
//   store/append/1t         kProcess: one thread appends into 64 partitions. Beside it as many bytes go
//                           into a file by write(), 1 MiB each. The 400 MB stay below what a store lets
//                           wait for the disk in this mode
//   store/append/2t         the same while a second thread commits, every 10 ms
//   store/group/mib_4t      kGroup: four threads, each appends 20 batches, which are 1 MiB, and commits,
//                           again and again. Beside it one thread appends 1 MiB and syncs it by
//                           fdatasync(), for as many bytes. records_per_block: that share a sync
//   store/group/batch_4t    the same with a commit behind each batch of 256
//   store/group/batch_4t_200k  the same, and beside it a sync behind each 200 kB: four batches, the most
//                           that four threads can have waiting
//   store/group/one         one record is appended and committed, then 200 bytes are written and synced.
//                           p50_ns, p99_ns, rival_p50_ns; p50_over_rival: the first in the third
//   store/read/one_of_32    one partition of 32 is read, another one in each round, out of the page cache.
//   store/read/all_32       Or all of them, one after the other. Beside it as many bytes are copied out of
//                           a file by pread(), 1 MiB each
//   store/read/in_order_32  the same in the order of time, by a StoreReplay; each batch has a time of its own
//   store/bytes/block_256   what a file has beside keys and payloads, in bytes a record: in blocks of 256
//   store/bytes/block_full  records in 64 partitions, and in full ones.
//
// SQLite and Redis are in store_sqlite.cc and store_servers.cc.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <pleat/stats.h>

#include "bench/store_contest.h"

namespace pleat::bench {
namespace {

constexpr size_t kMib = 1 << 20;
constexpr std::chrono::milliseconds kPause{10};
constexpr size_t kThreads = 4;

// A file without any structure.
class RawFile {
 public:
  RawFile() : file_(open((disk_.path() + "/raw").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    Require(file_ >= 0, "no file");
  }
  ~RawFile() { close(file_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void Write(size_t bytes) {
    Require(write(file_, piece_.data(), bytes) == static_cast<ssize_t>(bytes), "cannot write");
  }
  void Sync() { Require(fdatasync(file_) == 0, "cannot sync"); }
  // In pieces of at most 1 MiB, each of them synced, should that be wanted.
  void WriteAll(size_t bytes, size_t piece, bool synced) {
    for (; bytes > 0; bytes -= std::min(bytes, piece)) {
      Write(std::min(bytes, piece));
      if (synced) Sync();
    }
  }
  void Read(size_t begin, size_t end) {
    for (; begin < end; begin += kMib) {
      const size_t size = std::min(kMib, end - begin);
      const ssize_t got = pread(file_, piece_.data(), size, static_cast<off_t>(begin));
      Require(got == static_cast<ssize_t>(size), "cannot read");
    }
  }

 private:
  DiskDirectory disk_;
  std::string piece_ = std::string(kMib, 'x');
  const int file_;
};

Spent WriteRaw(size_t bytes, size_t piece, bool synced) {
  RawFile file;
  return Timed([&] { file.WriteAll(bytes, piece, synced); });
}

void Append(benchmark::State& state, bool commits_beside) {
  const size_t count = StoreRecords(2'000'000);
  const auto ours = [&](size_t) {
    ContestStore store(StoreDurability::kProcess);
    NumberedRecords records;
    std::future<void> beside;
    std::promise<void> done;  // when it goes, too, so the other thread ends in any case
    auto commit = [&store, ended = done.get_future()] {
      while (ended.wait_for(kPause) == std::future_status::timeout) store.Commit();
    };
    if (commits_beside) beside = std::async(std::launch::async, std::move(commit));
    Spent spent;
    records.ForEachBatch(0, count, count, [&](const auto& batch, bool) {
      spent += Timed([&] { store.Append(batch); });  // without making them
    });
    done.set_value();
    if (commits_beside) {
      beside.get();
      spent.cpu_seconds = 0;
    }
    store.Commit();
    store.RequireAll(count);
    return spent;
  };
  const auto rival = [&](size_t) { return WriteRaw(count * kRecordBytes, kMib, /*synced=*/false); };
  Contest(state, ContestRounds(), [&](size_t) { return count; }, ours, rival);
}

void Group(benchmark::State& state, size_t lot, size_t rival_piece) {
  const size_t each = StoreRecords(1'000'000) / kThreads;
  const auto append = [&](ContestStore& store, size_t begin) {
    NumberedRecords records;
    records.ForEachBatch(begin, begin + each, lot, [&](const auto& batch, bool lot_ends) {
      store.Append(batch);
      if (lot_ends) store.Commit();
    });
  };
  const auto ours = [&](size_t) {
    ContestStore store(StoreDurability::kGroup);
    const Spent spent = Timed([&] {
      std::vector<std::future<void>> threads;
      for (size_t i = 0; i < kThreads; ++i) {
        threads.push_back(std::async(std::launch::async, append, std::ref(store), i * each));
      }
      for (std::future<void>& thread : threads) thread.get();
    });
    store.RequireAll(kThreads * each);
    state.counters["records_per_block"] =
        static_cast<double>(kThreads * each) / static_cast<double>(store->state().blocks);
    return Spent{.seconds = spent.seconds};
  };
  const auto rival = [&](size_t) {
    return WriteRaw(kThreads * each * kRecordBytes, rival_piece, /*synced=*/true);
  };
  Contest(state, ContestRounds(), [&](size_t) { return kThreads * each; }, ours, rival);
}

void One(benchmark::State& state) {
  const size_t count = Tiny() ? 8 : Quick() ? 400 : 2000;
  ContestStore store(StoreDurability::kGroup);
  RawFile raw;
  NumberedRecords records;
  std::array<BasicHistogram<3>, 2> ns;
  records.ForEachBatch(0, count, 1, [&](const auto& record, bool) {
    const size_t first = ns[0].count() % 2;
    for (const size_t turn : {first, 1 - first}) {
      const Stopwatch watch;
      if (turn == 0) {
        store.Append(record);
        store.Commit();
      } else {
        raw.Write(kRecordBytes);
        raw.Sync();
      }
      ns[turn].Add(watch.nanoseconds());
    }
  });
  store.RequireAll(count);
  const auto p50 = static_cast<double>(ns[0].ValueAt(0.5));
  const auto rival_p50 = static_cast<double>(ns[1].ValueAt(0.5));
  Report(state, {.seconds = p50 * 1e-9}, 1);
  state.counters["p50_ns"] = p50;
  state.counters["p99_ns"] = static_cast<double>(ns[0].ValueAt(0.99));
  state.counters["rival_p50_ns"] = rival_p50;
  state.counters["p50_over_rival"] = p50 / rival_p50;
}

enum class ReadWhat : uint8_t { kOne, kAll, kInOrder };

void Read(benchmark::State& state, ReadWhat what) {
  constexpr int kReadPartitions = 32;
  const size_t count = StoreRecords(4'000'000);
  ContestStore store(StoreDurability::kProcess, kReadPartitions);
  if (what == ReadWhat::kInOrder) store.set_step(Duration(1));
  store.AppendAll(count, count);
  store.RequireAll(count);
  RawFile raw;
  raw.WriteAll(count * kRecordBytes, kMib, /*synced=*/false);

  const auto partition = [](size_t round) { return static_cast<int>(round) % kReadPartitions; };
  const auto items = [&](size_t round) {
    return what == ReadWhat::kOne ? store->Next(partition(round)) : count;
  };
  const auto read = [&](size_t round) {
    if (what == ReadWhat::kOne) return store.Read(partition(round));
    return what == ReadWhat::kAll ? store.ReadAll() : store.ReadInOrder();
  };
  const auto ours = [&](size_t round) {
    Tally tally;
    const Spent spent = Timed([&] { tally = read(round); });
    Require(tally.count == items(round), "records are missing");
    return spent;
  };
  const auto rival = [&](size_t round) {
    const size_t bytes = items(round) * kRecordBytes;
    const size_t begin = (round * bytes) % (count * kRecordBytes - bytes + 1);
    return Timed([&] { raw.Read(begin, begin + bytes); });
  };
  Contest(state, 3 * ContestRounds(), items, ours, rival);
}

void Bytes(benchmark::State& state, size_t lot) {
  const size_t count = StoreRecords(1'000'000);
  ContestStore store(StoreDurability::kProcess);
  const Spent spent = Timed([&] { store.AppendAll(count, std::min(lot, count)); });
  store.RequireAll(count);
  Require(store->Close().ok(), "cannot close");
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(store.path())) {
    bytes += file.is_regular_file() ? file.file_size() : 0;
  }
  Report(state, spent, count);
  state.counters["bytes_beside"] =
      static_cast<double>(bytes) / static_cast<double>(count) - kRecordBytes;
}

const bool registered = [] {
  RegisterContest("store/append/1t", [](auto& state) { Append(state, false); });
  RegisterContest("store/append/2t", [](auto& state) { Append(state, true); });
  RegisterContest("store/group/mib_4t",
                  [](auto& state) { Group(state, 20 * kBatchRecords, kMib); });
  RegisterContest("store/group/batch_4t", [](auto& state) { Group(state, kBatchRecords, kMib); });
  RegisterContest("store/group/batch_4t_200k", [](auto& state) {
    Group(state, kBatchRecords, kThreads * kBatchRecords * kRecordBytes);
  });
  RegisterContest("store/group/one", One);
  RegisterContest("store/read/one_of_32", [](auto& state) { Read(state, ReadWhat::kOne); });
  RegisterContest("store/read/all_32", [](auto& state) { Read(state, ReadWhat::kAll); });
  RegisterContest("store/read/in_order_32", [](auto& state) { Read(state, ReadWhat::kInOrder); });
  RegisterContest("store/bytes/block_256", [](auto& state) { Bytes(state, kBatchRecords); });
  RegisterContest("store/bytes/block_full", [](auto& state) { Bytes(state, SIZE_MAX); });
  return true;
}();

}  // namespace
}  // namespace pleat::bench
