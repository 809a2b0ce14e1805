// What a state directory keeps is what Recover() had: this engine, and these collections. None of
// them is gone from the directory without somebody having said so.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "engine/state/blocks.h"
#include "engine/state/state_files.h"
#include "tests/state/small_service.h"
#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPath[] = "/notes";

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

class StateCollectionsTest : public testing::Test {
 protected:
  StateDirectoryOptions Options() { return {.storage = &storage_, .identity = 5}; }

  // A directory with a snapshot of seven notes.
  void Fill() {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    service.Read(7);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  // Expects that a restart finds the seven notes.
  void ExpectKept() {
    storage_ = FaultyStorage(storage_);
    SmallService service;
    const absl::StatusOr<Recovered> found = service.Recover(kPath, Options());
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(service.Position(), 7u);
    EXPECT_THAT(found->began_empty, IsEmpty());
  }

  FaultyStorage storage_;
};

// --- The engine

TEST_F(StateCollectionsTest, AnEngineThatIsGoneIsRefusedAndTheGoodSnapshotStays) {
  Fill();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    const std::unique_ptr<Engine> handle = service.engine->Handle();
    service.engine.reset();
    const absl::Status refused = service.directory->TakeSnapshot(*handle);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(MessageOf(refused), HasSubstr("is gone"));
  }
  ExpectKept();
}

TEST_F(StateCollectionsTest, AnotherEngineIsRefusedAndTheGoodSnapshotStays) {
  Fill();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    SmallService other;
    const absl::Status refused = service.directory->TakeSnapshot(*other.engine);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(MessageOf(refused), HasSubstr("another engine"));
    EXPECT_TRUE(service.directory->TakeSnapshot(*service.engine->Handle()).ok())
        << "a handle is the engine";
  }
  ExpectKept();
}

TEST_F(StateCollectionsTest, AnEngineAtThePlaceOfTheOneThatWasRecoveredIsAnother) {
  Fill();
  {
    auto service = std::make_unique<SmallService>();
    ASSERT_TRUE(service->Recover(kPath, Options()).ok());
    const std::unique_ptr<StateDirectory> directory = std::move(service->directory);
    for (int i = 0; i < 10; ++i) {
      service.reset();
      service = std::make_unique<SmallService>();
      EXPECT_EQ(directory->TakeSnapshot(*service->engine).code(),
                absl::StatusCode::kFailedPrecondition);
    }
  }
  ExpectKept();
}

TEST_F(StateCollectionsTest, AnEngineThatIsGoneCannotBeRecovered) {
  for (const bool filled : {false, true}) {
    if (filled) Fill();
    SmallService service;
    service.directory = StateDirectory::Open(kPath, Options()).value();
    const std::unique_ptr<Engine> handle = service.engine->Handle();
    service.engine.reset();
    EXPECT_THAT(MessageOf(service.directory->Recover(*handle).status()), HasSubstr("is gone"));
    EXPECT_EQ(FilesIn(storage_, kPath).size(), filled ? 2u : 0u) << "nothing was written";
  }
}

// In a new directory, in one where a life has ended without a snapshot, and in one with a snapshot.
TEST_F(StateCollectionsTest, AnEngineThatHasTakenEventsCannotBeRecovered) {
  const auto refuse = [&] {
    SmallService service;
    service.directory = StateDirectory::Open(kPath, Options()).value();
    service.notes.Fold("key", {1}, kT0);
    const auto before = FilesIn(storage_, kPath);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const absl::Status refused = service.directory->Recover(*service.engine).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(MessageOf(refused), HasSubstr("has been used already"));
    }
    EXPECT_EQ(FilesIn(storage_, kPath), before) << "nothing was written";
    EXPECT_EQ(service.notes.ledger().events, 1u);
    SmallService other;
    EXPECT_TRUE(service.directory->Recover(*other.engine).ok()) << "the call may be made again";
  };
  refuse();
  refuse();
  Fill();
  refuse();
  ExpectKept();
}

TEST(Snapshots, NumbersAreSkippedBeforeTheFirstEventOrNotAtAll) {
  SmallService service;
  EXPECT_TRUE(SkipNumbers(*service.engine, uint64_t{1} << 32).ok());
  service.notes.Fold("key", {1}, kT0);
  EXPECT_EQ(SkipNumbers(*service.engine, uint64_t{1} << 32).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Snapshots, OfAnEngineThatIsGoneAreRefused) {
  SmallService service;
  const std::unique_ptr<Engine> handle = service.engine->Handle();
  service.engine.reset();
  StringSink sink;
  EXPECT_EQ(TakeSnapshot(*handle, sink).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sink.bytes, "");
}

// --- The collections

TEST_F(StateCollectionsTest, AFolderThatWasClosedTooEarlyIsNamedAndTheGoodSnapshotStays) {
  Fill();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    service.notes.Close();
    for (int attempt = 0; attempt < 2; ++attempt) {
      const absl::Status refused = service.TakeSnapshot();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(MessageOf(refused), HasSubstr("\"notes\" was closed"));
    }
  }
  ExpectKept();
}

TEST_F(StateCollectionsTest, AFolderThatIsClosedForGoodIsNamedToTheNextSnapshotOnce) {
  Fill();
  SmallService service;
  ASSERT_TRUE(service.Recover(kPath, Options()).ok());
  service.notes.Close();
  const std::vector<std::string> closed = {"notes"};
  ASSERT_TRUE(service.directory->TakeSnapshot(*service.engine, {}, closed).ok());
  EXPECT_TRUE(service.TakeSnapshot().ok()) << "the one before does not have it";
  service.directory.reset();
  SmallService next;
  const absl::StatusOr<Recovered> found = next.Recover(kPath, Options());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->snapshot.has_value());
  EXPECT_THAT(found->began_empty, ElementsAre("notes"));
  EXPECT_EQ(next.Position(), 0u);
}

// Its name is there, and what it held is not.
TEST_F(StateCollectionsTest, AFolderThatWasOpenedAnewIsNotTheOneThatWasClosed) {
  Fill();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    for (int time = 0; time < 2; ++time) {
      service.notes.Close();
      service.notes = Folder<Note, Notes>(*service.engine, "notes", kNotesOptions);
      service.notes.Fold("key", {1}, kT0);
      const absl::Status refused = service.TakeSnapshot();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(MessageOf(refused), HasSubstr("\"notes\" was closed, and opened anew"));
    }
  }
  ExpectKept();
  SmallService service;
  ASSERT_TRUE(service.Recover(kPath, Options()).ok());
  service.notes.Close();
  service.notes = Folder<Note, Notes>(*service.engine, "notes", kNotesOptions);
  const std::vector<std::string> closed = {"notes"};
  ASSERT_TRUE(service.directory->TakeSnapshot(*service.engine, {}, closed).ok());
  EXPECT_TRUE(service.TakeSnapshot().ok()) << "from now on it is the one of its name";
}

TEST_F(StateCollectionsTest, TheFirstSnapshotHasAllThatRecoverHad) {
  SmallService service;
  std::optional<Folder<Note, Notes>> more(std::in_place, *service.engine, "more", kNotesOptions);
  const absl::StatusOr<Recovered> found = service.Recover(kPath, Options());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->snapshot.has_value());
  EXPECT_THAT(found->began_empty, ElementsAre("more", "notes"));
  more->Close();
  EXPECT_THAT(MessageOf(service.TakeSnapshot()), HasSubstr("\"more\" was closed"));
}

TEST_F(StateCollectionsTest, OneThatWasOpenedLaterIsKeptAsWell) {
  Fill();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    std::optional<Folder<Note, Notes>> more(std::in_place, *service.engine, "more", kNotesOptions);
    more->Fold("key", {1}, kT0);
    ASSERT_TRUE(service.TakeSnapshot().ok());
    more->Close();
    EXPECT_THAT(MessageOf(service.TakeSnapshot()), HasSubstr("\"more\" was closed"));
  }
  SmallService service;
  Folder<Note, Notes> more(*service.engine, "more", kNotesOptions);
  Folder<Note, Notes> newer(*service.engine, "newer", kNotesOptions);
  const absl::StatusOr<Recovered> found = service.Recover(kPath, Options());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->began_empty, ElementsAre("newer"));
  EXPECT_EQ(more.ledger().events, 1u);
}

// A directory with two collections, "more" and "notes", in all of two partitions.
class TwoCollectionsTest : public StateCollectionsTest {
 protected:
  TwoCollectionsTest() {
    SmallService service;
    Folder<Note, Notes> more(*service.engine, "more", kNotesOptions);
    EXPECT_TRUE(service.Recover(kPath, Options()).ok());
    service.Read(7);
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) more.Fold(key, {1}, kT0);
    EXPECT_TRUE(service.TakeSnapshot().ok());
  }
};

TEST_F(TwoCollectionsTest, OneThatNobodyHasOpenedIsRefused) {
  SmallService service;
  const absl::Status refused = service.Recover(kPath, Options()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(refused), HasSubstr("\"more\""));
}

TEST_F(TwoCollectionsTest, OneThatNobodyHasOpenedIsForgottenIfItIsNamed) {
  {
    SmallService service;
    service.directory = StateDirectory::Open(kPath, Options()).value();
    const std::vector<std::string> drop = {"more", "nothing"};
    const absl::StatusOr<Recovered> found = service.directory->Recover(*service.engine, drop);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(found->began_empty, IsEmpty());
    EXPECT_EQ(service.Position(), 7u);
    EXPECT_THAT(service.notes.Peek("key 1")->state.numbers, ElementsAre(1, 6));
    CheckWhole(service.notes.any());
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  ExpectKept();
}

TEST_F(TwoCollectionsTest, OneThatIsNamedAndOpenIsKept) {
  SmallService service;
  Folder<Note, Notes> more(*service.engine, "more", kNotesOptions);
  service.directory = StateDirectory::Open(kPath, Options()).value();
  const std::string drop[] = {"more"};
  ASSERT_TRUE(service.directory->Recover(*service.engine, drop).ok());
  EXPECT_EQ(more.ledger().events, 6u);
}

// --- MANIFEST says whether there has been a snapshot

Manifest ManifestIn(FaultyStorage& storage) {
  const std::string bytes = storage.Content(std::string(kPath) + "/MANIFEST");
  StringSource source(bytes);
  return Manifest::Read(source).value();
}

TEST_F(StateCollectionsTest, ASnapshotThatIsGoneIsNoBeginning) {
  Fill();
  const std::string snapshot = FilesIn(storage_, kPath).at("snapshot-1");
  storage_.OpenDirectory(kPath, IfMissing::kFail).value()->Remove("snapshot-1").IgnoreError();
  const auto before = FilesIn(storage_, kPath);
  const absl::Status refused = StateDirectory::Open(kPath, Options()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(MessageOf(refused), HasSubstr("/notes/MANIFEST: says that a snapshot was here"));
  EXPECT_EQ(FilesIn(storage_, kPath), before);
  PutFile(storage_, kPath, "snapshot-1", snapshot);
  ExpectKept();
}

TEST_F(StateCollectionsTest, TheFirstSnapshotIsOnTheDiskBeforeTheManifestSaysSo) {
  SmallService service;
  storage_.Record();
  ASSERT_TRUE(service.Recover(kPath, Options()).ok());
  service.Read(7);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  EXPECT_TRUE(ManifestIn(storage_).kept);
  size_t said = 0;
  for (size_t call = 0; call <= storage_.calls(); ++call) {
    ForEachPowerLoss(storage_.At(call), 64, call, [&](FaultyStorage left) {
      const auto files = FilesIn(left, kPath);
      if (!files.contains("MANIFEST") || !ManifestIn(left).kept) return;
      EXPECT_TRUE(files.contains("snapshot-1")) << "at call " << call;
      ++said;
    });
  }
  EXPECT_GT(said, 0u);
}

// A process was killed when its first snapshot had a name and nothing was synced. The next one says
// that there is a snapshot: then it is on the disk.
TEST_F(StateCollectionsTest, ASnapshotThatIsFoundIsOnTheDiskBeforeTheManifestSaysSo) {
  FaultyStorage first;
  size_t named = 0;
  {
    SmallService service;
    first.Record();
    ASSERT_TRUE(service.Recover(kPath, {.storage = &first, .identity = 5}).ok());
    service.Read(7);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  for (size_t call = 0; call < first.calls(); ++call) {
    if (!FilesIn(first, kPath).empty() && first.log()[call].kind == StorageCall::Kind::kRename) {
      named = call + 1;
      if (first.log()[call].path.find("snapshot-1") != std::string::npos) break;
    }
  }
  FaultyStorage killed = first.At(named);
  ASSERT_TRUE(FilesIn(killed, kPath).contains("snapshot-1"));
  ASSERT_FALSE(ManifestIn(killed).kept);
  FaultyStorage second = killed;
  second.Record();
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, {.storage = &second, .identity = 5}).ok());
    EXPECT_EQ(service.Position(), 7u);
  }
  EXPECT_TRUE(ManifestIn(second).kept);
  for (size_t call = 0; call <= second.calls(); ++call) {
    ForEachPowerLoss(second.At(call), 64, call, [&](FaultyStorage left) {
      SmallService service;
      const absl::StatusOr<Recovered> found =
          service.Recover(kPath, {.storage = &left, .identity = 5});
      EXPECT_TRUE(found.ok()) << "at call " << call << ": " << found.status();
    });
  }
}

// What is on the disk is kept, and said by the next attempt.
TEST_F(StateCollectionsTest, AManifestThatCannotSaySoFailsTheAttemptAndLosesNothing) {
  bool reached = true;
  for (size_t call = 0; reached; ++call) {
    FaultyStorage storage;
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, {.storage = &storage, .identity = 5}).ok());
    service.Read(7);
    const size_t fault = storage.calls() + call;
    storage.Fail({.call = fault, .error = ENOSPC});
    const bool taken = service.TakeSnapshot().ok();
    reached = storage.calls() > fault;
    storage.Heal();
    EXPECT_TRUE(taken || reached);
    const bool has_snapshot = FilesIn(storage, kPath).size() == 2;
    FaultyStorage killed = storage;
    EXPECT_TRUE(!ManifestIn(killed).kept || has_snapshot) << "at call " << call;
    EXPECT_TRUE(service.TakeSnapshot().ok());
    EXPECT_TRUE(ManifestIn(storage).kept) << "at call " << call;
    EXPECT_EQ(FilesIn(storage, kPath).size(), 2u) << "at call " << call;
    SmallService next;
    ASSERT_TRUE(next.Recover(kPath, {.storage = &killed, .identity = 5}).ok());
    EXPECT_EQ(next.Position(), has_snapshot ? 7u : 0u) << "at call " << call;
  }
}

// --- Directories of others

TEST(StateDirectories, OfSomebodyElseAreRefusedAndStayAsTheyAre) {
  const TemporaryDirectory above;
  const std::string path = above / "theirs";
  std::filesystem::create_directory(path);
  above.Write("theirs/notes.txt", "theirs");
  const absl::Status refused = StateDirectory::Open(path).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(MessageOf(refused), HasSubstr(path + " is no state directory"));
  EXPECT_THAT(TemporaryDirectory::Names(path), ElementsAre("notes.txt"));
}

TEST(StateDirectories, WithALockOfSomebodyElseAreRefusedAndTheLockStays) {
  const TemporaryDirectory above;
  const std::string path = above / "theirs";
  std::filesystem::create_directory(path);
  for (const std::string text : {"version = 3\n", "123456789012345678901"}) {
    above.Write("theirs/LOCK", text);
    EXPECT_EQ(StateDirectory::Open(path).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(Content(path + "/LOCK"), text);
  }
  // What a process that was killed, or a crash, leaves of a lock.
  for (const std::string& text : {std::string("4711"), std::string(), std::string(4, '\0')}) {
    above.Write("theirs/LOCK", text);
    EXPECT_TRUE(StateDirectory::Open(path).ok());
  }
}

TEST(StateDirectories, WithWhatSystemsPutEverywhereAreNew) {
  const TemporaryDirectory above;
  const std::string path = above / "volume";
  std::filesystem::create_directories(path + "/lost+found");
  above.Write("volume/.nfs0001", "");
  EXPECT_TRUE(StateDirectory::Open(path).ok());
}

}  // namespace
}  // namespace pleat::inline v0_1
