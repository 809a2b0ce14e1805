// Copies of a store: record by record what the store had, in the order in which it was written, and
// nothing that was not durable; and whole or refused, wherever the copying ends.
#include <pleat/detail/store_copy.h>

#include <cerrno>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/store/store_life.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kCopyPath[] = "/copy";
using Records = std::map<int, std::vector<ModelRecord>>;

std::unique_ptr<EventStoreReader> OpenReader(FaultyStorage& storage, std::string_view path) {
  absl::StatusOr<std::unique_ptr<EventStoreReader>> reader = EventStoreReader::Open(path, &storage);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

Records RecordsOf(FaultyStorage& storage, std::string_view path) {
  const auto reader = OpenReader(storage, path);
  if (reader == nullptr) return {};
  absl::StatusOr<Records> all = ReadAll(*reader);
  EXPECT_TRUE(all.ok()) << all.status();
  return all.ok() ? *std::move(all) : Records();
}

StoreCopyReport Copied(FaultyStorage& storage, StoreCopyOptions options = {}) {
  options.storage = &storage;
  absl::StatusOr<StoreCopyReport> report = CopyEventStore(kStorePath, kCopyPath, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : StoreCopyReport();
}

absl::Status Refused(FaultyStorage& storage, StoreCopyOptions options = {}) {
  options.storage = &storage;
  return CopyEventStore(kStorePath, kCopyPath, options).status();
}

// A store of two partitions.
std::unique_ptr<EventStore> OpenStore(FaultyStorage& storage) {
  return *EventStore::Open(kStorePath, {.storage = &storage, .partitions = 2, .identity = 7});
}

void Append(EventStore& store, std::string_view key, std::string_view payload, EngineTime at,
            std::optional<int> partition = std::nullopt) {
  ASSERT_EQ(
      store.Append({.key = key, .stamp = at, .payload = payload}, at, {.partition = partition})
          .outcome,
      AppendOutcome::kAppended);
}

std::map<std::string, std::vector<ModelRecord>> ByKey(const Records& all) {
  std::map<std::string, std::vector<ModelRecord>> keys;
  for (const auto& [partition, records] : all) {
    for (const ModelRecord& record : records) {
      if (record != kRemoved) keys[record.key].push_back(record);
    }
  }
  return keys;
}

// All payloads of one partition.
std::vector<std::string> Payloads(FaultyStorage& storage, int partition) {
  std::vector<std::string> payloads;
  const std::vector<ModelRecord> records = RecordsOf(storage, kCopyPath)[partition];
  for (const ModelRecord& record : records) {
    payloads.push_back(record.payload);
  }
  return payloads;
}

constexpr StoreDurability kModes[] = {StoreDurability::kProcess, StoreDurability::kInterval,
                                      StoreDurability::kGroup};

// It is killed, closed and trimmed, has many files, and appends at last what is not durable yet.
void Live(StoreLife& life, std::mt19937_64& random) {
  life.Do('o');
  for (int step = 0; step < 15; ++step) {
    life.Do("aaabffsrxt"[random() % 10]);
    life.Do('c');
  }
  life.Do('a');
  ASSERT_TRUE(life.ok()) << life.last << ", " << life.closed;
}

TEST(StoreCopy, OfAnyStoreHasItsRecordsItsOffsetsAndItsNotes) {
  ForEachSeed(1, ShareOf({.whole = 3'000, .usual = 120, .sanitized = 15}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    FaultyStorage storage;
    StoreLife life(storage, kModes[random() % 3]);
    Live(life, random);
    const Records all = RecordsOf(storage, kStorePath);
    const auto origin = OpenReader(storage, kStorePath);
    const StoreCopyReport report = Copied(storage);
    EXPECT_EQ(RecordsOf(storage, kCopyPath), all);
    const auto copy = OpenReader(storage, kCopyPath);
    ASSERT_NE(copy, nullptr);
    EXPECT_NE(copy->identity(), origin->identity());
    uint64_t records = 0;
    for (int p = 0; p < kStorePartitions; ++p) {
      EXPECT_EQ(copy->First(p), origin->First(p));
      records += copy->Durable(p) - copy->First(p);
    }
    EXPECT_EQ(report.records, records);
    EXPECT_EQ(report.partitions, kStorePartitions);
    EXPECT_EQ(report.times_held_back, 0u);
    EXPECT_EQ(NotesOf(*copy), NotesOf(*origin));
  });
}

// The copy is a store as any other: it goes on where the other one was, and can be copied.
TEST(StoreCopy, GoesOnAndIsCopiedAgain) {
  FaultyStorage storage;
  {
    StoreLife life(storage, StoreDurability::kGroup);
    for (const char operation : std::string_view("oacfcfcatcbcx")) life.Do(operation);
  }
  const auto first = OpenReader(storage, kStorePath)->First(1);
  ASSERT_GT(first, 0u);
  Copied(storage);
  Records all = RecordsOf(storage, kStorePath);
  {
    const auto copy = *EventStore::Open(kCopyPath, {.storage = &storage});
    const uint64_t next = copy->Next(1);
    const AppendAnswer placed = copy->Append({.key = "k", .payload = "more"}, kEndOfTime,
                                             {.partition = 1, .confirm_time = true});
    EXPECT_EQ(placed.offset, next);
    ASSERT_TRUE(copy->Close().ok());
    all[1].push_back({.key = "k", .payload = "more", .appended = kEndOfTime});
  }
  EXPECT_EQ(RecordsOf(storage, kCopyPath)[1].size(), all[1].size());
  ASSERT_TRUE(CopyEventStore(kCopyPath, "/again", {.storage = &storage}).ok());
  EXPECT_EQ(RecordsOf(storage, "/again"), RecordsOf(storage, kCopyPath));
  EXPECT_EQ(OpenReader(storage, "/again")->First(1), first);
}

TEST(StoreCopy, HasWhatIsDurableWhenItBegins) {
  FaultyStorage storage;
  const auto store = OpenStore(storage);
  Append(*store, "k", "1", kT0, 0);
  ASSERT_TRUE(store->Commit().ok());
  Append(*store, "k", "2", kT0, 0);
  const auto appends_more = [&](const StoreCopyProgress& so_far) {
    EXPECT_GT(so_far.bytes_all, 0u);
    Append(*store, "k", "3", kT0, 0);
    return store->Commit();
  };
  EXPECT_EQ(Copied(storage, {.progress = appends_more}).records, 1u);
  EXPECT_THAT(Payloads(storage, 0), ElementsAre("1"));
}

TEST(StoreCopy, OfAnEmptyStoreIsOne) {
  FaultyStorage storage;
  ASSERT_TRUE(OpenStore(storage)->Close().ok());
  EXPECT_EQ(Copied(storage).records, 0u);
  EXPECT_THAT(Payloads(storage, 0), IsEmpty());
  EXPECT_EQ(OpenReader(storage, kCopyPath)->partitions(), 2);
}

TEST(StoreCopyOfOtherPartitions, HasEachKeyInItsPartitionAndInItsOrder) {
  ForEachSeed(1, ShareOf({.whole = 3'000, .usual = 120, .sanitized = 15}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    FaultyStorage storage;
    StoreLife life(storage, kModes[random() % 3]);
    Live(life, random);
    const int partitions = random() % 2 == 0 ? 1 : 7;
    const Records all = RecordsOf(storage, kStorePath);
    const StoreCopyReport report = Copied(storage, {.partitions = partitions});
    const Records copied = RecordsOf(storage, kCopyPath);
    EXPECT_EQ(ByKey(copied), ByKey(all));
    for (const auto& [partition, records] : copied) {
      for (const ModelRecord& record : records) {
        EXPECT_EQ(PartitionOf(record.key, partitions), partition);
      }
    }
    // One thread has appended: so times went on over all partitions.
    EXPECT_EQ(report.times_held_back, 0u);
    EXPECT_EQ(OpenReader(storage, kCopyPath)->First(0), 0u);
    EXPECT_EQ(NotesOf(*OpenReader(storage, kCopyPath)), NotesOf(*OpenReader(storage, kStorePath)));
  });
}

// A record that was appended to a stated partition goes to that of its key. Of one block `appended`
// tells the order; of two the blocks do.
TEST(StoreCopyOfOtherPartitions, KeepsTheOrderOfBlocks) {
  FaultyStorage storage;
  const auto store = OpenStore(storage);
  Append(*store, "k", "1", kT0 + 2s, 0);
  Append(*store, "k", "0", kT0 + 1s, 1);
  ASSERT_TRUE(store->Commit().ok());
  Append(*store, "k", "2", kT0 + 9s, 1);
  ASSERT_TRUE(store->Commit().ok());
  Append(*store, "k", "3", kT0 + 3s, 0);
  Append(*store, "k", "4", kT0 + 9s, 0);
  ASSERT_TRUE(store->Commit().ok());
  const StoreCopyReport report = Copied(storage, {.partitions = 5});
  const int partition = PartitionOf("k", 5);
  EXPECT_THAT(Payloads(storage, partition), ElementsAre("0", "1", "2", "3", "4"));
  std::vector<EngineTime> appended;
  const std::vector<ModelRecord> records = RecordsOf(storage, kCopyPath)[partition];
  for (const ModelRecord& record : records) {
    appended.push_back(record.appended);
  }
  EXPECT_THAT(appended, ElementsAre(kT0 + 1s, kT0 + 2s, kT0 + 9s, kT0 + 9s, kT0 + 9s));
  EXPECT_EQ(report.times_held_back, 1u);
}

TEST(StoreCopyOfOtherPartitions, AsManyAsThereAreChangeNothing) {
  FaultyStorage storage;
  const auto store = OpenStore(storage);
  const int other = 1 - PartitionOf("k", 2);
  Append(*store, "k", "1", kT0, other);
  ASSERT_TRUE(store->Commit().ok());
  Copied(storage, {.partitions = 2});
  EXPECT_THAT(Payloads(storage, other), ElementsAre("1"));
}

TEST(StoreCopyOfOtherPartitions, TheirNumberIsInRange) {
  FaultyStorage storage;
  ASSERT_TRUE(OpenStore(storage)->Close().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(storage, {.partitions = 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(storage, {.partitions = 4097})));
}

// On real files: a FaultyStorage does not list directories.
class StoreCopyConsumers : public testing::Test {
 protected:
  StoreCopyConsumers() {
    for (int i = 0; i < 3; ++i) Append(*store_, "k", std::to_string(i), kT0, 0);
    EXPECT_TRUE(store_->Commit().ok());
  }

  void Commit(std::string_view name, uint64_t offset) {
    StorePage page;
    StorePosition position(offset);
    if (offset > 0) {
      ASSERT_EQ(*store_->Read(0, offset - 1, 1, page), ReadOutcome::kRecords);
      position = page.PositionAfter(0);
    }
    const auto consumer = *StoreConsumer::Open(from_, name);
    ASSERT_TRUE(
        consumer->Commit({.partition = 0, .position = position, .metadata = "a note"}).ok());
  }
  StoreCheckpoint InCopy(std::string_view name) {
    const auto found = StoreConsumer::Look(to_, name);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->front() : StoreCheckpoint();
  }

  absl::Status Refused(const StoreCopyOptions& options) {
    return CopyEventStore(from_, to_, options).status();
  }
  StoreCopyReport Copy(const StoreCopyOptions& options) {
    const auto report = CopyEventStore(from_, to_, options);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : StoreCopyReport();
  }

  const TemporaryDirectory scratch_;
  const std::string from_ = scratch_ / "store";
  const std::string to_ = scratch_ / "copy";
  std::unique_ptr<EventStore> store_ = *EventStore::Open(from_, {.partitions = 2});
};

TEST_F(StoreCopyConsumers, GoAlongWhereOffsetsStay) {
  Commit("mail", 2);
  Commit("bills", 3);
  const StoreCopyReport report = Copy({});
  EXPECT_THAT(report.consumers, ElementsAre("bills", "mail"));
  EXPECT_THAT(report.left_behind, IsEmpty());
  const StoreCheckpoint mail = InCopy("mail");
  EXPECT_EQ(mail.position.offset, 2u);
  EXPECT_NE(mail.position.mark, 0u);
  EXPECT_EQ(mail.metadata, "a note");
  const auto reader = *EventStoreReader::Open(to_);
  StorePage page;
  EXPECT_EQ(*reader->Read(0, mail.position, 1000, page), ReadOutcome::kRecords);
  EXPECT_EQ(*reader->Read(0, InCopy("bills").position, 1000, page), ReadOutcome::kEnd);
}

TEST_F(StoreCopyConsumers, ThatHaveNotReadAllStopOneOfOtherPartitions) {
  Commit("mail", 2);
  Commit("news", 3);
  Commit("bills", 0);
  const absl::Status refused = Refused({.partitions = 3});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("have not read all of it, or keep lanes: bills, mail."));
  EXPECT_TRUE(absl::IsNotFound(EventStoreReader::Open(to_).status()));
  const StoreCopyReport report = Copy({.partitions = 3, .ignore_consumers = true});
  EXPECT_THAT(report.consumers, IsEmpty());
  EXPECT_THAT(report.left_behind, ElementsAre("bills", "mail", "news"));
  EXPECT_THAT(*StoreConsumer::Names(to_), IsEmpty());
}

TEST_F(StoreCopyConsumers, ThatHaveReadAllStandAtTheEndOfOneOfOtherPartitions) {
  Commit("mail", 3);
  EXPECT_THAT(Copy({.partitions = 3}).consumers, ElementsAre("mail"));
  const auto reader = *EventStoreReader::Open(to_);
  const auto mail = *StoreConsumer::Look(to_, "mail");
  ASSERT_EQ(mail.size(), 3u);
  for (const StoreCheckpoint& each : mail) {
    EXPECT_EQ(each.position.offset, reader->Durable(each.partition));
    EXPECT_EQ(each.metadata, "");
  }
}

// Its checkpoint is of records that are gone.
TEST_F(StoreCopyConsumers, OfALostPositionHasNotReadAll) {
  const auto consumer = *StoreConsumer::Open(from_, "mail");
  ASSERT_TRUE(consumer->Commit({.partition = 0, .position = {3, 17}}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Refused({.partitions = 3})));
}

TEST(StoreCopy, GoesToANewDirectory) {
  FaultyStorage storage;
  ASSERT_TRUE(OpenStore(storage)->Close().ok());
  ASSERT_TRUE(storage.OpenDirectory(kCopyPath, IfMissing::kCreate).ok());
  storage.SetContent("/copy/letter", "dear");
  const absl::Status refused = Refused(storage);
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(storage.Paths(), testing::Not(testing::Contains("/copy/LOCK")));
  EXPECT_TRUE(absl::IsAlreadyExists(
      CopyEventStore(kStorePath, kStorePath, {.storage = &storage}).status()));
  EXPECT_TRUE(absl::IsNotFound(CopyEventStore("/none", "/new", {.storage = &storage}).status()));
}

TEST(StoreCopy, OfADamagedStoreIsRefusedWithTheByte) {
  FaultyStorage storage;
  const auto store = OpenStore(storage);
  Append(*store, "k", "a payload", kT0, 0);
  ASSERT_TRUE(store->Sync().ok());
  std::string bytes = storage.Content("/d/segment-1");
  const size_t at = bytes.find("a payload");
  bytes[at] = 'A';
  storage.SetContent("/d/segment-1", bytes);
  const absl::Status refused = Refused(storage);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("/d/segment-1: at byte "));
}

TEST(StoreCopy, ThatIsStoppedIsRefusedByName) {
  FaultyStorage storage;
  const auto store = OpenStore(storage);
  Append(*store, "k", "1", kT0, 0);
  ASSERT_TRUE(store->Commit().ok());
  const auto stops = [](const StoreCopyProgress&) { return absl::CancelledError("enough"); };
  EXPECT_TRUE(absl::IsCancelled(Refused(storage, {.progress = stops})));
  const absl::Status statuses[] = {
      EventStore::Open(kCopyPath, {.storage = &storage}).status(),
      EventStoreReader::Open(kCopyPath, &storage).status(),
      StoreConsumer::Open(kCopyPath, "mail", &storage).status(),
      CopyEventStore(kCopyPath, "/other", {.storage = &storage}).status(), Refused(storage)};
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("/copy is a copy that was not finished: remove the directory"));
  }
}

// What is left of a copy: nothing, one that is refused, or all of it.
class StoreCopyTrouble : public testing::Test {
 protected:
  StoreCopyTrouble() {
    StoreLife life(origin_, StoreDurability::kGroup);
    for (const char operation : std::string_view("oacfcfcbcx")) life.Do(operation);
    all_ = RecordsOf(origin_, kStorePath);
  }

  // Returns whether all of it is there.
  bool Check(FaultyStorage& left) {
    const auto opened = EventStoreReader::Open(kCopyPath, &left);
    if (!opened.ok()) {
      const bool is_none = absl::IsNotFound(opened.status());
      EXPECT_TRUE(is_none || absl::IsFailedPrecondition(opened.status())) << opened.status();
      return false;
    }
    EXPECT_EQ(RecordsOf(left, kCopyPath), all_);
    return true;
  }

  FaultyStorage origin_;
  Records all_;
};

TEST_F(StoreCopyTrouble, LeavesNoPartThatPassesForAStore) {
  size_t whole = 0;
  size_t calls = 0;
  for (size_t call = 0;; ++call) {
    FaultyStorage storage = origin_;
    storage.Fail({.call = call, .error = EIO});
    const bool copied = CopyEventStore(kStorePath, kCopyPath, {.storage = &storage}).ok();
    const bool was_reached = storage.calls() > call;
    storage.Heal();
    SCOPED_TRACE("call " + std::to_string(call));
    const bool is_whole = Check(storage);
    EXPECT_TRUE(is_whole || !copied);
    whole += is_whole ? 1 : 0;
    if (!was_reached || HasFailure()) break;
    ++calls;
  }
  EXPECT_GT(calls, 40u);
  EXPECT_GT(calls, 2 * whole);
}

TEST_F(StoreCopyTrouble, NorDoesAKillOrAPowerLoss) {
  FaultyStorage storage = origin_;
  storage.Record();
  ASSERT_TRUE(CopyEventStore(kStorePath, kCopyPath, {.storage = &storage}).ok());
  size_t whole = 0;
  for (size_t call = 0; call <= storage.calls() && !HasFailure(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    FaultyStorage killed = storage.At(call);
    whole += Check(killed) ? 1 : 0;
    ForEachPowerLoss(storage.At(call), ShareOf({.whole = 500, .usual = 30, .sanitized = 4}), call,
                     [&](FaultyStorage left) { Check(left); });
  }
  EXPECT_GT(whole, 0u);
  FaultyStorage left = storage.Reboot([](uint32_t) { return 0; });
  EXPECT_TRUE(Check(left)) << "what is reported as copied is on the disk";
}

}  // namespace
}  // namespace pleat::inline v0_1
