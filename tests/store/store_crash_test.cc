// Lives of a store that is killed at every call of its disk, and within writes, or whose power is cut
// there. What is found afterwards is a beginning: it ends where a block did, has every partition's
// records whole, and has all that was reported durable; after a power loss, all that was synced.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/block.h"
#include "engine/store/frame.h"
#include "tests/store/store_check.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kLives[] = {"oacacac",  "oabcbcac",     "obcbcaccrbcac",  "oacxacrac",
                                       "oarcarc",  "obcbcxbcrbcs", "offfc",          "offrffac",
                                       "ofafsffc", "ofcfcftac",    "ofscfstcrffctac"};

class StoreCrash : public testing::TestWithParam<StoreDurability> {};
INSTANTIATE_TEST_SUITE_P(Modes, StoreCrash,
                         testing::Values(StoreDurability::kProcess, StoreDurability::kInterval,
                                         StoreDurability::kGroup));

// Cuts the power at each call of a life, and within writes: of what may be left each time `most` are
// looked at. Returns how many these were.
uint64_t CutThePowerAtEachCall(std::string_view word, StoreDurability mode, uint64_t most) {
  ToldLife told;
  Tell(word, mode, told);
  uint64_t visited = 0;
  for (size_t call = 0; call <= told.storage.calls(); ++call) {
    const Moment& before = told.Before(call);
    const StoreModel& model = told.During(call).model;
    std::vector<uint64_t> ends = {0};
    if (call < told.storage.calls() &&
        told.storage.log()[call].kind == StorageCall::Kind::kAppend) {
      const uint64_t bytes = told.storage.log()[call].bytes;
      for (const uint64_t end : {uint64_t{1}, uint64_t{60}, bytes / 2, bytes - 1}) {
        if (end < bytes) ends.push_back(end);
      }
    }
    for (const uint64_t bytes : ends) {
      SCOPED_TRACE(std::string(word) + ", call " + std::to_string(call) + ", bytes " +
                   std::to_string(bytes));
      FaultyStorage killed = told.storage.At(call, bytes);
      ForEachPowerLoss(killed, most, call * 977 + bytes, [&](FaultyStorage left) {
        ++visited;
        const StoreModel::Cut end = CheckBeginning(left, mode, model, before.certain);
        if (visited % 5 == 0) CheckGoesOn(left, mode, end);
      });
      CheckBeginning(killed, mode, model, before.kept);
      if (testing::Test::HasFailure()) return visited;
    }
  }
  return visited;
}

TEST_P(StoreCrash, LosesNothingDurableWithThePowerAtAnyCall) {
  uint64_t visited = 0;
  for (const std::string_view word : kLives) {
    visited +=
        CutThePowerAtEachCall(word, GetParam(), ShareOf({.whole = 64, .usual = 8, .sanitized = 2}));
    if (HasFailure()) return;
  }
  std::cout << "power losses " << visited << "\n";
}

// Lives that are drawn; with the others they come to some 200,000 power losses, and as a whole to 10
// million.
TEST_P(StoreCrash, LosesNothingDurableWithThePowerInLivesThatAreDrawn) {
  uint64_t visited = 0;
  ForEachSeed(1, ShareOf({.whole = 1'900, .usual = 45, .sanitized = 1}), [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string word = "o";
    while (word.size() < 10) word += "aabbccccffsrxt"[random() % 14];
    visited += CutThePowerAtEachCall(word, GetParam(),
                                     ShareOf({.whole = 32, .usual = 16, .sanitized = 2}));
  });
  std::cout << "power losses " << visited << "\n";
}

// The next start is cut as well, at each of its calls.
TEST_P(StoreCrash, LosesNothingDurableWithThePowerDuringAStart) {
  for (const std::string_view word : {"oacbcac", "obcbcbc"}) {
    ToldLife told;
    Tell(word, GetParam(), told);
    const Moment& last = told.moments.back();
    FaultyStorage killed = told.storage;
    killed.Record();
    CheckBeginning(killed, GetParam(), last.model, last.kept);
    for (size_t call = 0; call <= killed.calls() && !HasFailure(); ++call) {
      SCOPED_TRACE(std::string(word) + ", call " + std::to_string(call));
      FaultyStorage again = killed.At(call);
      CheckBeginning(again, GetParam(), last.model, last.kept);
      ForEachPowerLoss(
          killed.At(call), ShareOf({.whole = 64, .usual = 32, .sanitized = 4}), call,
          [&](FaultyStorage left) { CheckBeginning(left, GetParam(), last.model, last.certain); });
    }
  }
}

// The first start is killed at any call, and so nothing of it may be on the disk for certain, with or
// without a power loss; and the life that follows loses the power at any of its calls. Whatever is
// left then, a start makes a store of it.
TEST_P(StoreCrash, OfAFirstStartLeavesNothingThatIsRefusedLaterOn) {
  ToldLife first;
  Tell("o", GetParam(), first);
  uint64_t visited = 0;
  const auto live_on = [&](FaultyStorage left, size_t killed_at) {
    if (HasFailure()) return;
    ToldLife second;
    second.storage = std::move(left);
    Tell("oacfc", GetParam(), second);
    for (size_t call = 0; call <= second.storage.calls() && !HasFailure(); ++call) {
      SCOPED_TRACE("killed at call " + std::to_string(killed_at) + ", then without power at " +
                   std::to_string(call));
      ForEachPowerLoss(
          second.storage.At(call), ShareOf({.whole = 256, .usual = 6, .sanitized = 2}),
          call * 977 + killed_at, [&](FaultyStorage again) {
            const StoreLife options(again, GetParam());
            const auto store = EventStore::Open(kStorePath, options.options());
            ++visited;
            ASSERT_TRUE(store.ok()) << store.status();
            EXPECT_TRUE(StoreModel::IsNotBefore(DurableOf(**store), second.Before(call).certain));
          });
    }
  };
  for (size_t call = 0; call <= first.storage.calls(); ++call) {
    const FaultyStorage killed = first.storage.At(call);
    live_on(killed, call);
    ForEachPowerLoss(killed, ShareOf({.whole = 16, .usual = 4, .sanitized = 2}), call,
                     [&](FaultyStorage left) { live_on(std::move(left), call); });
    if (HasFailure()) return;
  }
  std::cout << "power losses " << visited << "\n";
}

// Lives in kProcess, with a segment for each 'f'.
struct ProcessSegments {
  explicit ProcessSegments(std::string_view word) {
    StoreLife life(storage, StoreDurability::kProcess);
    for (const char operation : word) {
      life.Do(operation);
      at.push_back(life.durable);
    }
    life.store.reset();
    model = life.model;
  }
  static std::string PathOf(size_t segment) { return "/d/segment-" + std::to_string(segment); }

  FaultyStorage storage;
  StoreModel model;
  std::vector<StoreModel::Cut> at;  // of each operation
};

enum class Left : uint8_t { kWhole, kNothing, kEmpty, kZeros, kNoHead, kHeadAlone, kTorn, kNoEnd };
constexpr uint64_t kWaysLeft = 8;
constexpr size_t kHeadSector = 512;  // has a head and more

void Leave(FaultyStorage& storage, const std::string& path, Left left) {
  std::string bytes = storage.Content(path);
  switch (left) {
    case Left::kWhole: return;
    case Left::kNothing:
      ASSERT_TRUE((*storage.OpenDirectory(kStorePath, IfMissing::kFail))
                      ->Remove(path.substr(path.rfind('/') + 1))
                      .ok());
      return;
    case Left::kEmpty: bytes.clear(); break;
    case Left::kZeros: bytes.assign(bytes.size(), '\0'); break;
    case Left::kNoHead: bytes.replace(0, kHeadSector, kHeadSector, '\0'); break;
    case Left::kHeadAlone: bytes.resize(kHeadSector); break;
    case Left::kTorn: bytes.replace(2048, 512, 512, '\0'); break;
    case Left::kNoEnd: bytes.resize(4096); break;
  }
  storage.SetContent(path, bytes);
}

// The end of the log is behind the last of those that are whole, from the first on; whatever is left
// of later ones.
TEST(StoreSegments, ThatWereNotSyncedEndTheLogAtTheFirstThatIsNotWhole) {
  const ProcessSegments made("offff");
  for (uint64_t way = 0; way < kWaysLeft * kWaysLeft * kWaysLeft; ++way) {
    FaultyStorage storage = made.storage;
    uint64_t digits = way;
    size_t whole = 1;
    for (const size_t segment : {size_t{2}, size_t{3}, size_t{4}}) {
      const auto left = static_cast<Left>(digits % kWaysLeft);
      digits /= kWaysLeft;
      Leave(storage, made.PathOf(segment), left);
      if (left == Left::kWhole && whole == segment - 1) whole = segment;
    }
    SCOPED_TRACE("way " + std::to_string(way));
    const StoreModel::Cut end =
        CheckBeginning(storage, StoreDurability::kProcess, made.model, made.at[whole]);
    EXPECT_EQ(end, made.at[whole]);
    CheckGoesOn(storage, StoreDurability::kProcess, end);
    if (testing::Test::HasFailure()) return;
  }
}

// But where anything says that it was on the disk, it is damage.
TEST(StoreSegments, ThatWereSyncedAreMissed) {
  // A commit syncs what is full, with the names, and then a block says so. Segment 4 has copies of what
  // a start has found.
  const ProcessSegments made("offcafrfcacfa");
  for (const size_t segment : {size_t{1}, size_t{2}, size_t{4}}) {
    for (uint64_t left = 1; left < kWaysLeft; ++left) {
      SCOPED_TRACE("segment " + std::to_string(segment) + ", " + std::to_string(left));
      FaultyStorage storage = made.storage;
      Leave(storage, made.PathOf(segment), static_cast<Left>(left));
      const StoreLife options(storage, StoreDurability::kProcess);
      const auto store = EventStore::Open(kStorePath, options.options());
      const absl::Status refused = store.ok() ? ReadAll(**store).status() : store.status();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
      EXPECT_NE(refused.message().find(made.PathOf(segment) + ": "), std::string::npos) << refused;
    }
  }
}

// However much a start has to write again, a block or two of it are in memory.
TEST(StoreSegments, AreWrittenAgainBlockByBlock) {
  const ProcessSegments made("offffffff");
  FaultyStorage storage = made.storage;
  storage.Record();
  const StoreLife options(storage, StoreDurability::kProcess);
  const auto store = EventStore::Open(kStorePath, options.options());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(DurableOf(**store), made.at.back());
  uint64_t copied = 0, read = 0;
  bool begun = false;
  for (const StorageCall& call : storage.log()) {
    const bool is_new = call.path.ends_with(".new") && call.path.find("segment") != call.path.npos;
    if (is_new && call.kind == StorageCall::Kind::kCreate) begun = true;
    if (!begun) continue;
    if (call.kind == StorageCall::Kind::kReadAt) read += call.bytes;
    if (!is_new || call.kind != StorageCall::Kind::kAppend || call.bytes < 4096) continue;
    EXPECT_GE(read, call.bytes) << "of each block after the one before was written";
    EXPECT_LE(read, call.bytes + 4096) << "and of no other one";
    read = 0;
    ++copied;
  }
  EXPECT_EQ(copied, 7u) << "all but the first, which was synced";
}

size_t BytesOfBlock(std::string_view begin) {
  const BlockSizes sizes = *BlockSizesIn(begin);
  return sizes.head + sizes.body;
}

// Appends and commits a record that is so small that the head of a segment is as long with a copy of
// its block as without.
void CommitTiny(StoreLife& life) {
  life.Append(1, 1);
  life.Do('c');
  ASSERT_TRUE(life.last.ok()) << life.last;
}

// The power takes two segments. The next life appends in part the same again, so files of the same
// numbers begin with the same; and what it loses shows what the lost files had in that place.
TEST(StoreSegments, ShowNothingOfLostFilesOfTheSameNumber) {
  FaultyStorage lost;
  StoreLife first(lost, StoreDurability::kProcess);
  for (const char operation : std::string_view("ofxof")) first.Do(operation);
  CommitTiny(first);
  for (const char operation : std::string_view("ff")) first.Do(operation);
  FaultyStorage storage;
  StoreLife life(storage, StoreDurability::kProcess);
  for (const char operation : std::string_view("ofxof")) life.Do(operation);
  life.store.reset();
  storage = lost;
  for (const size_t segment : {size_t{3}, size_t{4}}) {
    Leave(storage, ProcessSegments::PathOf(segment), Left::kNothing);
  }
  life.Do('o');
  CommitTiny(life);
  for (const char operation : std::string_view("aff")) life.Do(operation);
  life.store.reset();
  ASSERT_FALSE(HasFailure());
  for (const size_t segment : {size_t{3}, size_t{4}}) {
    const std::string path = ProcessSegments::PathOf(segment);
    const std::string bytes = storage.Content(path);
    const std::string older = lost.Content(path);
    size_t begin = FixedAt<uint32_t>(&bytes[4]) + kFrameBytes;
    // The tiny block was synced.
    if (segment == 3) begin += BytesOfBlock(bytes.substr(begin));
    std::vector<size_t> begins = {begin};
    for (size_t from = segment == 3 ? 512 : 0; from < older.size(); from += 512) {
      begins.push_back(from);
    }
    for (const size_t from : begins) {
      SCOPED_TRACE(path + ", from " + std::to_string(from));
      FaultyStorage left = storage;
      left.SetContent(path, bytes.substr(0, from) + older.substr(from));
      CheckBeginning(left, StoreDurability::kProcess, life.model, life.synced);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// MANIFEST is on the disk before anything counts. Here one start could not sync its name; the next one
// finds it, and can not note how far it came; and then the power takes what is not certain.
TEST(StoreSegments, CountOnlyWhenManifestIsOnTheDisk) {
  FaultyStorage well;
  StoreLife(well, StoreDurability::kGroup).Do('o');
  const auto sync =
      std::ranges::find(well.log(), StorageCall::Kind::kSyncDirectory, &StorageCall::kind);
  ASSERT_NE(sync, well.log().end());
  FaultyStorage made;
  made.Fail({.call = static_cast<size_t>(sync - well.log().begin())});
  StoreLife begun(made, StoreDurability::kGroup);
  begun.Do('o');
  ASSERT_FALSE(begun.last.ok());
  const FaultyStorage killed = made;
  for (size_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    FaultyStorage storage = killed;
    storage.Fail({.call = call});
    StoreLife life(storage, StoreDurability::kGroup);
    for (const char operation : std::string_view("oac")) life.Do(operation);
    const bool failed = call < storage.calls();
    life.store.reset();
    FaultyStorage after = storage.Reboot([](uint32_t) { return 0; });
    CheckBeginning(after, StoreDurability::kGroup, life.model, life.durable);
    if (HasFailure() || !failed) return;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
