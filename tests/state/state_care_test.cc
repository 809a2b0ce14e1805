// A state directory without an engine: any damage is found, and what is saved of it is right and
// can be opened.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/intake.h>
#include <pleat/state_directory.h>

#include "engine/state/blocks.h"
#include "tests/support/kept_directory.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

using StateCare = KeptDirectory;

TEST_F(StateCare, FindsDamageOfAnyByteAndSavesWhatIsLeft) {
  Fill();
  for (const std::string name : {"MANIFEST", "snapshot-1"}) {
    const size_t size = Content(directory_ + "/" + name).size();
    for (size_t at = 0; at < size; ++at) {
      SCOPED_TRACE(name + " at byte " + std::to_string(at));
      Damage(name, at);
      const auto report = InspectStateDirectory(directory_, Depth::kWhole);
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_FALSE(report->damage.empty());
      EXPECT_TRUE(report->damage.empty() || report->damage[0].file == name);
      EXPECT_TRUE(report->damage.empty() || report->damage[0].offset <= at);
      if (at % 11 == 0) Salvage();
      Damage(name, at);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_EQ(Salvage(), std::vector<int>{});
}

TEST_F(StateCare, SavesWhatIsBeforeATruncation) {
  Fill();
  const std::string whole = Content(directory_ + "/snapshot-1");
  for (size_t size = 0; size < whole.size(); size += 13) {
    SCOPED_TRACE(size);
    std::ofstream(directory_ + "/snapshot-1", std::ios::binary) << whole.substr(0, size);
    const auto report = InspectStateDirectory(directory_, Depth::kWhole);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_FALSE(report->damage.empty());
    Salvage();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(StateCare, ADamagedBlockLosesItsPartitionAndNoOther) {
  Fill();
  const std::vector<size_t> blocks = Blocks();
  ASSERT_EQ(blocks.size(), 2u + 4 + 1) << "two of the head, four partitions, the end";
  for (size_t i = 2; i < 6; ++i) {
    Damage("snapshot-1", blocks[i] + 30);
    EXPECT_EQ(Salvage().size(), 1u);
    Damage("snapshot-1", blocks[i] + 30);
  }
}

TEST_F(StateCare, ADamagedBlockOfSeveralLosesAllOfItsPartition) {
  Fill(40, 200'000);
  const std::vector<size_t> blocks = Blocks();
  const std::string bytes = Content(directory_ + "/snapshot-1");
  ASSERT_GT(blocks.size(), 10u);
  for (size_t i = 2; i + 1 < blocks.size(); i += kSanitized ? 4 : 1) {
    Damage("snapshot-1", blocks[i] + 3000);
    const std::vector<int> lost = Salvage();
    const bool goes_on = bytes[blocks[i + 1] + 3] == static_cast<char>(BlockKind::kMore);
    EXPECT_GE(lost.size(), 1u);
    EXPECT_LE(lost.size(), goes_on ? 1u : 2u);
    Damage("snapshot-1", blocks[i] + 3000);
  }
}

// Whether the directory was compressed or not, as this one: the copy always is.
TEST_F(StateCare, LostBytesAreThoseOfTheBlocksThatAreNotCopied) {
  Fill(40, 200'000);
  const std::vector<size_t> blocks = Blocks();
  const std::string bytes = Content(directory_ + "/snapshot-1");
  const auto owner = [&](size_t block) { return bytes[blocks[block] + 12]; };
  // A damaged block between two of one partition is of that partition.
  size_t inner = 3;
  while (owner(inner - 1) != owner(inner + 1)) ++inner;
  Damage("snapshot-1", blocks[inner] + 3000);
  const absl::StatusOr<SalvageReport> report =
      SalvageStateDirectory(directory_, scratch_ / "saved");
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->lost, std::vector<int>{owner(inner)});
  size_t lost = 0;
  for (size_t i = 2; i + 1 < blocks.size(); ++i) {
    if (owner(i) == owner(inner)) lost += blocks[i + 1] - blocks[i];
  }
  EXPECT_EQ(report->bytes_lost, lost);
}

// --- Events that wait

struct Note {
  std::string text;
  template <class F>
  void Stored(F& f) {
    f(text);
  }
};
struct Notes {
  int64_t count = 0;
  void Fold(const Note&) noexcept { ++count; }
  template <class F>
  void Stored(F& f) {
    f(count);
  }
};

// A program with an intake, whose events wait for an hour.
struct Waiter {
  explicit Waiter(const std::string& path)
      : engine(Engine::Open({.partitions = 4, .axis = Axis::kEvent}).value()),
        notes(*engine, "notes", {.quiet_period = std::chrono::hours(9), .max_wait = kForever}),
        intake(*engine, {.reorder = std::chrono::hours(1)}),
        directory(StateDirectory::Open(path, {.compress = false}).value()) {
    intake.Feed(notes);
    const absl::StatusOr<Recovered> recovered = directory->Recover(*engine);
    EXPECT_TRUE(recovered.ok()) << recovered.status();
  }
  void Push(int notes_of_hour, int hour) {
    for (int i = 0; i < notes_of_hour; ++i) {
      const EngineTime at = FromUnix(std::chrono::hours(hour) + std::chrono::seconds(i));
      const std::string key = "key " + std::to_string(i % 40);
      ASSERT_TRUE(intake.Push(key, {std::string(size_t{10'000}, 'n')}, at));
    }
  }

  std::unique_ptr<Engine> engine;
  Folder<Note, Notes> notes;
  Intake<Note> intake;
  std::unique_ptr<StateDirectory> directory;
};

class StateCareOfWaiting : public StateCare, public testing::WithParamInterface<int> {};

// Whether it takes one block or several.
TEST_P(StateCareOfWaiting, ItsDamageLosesNoPartition) {
  const auto waiting = static_cast<uint64_t>(GetParam());
  {
    Waiter waiter(directory_);
    waiter.Push(200, 1);
    waiter.Push(GetParam(), 3);
    waiter.intake.Advance(FromUnix(std::chrono::hours(2)));
    ASSERT_EQ(waiter.intake.counts().waiting, waiting);
    ASSERT_TRUE(waiter.directory->TakeSnapshot(*waiter.engine).ok());
  }
  const std::vector<size_t> blocks = Blocks();
  const std::string bytes = Content(directory_ + "/snapshot-1");
  const auto kind = [&](size_t block) { return bytes[blocks[block] + 3]; };
  const std::string out = scratch_ / "saved";
  for (size_t i = 2; i < blocks.size(); ++i) {
    SCOPED_TRACE(i);
    const bool is_end = i + 1 == blocks.size();
    const bool waits = IsOfRest(static_cast<BlockKind>(kind(i)));
    const size_t at =
        blocks[i] + (is_end ? 20 : 24);  // of the checksum, or the first byte behind it
    Damage("snapshot-1", at);
    std::filesystem::remove_all(out);
    const absl::StatusOr<SalvageReport> report = SalvageStateDirectory(directory_, out);
    ASSERT_TRUE(report.ok()) << report.status();
    Damage("snapshot-1", at);
    Waiter saved(out);
    EXPECT_EQ(report->waiting_lost, waits);
    EXPECT_EQ(report->whole(), is_end);
    EXPECT_EQ(report->bytes_lost > 0, !is_end);
    if (is_end) {
      EXPECT_EQ(saved.intake.counts().waiting, waiting);
    } else if (waits) {
      EXPECT_EQ(saved.intake.counts().waiting, 0u);
      EXPECT_EQ(report->damage.size(), 1u) << "the block, and nothing besides";
      EXPECT_EQ(saved.notes.ledger().events, 200u);
      EXPECT_TRUE(report->lost.empty());
    } else {
      EXPECT_EQ(report->lost.size(), 1u);
    }
  }
  EXPECT_EQ(kind(blocks.size() - 2), static_cast<char>(BlockKind::kMoreRest));
}

INSTANTIATE_TEST_SUITE_P(Events, StateCareOfWaiting, testing::Values(0, 2, 200));

}  // namespace
}  // namespace pleat::inline v0_1
