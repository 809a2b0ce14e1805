// Lives in which a call of the disk fails, each in turn. When the disk is well again, so is the store:
// everything that was taken becomes durable. Killed or without power at any time after the fault, it
// has what it had reported durable. And nothing is acknowledged behind a hole: where a failed sync has
// dropped what was written, the store refuses appends until it has written that again, or is opened
// anew.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/store/store_check.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kLives[] = {"oacacac",   "oabcbcac", "obcbcaccrbcac",
                                       "oacxacrac", "oarcarc",  "obcbcxbcrbcs",
                                       "offfc",     "offrffac", "ofafsffc"};

constexpr auto kModes = {StoreDurability::kProcess, StoreDurability::kInterval,
                         StoreDurability::kGroup};

uint32_t LoseAll(uint32_t) { return 0; }

// The disk is well: the store is, at the latest after a commit; and Sync() and Close() say so.
void CheckIsWell(FaultyStorage& storage, StoreLife& life) {
  life.Do('c');
  ASSERT_TRUE(life.last.ok()) << life.last;
  life.Append(3, 10);
  ASSERT_EQ(life.outcome, AppendOutcome::kAppended);
  life.Do('c');
  ASSERT_TRUE(life.last.ok()) << life.last;
  EXPECT_EQ(life.durable, life.model.End());
  const auto all = ReadAll(*life.store);
  ASSERT_TRUE(all.ok()) << all.status();
  for (int p = 0; p < kStorePartitions; ++p) EXPECT_EQ(all->at(p), life.model.records[p]);
  EXPECT_EQ(NotesOf(*life.store), life.model.NotesAt(life.durable));
  const StoreDurability mode = life.options().durability;
  FaultyStorage killed = storage;
  CheckBeginning(killed, mode, life.model, life.durable);
  FaultyStorage lost = storage.Reboot(LoseAll);
  CheckBeginning(lost, mode, life.model, life.certain());
  life.Do('s');
  ASSERT_TRUE(life.last.ok()) << life.last;
  FaultyStorage synced = storage.Reboot(LoseAll);
  const StoreModel::Cut end = CheckBeginning(synced, mode, life.model, life.model.End());
  if (!testing::Test::HasFailure()) CheckGoesOn(synced, mode, end);
  life.Do('x');
  ASSERT_TRUE(life.ok()) << life.last << ", " << life.closed;
  FaultyStorage closed = storage.Reboot(LoseAll);
  CheckBeginning(closed, mode, life.model, life.model.End());
}

// Pages are gone that nobody can read back, and the store says so until it is opened again: to
// everybody, and on a disk that is well.
void CheckRefusesUntilItIsOpened(StoreLife& life) {
  ASSERT_TRUE(life.drops_pages);
  const StoreModel::Cut durable = life.durable;
  EXPECT_EQ(life.store->state().answers, AppendOutcome::kStoreFailed);
  EXPECT_FALSE(life.store->state().last_error.ok());
  for (const char operation : std::string_view("csc")) {
    life.Do(operation);
    EXPECT_FALSE(life.last.ok());
    life.Append(1, 10);
    EXPECT_EQ(life.outcome, AppendOutcome::kStoreFailed);
  }
  EXPECT_FALSE(life.store->Close().ok());
  EXPECT_EQ(life.durable, durable);
  life.Do('r');
  ASSERT_TRUE(life.last.ok()) << life.last;
}

// `fault` is the one that the storage has, and is still to come or not.
void DoWithFault(const FaultyStorage& storage, const StorageFault& fault, StoreLife& life,
                 char operation) {
  if (storage.calls() <= fault.call) life.drops_pages = fault.sync == FailedSync::kShowsOld;
  life.Do(operation);
}

// A life in which a call fails. Returns how many calls there were.
size_t LiveWithFault(std::string_view word, StoreDurability durability, const StorageFault& fault) {
  FaultyStorage storage;
  storage.Fail(fault);
  StoreLife life(storage, durability);
  for (const char operation : word) {
    DoWithFault(storage, fault, life, operation);
    if (testing::Test::HasFailure()) return 0;
  }
  const size_t calls = storage.calls();
  storage.Heal();
  if (life.store == nullptr) life.Do('o');
  EXPECT_NE(life.store, nullptr) << life.last;
  if (life.store == nullptr) return 0;
  life.Do('c');
  if (!life.last.ok() && life.drops_pages && durability != StoreDurability::kGroup) {
    CheckRefusesUntilItIsOpened(life);
  }
  if (!testing::Test::HasFailure()) CheckIsWell(storage, life);
  return calls;
}

class StoreFault : public testing::TestWithParam<StoreDurability> {};
INSTANTIATE_TEST_SUITE_P(Modes, StoreFault, testing::ValuesIn(kModes));

TEST_P(StoreFault, AtAnyCallIsOverWhenTheDiskIsWell) {
  const uint64_t every = ShareOf({.whole = 1, .usual = 5, .sanitized = 61});
  uint64_t lives = 0;
  for (const std::string_view word : kLives) {
    const size_t calls = LiveWithFault(word, GetParam(), {.call = SIZE_MAX});
    for (size_t call = 0; call < calls; ++call) {
      for (const int error : {EIO, ENOSPC}) {
        for (const bool for_good : {false, true}) {
          for (const bool done : {false, true}) {
            if (lives++ % every != 0) continue;
            SCOPED_TRACE(std::string(word) + ", call " + std::to_string(call) + ", error " +
                         std::to_string(error) + (for_good ? ", for good" : "") +
                         (done ? ", done" : ""));
            LiveWithFault(
                word, GetParam(),
                {.call = call, .error = error, .for_good = for_good, .done = done, .bytes = 100});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  std::cout << "lives " << lives / every << "\n";
}

// The syncs in a life that is well, of segments or of all files.
std::vector<size_t> SyncsOf(std::string_view word, StoreDurability durability,
                            std::string_view path = "") {
  ToldLife told;
  Tell(word, durability, told);
  std::vector<size_t> calls;
  for (size_t call = 0; call < told.storage.calls(); ++call) {
    const StorageCall& each = told.storage.log()[call];
    if (each.kind == StorageCall::Kind::kSync && each.path.find(path) != each.path.npos) {
      calls.push_back(call);
    }
  }
  return calls;
}

TEST_P(StoreFault, OfASyncThatDropsItsPagesLosesNothingThatIsAcknowledgedAfterIt) {
  for (const std::string_view word : kLives) {
    for (const size_t call : SyncsOf(word, GetParam())) {
      for (const int error : {EIO, ENOSPC}) {
        SCOPED_TRACE(std::string(word) + ", call " + std::to_string(call) + ", error " +
                     std::to_string(error));
        LiveWithFault(word, GetParam(),
                      {.call = call, .error = error, .sync = FailedSync::kShowsOld});
        if (HasFailure()) return;
      }
    }
  }
}

// As weeks of a log may follow a fault, they do here: whatever is answered meanwhile has to be true.
TEST_P(StoreFault, OfASyncLeavesNoHoleBeforeAnythingDurable) {
  constexpr std::string_view kWord = "ofacfacfcac";
  for (const size_t call : SyncsOf(kWord, GetParam())) {
    for (const FailedSync pages : {FailedSync::kShowsOld, FailedSync::kKeepsNew}) {
      SCOPED_TRACE(std::to_string(call) + (pages == FailedSync::kShowsOld ? ", drops" : ", keeps"));
      FaultyStorage storage;
      const StorageFault fault{.call = call, .sync = pages};
      storage.Fail(fault);
      StoreLife life(storage, GetParam());
      StoreModel::Cut at_fault;
      bool has_resumed = false;
      for (int round = 0; round < 4; ++round) {
        for (const char operation : round == 0 ? kWord : kWord.substr(1)) {
          if (life.store == nullptr && operation != 'o') life.Do('o');
          const bool failed = storage.calls() > call;
          DoWithFault(storage, fault, life, operation);
          if (storage.calls() <= call) continue;
          if (!failed) at_fault = life.durable;
          if (!life.refuses()) has_resumed = true;
          if (!has_resumed) {
            EXPECT_EQ(life.durable, at_fault) << "durable behind a hole";
          }
        }
      }
      if (pages == FailedSync::kKeepsNew) {
        EXPECT_TRUE(has_resumed);
      }
      FaultyStorage killed = storage;
      const StoreModel::Cut end =
          CheckBeginning(killed, GetParam(), life.model, has_resumed ? life.durable : life.kept());
      if (!HasFailure()) CheckGoesOn(killed, GetParam(), end);
      if (HasFailure()) return;
    }
  }
}

// The pages are still there, and may go at any time: what is written anew does not need them.
TEST_P(StoreFault, OfASyncThatKeepsItsPagesIsOverWithACommit) {
  FaultyStorage storage;
  StoreLife life(storage, GetParam());
  storage.Fail({.call = SyncsOf("oacfc", GetParam(), "segment").back()});
  for (const char operation : std::string_view("oacf")) life.Do(operation);
  ASSERT_TRUE(life.ok());
  life.Do('c');
  EXPECT_FALSE(life.last.ok());
  EXPECT_EQ(life.store->state().answers, AppendOutcome::kStoreFailed);
  life.Append(1, 10);
  EXPECT_EQ(life.outcome, AppendOutcome::kStoreFailed);
  life.Do('c');
  ASSERT_TRUE(life.last.ok()) << life.last;
  FaultyStorage lost = storage.Reboot(LoseAll);
  CheckBeginning(lost, GetParam(), life.model, life.model.End());
  CheckIsWell(storage, life);
}

uint64_t BytesOf(const FaultyStorage& storage) {
  uint64_t bytes = 0;
  for (const std::string& path : storage.Paths()) bytes += storage.Content(path).size();
  return bytes;
}

// The disk is full behind any byte: of a block, of the index at the end of a segment, of the next
// segment's head, of MANIFEST.
TEST_P(StoreFault, OfADiskThatIsFullIsOverWithTheFirstCommitThatHasSpace) {
  const uint64_t step = ShareOf({.whole = 29, .usual = 131, .sanitized = 997});
  for (const std::string_view word : {"ac", "f", "fc", "ff", "fca", "bcbcbc", "facf", "fcfcs"}) {
    for (uint64_t room = 0; room < 12'000; room += step) {
      SCOPED_TRACE(std::string(word) + ", room for " + std::to_string(room) + " bytes");
      FaultyStorage storage;
      StoreLife life(storage, GetParam());
      for (const char operation : std::string_view("oac")) life.Do(operation);
      storage.SetCapacity(BytesOf(storage) + room);
      for (const char operation : word) life.Do(operation);
      if (life.refuses()) {
        EXPECT_EQ(life.store->state().answers, AppendOutcome::kStoreFull);
      }
      storage.SetCapacity(UINT64_MAX);
      CheckIsWell(storage, life);
      if (HasFailure()) return;
    }
  }
}

// What comes after a fault: a kill, or a power loss, at each later call.
class StoreFaultAndThen : public testing::TestWithParam<std::tuple<StoreDurability, Lost>> {
 protected:
  StoreDurability mode() const { return std::get<0>(GetParam()); }

  // False: no such call.
  bool Live(std::string_view word, const StorageFault& fault) {
    ToldLife told;
    told.storage.set_lost(std::get<1>(GetParam()));
    told.storage.Record();
    told.storage.Fail(fault);
    StoreLife life(told.storage, mode());
    told.moments.push_back(Moment::Of(told.storage, life));
    for (const char operation : word) {
      const bool had_failed = told.storage.calls() > fault.call;
      DoWithFault(told.storage, fault, life, operation);
      if (HasFailure()) return false;
      told.moments.push_back(Moment::Of(told.storage, life));
      // While the operation goes on that has the fault, nobody knows which pages are left.
      if (!had_failed && told.storage.calls() > fault.call) {
        Moment& before = told.moments[told.moments.size() - 2];
        if (fault.sync == FailedSync::kShowsOld) before.kept = before.certain;
      }
    }
    if (fault.call >= told.storage.calls()) return false;
    for (size_t call = fault.call; call <= told.storage.calls() && !HasFailure(); ++call) {
      SCOPED_TRACE("then call " + std::to_string(call));
      const Moment& before = told.Before(call);
      const Moment& during = told.During(call);
      // A file that was removed may be there again, with what no start had found since.
      std::vector<const StoreModel*> models;
      for (const StoreModel& left : life.left_behind) models.push_back(&left);
      models.resize(during.left_behind);
      models.push_back(&during.model);
      FaultyStorage killed = told.storage.At(call);
      ForEachPowerLoss(
          killed, ShareOf({.whole = 6, .usual = 3, .sanitized = 2}), call * 977 + fault.call,
          [&](FaultyStorage left) { CheckBeginning(left, mode(), models, before.certain); });
      CheckBeginning(killed, mode(), during.model, before.kept);
    }
    return true;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, StoreFaultAndThen,
                         testing::Values(std::tuple(StoreDurability::kGroup, Lost::kZeros),
                                         std::tuple(StoreDurability::kGroup, Lost::kOlderFile),
                                         std::tuple(StoreDurability::kInterval, Lost::kZeros),
                                         std::tuple(StoreDurability::kProcess, Lost::kZeros),
                                         std::tuple(StoreDurability::kProcess, Lost::kOlderFile)));

TEST_P(StoreFaultAndThen, AKillOrAPowerLossAtAnyCallLosesNothingDurable) {
  // Syncs are few, and what they drop is gone.
  const uint64_t every_sync = ShareOf({.whole = 1, .usual = 3, .sanitized = 53});
  const uint64_t every_other = ShareOf({.whole = 5, .usual = 23, .sanitized = 211});
  uint64_t syncs = 0, others = 0, lives = 0;
  for (const std::string_view word :
       {"oacbcacc", "obcarcbcc", "oacxacracc", "oacrrcacc", "offcfrfcacc", "ofsfafcxfcc"}) {
    const std::vector<size_t> drop = SyncsOf(word, mode());
    bool is_there = true;
    // What a first start leaves is tried by the power losses of store_crash_test.
    for (size_t call = 8; is_there; ++call) {
      for (const StorageFault& kind :
           {StorageFault{.error = EIO, .bytes = 100},
            StorageFault{.error = ENOSPC, .bytes = 100, .sync = FailedSync::kShowsOld},
            StorageFault{.error = EIO, .done = true}}) {
        const bool drops = kind.sync == FailedSync::kShowsOld;
        if (drops && !std::ranges::binary_search(drop, call)) continue;
        if (drops ? syncs++ % every_sync != 0 : others++ % every_other != 0) continue;
        ++lives;
        StorageFault fault = kind;
        fault.call = call;
        SCOPED_TRACE(std::string(word) + ", fault at call " + std::to_string(call) + ", error " +
                     std::to_string(fault.error) + (fault.done ? ", done" : ""));
        is_there = Live(word, fault);
        if (HasFailure()) return;
      }
    }
  }
  std::cout << "lives " << lives << "\n";
}

}  // namespace
}  // namespace pleat::inline v0_1
