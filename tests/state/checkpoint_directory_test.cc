// Checkpoints in a directory: what was answered as kept is there after every kill and every loss of
// power, no checkpoint is made of two, damage is told by the name of the file, and there are few files.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/rollup.h>
#include <pleat/rollup_values.h>
#include <pleat/stored.h>

#include "engine/state/blocks.h"
#include "engine/state/state_files.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kKeptPath[] = "/plays";
constexpr size_t kRoom = size_t{1} << 20;
constexpr uint64_t kLosses = kSanitized ? 8 : 64;  // of each disk, drawn if there are more

// The checkpoint of a key in a round, whose parts all follow from both.
Checkpoint Round(const std::string& key, int round) {
  const auto count = static_cast<uint64_t>(round * 100) + key.size();
  return {.until = kT0 + std::chrono::seconds(round),
          .amount = {.count = count,
                     .sum = -static_cast<int64_t>(count),
                     .real = static_cast<double>(count) / 2,
                     .integer = round % 2 == 0,
                     .saturated = round % 3 == 0,
                     .none = round % 5 == 0}};
}

absl::StatusOr<std::shared_ptr<CheckpointStore>> OpenIn(FaultyStorage& storage) {
  return OpenCheckpointDirectory(kKeptPath, kRoom, storage);
}

// By key, the latest round that was answered, and one that may have been kept.
struct Expected {
  std::map<std::string, int> kept;
  std::map<std::string, int> maybe;
};

// Offers a round for each key. Returns the first error.
absl::Status Offer(CheckpointStore& store, const std::vector<std::string>& keys, int round,
                   Expected& expected) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<Checkpoint> offers;
  for (const std::string& key : keys) offers.push_back(Round(key, round));
  std::vector<absl::StatusOr<Checkpoint>> kept(keys.size());
  for (const std::string& key : keys) expected.maybe[key] = round;
  store.PublishBatch(views, offers, kept);
  absl::Status first;
  for (size_t i = 0; i < keys.size(); ++i) {
    first.Update(kept[i].status());
    if (!kept[i].ok()) continue;
    EXPECT_EQ(*kept[i], offers[i]);
    expected.kept[keys[i]] = round;
  }
  return first;
}

void Check(CheckpointStore& store, const Expected& expected) {
  for (const auto& [key, maybe] : expected.maybe) {
    const absl::StatusOr<Checkpoint> loaded = store.Load(key);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto kept = expected.kept.find(key);
    const int least = kept == expected.kept.end() ? 0 : kept->second;
    if (*loaded == Checkpoint{}) {
      EXPECT_EQ(least, 0) << key << " is gone";
      continue;
    }
    const auto round = static_cast<int>((loaded->until - kT0) / 1s);
    EXPECT_GE(round, least) << key;
    EXPECT_LE(round, maybe) << key;
    EXPECT_EQ(*loaded, Round(key, round)) << key << " is mixed";
  }
}

// What a store finds on a disk, after a restart.
void CheckDisk(const FaultyStorage& disk, const Expected& expected) {
  FaultyStorage storage = disk;
  const auto store = OpenIn(storage);
  ASSERT_TRUE(store.ok()) << store.status();
  Check(**store, expected);
  Expected next = expected;
  EXPECT_EQ(Offer(**store, {"a", "new"}, 90, next), absl::OkStatus());
  Check(**store, next);
}

// What a store answers after a restart is not taken back by a loss of power behind that.
void CheckAnswersStay(const FaultyStorage& disk) {
  FaultyStorage storage = disk;
  std::map<std::string, Checkpoint> answers;
  {
    const auto store = OpenIn(storage);
    ASSERT_TRUE(store.ok()) << store.status();
    std::string cursor;
    const auto see = [&](std::string_view key, const Checkpoint& checkpoint) {
      answers.emplace(key, checkpoint);
    };
    ASSERT_TRUE((*store)->List(cursor, SIZE_MAX, see).ok());
  }
  ForEachPowerLoss(storage, 8, storage.calls(), [&](FaultyStorage left) {
    const auto store = OpenIn(left);
    ASSERT_TRUE(store.ok()) << store.status();
    for (const auto& [key, answer] : answers) EXPECT_EQ(*(*store)->Load(key), answer);
  });
}

// Files of many sizes: some are written, some go.
const std::vector<std::vector<std::string>>& Steps() {
  static const std::vector<std::vector<std::string>> steps = {
      {"a", "b", "c", "d", "e", "f", "g", "h"}, {"a"}, {"i", ""}, {"a"}, {"b", "c", "a"}, {"h"}};
  return steps;
}

std::vector<std::string> FilesIn(const FaultyStorage& storage) {
  std::vector<std::string> names;
  for (const std::string& path : storage.Paths()) {
    if (!path.ends_with("/LOCK")) names.push_back(path);
  }
  return names;
}

TEST(CheckpointDirectory, KeepsTheLargerCheckpointAlsoBehindARestart) {
  FaultyStorage storage;
  {
    const auto store = *OpenIn(storage);
    EXPECT_EQ(*store->Load("a"), Checkpoint{});
    EXPECT_EQ(*store->Publish("a", Round("a", 2)), Round("a", 2));
    EXPECT_EQ(*store->Publish("a", Round("a", 1)), Round("a", 2));
    Checkpoint other = Round("a", 2);
    other.amount.sum = 9;
    EXPECT_EQ(*store->Publish("a", other), Round("a", 2)) << "of equal ones the first";
    EXPECT_EQ(*store->Publish("", Round("", 1)), Round("", 1));
  }
  const auto store = *OpenIn(storage);
  EXPECT_EQ(*store->Load("a"), Round("a", 2));
  EXPECT_EQ(*store->Load(""), Round("", 1));
  EXPECT_EQ(*store->Load("b"), Checkpoint{});
}

TEST(CheckpointDirectory, WhatIsNotLaterWritesNothing) {
  FaultyStorage storage;
  const auto store = *OpenIn(storage);
  Expected expected;
  ASSERT_TRUE(Offer(*store, {"a", "b"}, 2, expected).ok());
  const size_t calls = storage.calls();
  EXPECT_EQ(*store->Publish("a", Round("a", 1)), Round("a", 2));
  EXPECT_EQ(*store->Load("b"), Round("b", 2));
  EXPECT_EQ(storage.calls(), calls);
}

TEST(CheckpointDirectory, ListsItsKeysAPartAtATime) {
  FaultyStorage storage;
  const auto store = *OpenIn(storage);
  Expected expected;
  ASSERT_TRUE(Offer(*store, {"a", "b", "c", "", "d"}, 1, expected).ok());
  std::string cursor;
  std::map<std::string, Checkpoint> seen;
  int parts = 0;
  do {
    ++parts;
    const auto see = [&](std::string_view key, const Checkpoint& checkpoint) {
      EXPECT_TRUE(seen.emplace(key, checkpoint).second);
    };
    ASSERT_TRUE(store->List(cursor, 2, see).ok());
  } while (!cursor.empty());
  EXPECT_EQ(parts, 3);
  EXPECT_THAT(seen, SizeIs(5));
  EXPECT_EQ(seen["d"], Round("d", 1));
}

// --- Trouble

// Each call of the disk is one before which the power may go, and each byte of a write.
TEST(CheckpointDirectory, WhatWasAnsweredAsKeptIsThereAfterEveryLossOfPower) {
  FaultyStorage storage;
  storage.Record();
  std::vector<std::pair<size_t, Expected>> moments;  // what is expected from that call on
  {
    const auto store = *OpenIn(storage);
    Expected expected;
    int round = 0;
    for (const std::vector<std::string>& keys : Steps()) {
      Expected before = expected;
      ASSERT_TRUE(Offer(*store, keys, ++round, expected).ok());
      before.maybe = expected.maybe;
      moments.emplace_back(storage.calls(), before);
    }
    moments.emplace_back(storage.calls() + 1, expected);
  }
  size_t moment = 0;
  uint64_t visited = 0;
  for (size_t call = 0; call <= storage.calls(); ++call) {
    while (call >= moments[moment].first) ++moment;
    const bool cuts =
        call < storage.calls() && storage.log()[call].kind == StorageCall::Kind::kAppend;
    const uint64_t bytes = cuts ? storage.log()[call].bytes : 1;
    for (uint64_t i = 0; i < bytes; i += kSanitized ? 7 : 1) {
      SCOPED_TRACE("call " + std::to_string(call) + ", byte " + std::to_string(i));
      const FaultyStorage disk = storage.At(call, i);
      CheckDisk(disk, moments[moment].second);  // killed, and the power stays
      if (i == 0) CheckAnswersStay(disk);
      visited += ForEachPowerLoss(disk, i == 0 ? kLosses : 3, call * 1'000 + i,
                                  [&](auto left) { CheckDisk(left, moments[moment].second); });
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(visited, 500u);
}

// Whatever fails, and however: the store goes on with what it had, and the next attempt succeeds.
TEST(CheckpointDirectory, EachErrorOfEachCallLeavesWhatWasKept) {
  FaultyStorage whole;
  size_t calls = 0;
  {
    const auto store = *OpenIn(whole);
    Expected expected;
    int round = 0;
    for (const auto& keys : Steps()) ASSERT_TRUE(Offer(*store, keys, ++round, expected).ok());
    calls = whole.calls();
  }
  uint64_t failed = 0;
  for (size_t call = 0; call < calls; ++call) {
    for (const int error : {EIO, ENOSPC}) {
      for (const bool done : {false, true}) {
        if (done && !whole.log()[call].changes()) continue;
        SCOPED_TRACE(whole.log()[call].ToString() + (done ? " though done" : ""));
        FaultyStorage storage;
        storage.Fail({.call = call, .error = error, .done = done});
        auto store = OpenIn(storage);
        if (!store.ok()) store = OpenIn(storage);
        ASSERT_TRUE(store.ok()) << store.status();
        Expected expected;
        int round = 0;
        for (const auto& keys : Steps()) {
          const absl::Status offered = Offer(**store, keys, ++round, expected);
          Check(**store, expected);
          if (offered.ok()) continue;
          ++failed;
          EXPECT_THAT(std::string(offered.message()), HasSubstr(kKeptPath));
          CheckDisk(storage, expected);
          ForEachPowerLoss(storage, kLosses / 4, call,
                           [&](const FaultyStorage& left) { CheckDisk(left, expected); });
          ASSERT_EQ(Offer(**store, keys, round, expected), absl::OkStatus());
        }
        ForEachPowerLoss(storage, kLosses / 4, call,
                         [&](const FaultyStorage& left) { CheckDisk(left, expected); });
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(failed, 50u);
}

// From some call on all fail until the step is over, so that files are left whose names are not certain,
// and have together what an older file has that the newest one lists.
TEST(CheckpointDirectory, RestartsFindWhatStepsThatFailedHaveLeft) {
  uint64_t failed = 0;
  for (size_t offset = 0; offset < 20; ++offset) {
    FaultyStorage storage;
    Expected expected;
    {
      const auto store = *OpenIn(storage);
      ASSERT_TRUE(Offer(*store, {"a", "b", "c"}, 1, expected).ok());
      for (const char* const key : {"a", "b", "c"}) {
        storage.Fail({.call = storage.calls() + offset, .error = EIO, .for_good = true});
        failed += !Offer(*store, {key}, 2, expected).ok();
        storage.Heal();
      }
    }
    ForEachPowerLoss(storage, kLosses, offset, [&](FaultyStorage left) {
      for (int restart = 0; restart < 3; ++restart) {
        const auto store = OpenIn(left);
        ASSERT_TRUE(store.ok()) << store.status();
        Check(**store, expected);
      }
      CheckDisk(left, expected);
    });
  }
  EXPECT_GT(failed, 20u);
}

TEST(CheckpointDirectory, OnAFullDiskItKeepsWhatItHas) {
  FaultyStorage storage;
  const auto store = *OpenIn(storage);
  Expected expected;
  ASSERT_TRUE(Offer(*store, {"a", "b"}, 1, expected).ok());
  storage.SetCapacity(300);
  const absl::Status full = Offer(*store, {"a", std::string(400, 'x')}, 2, expected);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  Check(*store, expected);
  EXPECT_EQ(*store->Load("a"), Round("a", 1));
  storage.SetCapacity(UINT64_MAX);
  EXPECT_TRUE(Offer(*store, {"a"}, 2, expected).ok());
  EXPECT_THAT(FilesIn(storage), ElementsAre("/plays/checkpoints-1", "/plays/checkpoints-3"))
      << "nothing unfinished is left";
}

// --- Refusals

absl::Status Refused(FaultyStorage& storage) { return OpenIn(storage).status(); }

TEST(CheckpointDirectory, ASecondStoreIsRefusedByName) {
  FaultyStorage storage;
  auto store = OpenIn(storage);
  ASSERT_TRUE(store.ok());
  const absl::Status second = Refused(storage);
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()), HasSubstr("/plays is locked by"));
  store->reset();
  EXPECT_TRUE(Refused(storage).ok());
}

TEST(CheckpointDirectory, ADirectoryOfOtherFilesIsLeftAlone) {
  FaultyStorage storage;
  {
    (void)storage.OpenDirectory(kKeptPath, IfMissing::kCreate);
  }
  storage.SetContent("/plays/MANIFEST", "a state");
  const absl::Status other = Refused(storage);
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("/plays is no directory of checkpoints, and has other files, such as "
                        "MANIFEST"));
  EXPECT_THAT(storage.Paths(), SizeIs(1)) << "no LOCK";
}

// Two files, of 8 checkpoints and of 1.
FaultyStorage TwoFiles() {
  FaultyStorage storage;
  const auto store = *OpenIn(storage);
  Expected expected;
  EXPECT_TRUE(Offer(*store, Steps()[0], 1, expected).ok());
  EXPECT_TRUE(Offer(*store, {"a"}, 2, expected).ok());
  return storage;
}

TEST(CheckpointDirectory, EachDamageOfEachFileIsToldByItsName) {
  const FaultyStorage whole = TwoFiles();
  ASSERT_THAT(FilesIn(whole), ElementsAre("/plays/checkpoints-1", "/plays/checkpoints-2"));
  const auto refused = [&](const std::string& path, const std::string& bytes) {
    FaultyStorage storage = whole;
    storage.SetContent(path, bytes);
    const absl::Status status = Refused(storage);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": at byte "));
    EXPECT_EQ(storage.Content(path), bytes) << "it is as it was";
  };
  for (const std::string& path : FilesIn(whole)) {
    const std::string bytes = whole.Content(path);
    for (size_t i = 0; i < bytes.size(); ++i) {
      SCOPED_TRACE("byte " + std::to_string(i));
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      refused(path, damaged);
      refused(path, bytes.substr(0, i));
    }
    refused(path, bytes + "x");
  }
}

TEST(CheckpointDirectory, AFileThatIsMissingIsToldByItsName) {
  FaultyStorage storage = TwoFiles();
  ASSERT_TRUE((*storage.OpenDirectory(kKeptPath, IfMissing::kFail))->Remove("checkpoints-1").ok());
  const absl::Status missing = Refused(storage);
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("/plays/checkpoints-1: it is missing, and checkpoints-2 says"));
}

TEST(CheckpointDirectory, AFileFromElsewhereIsToldByItsName) {
  FaultyStorage renamed = TwoFiles();
  renamed.SetContent("/plays/checkpoints-7", renamed.Content("/plays/checkpoints-2"));
  const absl::Status other_name = Refused(renamed);
  EXPECT_EQ(other_name.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(other_name.message()),
              HasSubstr("/plays/checkpoints-7: it had the name checkpoints-2"));
  FaultyStorage mixed = TwoFiles();
  const FaultyStorage others = TwoFiles();
  mixed.SetContent("/plays/checkpoints-2", others.Content("/plays/checkpoints-2"));
  const absl::Status other_directory = Refused(mixed);
  EXPECT_EQ(other_directory.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(other_directory.message()),
              HasSubstr("/plays/checkpoints-2: it is of another directory"));
}

TEST(CheckpointDirectory, ANewerFormatIsRefused) {
  FaultyStorage storage = TwoFiles();
  const auto directory = *storage.OpenDirectory(kKeptPath, IfMissing::kFail);
  ASSERT_TRUE(directory->Remove("checkpoints-2").ok());
  const auto file = *directory->CreateFile("checkpoints-2");
  FileSink sink(*file);
  FieldWriter out;
  out(uint32_t{2});
  ASSERT_TRUE(
      BlockWriter(sink, 0, /*compresses=*/false).Write(BlockKind::kHead, 0, out.bytes()).ok());
  EXPECT_EQ(Refused(storage).code(), absl::StatusCode::kUnimplemented);
}

TEST(CheckpointDirectory, TheCalendarIsKeptWithTheCheckpoints) {
  FaultyStorage storage;
  {
    const auto store = *OpenIn(storage);
    EXPECT_TRUE(store->CheckCalendar("Europe/Paris").ok());
    EXPECT_TRUE(store->Publish("a", Round("a", 1)).ok());
  }
  const auto store = *OpenIn(storage);
  EXPECT_TRUE(store->CheckCalendar("Europe/Paris").ok());
  const absl::Status other = store->CheckCalendar("");
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.message(), "calendar_name: the calendar is none, and \"Europe/Paris\" in /plays");
}

// --- Bounds

TEST(CheckpointDirectory, AtItsLimitANewKeyIsRefusedAndTheOthersGoOn) {
  FaultyStorage storage;
  {
    const auto store = *OpenCheckpointDirectory(kKeptPath, 500, storage);
    Expected expected;
    const absl::Status third = Offer(*store, {"a", "b", "c"}, 1, expected);
    EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(*store->Load("b"), Round("b", 1));
    EXPECT_EQ(*store->Load("c"), Checkpoint{});
    EXPECT_TRUE(Offer(*store, {"a", "b"}, 2, expected).ok());
    EXPECT_EQ(store->Publish(std::string((64 << 10) + 1, 'x'), Round("x", 1)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const absl::Status small = OpenCheckpointDirectory(kKeptPath, 300, storage).status();
  EXPECT_EQ(small.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(small.message()), HasSubstr("max_bytes"));
  EXPECT_EQ(OpenCheckpointDirectory(kKeptPath, 0, storage).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A thousand keys, one at a time and again and again: few files, and each checkpoint is written a few
// times.
TEST(CheckpointDirectory, ManyStepsMakeFewFilesAndFewBytes) {
  constexpr int kKeys = 1'000;
  FaultyStorage storage;
  const auto store = *OpenIn(storage);
  Expected expected;
  size_t most = 0;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(Offer(*store, {std::to_string(i * 7 % kKeys)}, round, expected).ok());
      most = std::max(most, FilesIn(storage).size());
    }
  }
  EXPECT_LE(most, 11u);
  uint64_t bytes = 0;
  uint64_t on_disk = 0;
  for (const StorageCall& call : storage.log()) bytes += call.bytes;
  for (const std::string& path : FilesIn(storage)) on_disk += storage.Content(path).size();
  EXPECT_LT(bytes, 3 * kKeys * 11 * 40 + 3 * kKeys * 200);
  EXPECT_LT(on_disk, 2 * kKeys * 40);
  CheckDisk(storage, expected);
}

// --- With a counter, and the files of the system

TEST(CheckpointDirectory, AnInstanceThatBeginsEmptyHasAllCounters) {
  const TemporaryDirectory temporary;
  const std::string path = temporary / "plays";
  const auto open = [&](Engine& engine) {
    auto store = OpenCheckpointDirectory(path);
    EXPECT_TRUE(store.ok()) << store.status();
    return RollupCounter(engine, "plays",
                         {.windows = {10s}, .allowed_lateness = Duration{0}, .store = *store});
  };
  {
    auto engine = *Engine::Open({.partitions = 4, .huge_pages = HugePages::kOff});
    engine->Advance(kT0);
    RollupCounter plays = open(*engine);
    for (int i = 0; i < 100; ++i) plays.Add("title " + std::to_string(i), i, kT0 + 3s);
    engine->Advance(kT0 + 10s);
    EXPECT_EQ(plays.Publish().published, 100u);
    EXPECT_EQ(OpenCheckpointDirectory(path).status().code(), absl::StatusCode::kUnavailable);
  }
  auto engine = *Engine::Open({.partitions = 2, .huge_pages = HugePages::kOff});
  RollupCounter plays = open(*engine);
  std::string cursor;
  do {
    ASSERT_EQ(plays.LoadCheckpoints(cursor, 30), absl::OkStatus());
  } while (!cursor.empty());
  EXPECT_EQ(plays.sizes().keys, 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(plays.Eventual("title " + std::to_string(i))->amount.sum, i);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
