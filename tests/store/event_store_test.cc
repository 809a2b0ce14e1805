// What an EventStore does, a statement each. On the files of the system, but where a disk has to fail.
#include <pleat/event_store.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;
using testing::HasSubstr;

// "offset:payload" of all that is durable from an offset on.
std::vector<std::string> Read(const EventStore& store, int partition, uint64_t from = 0) {
  std::vector<std::string> read;
  StorePage page;
  while (true) {
    const absl::StatusOr<ReadOutcome> outcome = store.Read(partition, from, 1000, page);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok() || *outcome != ReadOutcome::kRecords) return read;
    for (const StoredRecord& record : page.records()) {
      read.push_back(std::to_string(record.offset) + ":" + std::string(record.payload));
    }
    from = page.next();
  }
}

class EventStoreTest : public testing::Test {
 protected:
  std::unique_ptr<EventStore> Open(EventStoreOptions options = {.partitions = 4}) {
    absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open(path_, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  absl::Status Refused(const EventStoreOptions& options) {
    return EventStore::Open(path_, options).status();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store";
};

AppendOutcome Append(EventStore& store, std::string_view key, std::string_view payload,
                     EngineTime appended = kT0, const AppendWhere& where = {}) {
  return store.Append({.key = key, .stamp = appended, .payload = payload}, appended, where).outcome;
}

TEST_F(EventStoreTest, ReadsWhatWasCommittedAlsoAfterItWasOpenedAgain) {
  {
    const auto store = Open();
    const AppendAnswer placed =
        store->Append({.key = "a", .stamp = kT0 - 5s, .id = "id 1", .payload = "one"}, kT0);
    EXPECT_EQ(placed.outcome, AppendOutcome::kAppended);
    EXPECT_EQ(placed.partition, PartitionOf("a", 4));
    EXPECT_EQ(placed.offset, 0u);
    ASSERT_TRUE(store->Commit().ok());
    ASSERT_TRUE(store->Close().ok());
  }
  const auto store = Open({});
  EXPECT_EQ(store->partitions(), 4);
  StorePage page;
  ASSERT_EQ(*store->Read(PartitionOf("a", 4), 0, 1000, page), ReadOutcome::kRecords);
  ASSERT_EQ(page.records().size(), 1u);
  const StoredRecord& record = page.records()[0];
  EXPECT_EQ(record.offset, 0u);
  EXPECT_EQ(record.key, "a");
  EXPECT_EQ(record.id, "id 1");
  EXPECT_EQ(record.payload, "one");
  EXPECT_EQ(record.stamp, kT0 - 5s);
  EXPECT_EQ(record.appended, kT0);
  EXPECT_EQ(page.next(), 1u);
}

TEST_F(EventStoreTest, ShowsNothingThatIsNotDurable) {
  const auto store = Open();
  ASSERT_EQ(Append(*store, "a", "one", kT0, {.partition = 1}), AppendOutcome::kAppended);
  EXPECT_EQ(store->Next(1), 1u);
  EXPECT_EQ(store->Durable(1), 0u);
  EXPECT_THAT(Read(*store, 1), testing::IsEmpty());
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_EQ(store->Durable(1), 1u);
  EXPECT_THAT(Read(*store, 1), testing::ElementsAre("0:one"));
}

TEST_F(EventStoreTest, PutsARecordWhereTheCallerSays) {
  const auto store = Open();
  for (int p = 0; p < 4; ++p) Append(*store, "a", std::to_string(p), kT0, {.partition = p});
  ASSERT_TRUE(store->Commit().ok());
  for (int p = 0; p < 4; ++p) {
    EXPECT_THAT(Read(*store, p), testing::ElementsAre("0:" + std::to_string(p)));
  }
}

TEST_F(EventStoreTest, AnswersAConflictWithWhereThePartitionStands) {
  const auto store = Open();
  const AppendWhere second{.partition = 2, .expected = 1};
  AppendAnswer answer = store->Append({.key = "a", .payload = "x"}, kT0, second);
  EXPECT_EQ(answer.outcome, AppendOutcome::kConflict);
  EXPECT_EQ(answer.offset, 0u);
  ASSERT_EQ(Append(*store, "a", "one", kT0, {.partition = 2, .expected = 0}),
            AppendOutcome::kAppended);
  // Not durable yet, and counts.
  EXPECT_EQ(Append(*store, "a", "two", kT0, second), AppendOutcome::kAppended);
  answer = store->Append({.key = "a", .payload = "x"}, kT0, second);
  EXPECT_EQ(answer.outcome, AppendOutcome::kConflict);
  EXPECT_EQ(answer.partition, 2);
  EXPECT_EQ(answer.offset, 2u);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Read(*store, 2), testing::ElementsAre("0:one", "1:two"));
}

TEST_F(EventStoreTest, TimeOfAPartitionNeverGoesBack) {
  const auto store = Open();
  Append(*store, "a", "one", kT0 + 10s, {.partition = 0});
  Append(*store, "a", "two", kT0, {.partition = 0});
  Append(*store, "a", "other", kT0, {.partition = 1});
  ASSERT_TRUE(store->Commit().ok());
  StorePage page;
  ASSERT_EQ(*store->Read(0, 0, 1000, page), ReadOutcome::kRecords);
  EXPECT_EQ(page.records()[1].appended, kT0 + 10s);
  EXPECT_EQ(page.records()[1].stamp, kT0);
  ASSERT_EQ(*store->Read(1, 0, 1000, page), ReadOutcome::kRecords);
  EXPECT_EQ(page.records()[0].appended, kT0);
  EXPECT_EQ(store->state().times_held_back, 1u);
}

TEST_F(EventStoreTest, RefusesATimeThatIsTooFarAheadUntilItIsConfirmed) {
  const EventStoreOptions options{.partitions = 4, .max_forward_jump = 1h};
  {
    const auto store = Open(options);
    EXPECT_EQ(Append(*store, "a", "first", kT0), AppendOutcome::kAppended)
        << "nothing is ahead of no time";
    EXPECT_EQ(Append(*store, "a", "x", kT0 + 2h), AppendOutcome::kTooFarAhead);
    ASSERT_TRUE(store->Close().ok());
  }
  const auto store = Open(options);
  EXPECT_EQ(Append(*store, "a", "x", kT0 + 2h), AppendOutcome::kTooFarAhead)
      << "also after a restart";
  EXPECT_EQ(Append(*store, "a", "two", kT0 + 2h, {.confirm_time = true}), AppendOutcome::kAppended);
  EXPECT_EQ(Append(*store, "a", "three", kT0 + 2h), AppendOutcome::kAppended);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Read(*store, PartitionOf("a", 4)),
              testing::ElementsAre("0:first", "1:two", "2:three"));
}

// "name=value" of all.
std::vector<std::string> Notes(const EventStore& store) {
  const absl::StatusOr<StoreNotes> notes = store.Notes();
  EXPECT_TRUE(notes.ok()) << notes.status();
  std::vector<std::string> texts;
  if (!notes.ok()) return texts;
  for (const auto& [name, value] : *notes) texts.push_back(name + "=" + value);
  return texts;
}

TEST_F(EventStoreTest, KeepsTheLatestNoteOfEachName) {
  {
    const auto store = Open();
    EXPECT_THAT(Notes(*store), testing::IsEmpty());
    Append(*store, "a", "one", kT0, {.note = StoreNote{"file 2", "17"}});
    Append(*store, "b", "two", kT0, {.note = StoreNote{"file 1", "4"}});
    Append(*store, "c", "three", kT0, {.note = StoreNote{"file 2", "35"}});
    EXPECT_THAT(Notes(*store), testing::IsEmpty()) << "they are no more durable than records";
    ASSERT_TRUE(store->Commit().ok());
    EXPECT_THAT(Notes(*store), testing::ElementsAre("file 1=4", "file 2=35"));
    Append(*store, "a", "four", kT0 + 5s, {.note = StoreNote{"file 1", "9"}});
    ASSERT_TRUE(store->Close().ok());
  }
  const auto store = Open();
  EXPECT_THAT(Notes(*store), testing::ElementsAre("file 1=9", "file 2=35"));
  EXPECT_EQ(store->partitions(), 4) << "notes are in none that a caller sees";
}

TEST_F(EventStoreTest, TakesANoteWithoutRecords) {
  const auto store = Open();
  const AppendAnswer answer =
      store->AppendBatch({}, kT0, {.note = StoreNote{"file", std::string_view("\0\xff", 2)}});
  EXPECT_EQ(answer.outcome, AppendOutcome::kAppended);
  EXPECT_EQ(answer.taken, 0u);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Notes(*store), testing::ElementsAre(std::string("file=\0\xff", 7)));
  for (int p = 0; p < 4; ++p) EXPECT_EQ(store->Next(p), 0u);
}

TEST_F(EventStoreTest, TakesNoNoteWithRecordsThatItRefuses) {
  const auto store = Open({.partitions = 4, .max_forward_jump = 1h});
  Append(*store, "a", "one", kT0, {.partition = 2, .note = StoreNote{"file", "1"}});
  EXPECT_EQ(Append(*store, "a", "x", kT0,
                   {.partition = 2, .expected = 0, .note = StoreNote{"file", "conflict"}}),
            AppendOutcome::kConflict);
  EXPECT_EQ(
      Append(*store, "a", "x", kT0 + 2h, {.partition = 2, .note = StoreNote{"file", "too far"}}),
      AppendOutcome::kTooFarAhead);
  EXPECT_EQ(Append(*store, "a", std::string(kRecordBytesMax, 'x'), kT0,
                   {.note = StoreNote{"file", "large"}}),
            AppendOutcome::kTooLarge);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Notes(*store), testing::ElementsAre("file=1"));
}

TEST_F(EventStoreTest, RefusesANoteThatIsTooLargeWithItsRecords) {
  const auto store = Open();
  const std::string name(kNoteNameBytesMax, 'n');
  const std::string value(kNoteValueBytesMax, 'v');
  EXPECT_EQ(Append(*store, "a", "one", kT0, {.note = StoreNote{name, value}}),
            AppendOutcome::kAppended);
  EXPECT_EQ(Append(*store, "a", "x", kT0, {.note = StoreNote{name + "n", ""}}),
            AppendOutcome::kTooLarge);
  EXPECT_EQ(Append(*store, "a", "x", kT0, {.note = StoreNote{"n", value + "v"}}),
            AppendOutcome::kTooLarge);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Notes(*store), testing::ElementsAre(name + "=" + value));
  EXPECT_THAT(Read(*store, PartitionOf("a", 4)), testing::ElementsAre("0:one"));
}

TEST_F(EventStoreTest, RefusesMoreRecordsThanAreWholeWithANoteOrAnExpectedOffset) {
  const auto store = Open();
  const std::vector<StoreRecord> records(kWholeRecordsMax + 1, {.key = "a", .payload = "one"});
  const std::span most(records.data(), kWholeRecordsMax);
  const int partition = PartitionOf("a", 4);
  EXPECT_EQ(store->AppendBatch(records, kT0, {.note = StoreNote{"n", "v"}}).outcome,
            AppendOutcome::kTooLarge);
  EXPECT_EQ(store->AppendBatch(records, kT0, {.partition = partition, .expected = 0}).outcome,
            AppendOutcome::kTooLarge);
  EXPECT_EQ(store->Next(partition), 0u);
  EXPECT_EQ(store->AppendBatch(most, kT0, {.note = StoreNote{"n", "v"}}).taken, kWholeRecordsMax);
}

// The clock of whoever takes notes is nobody's error: records count.
TEST_F(EventStoreTest, HoldsNoTimeOfANoteAgainstRecords) {
  const auto store = Open({.partitions = 4, .max_forward_jump = 1h});
  ASSERT_EQ(store->AppendBatch({}, kT0 + 2h, {.note = StoreNote{"file", "1"}}).outcome,
            AppendOutcome::kAppended);
  EXPECT_EQ(Append(*store, "a", "one", kT0, {.note = StoreNote{"file", "2"}}),
            AppendOutcome::kAppended);
  EXPECT_EQ(store->state().times_held_back, 0u);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(Notes(*store), testing::ElementsAre("file=2"));
}

TEST_F(EventStoreTest, HasNotesBesideAsManyPartitionsAsThereMayBe) {
  {
    const auto store = Open({.partitions = 4096});
    Append(*store, "a", "one", kT0, {.partition = 4095, .note = StoreNote{"file", "1"}});
    ASSERT_TRUE(store->Close().ok());
  }
  const auto store = Open({});
  EXPECT_EQ(store->partitions(), 4096);
  EXPECT_THAT(Read(*store, 4095), testing::ElementsAre("0:one"));
  EXPECT_THAT(Notes(*store), testing::ElementsAre("file=1"));
}

// One partition refuses: nothing of the batch is taken, also in others.
TEST_F(EventStoreTest, TakesABatchOrNothingOfIt) {
  const auto store = Open({.partitions = 2, .max_forward_jump = 1h});
  Append(*store, "a", "old", kT0, {.partition = 1});
  const std::string keys[] = {"k0", "k1", "k2", "k3", "k4", "k5"};
  std::vector<StoreRecord> records;
  for (const std::string& key : keys) records.push_back({.key = key, .payload = "new"});
  const AppendAnswer answer = store->AppendBatch(records, kT0 + 2h);
  EXPECT_EQ(answer.outcome, AppendOutcome::kTooFarAhead);
  EXPECT_EQ(answer.taken, 0u);
  EXPECT_EQ(answer.partition, 1);
  EXPECT_EQ(store->Next(0), 0u);
  EXPECT_EQ(store->Next(1), 1u);
}

TEST_F(EventStoreTest, RefusesWhatIsTooLarge) {
  const auto store = Open();
  const std::string large(kRecordBytesMax, 'x');
  EXPECT_EQ(Append(*store, "", large), AppendOutcome::kAppended);
  EXPECT_EQ(Append(*store, "k", large), AppendOutcome::kTooLarge);
  const std::vector<StoreRecord> records(17, {.payload = large});
  EXPECT_EQ(store->AppendBatch(records, kT0).outcome, AppendOutcome::kTooLarge);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_EQ(store->Durable(PartitionOf("", 4)), 1u);
}

TEST_F(EventStoreTest, KeepsTheOrderOfABatchAndSaysWhereEachRecordWent) {
  const auto store = Open();
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key " + std::to_string(i % 50));
  std::vector<StoreRecord> records;
  for (const std::string& key : keys) records.push_back({.key = key, .payload = key});
  std::vector<AppendPlace> places(records.size());
  const AppendAnswer answer = store->AppendBatch(records, kT0, {}, places);
  EXPECT_EQ(answer.outcome, AppendOutcome::kAppended);
  EXPECT_EQ(answer.taken, records.size());
  std::array<uint64_t, 4> next{};
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].partition, PartitionOf(keys[i], 4));
    EXPECT_EQ(places[i].offset, next[static_cast<size_t>(places[i].partition)]++);
  }
}

TEST_F(EventStoreTest, APlaceThatItNeverReachedIsLostAndNotTheEnd) {
  const auto store = Open();
  Append(*store, "a", "one", kT0, {.partition = 0});
  StorePage page;
  EXPECT_EQ(*store->Read(0, 0, 100, page), ReadOutcome::kEnd);
  EXPECT_EQ(*store->Read(0, 1, 100, page), ReadOutcome::kEnd);
  EXPECT_EQ(*store->Read(0, 2, 100, page), ReadOutcome::kPositionLost);
}

TEST_F(EventStoreTest, GivesPagesOfTheBytesAskedForOrOneSection) {
  const auto store = Open({.partitions = 1});
  for (int i = 0; i < 10; ++i) {
    Append(*store, "a", std::string(1000, 'x'));
    ASSERT_TRUE(store->Commit().ok());
  }
  StorePage page;
  ASSERT_EQ(*store->Read(0, 0, 1, page), ReadOutcome::kRecords);
  EXPECT_EQ(page.records().size(), 1u);
  ASSERT_EQ(*store->Read(0, 3, 4000, page), ReadOutcome::kRecords);
  EXPECT_EQ(page.records().size(), 3u);
  EXPECT_EQ(page.next(), 6u);
  ASSERT_EQ(*store->Read(0, 3, 1 << 20, page), ReadOutcome::kRecords);
  EXPECT_EQ(page.records().size(), 7u);
}

TEST_F(EventStoreTest, ReadsAcrossManySegments) {
  EventStoreOptions options{.partitions = 2, .segment_bytes = 4096};
  std::vector<std::string> all;
  for (int life = 0; life < 3; ++life) {
    const auto store = Open(options);
    for (int i = 0; i < 60; ++i) {
      const std::string number = std::to_string(all.size());
      Append(*store, "a", number + std::string(300, ' '), kT0, {.partition = 1});
      all.push_back(number + ":" + number + std::string(300, ' '));
      ASSERT_TRUE(store->Commit().ok());
    }
    EXPECT_EQ(Read(*store, 1), all);
    EXPECT_GT(store->state().segments, 4u);
    if (life != 1) {
      ASSERT_TRUE(store->Close().ok());
    }
  }
  EXPECT_EQ(Read(*Open(options), 1), all);
}

TEST_F(EventStoreTest, TakesAtMostSixteenBytesARecordBesideKeyAndPayload) {
  const auto store = Open({});  // 64 partitions
  std::vector<std::string> keys;
  uint64_t bytes = 0;
  constexpr int kBlocks = 100;
  for (int block = 0; block < kBlocks; ++block) {
    keys.clear();
    for (int i = 0; i < 256; ++i)
      keys.push_back("account " + std::to_string(100'000 + block * 7 + i));
    const std::string payload(200, 'p');
    std::vector<StoreRecord> records;
    const EngineTime now = kT0 + 1s * block;
    for (const std::string& key : keys) {
      records.push_back({.key = key, .stamp = now - Duration(123'456), .payload = payload});
      bytes += key.size() + payload.size();
    }
    ASSERT_EQ(store->AppendBatch(records, now).taken, 256u);
    ASSERT_TRUE(store->Commit().ok());
  }
  ASSERT_TRUE(store->Sync().ok());
  struct stat file;
  ASSERT_EQ(stat((path_ + "/segment-1").c_str(), &file), 0);
  const double beside =
      (static_cast<double>(file.st_size) - static_cast<double>(bytes)) / (256 * kBlocks);
  std::cout << "bytes a record beside key and payload " << beside << "\n";
  EXPECT_LE(beside, 16);
}

TEST_F(EventStoreTest, AnswersOverloadedInsteadOfWaitingIfOpenedSo) {
  const auto store = Open({.partitions = 1,
                           .durability = StoreDurability::kGroup,
                           .unsynced_bytes_max = 10'000,
                           .wait_when_full = false});
  const std::string payload(3000, 'x');
  int taken = 0;
  while (Append(*store, "a", payload) == AppendOutcome::kAppended) ++taken;
  EXPECT_EQ(taken, 4);
  EXPECT_EQ(Append(*store, "a", payload), AppendOutcome::kOverloaded);
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_EQ(Append(*store, "a", payload), AppendOutcome::kAppended);
}

TEST_F(EventStoreTest, SyncsByItselfAtTheBoundIfItWaits) {
  const auto store = Open({.partitions = 1, .unsynced_bytes_max = 10'000});
  const std::string payload(3000, 'x');
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Append(*store, "a", payload), AppendOutcome::kAppended);
    EXPECT_LE(store->state().unsynced_bytes, 13'100u);
  }
  EXPECT_GT(store->Durable(0), 10u);
}

TEST_F(EventStoreTest, IsLockedByTheOneThatHasIt) {
  const auto store = Open();
  const absl::Status refused = Refused({});
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is locked by process"));
}

TEST_F(EventStoreTest, WithOtherPartitionsOrAnotherIdentityIsRefused) {
  Open({.partitions = 4, .identity = 5});
  absl::Status refused = Refused({.partitions = 8});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("has 4 partitions, not 8: open it with as many"));
  refused = Refused({.identity = 6});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another identity"));
}

TEST_F(EventStoreTest, RefusesADirectoryOfOtherFiles) {
  const TemporaryDirectory other;
  other.Write("notes.txt", "mine");
  const absl::Status refused = EventStore::Open(other.path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(other.Names(), testing::ElementsAre("notes.txt"));
}

TEST_F(EventStoreTest, TakesNobodysFileNamedEndForItsOwn) {
  const TemporaryDirectory other;
  other.Write("END", "of my thesis");
  EXPECT_TRUE(absl::IsFailedPrecondition(EventStore::Open(other.path()).status()));
  EXPECT_THAT(other.Names(), testing::ElementsAre("END"));
}

TEST_F(EventStoreTest, RefusesOptionsOutOfRange) {
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.unsynced_bytes_max = uint64_t{2} << 30})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.max_forward_jump = Duration(-1)})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.partitions = 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.partitions = 4097})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.block_bytes = 100})));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.segment_bytes = 100})));
}

TEST_F(EventStoreTest, HasFilesForItsOwnerAlone) {
  const auto store = Open();
  Append(*store, "a", "one");
  ASSERT_TRUE(store->Commit().ok());
  EXPECT_THAT(TemporaryDirectory::Names(path_),
              testing::ElementsAre("END", "LOCK", "MANIFEST", "segment-1"));
  for (const char* name : {"/MANIFEST", "/segment-1"}) {
    struct stat file;
    ASSERT_EQ(stat((path_ + name).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(EventStoreTest, ThatIsClosedReadsOnAndTakesNothing) {
  const auto store = Open();
  Append(*store, "a", "one", kT0, {.partition = 0});
  ASSERT_TRUE(store->Close().ok());
  EXPECT_THAT(Read(*store, 0), testing::ElementsAre("0:one"));
  EXPECT_EQ(Append(*store, "a", "two"), AppendOutcome::kStoreFailed);
  EXPECT_TRUE(absl::IsFailedPrecondition(store->Commit()));
  EXPECT_TRUE(store->Close().ok());
}

TEST(EventStoreOnAFullDisk, AnswersSoReadsOnAndResumesByItself) {
  FaultyStorage storage;
  const EventStoreOptions options{
      .storage = &storage, .partitions = 1, .durability = StoreDurability::kGroup, .identity = 7};
  const auto store = *EventStore::Open("/d", options);
  ASSERT_EQ(Append(*store, "a", "one"), AppendOutcome::kAppended);
  ASSERT_TRUE(store->Commit().ok());
  storage.SetCapacity(storage.Content("/d/segment-1").size() +
                      storage.Content("/d/MANIFEST").size() + 10);
  ASSERT_EQ(Append(*store, "a", "two"), AppendOutcome::kAppended);
  absl::Status committed = store->Commit();
  EXPECT_TRUE(absl::IsResourceExhausted(committed)) << committed;
  EXPECT_EQ(store->Durable(0), 1u);
  EXPECT_EQ(Append(*store, "a", "three"), AppendOutcome::kStoreFull);
  EXPECT_EQ(store->state().answers, AppendOutcome::kStoreFull);
  EXPECT_TRUE(absl::IsResourceExhausted(store->state().last_error));
  EXPECT_THAT(Read(*store, 0), testing::ElementsAre("0:one"));
  EXPECT_FALSE(store->Commit().ok());
  storage.SetCapacity(UINT64_MAX);
  EXPECT_TRUE(store->Commit().ok());
  EXPECT_EQ(Append(*store, "a", "three"), AppendOutcome::kAppended);
  EXPECT_TRUE(store->Commit().ok());
  EXPECT_THAT(Read(*store, 0), testing::ElementsAre("0:one", "1:two", "2:three"));
  EXPECT_TRUE(store->state().last_error.ok());
}

// The file has another name while its beginning is written, and nobody finds it under that one.
TEST(EventStoreOnAFailingDisk, NamesTheFileThatThereIs) {
  for (const StorageCall::Kind kind : {StorageCall::Kind::kAppend, StorageCall::Kind::kSync}) {
    FaultyStorage storage;
    const EventStoreOptions options{
        .storage = &storage, .partitions = 1, .durability = StoreDurability::kGroup, .identity = 7};
    const auto store = *EventStore::Open("/d", options);
    ASSERT_EQ(Append(*store, "a", "one"), AppendOutcome::kAppended);
    ASSERT_TRUE(store->Commit().ok());
    // A commit writes, and then syncs.
    storage.Fail({.call = storage.calls() + (kind == StorageCall::Kind::kSync ? 1 : 0)});
    ASSERT_EQ(Append(*store, "a", "two"), AppendOutcome::kAppended);
    const absl::Status failed = store->Commit();
    ASSERT_EQ(storage.log().back().kind, kind);
    EXPECT_THAT(std::string(failed.message()), HasSubstr("/d/segment-1"));
    EXPECT_THAT(std::string(failed.message()), testing::Not(HasSubstr(".new")));
  }
}

// Reading goes on where nothing can be written: what may not be on the disk is not shown.
TEST(EventStoreOnAReadOnlyDisk, OpensAndShowsWhatIsDurable) {
  FaultyStorage storage;
  const EventStoreOptions options{
      .storage = &storage, .partitions = 1, .durability = StoreDurability::kGroup, .identity = 7};
  {
    const auto store = *EventStore::Open("/d", options);
    for (const char* payload : {"one", "two"}) {
      ASSERT_EQ(Append(*store, "a", payload), AppendOutcome::kAppended);
      ASSERT_TRUE(store->Commit().ok());
    }
  }
  FaultyStorage killed = storage;
  EventStoreOptions again = options;
  again.storage = &killed;
  {
    // Opening, the lock and looking around go through; creating does not.
    FaultyStorage well = storage;
    EventStoreOptions on_well = options;
    on_well.storage = &well;
    ASSERT_TRUE(EventStore::Open("/d", on_well).ok());
    const auto creates =
        std::ranges::find(well.log(), StorageCall::Kind::kCreate, &StorageCall::kind);
    killed.Fail({.call = static_cast<size_t>(creates - well.log().begin()),
                 .error = ENOSPC,
                 .for_good = true});
  }
  const auto store = EventStore::Open("/d", again);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->state().answers, AppendOutcome::kStoreFull);
  EXPECT_THAT(Read(**store, 0), testing::ElementsAre("0:one"));
  killed.Heal();
  ASSERT_TRUE((*store)->Commit().ok());
  EXPECT_THAT(Read(**store, 0), testing::ElementsAre("0:one", "1:two"));
}

}  // namespace
}  // namespace pleat::inline v0_1
