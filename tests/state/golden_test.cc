// Golden directories, in tests/state/golden: a MANIFEST and a snapshot each, made once, over all
// kinds of collections. What they say is what they said, and the same calls make the same bytes: so
// a change of the format is noticed. answers.txt is what the engine tells after a restart, as text.
//
//   PLEAT_WRITE_GOLDEN=1 state_golden_test    writes them anew, and the seeds of fuzz/corpus/snapshot,
//                                               for a change that is meant; say in docs/formats.md
//                                               what becomes of older files
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "tests/state/small_service.h"
#include "tests/support/every_collection.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/sanitized.h"
#include "tests/support/show.h"
#include "tests/support/source_dir.h"

namespace pleat::inline v0_1 {
namespace {

using testing::StartsWith;

constexpr char kPath[] = "/golden";
constexpr std::string_view kSnapshot = "snapshot-1";

struct Golden {
  const char* name;
  LifeChoice choice;
  bool compress;
};

using Files = std::map<std::string, std::string>;

std::filesystem::path PathOf(const Golden& golden) {
  return std::filesystem::path(SourceDir()) / "tests/state/golden" / golden.name;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

StateDirectoryOptions OptionsOf(const Golden& golden, Storage& storage) {
  return {.storage = &storage, .compress = golden.compress, .identity = 5};
}

// What a day with all collections leaves in a directory.
Files MadeAnew(const Golden& golden) {
  FaultyStorage storage;
  auto directory = StateDirectory::Open(kPath, OptionsOf(golden, storage)).value();
  EveryCollection all(golden.choice);
  EXPECT_TRUE(directory->Recover(all.engine()).ok());
  all.Live();
  EXPECT_TRUE(directory->TakeSnapshot(all.engine()).ok());
  return FilesIn(storage, kPath);
}

std::string Seconds(EngineTime at) {
  return at == kNever ? "never" : std::to_string((at - kT0) / std::chrono::seconds(1)) + "s";
}

// All that it tells, a line each. It takes what can be taken.
std::string AnswersOf(EveryCollection& all) {
  std::string text = "time " + Seconds(all.engine().now()) + "\n";
  for (int i = 0; i < all.engine().partitions(); ++i) {
    text += "position " +
            std::to_string(all.engine().SourcePositionOf(EveryCollection::kSource, i)) + "\n";
  }
  text += "sales: " + ShowColumns(all.sales().ledger()) + "\n";
  const RollupLedger plays = all.plays().ledger();
  text += "plays: events " + std::to_string(plays.events) + " late " + std::to_string(plays.late) +
          " open " + std::to_string(plays.open) + "\n";
  const LiveSetLedger pages = all.pages().ledger();
  text += "pages: events " + std::to_string(pages.events) + " live " + std::to_string(pages.live) +
          " expired " + std::to_string(pages.expired) + "\n";
  const PresenceLedger readers = all.readers().ledger();
  text += "readers: events " + std::to_string(readers.events) + " users " +
          std::to_string(readers.users) + " away " + std::to_string(readers.away) + "\n";
  text += "lines: " + ShowColumns(all.lines().ledger()) + "\n";
  for (const char* key : {"ann", "ben", "cid"}) {
    const auto open = all.sales().Peek(key);
    if (!open) continue;
    text += std::string("open ") + key + " " + std::to_string(open->state.sum) + " of " +
            std::to_string(open->count) + ", last " + Seconds(open->last) + "\n";
  }
  for (const char* series : {"wiki", "news"}) {
    for (const auto& member : all.pages().List(series)) {
      text += std::string("member ") + series + " " + member.id + " " + member.payload + " until " +
              Seconds(member.deadline) + "\n";
    }
  }
  for (const auto& user : all.readers().List("page 1")) {
    text += "user " + user.id + " " + user.metadata;
    for (const auto& each : user.connections) {
      text += ", " + each.id + " " + std::to_string(each.generation);
    }
    text += "\n";
  }
  const AccurateCount song = all.plays().Accurate("song");
  text += "song " + std::to_string(song.amount.real) + "\n";
  ScanCursor letters;
  std::vector<DeadLetter<Sales>> dead;
  (void)all.sales().ScanDeadLetters(letters, 10, dead);
  for (const auto& letter : dead) {
    text +=
        "letter " + letter.key + ", deliveries " + std::to_string(letter.death.deliveries) + "\n";
  }
  for (const auto& e : all.sales().Pop(100)) {
    text += "popped " + e.key + " " + std::to_string(e.state.sum) + " " +
            std::string(ReasonName(e.reason)) + " #" + std::to_string(e.id.generation) + "\n";
  }
  for (const auto& e : all.plays().Pop(100)) {
    text += "window " + e.key + " " + std::to_string(e.state.amount.real) + " from " +
            Seconds(e.state.start) + " #" + std::to_string(e.id.generation) + "\n";
  }
  all.lines().CloseAll();
  (void)all.lines().Pop(100, text);
  return text;
}

class GoldenTest : public testing::TestWithParam<Golden> {
 protected:
  GoldenTest() {
    for (const std::string name : {"MANIFEST", "snapshot-1"}) {
      files_[name] = ContentOf(PathOf(GetParam()) / name);
      storage_.OpenDirectory(kPath, IfMissing::kCreate).IgnoreError();
      storage_.SetContent(std::string(kPath) + "/" + name, files_[name]);
    }
  }

  Files files_;
  FaultyStorage storage_;  // with the golden files
};

INSTANTIATE_TEST_SUITE_P(
    Directories, GoldenTest,
    testing::Values(Golden{"arrival", {.axis = Axis::kArrival, .rich = false}, false},
                    Golden{"event_rich", {.axis = Axis::kEvent, .rich = true}, false},
                    Golden{"compressed", {.axis = Axis::kArrival, .rich = true}, true}),
    [](const auto& golden) { return golden.param.name; });

TEST_P(GoldenTest, TheSameCallsMakeTheSameBytes) {
  const Files made = MadeAnew(GetParam());
  if (std::getenv("PLEAT_WRITE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(PathOf(GetParam()));
    for (const auto& [name, bytes] : made) {
      std::ofstream(PathOf(GetParam()) / name, std::ios::binary) << bytes;
    }
    EveryCollection all(GetParam().choice);
    ASSERT_TRUE(all.Restore(made.at(std::string(kSnapshot)), uint64_t{1} << 32).ok());
    std::ofstream(PathOf(GetParam()) / "answers.txt", std::ios::binary) << AnswersOf(all);
    return;
  }
  EXPECT_EQ(made.at("MANIFEST"), files_.at("MANIFEST"));
  // Another zstd may find other bytes for the same.
  if (!GetParam().compress) {
    EXPECT_TRUE(made.at("snapshot-1") == files_.at("snapshot-1"));
  }
  EveryCollection lived(GetParam().choice);
  lived.Live();
  EveryCollection restored(GetParam().choice);
  ASSERT_TRUE(restored.Restore(files_.at("snapshot-1")).ok());
  EXPECT_TRUE(restored.Snapshot() == lived.Snapshot());
  EXPECT_EQ(files_.at("snapshot-1").size() < lived.Snapshot().size(), GetParam().compress);
}

TEST_P(GoldenTest, ARestartAnswersAsItDid) {
  auto directory = StateDirectory::Open(kPath, OptionsOf(GetParam(), storage_)).value();
  EveryCollection all(GetParam().choice);
  const absl::StatusOr<Recovered> found = directory->Recover(all.engine());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->snapshot.has_value());
  EXPECT_EQ(found->snapshot->collections.size(), 5u);
  EXPECT_EQ(found->snapshot->axis, GetParam().choice.axis);
  all.CheckAll();
  EXPECT_EQ(AnswersOf(all), ContentOf(PathOf(GetParam()) / "answers.txt"));
  all.Survive();
}

// The directory of `arrival` as the format before wrote it, whose options had other names.
TEST(OldGolden, OfAnOlderFormatIsRefusedByNameAndStaysAsItWas) {
  const Golden golden{"format_2", {.axis = Axis::kArrival, .rich = false}, false};
  FaultyStorage storage;
  storage.OpenDirectory(kPath, IfMissing::kCreate).IgnoreError();
  for (const std::string name : {"MANIFEST", "snapshot-1"}) {
    storage.SetContent(std::string(kPath) + "/" + name, ContentOf(PathOf(golden) / name));
  }
  const Files before = FilesIn(storage, kPath);
  auto directory = StateDirectory::Open(kPath, OptionsOf(golden, storage)).value();
  EveryCollection all(golden.choice);
  const absl::Status refused = directory->Recover(all.engine()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      refused.message(),
      "/golden/snapshot-1: format 2 is of an older version of pleat: finish with that version");
  directory.reset();
  EXPECT_EQ(FilesIn(storage, kPath), before);
}

// The directory of `arrival` by the version whose tables began with whole pages: places, and with them
// the numbers of leases, were others.
TEST(OldGolden, OfTablesThatBeganWithPagesAnswersAsItDid) {
  const Golden golden{"before_blocks", {.axis = Axis::kArrival, .rich = false}, false};
  FaultyStorage storage;
  storage.OpenDirectory(kPath, IfMissing::kCreate).IgnoreError();
  for (const std::string name : {"MANIFEST", "snapshot-1"}) {
    storage.SetContent(std::string(kPath) + "/" + name, ContentOf(PathOf(golden) / name));
  }
  auto directory = StateDirectory::Open(kPath, OptionsOf(golden, storage)).value();
  EveryCollection all(golden.choice);
  ASSERT_TRUE(directory->Recover(all.engine()).ok());
  all.CheckAll();
  EXPECT_EQ(AnswersOf(all), ContentOf(PathOf(golden) / "answers.txt"));
  all.Survive();
}

// The seeds of fuzz/snapshot_fuzz.cc, each a byte that chooses the engine, and a snapshot. Seeds that
// are refused would leave the target blind.
TEST(SnapshotSeeds, AreRestored) {
  const std::pair<const char*, int> lives[] = {{"empty", 0}, {"lent", 2}, {"whole", 4}};
  for (const int chosen : {0, 1, 2, 3}) {
    const bool event = (chosen & 1) != 0, rich = (chosen & 2) != 0;
    const LifeChoice choice{
        .axis = event ? Axis::kEvent : Axis::kArrival, .rich = rich, .distinct = rich};
    for (const auto& [life, steps] : lives) {
      const std::string name =
          std::string(event ? "event_" : "arrival_") + (rich ? "rich_" : "plain_") + life;
      const auto path = std::filesystem::path(SourceDir()) / "fuzz/corpus/snapshot" / name;
      if (std::getenv("PLEAT_WRITE_GOLDEN") != nullptr) {
        EveryCollection lived(choice);
        if (steps > 0) lived.Live(steps);
        std::ofstream(path, std::ios::binary) << static_cast<char>(chosen) << lived.Snapshot();
      }
      const std::string seed = ContentOf(path);
      ASSERT_FALSE(seed.empty()) << name;
      EXPECT_EQ(seed.front(), static_cast<char>(chosen)) << name;
      EveryCollection all(choice);
      EXPECT_TRUE(all.Restore(std::string_view(seed).substr(1)).ok()) << name;
    }
  }
}

// Before what waits had blocks of its own, lines that waited were in the head.
TEST(SnapshotSeeds, LinesThatWaitInTheHeadAreRestored) {
  const auto path =
      std::filesystem::path(SourceDir()) / "fuzz/corpus/snapshot/event_rich_lines_in_head";
  const std::string seed = ContentOf(path);
  EveryCollection all({.axis = Axis::kEvent, .rich = true, .distinct = true});
  EXPECT_TRUE(all.Restore(std::string_view(seed).substr(1)).ok());
  EXPECT_GT(all.lines().counts().waiting, 0u);
}

// Each byte with its lowest and its highest bit the other way round, and each length; one of 16 where
// sanitizers make it slow.
constexpr size_t kStep = kSanitized ? 16 : 1;

// Returns how many there were.
template <class Try>
size_t ForEachDamage(const std::string& bytes, const Try& attempt) {
  size_t damages = 0;
  for (size_t i = 0; i < bytes.size() && !testing::Test::HasFailure(); i += kStep, damages += 3) {
    for (const char flip : {'\x01', '\x80'}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      attempt(damaged, "byte " + std::to_string(i));
    }
    attempt(bytes.substr(0, i), "cut to " + std::to_string(i));
  }
  std::cout << damages << " damages of " << 3 * bytes.size() << "\n";
  return damages;
}

TEST_P(GoldenTest, EachDamageOfTheSnapshotIsRefusedAndChangesNothing) {
  auto directory = StateDirectory::Open(kPath, OptionsOf(GetParam(), storage_)).value();
  EveryCollection all(GetParam().choice);
  const std::string engine = all.Snapshot();
  const std::string& bytes = files_.at("snapshot-1");
  const auto attempt = [&](const std::string& damaged, const std::string& how) {
    storage_.SetContent("/golden/snapshot-1", damaged);
    const absl::Status refused = directory->Recover(all.engine()).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << how << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), StartsWith("/golden/snapshot-1: at byte ")) << how;
    EXPECT_EQ(all.Snapshot(), engine) << how;
    EXPECT_EQ(storage_.Content("/golden/snapshot-1"), damaged) << how;
    EXPECT_EQ(storage_.Content("/golden/MANIFEST"), files_.at("MANIFEST")) << how;
  };
  EXPECT_GT(ForEachDamage(bytes, attempt), 500u);
  // It was refused for its damage and for nothing else.
  storage_.SetContent("/golden/snapshot-1", files_.at("snapshot-1"));
  EXPECT_TRUE(directory->Recover(all.engine()).ok());
}

TEST_P(GoldenTest, EachDamageOfTheManifestIsRefusedAndChangesNothing) {
  const auto attempt = [&](const std::string& damaged, const std::string& how) {
    storage_.SetContent("/golden/MANIFEST", damaged);
    const absl::Status refused =
        StateDirectory::Open(kPath, OptionsOf(GetParam(), storage_)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << how << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), StartsWith("/golden/MANIFEST: at byte ")) << how;
    EXPECT_EQ(storage_.Content("/golden/snapshot-1"), files_.at("snapshot-1")) << how;
    EXPECT_EQ(storage_.Content("/golden/MANIFEST"), damaged) << how;
  };
  EXPECT_GE(ForEachDamage(files_.at("MANIFEST"), attempt), 6u);
  EXPECT_EQ(storage_.Paths().size(), 2u);
}

}  // namespace
}  // namespace pleat::inline v0_1
