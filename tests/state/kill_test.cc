// A process that is killed again and again while it folds and takes snapshots, on a file system of
// this machine. What it told before it died is held against what its successor says.
//
//   PLEAT_KILLS=10000   so many, 500 in each directory; 500 by default
//   PLEAT_KILL_DIR=DIR  where its files are; in memory by default
//   PLEAT_SEED=17       this draw of the instants
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

std::string Program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "state_killed";
}

uint64_t ChosenKills() {
  const char* const text = std::getenv("PLEAT_KILLS");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 500, .usual = 150, .sanitized = 25});
}

// What the processes have told, all of them.
class Oracle {
 public:
  void Read(std::string_view out) {
    for (const std::string& line : WholeLines(out)) ReadLine(line);
    begun_ = 0;
  }

  uint64_t position() const { return position_; }  // of the newest recovery
  uint64_t kept() const { return kept_; }          // where a snapshot stands that is on the disk
  uint64_t recoveries() const { return recoveries_; }
  uint64_t snapshots() const { return snapshots_; }
  size_t emissions() const { return emissions_.size(); }
  bool ended() const { return ended_; }

 private:
  void ReadLine(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "at" || word == "end") {
      ReadTotals(words);
      ++recoveries_;
      EXPECT_GE(position_, kept_) << "a snapshot was lost";
      ended_ = word == "end";
    } else if (word == "begin") {
      words >> begun_;
    } else if (word == "kept") {
      kept_ = begun_;
      ++snapshots_;
    } else if (word == "lend") {
      ReadLease(words);
    }
  }

  // Each number below the position, once.
  void ReadTotals(std::istringstream& words) {
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t mixed = 0;
    words >> position_ >> count >> sum >> mixed;
    uint64_t expected = 0;
    for (uint64_t i = 0; i < position_; ++i) expected ^= i * 0x9e3779b97f4a7c15;
    EXPECT_EQ(count, position_);
    EXPECT_EQ(sum, position_ == 0 ? 0 : position_ * (position_ - 1) / 2);
    EXPECT_EQ(mixed, expected);
  }

  // No emission and no lease has the number of another one that was seen.
  void ReadLease(std::istringstream& words) {
    uint64_t partition = 0;
    uint64_t generation = 0;
    uint64_t lease = 0;
    std::string rest;
    words >> partition >> generation >> lease;
    std::getline(words, rest);
    const auto [it, is_new] = emissions_.emplace(std::pair(partition, generation), rest);
    EXPECT_EQ(it->second, rest) << "of generation " << generation;
    EXPECT_TRUE(leases_.emplace(partition, lease).second) << "lease " << lease;
  }

  std::map<std::pair<uint64_t, uint64_t>, std::string> emissions_;
  std::set<std::pair<uint64_t, uint64_t>> leases_;
  uint64_t position_ = 0;
  uint64_t kept_ = 0;
  uint64_t begun_ = 0;
  uint64_t recoveries_ = 0;
  uint64_t snapshots_ = 0;
  bool ended_ = false;
};

// Kills the process at a drawn instant: at once, when it is about to open the directory, or so many
// pieces of lines later. Lines come from two threads, and the process goes on while we read.
void KillOnce(const std::string& directory, std::mt19937_64& random, Oracle& oracle) {
  Subprocess process({Program(), directory, "1000000000"});
  const uint64_t drawn = random() % 16;
  if (drawn == 1) {
    ASSERT_TRUE(process.AwaitOut("open\n"));
  } else if (drawn > 1) {
    ASSERT_TRUE(process.AwaitOut("\nat ")) << process.err();
    for (uint64_t pieces = random() % 80; pieces > 0; --pieces) {
      ASSERT_TRUE(process.AwaitMoreOut()) << process.err();
    }
  }
  process.Signal(SIGKILL);
  EXPECT_EQ(process.Wait(), -SIGKILL) << process.err();
  oracle.Read(process.out());
}

// A life is one directory. Its state grows with each process, so a life ends after some hundred.
void LiveAndDie(uint64_t kills, std::mt19937_64& random) {
  const TemporaryDirectory directory(PlaceForKills());
  Oracle oracle;
  for (uint64_t i = 0; i < kills && !testing::Test::HasFailure(); ++i) {
    KillOnce(directory / "numbers", random, oracle);
  }
  if (testing::Test::HasFailure()) return;
  // And the last one comes to the end.
  const uint64_t until = oracle.position() + 10'000;
  const Finished last = RunToEnd({Program(), directory / "numbers", std::to_string(until)});
  EXPECT_EQ(last.code, 0) << last.err;
  oracle.Read(last.out);
  EXPECT_TRUE(oracle.ended());
  EXPECT_EQ(oracle.position(), until);
  std::cout << kills << " kills, " << oracle.recoveries() - 2 << " recoveries before the last, "
            << oracle.snapshots() << " snapshots, " << until << " numbers, " << oracle.emissions()
            << " emissions" << std::endl;
}

// What was told of a number that was about to be told is nothing.
TEST(Kill, ALineThatAProcessWasKilledInIsNotRead) {
  const Finished killed = RunToEnd({"/bin/sh", "-c", "echo kept; printf 'at 16'; kill -9 $$"});
  EXPECT_EQ(killed.code, -SIGKILL);
  EXPECT_EQ(killed.out, "kept\nat 16");
  Oracle oracle;
  oracle.Read(killed.out);
  EXPECT_EQ(oracle.snapshots(), 1u);
  EXPECT_EQ(oracle.recoveries(), 0u);
}

TEST(Kill, AProcessThatIsKilledAgainAndAgainCountsEachNumberOnce) {
  constexpr uint64_t kInOneLife = 500;
  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (uint64_t left = ChosenKills(); left > 0 && !testing::Test::HasFailure();) {
    const uint64_t kills = std::min(left, kInOneLife);
    LiveAndDie(kills, random);
    left -= kills;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
