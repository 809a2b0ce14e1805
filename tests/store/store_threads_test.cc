// Threads that append, commit, close and read at the same time, on a disk that is well and on one whose
// troubles come and go. For ThreadSanitizer above all.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/event_store.h>

#include "tests/store/watched_storage.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/share.h"
#include "tests/support/start.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using Trouble = WatchedStorage::Trouble;

constexpr int kPartitions = 4;

// What a writer has to say: payloads are its number and that of the record, which goes up by one in the
// order of its calls.
struct Batch {
  Batch(int writer, uint64_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = first + i;
      keys.push_back("w" + std::to_string(writer) + "k" + std::to_string(number % 5));
      payloads.push_back(std::to_string(writer) + " " + std::to_string(number));
    }
    for (size_t i = 0; i < count; ++i) records.push_back({.key = keys[i], .payload = payloads[i]});
  }

  std::vector<std::string> keys, payloads;
  std::vector<StoreRecord> records;
};

bool IsForLater(AppendOutcome outcome) {
  return outcome == AppendOutcome::kOverloaded || outcome == AppendOutcome::kStoreFull ||
         outcome == AppendOutcome::kStoreFailed;
}

// A store that never takes anything again would have its writers wait for ever.
class Patience {
 public:
  bool IsOver() { return ++refused_ > 2'000'000; }
  void Renew() { refused_ = 0; }

 private:
  int refused_ = 0;
};

// Appends all of them, by keys; what is refused is tried again from where it was.
void Write(EventStore& store, int writer, uint64_t all, size_t batch) {
  Patience patience;
  for (uint64_t number = 0; number < all;) {
    const Batch next(writer, number, std::min<uint64_t>(batch, all - number));
    const AppendAnswer answer =
        store.AppendBatch(next.records, kT0 + Duration(static_cast<int64_t>(number)));
    ASSERT_TRUE(answer.outcome == AppendOutcome::kAppended || IsForLater(answer.outcome));
    ASSERT_EQ(answer.outcome == AppendOutcome::kAppended, answer.taken == next.records.size());
    ASSERT_TRUE(answer.taken == next.records.size() || answer.taken % kWholeRecordsMax == 0);
    number += answer.taken;
    if (answer.taken > 0) {
      patience.Renew();
    } else {
      ASSERT_FALSE(patience.IsOver());
      std::this_thread::yield();
    }
  }
}

// The same to one partition, of which nobody else writes: each record has its number as its offset.
void WriteExpected(EventStore& store, int partition, uint64_t all) {
  Patience patience;
  for (uint64_t number = 0; number < all;) {
    const Batch next(partition, number, std::min<uint64_t>(1 + number % 7, all - number));
    const AppendAnswer stale =
        store.AppendBatch(next.records, kT0, {.partition = partition, .expected = number + 1});
    ASSERT_TRUE(stale.outcome == AppendOutcome::kConflict || IsForLater(stale.outcome));
    const AppendAnswer answer =
        store.AppendBatch(next.records, kT0, {.partition = partition, .expected = number});
    if (answer.outcome == AppendOutcome::kAppended) {
      ASSERT_EQ(answer.offset, number);
      number += next.records.size();
      patience.Renew();
    } else {
      ASSERT_TRUE(IsForLater(answer.outcome));
      ASSERT_FALSE(patience.IsOver());
      std::this_thread::yield();
    }
  }
}

// Follows all partitions until there are so many records, and sees that each writer's come in order,
// and that what is durable can be read, whatever the disk does.
void Follow(const EventStore& store, uint64_t all, int writers) {
  std::vector<uint64_t> next(kPartitions, 0);
  std::vector<std::vector<uint64_t>> newest(kPartitions,
                                            std::vector<uint64_t>(static_cast<size_t>(writers), 0));
  StorePage page;
  for (uint64_t read = 0; read < all && !testing::Test::HasFailure();) {
    for (int p = 0; p < kPartitions; ++p) {
      const auto partition = static_cast<size_t>(p);
      const uint64_t durable = store.Durable(p);
      const absl::StatusOr<ReadOutcome> outcome = store.Read(p, next[partition], 4000, page);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_TRUE(*outcome == ReadOutcome::kRecords || durable <= next[partition]);
      for (const StoredRecord& record : page.records()) {
        ASSERT_EQ(record.offset, next[partition]++);
        const auto writer = static_cast<size_t>(record.payload[0] - '0');
        const uint64_t number = std::stoull(std::string(record.payload.substr(2))) + 1;
        ASSERT_GT(number, newest[partition][writer]);
        newest[partition][writer] = number;
        ++read;
      }
    }
    std::this_thread::yield();
  }
}

uint64_t DurableOf(const EventStore& store) {
  uint64_t durable = 0;
  for (int p = 0; p < kPartitions; ++p) durable += store.Durable(p);
  return durable;
}

class StoreThreads : public testing::TestWithParam<StoreDurability> {
 protected:
  std::unique_ptr<EventStore> Open(Storage* storage, bool wait_when_full = true) {
    return *EventStore::Open(directory_ / "store", {.storage = storage,
                                                    .partitions = kPartitions,
                                                    .durability = GetParam(),
                                                    .unsynced_bytes_max = 20'000,
                                                    .wait_when_full = wait_when_full,
                                                    .block_bytes = 8'192,
                                                    .segment_bytes = 100'000});
  }

  const TemporaryDirectory directory_{PlaceForKills()};
};
INSTANTIATE_TEST_SUITE_P(Modes, StoreThreads,
                         testing::Values(StoreDurability::kProcess, StoreDurability::kInterval,
                                         StoreDurability::kGroup));

TEST_P(StoreThreads, TwoAppendOneCommitsAndOneReads) {
  const uint64_t each = ShareOf({.whole = 160'000, .usual = 16'000, .sanitized = 4'000});
  const auto store = Open(nullptr);
  std::atomic<bool> done = false;
  std::thread committer([&] {
    while (!done) {
      EXPECT_TRUE(store->Commit().ok());
      std::this_thread::yield();
    }
  });
  std::thread reader([&] { Follow(*store, 2 * each, 2); });
  std::thread first([&] { Write(*store, 0, each, 8); });
  Write(*store, 1, each, 8);
  first.join();
  EXPECT_TRUE(store->Commit().ok());
  reader.join();
  done = true;
  committer.join();
  EXPECT_EQ(DurableOf(*store), 2 * each);
  EXPECT_TRUE(store->Close().ok());
}

// Batches of more records than go into one block together, callers that do not wait, and ones that know
// their offset; beside Sync() and state(), and troubles of the disk. Then it is closed and opened again.
TEST_P(StoreThreads, AppendCommitSyncAndReadWhileTroublesComeAndGo) {
  const uint64_t each = ShareOf({.whole = 60'000, .usual = 6'000, .sanitized = 1'000});
  for (const bool wait_when_full : {true, false}) {
    const TemporaryDirectory directory(PlaceForKills());
    WatchedStorage watched(PosixStorage());
    const EventStoreOptions options{.storage = &watched,
                                    .partitions = kPartitions,
                                    .durability = GetParam(),
                                    .unsynced_bytes_max = 20'000,
                                    .wait_when_full = wait_when_full,
                                    .block_bytes = 8'192,
                                    .segment_bytes = 30'000};
    const uint64_t all = 3 * each;
    {
      const auto store = *EventStore::Open(directory / "store", options);
      std::atomic<bool> done = false;
      std::thread committer([&] {
        for (int i = 0; !done; ++i) {
          // Each trouble lasts for a few commits, and then the disk is well for a few.
          constexpr Trouble kTroubles[] = {Trouble::kFull, Trouble::kSync, Trouble::kSyncDirectory};
          watched.Have(i % 8 < 2 ? kTroubles[i / 8 % 3] : Trouble::kNone);
          const absl::Status status = i % 5 == 4 ? store->Sync() : store->Commit();
          EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status) || absl::IsInternal(status))
              << status;
          EXPECT_GT(store->state().identity, 0u);
          std::this_thread::yield();
        }
      });
      std::thread reader([&] { Follow(*store, all, kPartitions); });
      std::thread by_key([&] { Write(*store, 0, each, 600); });
      std::thread other([&] { Write(*store, 1, each, 8); });
      Write(*store, 2, each, 30);
      by_key.join();
      other.join();
      done = true;
      committer.join();
      watched.Have(Trouble::kNone);
      EXPECT_TRUE(store->Commit().ok());
      reader.join();
      EXPECT_EQ(DurableOf(*store), all);
      const absl::Status closed = store->Close();
      EXPECT_TRUE(closed.ok()) << closed;
    }
    const auto store = *EventStore::Open(directory / "store", options);
    EXPECT_EQ(DurableOf(*store), all);
    Follow(*store, all, kPartitions);
    if (HasFailure()) return;
  }
}

// Nobody else writes to its partition: an offset that it expects is there, and one that it does not is a
// conflict, whatever the others and the disk do.
TEST_P(StoreThreads, EachHasAPartitionAndExpectsItsOffsets) {
  const uint64_t each = ShareOf({.whole = 30'000, .usual = 3'000, .sanitized = 500});
  WatchedStorage watched(PosixStorage());
  const auto store = Open(&watched);
  std::atomic<bool> done = false;
  std::thread committer([&] {
    for (int i = 0; !done; ++i) {
      watched.Have(i % 6 == 0 ? Trouble::kFull : Trouble::kNone);
      const absl::Status status = store->Commit();
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
      std::this_thread::yield();
    }
  });
  std::thread first([&] { WriteExpected(*store, 0, each); });
  std::thread second([&] { WriteExpected(*store, 1, each); });
  WriteExpected(*store, 3, each);
  first.join();
  second.join();
  done = true;
  committer.join();
  watched.Have(Trouble::kNone);
  ASSERT_TRUE(store->Close().ok());
  for (const int partition : {0, 1, 3}) EXPECT_EQ(store->Durable(partition), each);
  Follow(*store, 3 * each, kPartitions);
}

// What a writer was told is durable stays readable, also while the store gives a file up and writes what
// that had into another one.
TEST_P(StoreThreads, OneReadsAnyDurableOffsetWhileTheStoreResumes) {
  const int rounds = static_cast<int>(ShareOf({.whole = 300, .usual = 30, .sanitized = 6}));
  WatchedStorage watched(PosixStorage());
  const auto store = *EventStore::Open(directory_ / "store", {.storage = &watched,
                                                              .partitions = 1,
                                                              .durability = GetParam(),
                                                              .segment_bytes = uint64_t{1} << 30});
  std::atomic<bool> done = false;
  std::atomic<uint64_t> reads = 0;
  std::thread reader([&] {
    std::mt19937_64 random(1);
    StorePage page;
    while (!done && !HasFailure()) {
      const uint64_t durable = store->Durable(0);
      if (durable == 0) continue;
      const uint64_t from = durable - 1 - random() % std::min<uint64_t>(durable, 300);
      const absl::StatusOr<ReadOutcome> read = store->Read(0, from, 10, page);
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(*read, ReadOutcome::kRecords);
      ASSERT_EQ(page.records()[0].payload, std::to_string(from));
      ++reads;
    }
  });
  uint64_t number = 0;
  const auto live = [&](Trouble trouble) {
    // A block each, so that there is much to be written again.
    for (int i = 0; i < 200; ++i) {
      const std::string payload = std::to_string(number);
      ASSERT_EQ(store->Append({.payload = payload}, kT0).outcome, AppendOutcome::kAppended);
      ++number;
      const bool last = i == 199;
      if (last) watched.Have(trouble);
      const absl::Status committed = store->Commit();
      ASSERT_TRUE(committed.ok() || last) << committed;
    }
    EXPECT_FALSE(store->Sync().ok());
    watched.Have(Trouble::kNone);
    const absl::Status resumed = store->Commit();
    ASSERT_TRUE(resumed.ok()) << resumed;
    EXPECT_EQ(store->Durable(0), number);
    const uint64_t before = reads;
    while (reads < before + 20 && !HasFailure()) std::this_thread::yield();
  };
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    live(round % 2 == 0 ? Trouble::kFull : Trouble::kSync);
  }
  done = true;
  reader.join();
  EXPECT_TRUE(store->Close().ok());
}

// Who was told that a record was taken finds it durable when Close() has returned, however close they
// came to each other.
TEST_P(StoreThreads, OneClosesWhileOthersAppend) {
  const uint64_t rounds = ShareOf({.whole = 2'000, .usual = 150, .sanitized = 40});
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    FaultyStorage storage;
    const auto store = *EventStore::Open(
        "/d",
        {.storage = &storage, .partitions = kPartitions, .durability = GetParam(), .identity = 7});
    std::atomic<uint64_t> taken = 0;
    const auto append = [&](int writer, size_t batch) {
      for (uint64_t i = 0; i < 3000; ++i) {
        const AppendAnswer answer = store->AppendBatch(Batch(writer, i, batch).records, kT0);
        taken += answer.taken;
        if (answer.outcome == AppendOutcome::kStoreFailed) return;
        ASSERT_EQ(answer.outcome, AppendOutcome::kAppended);
      }
    };
    std::thread first([&] { append(0, 1); });
    std::thread second([&] { append(1, 1 + round % 400); });
    while (taken < round % 50) std::this_thread::yield();
    const absl::Status closed = store->Close();
    first.join();
    second.join();
    ASSERT_TRUE(closed.ok()) << closed;
    ASSERT_EQ(DurableOf(*store), taken);
    for (int p = 0; p < kPartitions; ++p) ASSERT_EQ(store->Durable(p), store->Next(p));
  }
}

// A thread commits, and its sync waits until Release(). Then three more have appended, and commit: one of
// them by Sync().
class FourCommit {
 public:
  explicit FourCommit(StoreDurability durability)
      : store_(*EventStore::Open(
            directory_ / "store",
            {.storage = &watched_, .partitions = kPartitions, .durability = durability})) {
    Append(0);
    EXPECT_TRUE(store_->Commit().ok());  // a store that is warm
    const int warm = watched_.syncs();
    watched_.AtSync([this, warm] {
      if (watched_.syncs() != warm + 1) return;
      begun_.count_down();
      may_end_.wait();
    });
    syncs_before_ = warm;
    Append(0);
    threads_.emplace_back([this] { told_[0] = store_->Commit(); });
    begun_.wait();
    for (int p = 1; p < kPartitions; ++p) Append(p);
    for (int p = 1; p < kPartitions; ++p) {
      threads_.emplace_back([this, p] {
        told_[p] = p == 1 ? store_->Sync() : store_->Commit();
        durable_[p] = store_->Durable(p);
      });
    }
  }

  void Have(Trouble trouble) { watched_.Have(trouble); }
  void Release() {
    may_end_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

  EventStore& store() { return *store_; }
  int syncs() const { return watched_.syncs() - syncs_before_; }
  const absl::Status& told(int thread) const { return told_[thread]; }
  // What its partition had on the return of its commit.
  uint64_t durable(int thread) const { return durable_[thread]; }

 private:
  void Append(int partition) {
    EXPECT_EQ(store_->Append({}, kT0, {.partition = partition}).outcome, AppendOutcome::kAppended);
  }

  const TemporaryDirectory directory_{PlaceForKills()};
  WatchedStorage watched_{PosixStorage()};
  int syncs_before_ = 0;
  std::latch begun_{1}, may_end_{1};
  absl::Status told_[kPartitions];
  uint64_t durable_[kPartitions] = {};
  std::vector<std::thread> threads_;
  std::unique_ptr<EventStore> store_;
};

// Two of the three return without a sync of their own: their records came to the disk by that of the third.
TEST(StoreGroupCommit, OneSyncServesAllWhoAppendedWhileAnotherWasUnderWay) {
  for (const StoreDurability durability : {StoreDurability::kInterval, StoreDurability::kGroup}) {
    FourCommit four(durability);
    four.Release();
    EXPECT_EQ(four.syncs(), 2);
    for (int i = 0; i < kPartitions; ++i) {
      EXPECT_TRUE(four.told(i).ok()) << four.told(i);
      if (i > 0) {
        EXPECT_EQ(four.durable(i), 1u);
      }
    }
    EXPECT_EQ(four.store().state().unsynced_bytes, 0u);
  }
}

TEST(StoreGroupCommit, AllAreToldOfASyncThatFailed) {
  for (const StoreDurability durability : {StoreDurability::kInterval, StoreDurability::kGroup}) {
    FourCommit four(durability);
    four.Have(Trouble::kSync);
    four.Release();
    for (int i = 0; i < kPartitions; ++i) {
      EXPECT_TRUE(absl::IsInternal(four.told(i))) << four.told(i);
    }
    EXPECT_EQ(four.store().state().answers, AppendOutcome::kStoreFailed);
    four.Have(Trouble::kNone);
    EXPECT_TRUE(four.store().Commit().ok());
    EXPECT_EQ(DurableOf(four.store()), 5u);
    EXPECT_EQ(four.store().state().unsynced_bytes, 0u);
  }
}

// Old files go while two take notes of how far they came, and one reads: what is read has no gap but at
// the beginning, and the latest note of each is the one that was taken last.
TEST_P(StoreThreads, OneTrimsWhileOthersTakeNotesAndOneReads) {
  const uint64_t each = ShareOf({.whole = 200'000, .usual = 20'000, .sanitized = 1'000});
  const auto store = *EventStore::Open(
      directory_ / "store",
      {.partitions = 2, .durability = GetParam(), .block_bytes = 4096, .segment_bytes = 4096});
  std::atomic<int> writers = 2;
  const auto write = [&](int partition) {
    const std::string name = "of " + std::to_string(partition);
    for (uint64_t i = 0; i < each && !HasFailure(); ++i) {
      const std::string number = std::to_string(i);
      ASSERT_EQ(store
                    ->Append({.payload = number}, kT0,
                             {.partition = partition, .note = StoreNote{name, number}})
                    .outcome,
                AppendOutcome::kAppended);
      if (i % 20 == 0) {
        ASSERT_TRUE(store->Commit().ok());
      }
    }
    --writers;
  };
  const auto read = [&] {
    StorePage page;
    for (uint64_t next = 0; next < each && !HasFailure();) {
      const absl::StatusOr<ReadOutcome> outcome = store->Read(0, next, 500, page);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      if (*outcome == ReadOutcome::kPositionLost) {
        ASSERT_GT(store->First(0), next);
        next = store->First(0);
      }
      for (const StoredRecord& record : page.records()) {
        ASSERT_EQ(record.payload, std::to_string(next++));
      }
      if (writers == 0) {
        ASSERT_TRUE(store->Commit().ok());
      }
    }
  };
  std::thread first([&] { write(0); });
  std::thread second([&] { write(1); });
  std::thread reader(read);
  uint64_t files = 0;
  for (bool last = false; !last && !HasFailure();) {
    last = writers == 0;
    const absl::StatusOr<TrimAnswer> trimmed = store->Trim({.bytes_max = 10'000});
    ASSERT_TRUE(trimmed.ok() || absl::IsUnavailable(trimmed.status())) << trimmed.status();
    files += trimmed.ok() ? trimmed->files : 0;
  }
  for (std::thread* each_thread : {&first, &second, &reader}) each_thread->join();
  EXPECT_GT(files, 0u);
  ASSERT_TRUE(store->Commit().ok());
  const std::string last = std::to_string(each - 1);
  EXPECT_EQ(*store->Notes(), (StoreNotes{{"of 0", last}, {"of 1", last}}));
}

}  // namespace
}  // namespace pleat::inline v0_1
