// State directories on a disk that fails: every error at every call of a snapshot and of a recovery, once
// and for good. Nothing that was kept may be lost, folding goes on, and the trouble is told.
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "tests/state/small_service.h"
#include "tests/support/check_whole.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Eq;
using Kind = StorageCall::Kind;

constexpr char kFaultyPath[] = "/notes";
constexpr std::array kErrors = {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, EACCES, EPERM, ENOENT};
constexpr uint64_t kPowerLosses = kSanitized ? 4 : 12;  // of each disk, drawn if there are more

StateDirectoryOptions OnDisk(FaultyStorage& storage) {
  return {.storage = &storage, .identity = 5};
}

// Where a restart from `disk` stands, once the process was killed there.
uint64_t PositionAfterRestart(const FaultyStorage& disk) {
  FaultyStorage storage = disk;
  storage.SetCapacity(UINT64_MAX);
  SmallService service;
  const absl::StatusOr<Recovered> found = service.Recover(kFaultyPath, OnDisk(storage));
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(service.notes.ledger().events, service.Position());
  CheckWhole(service.notes.any());
  // It can go on.
  service.Read(1);
  EXPECT_TRUE(service.TakeSnapshot().ok());
  return service.Position() - 1;
}

// The ways in which a call may fail.
std::vector<StorageFault> FaultsOf(size_t number, const StorageCall& call) {
  std::vector<StorageFault> faults;
  for (const int error : kErrors) {
    for (const bool for_good : {false, true}) {
      // To remove what is not there is no trouble.
      if (error == ENOENT && call.kind == Kind::kRemove) continue;
      StorageFault fault{.call = number, .error = error, .for_good = for_good};
      faults.push_back(fault);
      fault.done = call.changes();
      if (fault.done) faults.push_back(fault);
      fault.done = false;
      fault.bytes = call.kind == Kind::kAppend ? call.bytes / 2 : 0;
      if (fault.bytes > 0) faults.push_back(fault);
      fault.sync = FailedSync::kShowsOld;
      if (call.kind == Kind::kSync) faults.push_back(fault);
    }
  }
  return faults;
}

std::string Words(const StorageFault& fault, const StorageCall& call) {
  return call.ToString() + ", error " + std::to_string(fault.error) +
         (fault.for_good ? " for good" : "") + (fault.done ? " though done" : "");
}

// --- Snapshots

// Two snapshots of 5 and of 8 events; the second one meets `fault`.
void TakeWithFault(StorageFault fault) {
  FaultyStorage storage;
  SmallService service;
  ASSERT_TRUE(service.Recover(kFaultyPath, OnDisk(storage)).ok());
  service.Read(5);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  const uint64_t bytes = service.directory->state().bytes;
  service.Read(3);
  storage.Fail(fault);
  const absl::Status taken = service.TakeSnapshot();
  const SnapshotState state = service.directory->state();
  EXPECT_EQ(state.last, taken);
  const bool is_read = storage.log()[fault.call].kind == StorageCall::Kind::kReadAt;
  if (is_read && fault.error != 0 && fault.error != EINTR) {
    EXPECT_FALSE(taken.ok()) << "a snapshot that cannot be read again does not count";
  }
  EXPECT_EQ(state.taken, taken.ok() ? 2u : 1u);
  EXPECT_EQ(state.failed, taken.ok() ? 0u : 1u);
  if (!taken.ok()) {
    EXPECT_EQ(state.bytes, bytes);
  }
  const auto kept = [&] { return taken.ok() ? AnyOf(Eq(8u), Eq(8u)) : AnyOf(Eq(5u), Eq(8u)); };
  EXPECT_THAT(PositionAfterRestart(storage), kept());
  ForEachPowerLoss(storage, kPowerLosses, fault.call, [&](const FaultyStorage& left) {
    EXPECT_THAT(PositionAfterRestart(left), kept());
  });
  service.Read(4);
  EXPECT_EQ(service.Position(), 12u) << "folding goes on";
  if (fault.for_good) return;
  EXPECT_TRUE(service.TakeSnapshot().ok());
  EXPECT_THAT(NamesIn(storage, kFaultyPath), ElementsAre("MANIFEST", "snapshot-3"));
  ForEachPowerLoss(storage, kPowerLosses, fault.call,
                   [&](const FaultyStorage& left) { EXPECT_EQ(PositionAfterRestart(left), 12u); });
}

TEST(StateFaults, EachErrorOfEachCallOfASnapshotLeavesTheOneBefore) {
  FaultyStorage storage;
  SmallService service;
  ASSERT_TRUE(service.Recover(kFaultyPath, OnDisk(storage)).ok());
  service.Read(5);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  const size_t begin = storage.calls();
  service.Read(3);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  size_t tried = 0;
  for (size_t call = begin; call < storage.calls(); ++call) {
    for (const StorageFault& fault : FaultsOf(call, storage.log()[call])) {
      SCOPED_TRACE(Words(fault, storage.log()[call]));
      TakeWithFault(fault);
      ++tried;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(tried, 300u);
}

TEST(StateFaults, AFullDiskIsToldAndIsTriedAgain) {
  FaultyStorage storage;
  SmallService service;
  ASSERT_TRUE(service.Recover(kFaultyPath, OnDisk(storage)).ok());
  service.Read(5);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  uint64_t used = 0;
  for (const auto& [name, bytes] : FilesIn(storage, kFaultyPath)) used += bytes.size();
  service.Read(3);
  for (uint64_t room = 0; room < service.directory->state().bytes; room += 7) {
    storage.SetCapacity(used + room);
    EXPECT_EQ(service.TakeSnapshot().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(service.directory->state().last.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(NamesIn(storage, kFaultyPath), ElementsAre("MANIFEST", "snapshot-1"));
  }
  EXPECT_EQ(PositionAfterRestart(storage), 5u);
  storage.SetCapacity(UINT64_MAX);
  EXPECT_TRUE(service.TakeSnapshot().ok());
  EXPECT_TRUE(service.directory->state().last.ok());
  EXPECT_EQ(PositionAfterRestart(storage), 8u);
}

// --- Opening and recovering

// A directory with a snapshot of 5 events, with an unclean end, and what a crash may leave.
FaultyStorage DiskWithSnapshot() {
  FaultyStorage storage;
  SmallService service;
  EXPECT_TRUE(service.Recover(kFaultyPath, OnDisk(storage)).ok());
  service.Read(5);
  EXPECT_TRUE(service.TakeSnapshot().ok());
  service.Read(2);
  PutFile(storage, kFaultyPath, "snapshot-2.new", "half");
  PutFile(storage, kFaultyPath, "MANIFEST.new", "half");
  return storage;
}

void RecoverWithFault(const FaultyStorage& disk, uint64_t position, const StorageFault& fault) {
  FaultyStorage storage = disk;
  storage.Fail(fault);
  SmallService service;
  const absl::Status recovered = service.Recover(kFaultyPath, OnDisk(storage)).status();
  if (!recovered.ok()) {
    EXPECT_EQ(service.Position(), 0u) << "the engine is as it was";
    EXPECT_EQ(service.notes.ledger(), Ledger());
  }
  EXPECT_EQ(PositionAfterRestart(storage), position);
  ForEachPowerLoss(storage, kPowerLosses, fault.call, [&](const FaultyStorage& left) {
    EXPECT_EQ(PositionAfterRestart(left), position);
  });
  // Once more with the same directory, and with the same engine.
  if (!recovered.ok() && service.directory != nullptr && !fault.for_good) {
    const absl::StatusOr<Recovered> again = service.directory->Recover(*service.engine);
    EXPECT_TRUE(again.ok()) << again.status();
  } else if (!recovered.ok()) {
    service.Read(2);
    EXPECT_EQ(service.Position(), 2u);
    return;
  }
  EXPECT_EQ(service.Position(), position);
  EXPECT_EQ(service.notes.ledger().events, position);
  service.Read(2);
  if (fault.for_good) return;
  EXPECT_TRUE(service.TakeSnapshot().ok());
  EXPECT_EQ(NamesIn(storage, kFaultyPath).size(), 2u);
  ForEachPowerLoss(storage, kPowerLosses, fault.call, [&](const FaultyStorage& left) {
    EXPECT_EQ(PositionAfterRestart(left), position + 2);
  });
}

void RecoverWithEachFault(const FaultyStorage& disk, uint64_t position, size_t at_least) {
  FaultyStorage storage = disk;
  SmallService service;
  ASSERT_TRUE(service.Recover(kFaultyPath, OnDisk(storage)).ok());
  size_t tried = 0;
  for (size_t call = 0; call < storage.calls(); ++call) {
    for (const StorageFault& fault : FaultsOf(call, storage.log()[call])) {
      SCOPED_TRACE(Words(fault, storage.log()[call]));
      RecoverWithFault(disk, position, fault);
      ++tried;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(tried, at_least);
}

TEST(StateFaults, EachErrorOfEachCallOfARecoveryLosesNothing) {
  RecoverWithEachFault(DiskWithSnapshot(), 5, 300);
}

TEST(StateFaults, EachErrorOfEachCallInANewDirectoryLeavesItUsable) {
  RecoverWithEachFault(FaultyStorage(), 0, 150);
}

}  // namespace
}  // namespace pleat::inline v0_1
