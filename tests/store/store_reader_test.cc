// Readers beside the appender: they see what is durable, and no more, also when END says nothing,
// something old, or something that a power loss has taken.
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/store/store_life.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr char kEndPath[] = "/d/END";

std::unique_ptr<EventStoreReader> OpenReader(FaultyStorage& storage) {
  absl::StatusOr<std::unique_ptr<EventStoreReader>> reader =
      EventStoreReader::Open(kStorePath, &storage);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

// All that the reader can read are the model's records, up to `durable`.
void CheckReader(const EventStoreReader& reader, StoreModel& model,
                 const StoreModel::Cut& durable) {
  StorePage page;
  for (int p = 0; p < kStorePartitions; ++p) {
    const uint64_t end = durable[static_cast<size_t>(p)];
    ASSERT_EQ(reader.Durable(p), end);
    for (uint64_t next = 0; next < end; next = page.next()) {
      const absl::StatusOr<ReadOutcome> read = reader.Read(p, next, 700, page);
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(*read, ReadOutcome::kRecords);
      for (const StoredRecord& record : page.records()) {
        ASSERT_LT(record.offset, end);
        EXPECT_EQ(ModelOf(record), model.records[p][record.offset]);
      }
    }
    EXPECT_EQ(*reader.Read(p, end, 700, page), ReadOutcome::kEnd);
    EXPECT_EQ(*reader.Read(p, end + 1, 700, page), ReadOutcome::kPositionLost);
  }
  EXPECT_EQ(NotesOf(reader), model.NotesAt(durable));
}

constexpr StoreDurability kModes[] = {StoreDurability::kProcess, StoreDurability::kInterval,
                                      StoreDurability::kGroup};
class StoreReader : public testing::TestWithParam<StoreDurability> {};
INSTANTIATE_TEST_SUITE_P(Modes, StoreReader, testing::ValuesIn(kModes));

// One reader from the beginning on, and a new one after each operation; of a store that goes on,
// fills segments, is killed, closed, opened again, and whose disk fails.
TEST_P(StoreReader, SeesWhatIsDurableAfterEachOperation) {
  ForEachSeed(1, ShareOf({.whole = 2'000, .usual = 40, .sanitized = 6}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    FaultyStorage storage;
    StoreLife life(storage, GetParam());
    life.Do('o');
    const std::unique_ptr<EventStoreReader> follows = OpenReader(storage);
    ASSERT_NE(follows, nullptr);
    for (int step = 0; step < 40; ++step) {
      if (random() % 4 == 0) {
        storage.Fail({.call = storage.calls() + random() % 5,
                      .error = random() % 2 == 0 ? EIO : ENOSPC,
                      .done = random() % 2 == 0,
                      .bytes = random() % 3000});
      }
      life.Do("aaabffccccsrx"[random() % 13]);
      storage.Heal();
      if (life.store == nullptr) life.Do('o');
      ASSERT_NE(life.store, nullptr) << life.last;
      // What the appender could not tell it tells with the next block.
      life.Do('c');
      life.Append(3, 10);
      life.Do('c');
      ASSERT_TRUE(life.last.ok()) << life.last;
      const absl::Status refreshed = follows->Refresh();
      ASSERT_TRUE(refreshed.ok()) << refreshed;
      CheckReader(*follows, life.model, life.durable);
      if (testing::Test::HasFailure()) return;
      if (const auto other = OpenReader(storage)) CheckReader(*other, life.model, life.durable);
      if (testing::Test::HasFailure()) return;
    }
  });
}

// In kGroup a block that is written counts when it is synced. A reader does not show it before.
TEST(StoreReader, ShowsNothingThatIsNotDurable) {
  FaultyStorage storage;
  StoreLife life(storage, StoreDurability::kGroup);
  life.Do('o');
  life.Do('f');
  life.Do('f');  // writes a block, and does not sync it
  const StoreModel::Cut durable = life.durable;
  const auto reader = OpenReader(storage);
  ASSERT_NE(reader, nullptr);
  CheckReader(*reader, life.model, durable);
  life.Do('c');
  ASSERT_NE(life.durable, durable);
  CheckReader(*reader, life.model, durable);  // not refreshed yet
  ASSERT_TRUE(reader->Refresh().ok());
  CheckReader(*reader, life.model, life.durable);
}

// END is written in place and never synced.
TEST_P(StoreReader, DoesWithoutEnd) {
  FaultyStorage storage;
  StoreLife life(storage, GetParam());
  for (const char operation : std::string_view("oacfbcacxacfac")) life.Do(operation);
  life.store.reset();
  const std::string end = storage.Content(kEndPath);
  std::vector<std::string> others = {"", end.substr(0, end.size() - 1), std::string(end.size(), 0)};
  for (size_t i = 0; i < end.size(); ++i) {
    others.push_back(end);
    others.back()[i] ^= 1;
  }
  for (const std::string& other : others) {
    storage.SetContent(kEndPath, other);
    const auto reader = OpenReader(storage);
    ASSERT_NE(reader, nullptr);
    CheckReader(*reader, life.model, life.durable);
  }
}

// The power takes segments, or their ends, and leaves END.
TEST(StoreReader, SeesWhatAStartWouldFindIfEndNamesWhatIsLost) {
  FaultyStorage storage;
  StoreLife life(storage, StoreDurability::kProcess);
  for (const char operation : std::string_view("oacxaffac")) life.Do(operation);
  life.store.reset();
  int starts = 0;
  for (const std::string& path : storage.Paths()) {
    if (path.find("segment-") == path.npos || path == "/d/segment-1") continue;
    const std::string bytes = storage.Content(path);
    for (const size_t size : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      SCOPED_TRACE(path + ", " + std::to_string(size));
      FaultyStorage left = storage;
      left.SetContent(path, bytes.substr(0, size));
      const auto reader = EventStoreReader::Open(kStorePath, &left);
      FaultyStorage started = left;
      const auto store = EventStore::Open(
          kStorePath, {.storage = &started, .block_bytes = 4096, .segment_bytes = 4096});
      if (!store.ok())
        continue;  // what was certain is damaged, which a reader tells where it reads
      ASSERT_TRUE(reader.ok()) << reader.status();
      ++starts;
      CheckReader(**reader, life.model, DurableOf(**store));
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(starts, 5);
}

// END was not synced: what a power loss has left of it may be old.
TEST(StoreReader, DoesNotBelieveAnEndOfBeforeTheMachineWasStarted) {
  FaultyStorage storage;
  StoreLife life(storage, StoreDurability::kGroup);
  for (const char operation : std::string_view("oac")) life.Do(operation);
  const std::string old = storage.Content(kEndPath);
  for (const char operation : std::string_view("acac")) life.Do(operation);
  life.store.reset();
  FaultyStorage started = storage.Reboot([](uint32_t ways) { return ways - 1; });
  started.SetContent(kEndPath, old);
  const auto reader = OpenReader(started);
  ASSERT_NE(reader, nullptr);
  CheckReader(*reader, life.model, life.durable);
}

// Whatever call of a refresh fails, what was seen can be read on.
TEST(StoreReader, ThatCannotRefreshReadsOn) {
  for (size_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    FaultyStorage storage;
    StoreLife life(storage, StoreDurability::kProcess);
    for (const char operation : std::string_view("oacac")) life.Do(operation);
    const auto reader = OpenReader(storage);
    ASSERT_NE(reader, nullptr);
    const StoreModel::Cut seen = life.durable;
    for (const char operation : std::string_view("racfa")) life.Do(operation);
    const size_t at = storage.calls() + call;
    storage.Fail({.call = at});
    const absl::Status refreshed = reader->Refresh();
    const bool failed = at < storage.calls();
    EXPECT_EQ(refreshed.ok(), !failed) << refreshed;
    storage.Heal();
    CheckReader(*reader, life.model, refreshed.ok() ? life.durable : seen);
    if (HasFailure() || !failed) return;
  }
}

// The appender is killed and starts again, which puts what may not be on the disk into a new file.
TEST_P(StoreReader, ReadsBesideOneThatRefreshesWhileTheAppenderStartsAgain) {
  FaultyStorage storage;
  StoreLife life(storage, GetParam());
  for (const char operation : std::string_view("oabcbcfa")) life.Do(operation);
  const auto reader = OpenReader(storage);
  ASSERT_NE(reader, nullptr);
  std::atomic<bool> done = false;
  std::atomic<uint64_t> reads = 0;
  std::thread reads_on([&] {
    StorePage page;
    while (!done) {
      for (int p = 0; p < kStorePartitions; ++p) {
        const uint64_t end = reader->Durable(p);
        if (end == 0) continue;
        const absl::StatusOr<ReadOutcome> read = reader->Read(p, end - 1, 10, page);
        ASSERT_TRUE(read.ok()) << read.status();
        ASSERT_EQ(*read, ReadOutcome::kRecords);
        ++reads;
      }
    }
  });
  for (int i = 0; i < 30; ++i) {
    for (const char operation : std::string_view("rac")) life.Do(operation);
    const uint64_t before = reads;
    while (reads < before + 2 && !HasFailure()) std::this_thread::yield();
    const absl::Status refreshed = reader->Refresh();
    EXPECT_TRUE(refreshed.ok()) << refreshed;
  }
  done = true;
  reads_on.join();
  CheckReader(*reader, life.model, life.durable);
}

TEST(StoreReader, ChangesNothing) {
  FaultyStorage storage;
  StoreLife life(storage, StoreDurability::kGroup);
  for (const char operation : std::string_view("oacfbcacra")) life.Do(operation);
  life.store.reset();
  for (const bool has_end : {true, false}) {
    if (!has_end) storage.SetContent(kEndPath, "");
    const size_t calls = storage.calls();
    const auto reader = OpenReader(storage);
    ASSERT_NE(reader, nullptr);
    EXPECT_TRUE(reader->Refresh().ok());
    for (size_t call = calls; call < storage.calls(); ++call) {
      EXPECT_FALSE(storage.log()[call].changes()) << storage.log()[call].ToString();
      EXPECT_NE(storage.log()[call].kind, StorageCall::Kind::kLock);
    }
  }
}

TEST(StoreReader, OfADirectoryWithoutAStoreIsRefused) {
  FaultyStorage storage;
  absl::Status refused = EventStoreReader::Open(kStorePath, &storage).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  ASSERT_TRUE(storage.OpenDirectory(kStorePath, IfMissing::kCreate).ok());
  refused = EventStoreReader::Open(kStorePath, &storage).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("/d is no event store"));
}

}  // namespace
}  // namespace pleat::inline v0_1
