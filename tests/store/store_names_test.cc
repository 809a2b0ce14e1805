// Names of files after a sync of the directory has failed: such a name may go, or come back, with any
// later loss of power, whatever later syncs have said.
#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <pleat/event_store.h>

#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kPowerLosses = 300;

class StoreNames : public testing::Test {
 protected:
  explicit StoreNames(StoreDurability mode) {
    options_ = {.partitions = 1,
                .durability = mode,
                .block_bytes = 4096,
                .segment_bytes = 4096,
                .identity = 7};
  }

  std::unique_ptr<EventStore> Open(FaultyStorage& storage) {
    EventStoreOptions options = options_;
    options.storage = &storage;
    absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open("/d", options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static AppendOutcome Append(EventStore& store, size_t bytes) {
    return store.Append({.key = "k", .payload = std::string(bytes, 'x')}, kT0).outcome;
  }
  // A commit that begins a new file, whose sync of the directory fails.
  static absl::Status CommitWithoutNames(FaultyStorage& storage, EventStore& store) {
    const size_t calls = storage.calls();
    // It is the sixth call: create, write, write, sync, rename.
    storage.Fail({.call = calls + 5, .error = EIO});
    absl::Status committed = store.Commit();
    EXPECT_EQ(storage.log()[calls + 5].kind, StorageCall::Kind::kSyncDirectory);
    storage.Heal();
    return committed;
  }
  void ExpectKeptWithoutPower(const FaultyStorage& storage, uint64_t durable) {
    ForEachPowerLoss(storage, kPowerLosses, 1, [&](FaultyStorage left) {
      const auto store = Open(left);
      ASSERT_NE(store, nullptr);
      EXPECT_GE(store->Next(0), durable);
    });
  }

  EventStoreOptions options_;
};

class StoreNamesInGroup : public StoreNames {
 protected:
  StoreNamesInGroup() : StoreNames(StoreDurability::kGroup) {}
};

// Files that were given up have the numbers 2 to 4. The next life gives 2 again; and then 3 comes back.
TEST_F(StoreNamesInGroup, ThatComeBackDoNotCountBesideThoseOfALaterLife) {
  FaultyStorage storage;
  auto store = Open(storage);
  ASSERT_EQ(Append(*store, 10), AppendOutcome::kAppended);
  ASSERT_TRUE(store->Commit().ok());
  ASSERT_EQ(Append(*store, 10), AppendOutcome::kAppended);
  storage.Fail({.call = storage.calls(), .error = ENOSPC});
  ASSERT_FALSE(store->Commit().ok());
  storage.Heal();
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(CommitWithoutNames(storage, *store).ok());
  store.reset();
  store = Open(storage);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(Append(*store, 20), AppendOutcome::kAppended);
    ASSERT_TRUE(store->Commit().ok());
  }
  const uint64_t durable = store->Durable(0);
  store.reset();
  ExpectKeptWithoutPower(storage, durable);
}

class StoreNamesInProcess : public StoreNames {
 protected:
  StoreNamesInProcess() : StoreNames(StoreDurability::kProcess) {}
};

// Full files whose names were never synced. A sync of the directory fails for a new file: then the
// names of the full ones are as uncertain.
TEST_F(StoreNamesInProcess, OfFullFilesAreMadeAnewIfOneSyncOfTheDirectoryFails) {
  FaultyStorage storage;
  auto store = Open(storage);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Append(*store, 5000), AppendOutcome::kAppended);
  storage.Fail({.call = storage.calls() + 1, .error = ENOSPC});
  ASSERT_EQ(Append(*store, 5000), AppendOutcome::kAppended);
  storage.Heal();
  EXPECT_EQ(store->state().answers, AppendOutcome::kStoreFull);
  EXPECT_FALSE(CommitWithoutNames(storage, *store).ok());
  // What the disk says now of the old files is not believed; they are written again.
  absl::Status synced = store->Sync();
  if (!synced.ok()) synced = store->Sync();
  EXPECT_TRUE(synced.ok()) << synced;
  EXPECT_TRUE(store->Close().ok());
  EXPECT_EQ(store->Durable(0), 5u);
  store.reset();
  ExpectKeptWithoutPower(storage, 5);
}

}  // namespace
}  // namespace pleat::inline v0_1
