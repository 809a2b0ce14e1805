// A process that appends by two threads and commits by a third one is killed, while this process reads
// its store. What is found afterwards has all that was durable and all that was read, each writer's
// records in their order and without a gap; and the next process goes on with it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kPartitions = 4;
constexpr int kWriters = 2;
constexpr uint64_t kRecordsMax = 1'000;  // of a writer in a life

using Places = std::array<uint64_t, kPartitions>;
using Counts = std::array<uint64_t, kWriters>;

// What the process that is killed tells the other one, which outlives it.
struct Told {
  std::atomic<uint64_t> durable[kPartitions];    // as Durable() said
  std::atomic<uint64_t> acknowledged[kWriters];  // records of a writer that were durable
  std::atomic<bool> has_opened;
};

// Memory of both.
class Shared {
 public:
  Shared()
      : told_(new(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) Told{}) {}
  ~Shared() { munmap(told_, sizeof(Told)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  Told* operator->() const { return told_; }
  Told& operator*() const { return *told_; }

 private:
  Told* const told_;
};

EventStoreOptions Options(StoreDurability mode) {
  return {
      .partitions = kPartitions, .durability = mode, .block_bytes = 4096, .segment_bytes = 16'384};
}

// A writer's records say its number and how many there were of it before.
std::string PayloadOf(int writer, uint64_t number) {
  return std::to_string(writer) + " " + std::to_string(number);
}

// Appends by batches of 1 to 7, and tells how many of them are durable.
void Write(EventStore& store, int writer, uint64_t number, Told& told) {
  std::vector<AppendPlace> places;
  uint64_t acknowledged = number;
  for (const uint64_t end = number + kRecordsMax; number < end;) {
    const size_t count = 1 + number % 7;
    std::vector<std::string> keys, payloads;
    std::vector<StoreRecord> records;
    for (size_t i = 0; i < count; ++i) {
      keys.push_back("key " + std::to_string((number + i) % 11));
      payloads.push_back(PayloadOf(writer, number + i));
    }
    for (size_t i = 0; i < count; ++i) records.push_back({.key = keys[i], .payload = payloads[i]});
    std::vector<AppendPlace> taken(count);
    if (store.AppendBatch(records, kT0, {}, taken).taken != count) _exit(1);
    number += count;
    places.insert(places.end(), taken.begin(), taken.end());
    for (size_t i = places.size() - (number - acknowledged); i < places.size(); ++i) {
      if (store.Durable(places[i].partition) <= places[i].offset) break;
      told.acknowledged[writer] = ++acknowledged;
    }
  }
}

// Is killed somewhere in here.
[[noreturn]] void Live(const std::string& path, StoreDurability mode, const Counts& begin,
                       Told& told) {
  absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open(path, Options(mode));
  if (!store.ok()) _exit(1);
  told.has_opened = true;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back(
        [&, writer] { Write(**store, writer, begin[static_cast<size_t>(writer)], told); });
  }
  for (;;) {
    if (!(*store)->Commit().ok()) _exit(1);
    for (int p = 0; p < kPartitions; ++p) told.durable[p] = (*store)->Durable(p);
    std::this_thread::yield();
  }
}

// Reads on, and returns how many records there were. Each writer's go up by at least one in a
// partition.
template <class Store>
uint64_t ReadOn(const Store& store, Places& next, std::vector<std::vector<std::string>>& seen) {
  uint64_t records = 0;
  StorePage page;
  for (int p = 0; p < kPartitions; ++p) {
    uint64_t& from = next[static_cast<size_t>(p)];
    for (;; from = page.next()) {
      const absl::StatusOr<ReadOutcome> read = store.Read(p, from, 10'000, page);
      EXPECT_TRUE(read.ok()) << read.status();
      if (!read.ok() || *read != ReadOutcome::kRecords) break;
      records += page.records().size();
      for (const StoredRecord& record : page.records()) {
        seen[static_cast<size_t>(p)].emplace_back(record.payload);
      }
    }
  }
  return records;
}

// How many records each writer has. They have no gap, none is there twice, and those of a partition
// come in their order.
Counts CountOf(const std::vector<std::vector<std::string>>& records) {
  std::array<std::vector<bool>, kWriters> there;
  for (const std::vector<std::string>& partition : records) {
    std::array<int64_t, kWriters> latest;
    latest.fill(-1);
    for (const std::string& payload : partition) {
      const auto writer = static_cast<size_t>(payload[0] - '0');
      int64_t number = 0;
      std::from_chars(&payload[2], payload.data() + payload.size(), number);
      EXPECT_GT(number, latest[writer]) << payload;
      latest[writer] = number;
      std::vector<bool>& own = there[writer];
      if (own.size() <= static_cast<size_t>(number)) own.resize(static_cast<size_t>(number) + 1);
      EXPECT_FALSE(own[static_cast<size_t>(number)]) << payload << " is there twice";
      own[static_cast<size_t>(number)] = true;
    }
  }
  Counts counts;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    counts[writer] = there[writer].size();
    EXPECT_EQ(std::ranges::count(there[writer], false), 0) << "of writer " << writer;
  }
  return counts;
}

// A store that is killed again and again.
class KilledStore {
 public:
  KilledStore(StoreDurability mode, uint64_t seed) : mode_(mode), random_(seed) {}

  void LiveAndDie() {
    const Shared told;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) Live(path_, mode_, counts_, *told);
    Places next{};
    std::vector<std::vector<std::string>> seen(kPartitions);
    ReadBeside(*told, child, next, seen);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it has ended by itself";
    Check(*told, seen);
  }

 private:
  // Until there are so many records more, or all; or at once, while the store is being opened.
  void ReadBeside(const Told& told, pid_t child, Places& next,
                  std::vector<std::vector<std::string>>& seen) {
    if (random_() % 8 == 0) return;
    while (!told.has_opened &&
           waitid(P_PID, static_cast<id_t>(child), nullptr, WEXITED | WNOHANG | WNOWAIT) == 0) {
      std::this_thread::yield();
    }
    const absl::StatusOr<std::unique_ptr<EventStoreReader>> reader = EventStoreReader::Open(path_);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const uint64_t wanted = counts_[0] + counts_[1] + random_() % kRecordsMax;
    for (uint64_t read = 0; read < wanted && !testing::Test::HasFailure();) {
      const absl::Status refreshed = (*reader)->Refresh();
      ASSERT_TRUE(refreshed.ok()) << refreshed;
      read += ReadOn(**reader, next, seen);
      std::this_thread::yield();
    }
  }

  void Check(const Told& told, const std::vector<std::vector<std::string>>& seen) {
    const absl::StatusOr<std::unique_ptr<EventStore>> store =
        EventStore::Open(path_, Options(mode_));
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->state().blocks_passed_over, 0u);
    std::vector<std::vector<std::string>> found(kPartitions);
    Places next{};
    ReadOn(**store, next, found);
    for (size_t p = 0; p < kPartitions; ++p) {
      EXPECT_GE(found[p].size(), told.durable[p]) << "durable in partition " << p;
      ASSERT_GE(found[p].size(), seen[p].size()) << "read in partition " << p;
      EXPECT_TRUE(std::equal(seen[p].begin(), seen[p].end(), found[p].begin()));
    }
    const Counts counts = CountOf(found);
    for (size_t writer = 0; writer < kWriters; ++writer) {
      EXPECT_GE(counts[writer], told.acknowledged[writer]) << "of writer " << writer;
      EXPECT_GE(counts[writer], counts_[writer]) << "of writer " << writer;
    }
    counts_ = counts;
  }

  const StoreDurability mode_;
  std::mt19937_64 random_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store";
  Counts counts_{};
};

TEST(StoreKill, LosesNothingThatWasDurableOrRead) {
  constexpr uint64_t kLives = 5;
  const uint64_t stores = ShareOf({.whole = 2'000, .usual = 100, .sanitized = 9});
  uint64_t kills = 0;
  ForEachSeed(1, stores, [&](uint64_t seed) {
    KilledStore store(static_cast<StoreDurability>(seed % 3), seed);
    for (uint64_t life = 0; life < kLives && !testing::Test::HasFailure(); ++life, ++kills) {
      store.LiveAndDie();
    }
  });
  std::cout << "kills " << kills << "\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
