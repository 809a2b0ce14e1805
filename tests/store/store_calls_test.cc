// What an EventStore asks of the disk: how many syncs, how many files at once, how many bytes to read,
// and how much space.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/store/block.h"
#include "engine/store/store_bytes.h"
#include "tests/store/store_life.h"
#include "tests/store/watched_storage.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = StorageCall::Kind;
using Trouble = WatchedStorage::Trouble;

class StoreCalls : public testing::TestWithParam<StoreDurability> {
 protected:
  StoreCalls() : life_(storage_, GetParam()) {}

  void Live(std::string_view word) {
    for (const char operation : word) {
      life_.Do(operation);
      ASSERT_TRUE(life_.ok()) << life_.last << ", " << life_.closed;
    }
  }
  size_t Count(Kind kind, size_t from = 0) const {
    const auto& log = storage_.log();
    return static_cast<size_t>(std::ranges::count(log.begin() + static_cast<ptrdiff_t>(from),
                                                  log.end(), kind, &StorageCall::kind));
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const std::string& path : storage_.Paths()) bytes += storage_.Content(path).size();
    return bytes;
  }
  size_t Segments() const {
    return static_cast<size_t>(std::ranges::count_if(
        storage_.Paths(), [](const auto& path) { return path.find("segment") != path.npos; }));
  }

  FaultyStorage storage_;
  StoreLife life_;
};
INSTANTIATE_TEST_SUITE_P(Modes, StoreCalls,
                         testing::Values(StoreDurability::kProcess, StoreDurability::kInterval,
                                         StoreDurability::kGroup));

TEST_P(StoreCalls, OfACommitThatHasNothingToCommitAreNone) {
  for (const std::string_view word :
       {"o", "acc", "fc", "bcbcbcbc", "rc", "fcrc", "sc", "fsc", "xc"}) {
    SCOPED_TRACE(word);
    Live(word);
    const size_t calls = storage_.calls();
    Live("cccccccccc");
    EXPECT_EQ(storage_.calls(), calls) << storage_.log().back().ToString();
  }
}

TEST_P(StoreCalls, OfASyncThatHasNothingToSyncAreNone) {
  for (const std::string_view word : {"o", "acs", "fcs", "rs"}) {
    SCOPED_TRACE(word);
    Live(word);
    const size_t calls = storage_.calls();
    Live("sssss");
    EXPECT_EQ(storage_.calls(), calls) << storage_.log().back().ToString();
  }
}

// As two threads do it that append, and then commit.
TEST_P(StoreCalls, OfTwoWhoCommitTogetherAreOneSync) {
  Live("oac");
  for (int i = 0; i < 5; ++i) {
    const size_t calls = storage_.calls();
    life_.Append(1, 10);
    life_.Append(1, 10);
    Live("cc");
    EXPECT_EQ(Count(Kind::kAppend, calls), 1u);
    EXPECT_EQ(Count(Kind::kSync, calls), GetParam() == StoreDurability::kProcess ? 0u : 1u);
    EXPECT_EQ(Count(Kind::kOverwrite, calls), 1u) << "readers are told";
    EXPECT_EQ(storage_.calls() - calls, GetParam() == StoreDurability::kProcess ? 2u : 3u);
  }
}

// A crash loop: each start finds what the last one found.
TEST_P(StoreCalls, OfStartsThatNobodyAppendsToTakeNoMoreSpace) {
  for (const std::string_view word : {"oacbcac", "bcbcbcbcbc", "ffff", "fcab", "x", "xac"}) {
    SCOPED_TRACE(word);
    Live(word);
    Live("rr");
    const uint64_t bytes = Bytes();
    const size_t segments = Segments();
    Live("rrrr");
    EXPECT_EQ(Bytes(), bytes);
    EXPECT_EQ(Segments(), segments);
    EXPECT_EQ(Segments(), life_.store->state().segments) << "those that do not count are gone";
    if (HasFailure()) return;
  }
}

// The same with a store that is opened, told to commit, and killed.
TEST_P(StoreCalls, OfStartsThatCommitNothingTakeNoMoreSpace) {
  Live("oacbcacfrcrc");
  const uint64_t bytes = Bytes();
  Live("rcrccrcrc");
  EXPECT_EQ(Bytes(), bytes);
}

// A store that tries again, every second for a night, does not fill the disk that it waits for.
TEST_P(StoreCalls, OfCommitsThatFailTakeNoMoreSpace) {
  for (const Trouble trouble :
       {Trouble::kFull, Trouble::kSync, Trouble::kSyncDirectory, Trouble::kOpenFile}) {
    for (const std::string_view word : {"oab", "oacb", "oacf", "offf"}) {
      SCOPED_TRACE("trouble " + std::to_string(static_cast<int>(trouble)) + ", " +
                   std::string(word));
      storage_ = FaultyStorage();
      WatchedStorage watched(storage_);
      life_ = StoreLife(storage_, GetParam());
      life_.options_to_change().storage = &watched;
      Live(word);
      watched.Have(trouble);
      for (const char operation : std::string_view("fcacfcac")) life_.Do(operation);
      const uint64_t bytes = Bytes();
      const size_t segments = Segments();
      for (int i = 0; i < 20; ++i) life_.Do('c');
      EXPECT_EQ(Bytes(), bytes);
      EXPECT_EQ(Segments(), segments);
      watched.Have(Trouble::kNone);
      Live("c");
      EXPECT_EQ(life_.durable, life_.model.End());
      life_.store.reset();
      if (HasFailure()) return;
    }
  }
}

// However many segments there are; a process may have 1,024 files open, or fewer.
TEST_P(StoreCalls, HaveAFewFilesOpenAtOnce) {
  WatchedStorage watched(storage_);
  life_.options_to_change().storage = &watched;
  Live("o");
  for (int i = 0; i < 100; ++i) Live("fc");
  watched.ForgetMost();
  for (const std::string_view word : {"r", "x", "fffc", "r", "r"}) {
    SCOPED_TRACE(word);
    Live(word);
    EXPECT_LE(watched.open_most(), 24);
    EXPECT_GE(life_.store->state().segments, 100u);
    const auto all = ReadAll(*life_.store);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->at(0), life_.model.records[0]);
    EXPECT_LE(watched.open_most(), 40) << "with those that are kept for readers";
  }
  life_.store.reset();
  EXPECT_EQ(watched.open(), 0);
}

// What looks like the begin of a block, and says that it has a long head.
std::string LikeABlock(uint32_t head_bytes, uint64_t durable_segment) {
  std::string bytes(64, '\0');
  const auto put = [&](size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  bytes.replace(0, 4, "PSBL");
  put(4, head_bytes, 4);
  put(8, 4096, 8);
  put(16, 1, 8);
  put(32, durable_segment, 8);
  put(40, 4096, 8);
  put(48, 1, 4);
  return bytes;
}

// Payloads are other people's bytes.
TEST_P(StoreCalls, OfAStartReadAFewTimesTheBytesThatThereAreWhateverIsInThem) {
  for (const uint64_t durable_segment : {0, 1, 2, 1000}) {
    for (const uint32_t head_bytes : {64u, 4096u, static_cast<uint32_t>(kBlockHeadBytesMax)}) {
      SCOPED_TRACE(std::to_string(durable_segment) + ", " + std::to_string(head_bytes));
      FaultyStorage storage;
      EventStoreOptions options{.storage = &storage,
                                .partitions = 1,
                                .durability = GetParam(),
                                .segment_bytes = uint64_t{64} << 20,
                                .identity = 7};
      std::string payload;
      while (payload.size() + 64 < kRecordBytesMax) {
        payload += LikeABlock(head_bytes, durable_segment);
      }
      {
        const auto store = *EventStore::Open(kStorePath, options);
        ASSERT_EQ(store->Append({.payload = "before"}, kT0).outcome, AppendOutcome::kAppended);
        ASSERT_TRUE(store->Commit().ok());
        const StoreRecord records[] = {{.payload = payload}, {.payload = payload}};
        ASSERT_EQ(store->AppendBatch(records, kT0).taken, 2u);
        ASSERT_TRUE(store->Commit().ok());
      }
      const std::string path = "/d/segment-1";
      const std::string whole = storage.Content(path);
      FaultyStorage torn = storage;
      torn.SetContent(path, whole.substr(0, whole.size() - 100));
      options.storage = &torn;
      const auto store = EventStore::Open(kStorePath, options);
      ASSERT_TRUE(store.ok()) << store.status();
      EXPECT_EQ((*store)->Durable(0), 1u);
      uint64_t read = 0;
      for (const StorageCall& call : torn.log()) {
        if (call.kind == Kind::kReadAt) read += call.bytes;
      }
      EXPECT_LE(read, 4 * whole.size());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
