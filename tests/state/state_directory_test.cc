// State directories, story by story. That no crash loses anything is crash_states_test.cc.
#include <pleat/state_directory.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/state/blocks.h"
#include "tests/state/small_service.h"
#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct StateDirectorySide {
  const char* name;
  std::function<Storage*(FaultyStorage&)> storage;
};

class StateDirectoryTest : public testing::TestWithParam<StateDirectorySide> {
 protected:
  absl::StatusOr<Recovered> Start(SmallService& service) {
    return service.Recover(path_, {.storage = &storage_, .identity = 5});
  }
  std::vector<std::string> Names() { return NamesIn(storage_, path_); }

  TemporaryDirectory above_;
  std::string path_ = above_ / "notes";
  FaultyStorage faulty_;
  Storage& storage_ = *GetParam().storage(faulty_);
};

INSTANTIATE_TEST_SUITE_P(
    Storages, StateDirectoryTest,
    testing::Values(StateDirectorySide{"Posix", [](FaultyStorage&) { return &PosixStorage(); }},
                    StateDirectorySide{"Faulty", [](FaultyStorage& faulty) { return &faulty; }}),
    [](const auto& side) { return side.param.name; });

TEST_P(StateDirectoryTest, ANewDirectoryBeginsEmpty) {
  SmallService service;
  const absl::StatusOr<Recovered> found = Start(service);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->snapshot.has_value());
  EXPECT_EQ(found->passed_over, "");
  EXPECT_EQ(service.Position(), 0u);
  EXPECT_EQ(service.directory->state().taken, 0u);
  EXPECT_EQ(service.directory->state().bytes, 0u);
  EXPECT_THAT(Names(), ElementsAre("MANIFEST"));
}

TEST_P(StateDirectoryTest, ARestartStandsWhereTheNewestSnapshotStood) {
  uint64_t bytes = 0;
  {
    SmallService service;
    ASSERT_TRUE(Start(service).ok());
    service.Read(3);
    ASSERT_TRUE(service.TakeSnapshot().ok());
    service.Read(4);
    ASSERT_TRUE(service.TakeSnapshot().ok());
    service.Read(5);
    EXPECT_EQ(service.directory->state().taken, 2u);
    bytes = service.directory->state().bytes;
    EXPECT_GT(bytes, 0u);
  }
  SmallService service;
  const absl::StatusOr<Recovered> found = Start(service);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->snapshot.has_value());
  EXPECT_EQ(found->snapshot->partitions, 2);
  EXPECT_EQ(service.Position(), 7u);
  EXPECT_EQ(service.notes.ledger().events, 7u);
  EXPECT_THAT(service.notes.Peek("key 1")->state.numbers, ElementsAre(1, 6));
  EXPECT_EQ(service.directory->state().bytes, bytes) << "of the newest, also before one is taken";
  EXPECT_EQ(service.directory->state().taken, 0u);
  CheckWhole(service.notes.any());
}

TEST_P(StateDirectoryTest, OnlyOneSnapshotStays) {
  SmallService service;
  ASSERT_TRUE(Start(service).ok());
  for (int i = 0; i < 5; ++i) {
    service.Read(3);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  EXPECT_THAT(Names(), ElementsAre("MANIFEST", "snapshot-5"));
}

TEST_P(StateDirectoryTest, OtherThreadsMayHelp) {
  {
    SmallService service;
    ASSERT_TRUE(Start(service).ok());
    service.Read(20);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  SmallService service;
  service.directory = StateDirectory::Open(path_, {.storage = &storage_}).value();
  bool worked = false;
  const auto work = [&](Restore& restore) {
    restore.Work();
    worked = true;
  };
  ASSERT_TRUE(service.directory->Recover(*service.engine, work).ok());
  EXPECT_TRUE(worked);
  EXPECT_EQ(service.Position(), 20u);
}

TEST_P(StateDirectoryTest, ASnapshotComesAfterRecoveringAndRecoveringIsOnce) {
  SmallService service;
  service.directory = StateDirectory::Open(path_, {.storage = &storage_}).value();
  EXPECT_EQ(service.TakeSnapshot().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(service.directory->state().failed, 0u);
  ASSERT_TRUE(service.directory->Recover(*service.engine).ok());
  EXPECT_EQ(service.directory->Recover(*service.engine).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(service.TakeSnapshot().ok());
}

TEST_P(StateDirectoryTest, ASecondOpenerIsToldWhoHasTheDirectory) {
  SmallService service;
  ASSERT_TRUE(Start(service).ok());
  const absl::Status second = StateDirectory::Open(path_, {.storage = &storage_}).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("is locked by process " + std::to_string(getpid())));
  service.directory.reset();
  EXPECT_TRUE(StateDirectory::Open(path_, {.storage = &storage_}).ok());
}

TEST_P(StateDirectoryTest, LeftoversDoNoHarmAndGo) {
  {
    SmallService service;
    ASSERT_TRUE(Start(service).ok());
    service.Read(3);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  PutFile(storage_, path_, "snapshot-2.new", "half");
  PutFile(storage_, path_, "snapshot-9.new", "");
  PutFile(storage_, path_, "MANIFEST.new", "half");
  PutFile(storage_, path_, "snapshot-007", "another's");
  PutFile(storage_, path_, "snapshot-", "another's");
  PutFile(storage_, path_, "snapshot-18446744073709551615", "another's");
  PutFile(storage_, path_, "notes.txt", "another's");
  SmallService service;
  const absl::StatusOr<Recovered> found = Start(service);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->passed_over, "");
  EXPECT_EQ(service.Position(), 3u);
  EXPECT_THAT(Names(), ElementsAre("MANIFEST", "notes.txt", "snapshot-", "snapshot-007",
                                   "snapshot-1", "snapshot-18446744073709551615"));
  ASSERT_TRUE(service.TakeSnapshot().ok());
  EXPECT_THAT(Names(), ElementsAre("MANIFEST", "notes.txt", "snapshot-", "snapshot-007",
                                   "snapshot-10", "snapshot-18446744073709551615"));
}

// --- What only the system has

TEST(StateDirectoryFiles, AreForTheOwnerAlone) {
  const TemporaryDirectory above;
  const std::string path = above / "notes";
  SmallService service;
  ASSERT_TRUE(service.Recover(path, {}).ok());
  service.Read(3);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  EXPECT_THAT(TemporaryDirectory::Names(path), ElementsAre("LOCK", "MANIFEST", "snapshot-1"));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const std::string& name : TemporaryDirectory::Names(path)) {
    ASSERT_EQ(stat((path + "/" + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST(StateDirectoryFiles, ASymbolicLinkInOrAtTheDirectoryIsRefused) {
  const TemporaryDirectory above;
  const std::string path = above / "notes";
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(path, {}).ok());
    service.Read(3);
    ASSERT_TRUE(service.TakeSnapshot().ok());
  }
  std::filesystem::create_symlink(path, above / "link");
  EXPECT_EQ(StateDirectory::Open(above / "link").status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const std::string name : {"LOCK", "MANIFEST", "snapshot-1"}) {
    const std::string file = path + "/" + name;
    std::filesystem::rename(file, above / "elsewhere");
    std::filesystem::create_symlink(above / "elsewhere", file);
    const std::string bytes = Content(above / "elsewhere");
    SmallService service;
    const absl::Status refused = service.Recover(path, {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(file + " is a symbolic link"));
    EXPECT_EQ(Content(above / "elsewhere"), bytes);
    service.directory.reset();
    std::filesystem::remove(file);
    std::filesystem::rename(above / "elsewhere", file);
  }
  SmallService service;
  EXPECT_TRUE(service.Recover(path, {}).ok());
}

TEST(StateDirectoryFiles, ADirectoryThatGoesIsToldAndFoldingGoesOn) {
  const TemporaryDirectory above;
  const std::string path = above / "notes";
  SmallService service;
  ASSERT_TRUE(service.Recover(path, {}).ok());
  service.Read(3);
  ASSERT_TRUE(service.TakeSnapshot().ok());
  std::filesystem::remove_all(path);
  service.Read(3);
  const absl::Status failed = service.TakeSnapshot();
  EXPECT_EQ(failed.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(failed.message()), HasSubstr(path));
  EXPECT_EQ(service.directory->state().failed, 1u);
  EXPECT_EQ(service.directory->state().last, failed);
  service.Read(3);
  EXPECT_EQ(service.Position(), 9u);
}

// --- Damage

// A directory with one snapshot, in memory.
class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    SmallService service;
    EXPECT_TRUE(service.Recover(kPath, Options()).ok());
    service.Read(7);
    EXPECT_TRUE(service.TakeSnapshot().ok());
    files_ = FilesIn(storage_, kPath);
  }

  StateDirectoryOptions Options() { return {.storage = &storage_, .identity = 5}; }

  // Expects that Recover() refuses, changes nothing on the disk, and leaves the engine as it was.
  absl::Status Refused() {
    const std::map<std::string, std::string> before = FilesIn(storage_, kPath);
    SmallService service;
    const absl::Status refused = service.Recover(kPath, Options()).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(FilesIn(storage_, kPath), before);
    EXPECT_EQ(service.Position(), 0u);
    EXPECT_EQ(service.notes.ledger(), Ledger());
    if (service.directory != nullptr) {
      EXPECT_EQ(service.TakeSnapshot().code(), absl::StatusCode::kFailedPrecondition);
    }
    service.Read(3);
    EXPECT_EQ(service.notes.ledger().events, 3u);
    return refused;
  }

  // Each byte changed, each length that is shorter, and one that is longer.
  void ExpectAnyDamageIsNamed(const std::string& name) {
    const std::string whole = files_.at(name);
    for (size_t i = 0; i <= whole.size(); ++i) {
      for (const bool cut : {false, true}) {
        std::string damaged = cut ? whole.substr(0, i) : whole;
        if (!cut && i < whole.size()) damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        if (!cut && i == whole.size()) damaged += '\0';
        if (damaged == whole) continue;
        storage_ = FaultyStorage();
        for (const auto& [each, bytes] : files_) PutFile(storage_, kPath, each, bytes);
        PutFile(storage_, kPath, name, damaged);
        const absl::Status refused = Refused();
        EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << i << (cut ? " cut" : "");
        EXPECT_THAT(std::string(refused.message()), HasSubstr(name + ": at byte "));
      }
    }
  }

  static constexpr char kPath[] = "/notes";
  FaultyStorage storage_;
  std::map<std::string, std::string> files_;
};

TEST_F(DamageTest, AnyInTheManifestIsNamed) { ExpectAnyDamageIsNamed("MANIFEST"); }

TEST_F(DamageTest, AnyInTheSnapshotIsNamed) { ExpectAnyDamageIsNamed("snapshot-1"); }

TEST_F(DamageTest, AMissingManifestBesideASnapshotIsRefused) {
  storage_ = FaultyStorage();
  PutFile(storage_, kPath, "snapshot-1", files_.at("snapshot-1"));
  const absl::Status refused = Refused();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("/notes/MANIFEST: is missing"));
}

// A manifest of `format`, with a checksum that is right.
std::string ManifestOfFormat(uint32_t format) {
  StringSink sink;
  FieldWriter out;
  out(format, std::string("fields of the future"));
  EXPECT_TRUE(BlockWriter(sink, 0, false).Write(BlockKind::kHead, 0, out.bytes()).ok());
  return sink.bytes;
}

// Numbers skip ahead by as many lives as there were, and must not wrap.
TEST_F(DamageTest, AManifestOfMoreLivesThanThereCanBeIsRefused) {
  const auto manifest_of = [](uint64_t lives) {
    StringSink sink;
    FieldWriter out;
    out(uint32_t{2}, uint64_t{5}, lives, false);
    EXPECT_TRUE(BlockWriter(sink, 0, false).Write(BlockKind::kHead, 0, out.bytes()).ok());
    return sink.bytes;
  };
  PutFile(storage_, kPath, "MANIFEST", manifest_of(uint64_t{1} << 27));
  EXPECT_EQ(Refused().code(), absl::StatusCode::kDataLoss);
  // The most, and again: what was written can be read.
  PutFile(storage_, kPath, "MANIFEST", manifest_of((uint64_t{1} << 27) - 1));
  for (int life = 0; life < 2; ++life) {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    EXPECT_TRUE(service.TakeSnapshot().ok());
  }
}

TEST_F(DamageTest, AnotherFormatIsRefusedAsSuch) {
  PutFile(storage_, kPath, "MANIFEST", ManifestOfFormat(3));
  const absl::Status refused = Refused();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("/notes/MANIFEST: format 3 is of a newer version"));
  PutFile(storage_, kPath, "MANIFEST", ManifestOfFormat(1));
  const absl::Status older = Refused();
  EXPECT_EQ(older.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(older.message()), HasSubstr("MANIFEST: format 1 is of an older version"));
  PutFile(storage_, kPath, "MANIFEST", ManifestOfFormat(0));
  EXPECT_EQ(Refused().code(), absl::StatusCode::kDataLoss);
}

TEST_F(DamageTest, ASnapshotUnderAnotherNameIsRefused) {
  storage_ = FaultyStorage();
  PutFile(storage_, kPath, "MANIFEST", files_.at("MANIFEST"));
  PutFile(storage_, kPath, "snapshot-2", files_.at("snapshot-1"));
  EXPECT_THAT(std::string(Refused().message()),
              HasSubstr("/notes/snapshot-2: belongs to another directory, or had another name"));
  // Also beside the right one: no crash leaves that.
  PutFile(storage_, kPath, "snapshot-1", files_.at("snapshot-1"));
  EXPECT_EQ(Refused().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DamageTest, ASnapshotOfAnotherDirectoryIsRefused) {
  SmallService other;
  FaultyStorage elsewhere;
  ASSERT_TRUE(other.Recover(kPath, {.storage = &elsewhere, .identity = 6}).ok());
  ASSERT_TRUE(other.TakeSnapshot().ok());
  PutFile(storage_, kPath, "snapshot-1", FilesIn(elsewhere, kPath).at("snapshot-1"));
  EXPECT_EQ(Refused().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DamageTest, ADamagedNewestIsPassedOverIfAnOlderOneIsWhole) {
  std::string newer;
  {
    SmallService service;
    ASSERT_TRUE(service.Recover(kPath, Options()).ok());
    service.Read(5);
    ASSERT_TRUE(service.TakeSnapshot().ok());
    newer = FilesIn(storage_, kPath).at("snapshot-2");
  }
  PutFile(storage_, kPath, "snapshot-2", newer.substr(0, newer.size() / 2));
  EXPECT_EQ(Refused().code(), absl::StatusCode::kDataLoss) << "it was the only one";
  PutFile(storage_, kPath, "snapshot-1", files_.at("snapshot-1"));
  SmallService service;
  const absl::StatusOr<Recovered> found = service.Recover(kPath, Options());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(service.Position(), 7u);
  EXPECT_THAT(found->passed_over, HasSubstr("/notes/snapshot-2: at byte "));
  EXPECT_THAT(NamesIn(storage_, kPath), ElementsAre("MANIFEST", "snapshot-1"));
  ASSERT_TRUE(service.TakeSnapshot().ok());
  EXPECT_THAT(NamesIn(storage_, kPath), ElementsAre("MANIFEST", "snapshot-3"));
}

TEST_F(DamageTest, WhatDoesNotFitIsSaidAlsoBehindADamagedOne) {
  PutFile(storage_, kPath, "snapshot-2", "torn");
  SmallService service(3);
  const absl::Status refused = service.Recover(kPath, Options()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("/notes/snapshot-1: partitions is 3"));
}

// --- Numbers

using SeenName = std::tuple<int, uint64_t>;

// One life that ends without a snapshot: what it hands out, and what consumers saw of it.
class NumbersTest : public testing::Test {
 protected:
  // Folds a key, closes it, and lends it. `kill`: the process ends before anything else is kept.
  void Live(bool snapshot, bool repeats = false, const FolderOptions& options = kNotesOptions) {
    SmallService service(1, options);
    ASSERT_TRUE(service.Recover(kPath, {.storage = &storage_, .repeats = repeats}).ok());
    if (snapshot) {
      ASSERT_TRUE(service.TakeSnapshot().ok());
    }
    service.notes.Fold("key", {1}, kT0 + life_ * 1h);
    service.engine->Advance(kT0 + life_ * 1h + 60s);
    for (const Leased<Notes>& lent : service.notes.Lease(10, 30s, kLease0)) {
      emissions_.emplace_back(lent.id.partition, lent.id.generation);
      leases_.emplace_back(lent.delivery.token.partition, lent.delivery.token.lease);
    }
    ++life_;
    storage_ = FaultyStorage(storage_);
  }

  static constexpr char kPath[] = "/notes";
  FaultyStorage storage_;
  int life_ = 0;
  std::vector<SeenName> emissions_;
  std::vector<SeenName> leases_;
};

size_t CountDistinct(const std::vector<SeenName>& names) {
  return std::set<SeenName>(names.begin(), names.end()).size();
}

TEST_F(NumbersTest, AreNeverGivenTwiceAfterUncleanEnds) {
  // No snapshot yet, twice; a snapshot, and two ends behind it; then one each time.
  for (const bool snapshot : {false, false, false, true, false, false, true, true, false}) {
    Live(snapshot);
  }
  EXPECT_EQ(emissions_.size(), 9u);
  EXPECT_EQ(CountDistinct(emissions_), emissions_.size());
  EXPECT_EQ(leases_.size(), 9u);
  EXPECT_EQ(CountDistinct(leases_), leases_.size());
}

TEST_F(NumbersTest, AreNeverGivenTwiceAfterARecoveryThatWasCut) {
  Live(true);
  const FaultyStorage before = storage_;
  for (size_t call = 0;; ++call) {
    storage_ = before;
    storage_.CrashAt(call);
    SmallService cut(1);
    const bool whole = cut.Recover(kPath, {.storage = &storage_}).ok();
    storage_ = FaultyStorage(storage_);
    Live(false);
    EXPECT_EQ(CountDistinct({emissions_.front(), emissions_.back()}), 2u) << "cut at " << call;
    if (whole) break;
  }
}

// What repeats makes other emissions then.
TEST_F(NumbersTest, AreOthersUnderOtherOptionsAlsoIfTheSourceRepeats) {
  Live(true, true);
  FolderOptions shorter = kNotesOptions;
  shorter.quiet_period = 50s;
  for (const FolderOptions& options : {kNotesOptions, shorter}) {
    life_ = 0;
    Live(false, true, options);
  }
  ASSERT_EQ(emissions_.size(), 3u);
  EXPECT_EQ(emissions_[1], emissions_[0]);
  EXPECT_NE(emissions_[2], emissions_[0]);
}

TEST_F(NumbersTest, GoOnWhereTheyStoodIfTheSourceRepeats) {
  Live(true, true);
  for (int i = 0; i < 3; ++i) {
    life_ = 0;  // the source says the same again
    Live(false, true);
  }
  EXPECT_EQ(CountDistinct(emissions_), 1u);
  EXPECT_EQ(CountDistinct(leases_), 1u);
}

TEST_F(NumbersTest, GoOnAheadOfAllIfTheSourceRepeatsNoLonger) {
  Live(false, true);
  Live(true, true);
  Live(false, true);
  const size_t before = CountDistinct(emissions_);
  Live(false);
  Live(false);
  EXPECT_EQ(CountDistinct(emissions_), before + 2);
}

}  // namespace
}  // namespace pleat::inline v0_1
