// Directories of --state that something has damaged: whatever was changed in their files, show,
// check, salvage and the next run end by their own word, and nothing is different without a word. A
// run that goes on all the same writes the bytes of one over a whole directory.
//
//   PLEAT_DAMAGED=500   directories of each command; 12 by default
//   PLEAT_SEED=17       this one
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;

uint64_t ChosenCount() {
  const char* const text = std::getenv("PLEAT_DAMAGED");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 12, .usual = 6, .sanitized = 2});
}

std::string Events(int first, int last) {
  std::string lines;
  for (int i = first; i < last; ++i) lines += At(7 * i, std::to_string(i * i % 23));
  return lines;
}

// Changes the bytes in one of a number of ways. Returns the name of the way.
std::string Damage(std::string& bytes, std::minstd_rand& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  const size_t at = below(bytes.size());
  switch (below(5)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); return "a bit";
    case 1: bytes.resize(at); return "a cut";
    case 2: bytes += std::string(1 + below(600), static_cast<char>(random())); return "more bytes";
    case 3: {
      const size_t size = std::min(bytes.size() - at, 1 + below(512));
      bytes.replace(at, size, size, '\0');
      return "zeros";
    }
    default: {
      const std::string piece = bytes.substr(at, 1 + below(300));
      bytes.insert(below(bytes.size()), piece);
      return "bytes from elsewhere";
    }
  }
}

class DamagedDirectory : public testing::TestWithParam<std::string> {
 protected:
  DamagedDirectory() {
    dir_.Write("first", Events(0, 200));
    dir_.Write("second", Events(200, 260));
    std::filesystem::create_directory(dir_ / "whole");
    // A live set keeps its members in any case.
    const std::string keep = GetParam().starts_with("live") ? "" : "--at-end keep ";
    EXPECT_EQ(Run("whole", keep + (dir_ / "first")).code, 0);
    std::filesystem::copy(dir_ / "whole", dir_ / "right", std::filesystem::copy_options::recursive);
    EXPECT_EQ(Run("right", dir_ / "second").code, 0);
  }

  // The command with a directory and an output in `place`.
  Finished Run(const std::string& place, const std::string& words) {
    return RunToEnd(Pleat(GetParam() + " --no-summary --stats - --time t --output " +
                          (dir_ / place) + "/out --state " + (dir_ / place) + "/j " + words));
  }
  // One of the commands of pleat state, which ends by its own word.
  Finished Care(const std::string& words) {
    Finished finished = RunToEnd(Pleat("state " + words));
    EXPECT_TRUE(finished.code == 0 || finished.code == 1) << words << ": " << finished.code;
    EXPECT_FALSE(finished.out.empty() && finished.err.empty()) << words;
    return finished;
  }
  void TryOne(uint64_t seed);
  void TrySalvaged();
  void CopyWhole(const std::string& to) {
    std::filesystem::remove_all(dir_ / to);
    std::filesystem::copy(dir_ / "whole", dir_ / to, std::filesystem::copy_options::recursive);
  }
  void Follow(const std::string& advice);

  TemporaryDirectory dir_;
  uint64_t refused_ = 0;
  uint64_t saved_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Commands, DamagedDirectory,
                         testing::Values("fold --key k --quiet 1m",
                                         "live --key k --member m=k --ttl 1m",
                                         "rollup --key k --window 1m --allowed-lateness 1m"),
                         [](const auto& command) {
                           return command.param.substr(0, command.param.find(' '));
                         });

void DamagedDirectory::TryOne(uint64_t seed) {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  CopyWhole("hurt");
  const std::string name = random() % 4 == 0 ? "MANIFEST" : "snapshot-1";
  const std::string path = dir_ / ("hurt/j/" + name);
  std::string bytes = Content(path);
  std::string how = "no file";
  if (random() % 8 == 0) {
    std::filesystem::remove(path);
  } else {
    how = Damage(bytes, random);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const bool is_same =
      std::filesystem::exists(path) && Content(path) == Content(dir_ / ("whole/j/" + name));
  SCOPED_TRACE(name + ": " + how);
  Care("show " + (dir_ / "hurt/j") + (random() % 2 == 0 ? " --json" : ""));
  EXPECT_EQ(Care("check " + (dir_ / "hurt/j")).code, is_same ? 0 : 1);
  TrySalvaged();
  const Finished run = Run("hurt", dir_ / "second");
  if (run.code == 0) {
    EXPECT_TRUE(is_same) << "it went on without a word";
    EXPECT_EQ(Content(dir_ / "hurt/out"), Content(dir_ / "right/out"));
    return;
  }
  ++refused_;
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr(dir_ / "hurt/j"));
  EXPECT_EQ(Content(dir_ / "hurt/out"), Content(dir_ / "whole/out"));
  if (std::filesystem::exists(path)) {
    EXPECT_EQ(Content(path), bytes);
  }
}

// A copy is whole, and a run goes on from there; without a loss it is the run that it should be.
void DamagedDirectory::TrySalvaged() {
  std::filesystem::remove_all(dir_ / "saved");
  std::filesystem::create_directory(dir_ / "saved");
  const Finished report =
      Care("salvage --json " + (dir_ / "hurt/j") + " --out " + (dir_ / "saved/j"));
  if (!std::filesystem::exists(dir_ / "saved/j")) {
    EXPECT_EQ(report.code, 1);
    return;
  }
  ++saved_;
  EXPECT_EQ(Care("check " + (dir_ / "saved/j")).code, 0);
  std::filesystem::copy(dir_ / "hurt/out", dir_ / "saved/out");
  const Finished run = Run("saved", dir_ / "second");
  EXPECT_EQ(run.code, 0) << run.err;
  const bool all = report.out.find("\"lost\":[]") != std::string::npos;
  EXPECT_EQ(run.err.find("\"lost_partitions\":") == std::string::npos, all) << run.err;
  if (all) {
    EXPECT_EQ(Content(dir_ / "saved/out"), Content(dir_ / "right/out"));
  }
}

// Does what standard error of a run, or what the salvage says, recommends.
void DamagedDirectory::Follow(const std::string& advice) {
  SCOPED_TRACE(advice);
  const bool salvages = advice.find("pleat state salvage ") != std::string::npos;
  const bool begins_anew = advice.find("begin anew with another directory") != std::string::npos;
  EXPECT_NE(salvages, begins_anew);
  if (salvages) {
    TrySalvaged();
    EXPECT_TRUE(std::filesystem::exists(dir_ / "saved/j"));
  }
  if (begins_anew) {
    std::filesystem::remove_all(dir_ / "anew");
    std::filesystem::create_directory(dir_ / "anew");
    EXPECT_EQ(Run("anew", (dir_ / "first") + " " + (dir_ / "second")).code, 0);
    EXPECT_EQ(Content(dir_ / "anew/out"), Content(dir_ / "right/out"));
  }
  if (advice.find("from a backup") == std::string::npos) return;
  CopyWhole("hurt");
  EXPECT_EQ(Run("hurt", dir_ / "second").code, 0);
  EXPECT_EQ(Content(dir_ / "hurt/out"), Content(dir_ / "right/out"));
}

TEST_P(DamagedDirectory, GetsAdviceThatHelpsWhereverTheDamageIs) {
  constexpr size_t kPlaces = kSanitized ? 8 : 24;
  for (const std::string name : {"snapshot-1", "MANIFEST"}) {
    const std::string whole = Content(dir_ / ("whole/j/" + name));
    for (size_t place = 0; place <= kPlaces + 1; ++place) {
      const size_t at = std::min(place * whole.size() / kPlaces, whole.size() - 1);
      CopyWhole("hurt");
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      if (place <= kPlaces) {
        dir_.Write("hurt/j/" + name, bytes);
      } else {
        std::filesystem::remove(dir_ / ("hurt/j/" + name));
      }
      SCOPED_TRACE(name + ": place " + std::to_string(place));
      const Finished refused = Run("hurt", dir_ / "second");
      EXPECT_EQ(refused.code, 1);
      Follow(refused.err);
      CopyWhole("hurt");
      if (place <= kPlaces) dir_.Write("hurt/j/" + name, bytes);
      std::filesystem::remove_all(dir_ / "none");
      const Finished salvage = Care("salvage " + (dir_ / "hurt/j") + " --out " + (dir_ / "none"));
      if (!std::filesystem::exists(dir_ / "none")) Follow(salvage.out);
    }
  }
}

TEST_P(DamagedDirectory, IsToldOfAndNothingIsDifferentWithoutAWord) {
  const uint64_t count = ChosenCount();
  const bool all = ForEachSeed(1, count, [&](uint64_t seed) { TryOne(seed); });
  std::cout << count << " damaged directories: " << refused_ << " refused, " << saved_
            << " saved in part or as a whole\n";
  if (all) {
    EXPECT_GT(refused_, count / 2);
    EXPECT_GT(saved_, 0u);
  }
}

}  // namespace
}  // namespace pleat::cli
