// Retention: which files a store removes, who is told, and that whatever fails, what is left is whole.
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>

#include "tests/store/store_life.h"
#include "tests/store/watched_storage.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kPowerLosses = 100;
constexpr RetentionOptions kAllRead = {.appended_since = kEndOfTime};

// One partition; each record fills a file.
class StoreRetention : public testing::Test {
 protected:
  std::unique_ptr<EventStore> Open(Storage& storage,
                                   StoreDurability mode = StoreDurability::kGroup) {
    absl::StatusOr<std::unique_ptr<EventStore>> store =
        EventStore::Open(kStorePath, {.storage = &storage,
                                      .partitions = 1,
                                      .durability = mode,
                                      .block_bytes = 4096,
                                      .segment_bytes = 4096,
                                      .identity = 7});
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  // The record of offset N is appended at the second N.
  void Append(size_t count) { Append(*store_, count); }
  static void Append(EventStore& store, size_t count) {
    for (; count > 0; --count) {
      const std::string payload(5000, 'x');
      ASSERT_EQ(store.Append({.key = "k", .payload = payload}, At(store.Next(0))).outcome,
                AppendOutcome::kAppended);
      ASSERT_TRUE(store.Commit().ok());
    }
  }
  static EngineTime At(uint64_t second) { return kT0 + std::chrono::seconds(second); }
  std::vector<std::string> Segments() {
    std::vector<std::string> segments = storage_.Paths();
    std::erase_if(segments, [](const std::string& path) { return !path.starts_with("/d/seg"); });
    return segments;
  }
  static ReadOutcome Read(const EventStore& store, const StorePosition& from) {
    StorePage page;
    const absl::StatusOr<ReadOutcome> read = store.Read(0, from, 1, page);
    EXPECT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(page.next(), from.offset + page.records().size());
    return read.value_or(ReadOutcome::kEnd);
  }

  FaultyStorage storage_;
  std::unique_ptr<EventStore> store_ = Open(storage_);
};

TEST_F(StoreRetention, RemovesNothingUnlessAsked) {
  Append(4);
  EXPECT_EQ(store_->Trim({})->files, 0u);
  EXPECT_EQ(store_->First(0), 0u);
  EXPECT_EQ(Segments().size(), 4u);
}

TEST_F(StoreRetention, RemovesFilesWhoseRecordsAreAllOlder) {
  Append(6);
  EXPECT_EQ(store_->Trim({.appended_since = At(2)})->files, 2u);
  EXPECT_EQ(store_->First(0), 2u);
  EXPECT_THAT(Segments(),
              ElementsAre("/d/segment-3", "/d/segment-4", "/d/segment-5", "/d/segment-6"));
  EXPECT_EQ(Read(*store_, 1), ReadOutcome::kPositionLost);
  EXPECT_EQ(Read(*store_, 2), ReadOutcome::kRecords);
  EXPECT_EQ(store_->Trim({.appended_since = At(2)})->files, 0u);
}

TEST_F(StoreRetention, KeepsTheNewestFileAlways) {
  Append(3);
  const uint64_t bytes = store_->state().bytes;
  const absl::StatusOr<TrimAnswer> trimmed = store_->Trim(kAllRead);
  EXPECT_EQ(trimmed->files, 2u);
  EXPECT_EQ(store_->state().bytes, bytes - trimmed->bytes);
  EXPECT_EQ(store_->state().segments, 1u);
  Append(1);
  EXPECT_EQ(Read(*store_, 3), ReadOutcome::kRecords);
}

TEST_F(StoreRetention, GoesOnWhereItWasWhenTheStoreIsOpenedAgain) {
  Append(4);
  ASSERT_EQ(store_->Trim(kAllRead)->files, 3u);
  for (int life = 0; life < 3; ++life) {
    store_.reset();
    store_ = Open(storage_);
    EXPECT_EQ(store_->First(0), 3u);
    EXPECT_EQ(Read(*store_, 2), ReadOutcome::kPositionLost);
    EXPECT_EQ(Read(*store_, 3), ReadOutcome::kRecords);
    Append(1);
  }
  ASSERT_EQ(store_->Trim(kAllRead)->files, 3u);
  EXPECT_EQ(store_->First(0), 6u);
}

// A file is on the disk when a Commit() has synced it.
TEST_F(StoreRetention, KeepsWhatMayNotBeOnTheDiskYet) {
  FaultyStorage storage;
  const auto store = Open(storage, StoreDurability::kProcess);
  const std::string payload(5000, 'x');
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(store->Append({.key = "k", .payload = payload}, kT0).outcome,
              AppendOutcome::kAppended);
  }
  EXPECT_EQ(store->Trim(kAllRead)->files, 0u);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_GT(store->Trim(kAllRead)->files, 0u);
}

TEST_F(StoreRetention, RemovesWhatIsAboveItsBoundOfBytes) {
  Append(5);
  const uint64_t file = store_->state().bytes / 5;
  EXPECT_EQ(store_->Trim({.bytes_max = 3 * file + 100})->files, 2u);
  EXPECT_EQ(store_->First(0), 2u);
}

// A page does not need a record that is gone to know that it may read on.
TEST_F(StoreRetention, LeavesAPositionAtTheFirstRecordGood) {
  Append(4);
  StorePage page;
  ASSERT_EQ(*store_->Read(0, 1, 1, page), ReadOutcome::kRecords);
  const StorePosition position = page.position();
  ASSERT_EQ(position.offset, 2u);
  ASSERT_EQ(store_->Trim({.appended_since = At(2)})->files, 2u);
  EXPECT_EQ(Read(*store_, position), ReadOutcome::kRecords);
  EXPECT_EQ(Read(*store_, StorePosition(1, position.mark)), ReadOutcome::kPositionLost);
}

TEST_F(StoreRetention, IsSeenByReadersWhenTheyRefresh) {
  Append(5);
  const auto reader = *EventStoreReader::Open(kStorePath, &storage_);
  const auto late = *EventStoreReader::Open(kStorePath, &storage_);
  ASSERT_EQ(store_->Trim({.appended_since = At(3)})->files, 3u);
  Append(3);
  StorePage page;
  // One that has not refreshed finds out when it misses a file.
  EXPECT_EQ(*reader->Read(0, 1, 1, page), ReadOutcome::kPositionLost);
  EXPECT_EQ(reader->First(0), 3u);
  ASSERT_EQ(store_->Trim({.appended_since = At(7)})->files, 4u);
  // All that this one knew is gone.
  ASSERT_TRUE(late->Refresh().ok());
  EXPECT_EQ(late->First(0), 7u);
  EXPECT_EQ(late->Durable(0), 8u);
  EXPECT_EQ(*late->Read(0, 7, 1, page), ReadOutcome::kRecords);
  EXPECT_EQ(*late->Read(0, 6, 1, page), ReadOutcome::kPositionLost);
  Append(1);
  ASSERT_TRUE(late->Refresh().ok());
  EXPECT_EQ(*late->Read(0, 8, 1, page), ReadOutcome::kRecords);
}

// Notes say how far sources were taken, so the latest ones stay when their records go.
TEST_F(StoreRetention, KeepsTheLatestNotes) {
  const auto note = [this](std::string_view name, std::string_view value) {
    ASSERT_EQ(store_->AppendBatch({}, At(0), {.note = StoreNote{name, value}}).outcome,
              AppendOutcome::kAppended);
  };
  note("a", "old");
  note("b", "one");
  Append(3);
  note("a", "new");
  Append(2);
  const auto values = [](const StoreNotes& notes) {
    std::string all;
    for (const auto& [name, value] : notes) all += name + "=" + value + " ";
    return all;
  };
  ASSERT_EQ(store_->Trim(kAllRead)->files, 4u);
  EXPECT_EQ(values(*store_->Notes()), "a=new b=one ");
  Append(3);
  ASSERT_GT(store_->Trim(kAllRead)->files, 0u);
  EXPECT_EQ(values(*store_->Notes()), "a=new b=one ");
  EXPECT_EQ(values(*(*EventStoreReader::Open(kStorePath, &storage_))->Notes()), "a=new b=one ");
  store_.reset();
  store_ = Open(storage_);
  EXPECT_EQ(values(*store_->Notes()), "a=new b=one ");
  note("b", "two");
  ASSERT_TRUE(store_->Commit().ok());
  EXPECT_EQ(values(*store_->Notes()), "a=new b=two ");
}

TEST_F(StoreRetention, KeepsANoteThatComesMeanwhile) {
  store_.reset();
  WatchedStorage watched(storage_);
  store_ = Open(watched);
  const auto note = [this](std::string_view value) {
    return store_->AppendBatch({}, At(0), {.note = StoreNote{"a", value}}).outcome;
  };
  ASSERT_EQ(note("old"), AppendOutcome::kAppended);
  Append(3);
  ASSERT_EQ(store_->Append({.key = "k"}, At(3)).outcome, AppendOutcome::kAppended);
  bool came = false;
  watched.AtSync([&] {
    if (std::exchange(came, true)) return;
    EXPECT_EQ(note("new"), AppendOutcome::kAppended);
  });
  ASSERT_GT(store_->Trim(kAllRead)->files, 0u);
  ASSERT_TRUE(store_->Commit().ok());
  EXPECT_EQ(*store_->Notes(), (StoreNotes{{"a", "new"}}));
  store_.reset();  // before its storage
}

TEST_F(StoreRetention, OfTwoAtOnceKeepsTheLatestNotes) {
  store_.reset();
  WatchedStorage watched(storage_);
  store_ = Open(watched);
  for (int i = 1; i <= 5; ++i) {
    const std::string value = std::to_string(i);
    ASSERT_EQ(store_->AppendBatch({}, At(0), {.note = StoreNote{"a", value}}).outcome,
              AppendOutcome::kAppended);
    Append(2);
  }
  const auto reader = *EventStoreReader::Open(kStorePath, &storage_);
  std::thread other([&] { EXPECT_TRUE(store_->Trim({.appended_since = At(6)}).ok()); });
  EXPECT_TRUE(store_->Trim(kAllRead).ok());
  other.join();
  EXPECT_EQ(*store_->Notes(), (StoreNotes{{"a", "5"}}));
  EXPECT_EQ(*reader->Notes(), (StoreNotes{{"a", "5"}})) << "though it has not refreshed";
  store_.reset();
}

TEST_F(StoreRetention, ByAgeIsNotEndedByANoteOfAWrongTime) {
  const EngineTime wrong = At(0) + std::chrono::hours(24 * 365);
  Append(1);
  EXPECT_EQ(store_->AppendBatch({}, At(1), {.note = StoreNote{"a", "1"}}).outcome,
            AppendOutcome::kAppended);
  EXPECT_EQ(store_->AppendBatch({}, wrong, {.note = StoreNote{"a", "2"}}).outcome,
            AppendOutcome::kTooFarAhead);
  EXPECT_EQ(
      store_->AppendBatch({}, wrong, {.note = StoreNote{"a", "3"}, .confirm_time = true}).outcome,
      AppendOutcome::kAppended);
  Append(3);
  EXPECT_GT(store_->Trim({.appended_since = At(3)})->files, 0u);
}

// There is no space to take notes again; what goes before the first of them makes some.
TEST_F(StoreRetention, FreesADiskThatIsFull) {
  Append(3);
  ASSERT_EQ(store_->AppendBatch({}, At(3), {.note = StoreNote{"a", "1"}}).outcome,
            AppendOutcome::kAppended);
  Append(3);
  store_.reset();
  WatchedStorage watched(storage_);
  store_ = Open(watched);
  ASSERT_EQ(store_->Append({.key = "k"}, At(6)).outcome, AppendOutcome::kAppended);
  watched.Have(WatchedStorage::Trouble::kFull);
  EXPECT_FALSE(store_->Commit().ok());
  EXPECT_FALSE(store_->Trim(kAllRead).ok()) << "MANIFEST cannot be written either";
  watched.Have(WatchedStorage::Trouble::kNone);
  EXPECT_GT(store_->Trim(kAllRead)->files, 0u);
  EXPECT_EQ(*store_->Notes(), (StoreNotes{{"a", "1"}}));
  store_.reset();
}

// What a start has found and could not write again is not taken for the end.
TEST_F(StoreRetention, OfAStoreInTroubleTellsReadersTheTruth) {
  FaultyStorage storage;
  {
    const auto store = Open(storage, StoreDurability::kInterval);
    Append(*store, 5);
    ASSERT_EQ(store->Append({.key = "k"}, At(5)).outcome, AppendOutcome::kAppended);
  }
  WatchedStorage watched(storage);
  watched.Have(WatchedStorage::Trouble::kSync);
  const auto store = Open(watched, StoreDurability::kInterval);
  watched.Have(WatchedStorage::Trouble::kNone);
  ASSERT_GT(store->Trim(kAllRead)->files, 0u);
  const auto reader = *EventStoreReader::Open(kStorePath, &storage);
  ASSERT_TRUE(reader->Refresh().ok());
  EXPECT_EQ(reader->First(0), store->First(0));
  EXPECT_EQ(reader->Durable(0), store->Durable(0));
}

// Whatever call fails, and if the power goes then or later: the oldest files are all there or all
// gone, what is left can be read, and what Trim() called done stays so.
TEST_F(StoreRetention, IsDoneOrNotWhateverFails) {
  Append(5);
  store_.reset();
  for (size_t call = 0, calls = 1; call < calls; ++call) {
    FaultyStorage storage = storage_;
    auto store = Open(storage);
    Append(*store, 1);
    const size_t begun = storage.calls();
    storage.Fail({.call = begun + call, .error = EIO});
    const absl::StatusOr<TrimAnswer> trimmed = store->Trim({.appended_since = At(3)});
    calls = storage.calls() - begun;
    storage.Heal();
    const uint64_t first = store->First(0);
    EXPECT_EQ(first, trimmed.ok() ? 3u : 0u);
    Append(*store, 1);
    ForEachPowerLoss(storage, kPowerLosses, call, [&](FaultyStorage left) {
      const auto found = Open(left);
      EXPECT_TRUE(!trimmed.ok() || found->First(0) == 3);
      EXPECT_TRUE(found->First(0) == 0 || found->First(0) == 3);
      for (uint64_t next = found->First(0); next < 7; ++next) {
        EXPECT_EQ(Read(*found, next), ReadOutcome::kRecords) << next;
      }
    });
  }
}

// A life with a consumer that reads two of three records, and a trim behind each commit. `told` gets
// where the consumer stood, by the calls of the disk up to then.
using ToldCheckpoints = std::vector<std::pair<size_t, uint64_t>>;
void LiveWithAConsumer(FaultyStorage& storage, ToldCheckpoints& told) {
  const auto store = EventStore::Open(kStorePath, {.storage = &storage,
                                                   .partitions = 1,
                                                   .durability = StoreDurability::kGroup,
                                                   .block_bytes = 4096,
                                                   .segment_bytes = 4096,
                                                   .identity = 7});
  if (!store.ok()) return;
  const auto consumer = StoreConsumer::Open(kStorePath, "mail", &storage);
  if (!consumer.ok()) return;
  told.emplace_back(storage.calls(), 0);
  for (uint64_t round = 1; round < 4; ++round) {
    const std::string payload(5000, 'x');
    for (int i = 0; i < 3; ++i) {
      static_cast<void>((*store)->Append({.key = "k", .payload = payload}, kT0));
      (*store)->Commit().IgnoreError();
    }
    const uint64_t offset = std::min(2 * round, (*store)->Durable(0));
    if ((*consumer)->Commit({.partition = 0, .position = offset}).ok()) {
      told.emplace_back(storage.calls(), offset);
    }
    (*store)->Trim(kAllRead).IgnoreError();
  }
}

// What is left has no record removed that the consumer may read, who is not behind what was told.
void CheckConsumer(FaultyStorage& left, uint64_t least) {
  const auto store = EventStoreReader::Open(kStorePath, &left);
  if (absl::IsNotFound(store.status())) {
    EXPECT_EQ(least, 0u);
    return;
  }
  ASSERT_TRUE(store.ok()) << store.status();
  const auto checkpoints = StoreConsumer::Look(kStorePath, "mail", &left);
  if (absl::IsNotFound(checkpoints.status())) {
    EXPECT_EQ(least, 0u);
    EXPECT_EQ((*store)->First(0), 0u);
    return;
  }
  ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
  const uint64_t offset = checkpoints->front().position.offset;
  EXPECT_GE(offset, least);
  EXPECT_LE((*store)->First(0), offset);
  StorePage page;
  for (uint64_t next = offset; next < (*store)->Durable(0); next = page.next()) {
    ASSERT_EQ(*(*store)->Read(0, next, 1, page), ReadOutcome::kRecords);
  }
}

TEST(StoreRetentionByConsumers, NothingThatOneHasNotReadGoesWithThePower) {
  FaultyStorage storage;
  storage.Record();
  ToldCheckpoints told;
  LiveWithAConsumer(storage, told);
  ASSERT_EQ(told.back().second, 6u);
  ASSERT_GT((*EventStoreReader::Open(kStorePath, &storage))->First(0), 2u);
  for (size_t call = 0; call <= storage.calls(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    uint64_t least = 0;
    for (const auto& [behind, offset] : told) {
      if (behind <= call) least = offset;
    }
    FaultyStorage killed = storage.At(call);
    ForEachPowerLoss(killed, ShareOf({.whole = 200, .usual = 24, .sanitized = 2}), call,
                     [&](FaultyStorage left) { CheckConsumer(left, least); });
    CheckConsumer(killed, least);
    if (HasFailure()) return;
  }
}

// Each call fails once, without effect or with it; or it fails for good.
TEST(StoreRetentionByConsumers, NothingThatOneHasNotReadGoesWhereTheDiskFails) {
  FaultyStorage whole;
  ToldCheckpoints all;
  LiveWithAConsumer(whole, all);
  const size_t step = ShareOf({.whole = 1, .usual = 1, .sanitized = 13});
  for (size_t call = 0; call < whole.calls() && !HasFailure(); call += step) {
    for (const StorageFault& fault :
         {StorageFault{.call = call}, StorageFault{.call = call, .done = true},
          StorageFault{.call = call, .for_good = true}}) {
      SCOPED_TRACE("call " + std::to_string(call) + ", " + std::to_string(fault.done) +
                   std::to_string(fault.for_good));
      FaultyStorage storage;
      storage.Fail(fault);
      ToldCheckpoints told;
      LiveWithAConsumer(storage, told);
      const uint64_t least = told.empty() ? 0 : told.back().second;
      FaultyStorage killed = storage;
      ForEachPowerLoss(killed, ShareOf({.whole = 32, .usual = 6, .sanitized = 2}), call,
                       [&](FaultyStorage left) { CheckConsumer(left, least); });
      CheckConsumer(killed, least);
    }
  }
}

TEST(StoreRetentionByConsumers, KeepsWhatOneHasNotReadAndNamesThoseWhoLose) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store";
  const auto store =
      *EventStore::Open(path, {.partitions = 1, .block_bytes = 4096, .segment_bytes = 4096});
  for (int i = 0; i < 6; ++i) {
    const std::string payload(5000, 'x');
    ASSERT_EQ(store->Append({.key = "k", .payload = payload}, kT0).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store->Commit().ok());
  }
  const auto fast = *StoreConsumer::Open(path, "fast");
  const auto slow = *StoreConsumer::Open(path, "slow");
  ASSERT_TRUE(fast->Commit({.partition = 0, .position = 5}).ok());
  ASSERT_TRUE(slow->Commit({.partition = 0, .position = 2}).ok());
  absl::StatusOr<TrimAnswer> trimmed = store->Trim(kAllRead);
  ASSERT_TRUE(trimmed.ok()) << trimmed.status();
  EXPECT_EQ(trimmed->files, 2u);
  EXPECT_THAT(trimmed->lost_by, IsEmpty());
  trimmed = store->Trim({.bytes_max = 1});
  EXPECT_EQ(store->First(0), 5u);
  EXPECT_THAT(trimmed->lost_by, ElementsAre("slow"));
  ASSERT_TRUE(slow->Commit({.partition = 0, .position = 5}).ok());
  EXPECT_THAT(store->Trim({.appended_since = kEndOfTime, .unread = false})->lost_by, IsEmpty());
  // One that has just been opened has read nothing; nor has one whose position is lost.
  const auto fresh = *StoreConsumer::Open(path, "fresh");
  for (int i = 0; i < 3; ++i) {
    const std::string payload(5000, 'x');
    ASSERT_EQ(store->Append({.key = "k", .payload = payload}, kT0).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store->Commit().ok());
  }
  ASSERT_TRUE(fast->Commit({.partition = 0, .position = 9}).ok());
  ASSERT_TRUE(slow->Commit({.partition = 0, .position = 9}).ok());
  EXPECT_EQ(store->Trim(kAllRead)->files, 0u) << "for the sake of the fresh one";
  ASSERT_TRUE(fresh->Commit({.partition = 0, .position = {8, 12345}}).ok());
  EXPECT_EQ(store->Trim(kAllRead)->files, 0u) << "it was not these records that were read";
  ASSERT_TRUE(fresh->Commit({.partition = 0, .position = 8}).ok());
  EXPECT_EQ(store->Trim(kAllRead)->files, 3u);
}

TEST(StoreRetentionByConsumers, RefusesAPathThatLeadsElsewhere) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store";
  const auto store = *EventStore::Open(path, {.partitions = 1});
  std::filesystem::rename(path, directory / "moved");
  EXPECT_TRUE(absl::IsFailedPrecondition(store->Trim(kAllRead).status()));
}

}  // namespace
}  // namespace pleat::inline v0_1
