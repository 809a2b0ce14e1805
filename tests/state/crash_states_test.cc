// Every crash of a few operations, none left out as long as they are few: what a random test meets
// by luck, this meets for certain.
//
// A life of a small service is cut at each call of its disk, and at each byte of a write. The power
// is gone with it: what then lies on the disk is any of all that faulty_disk.h allows. From each of
// these *states* a new life begins. It has to stand where the newest snapshot stood that was
// complete, or the one under way; and after the sources have said the rest again, it has to agree
// with an engine that never stopped: in its ledger, its groups and its emissions, in the members of a
// live set and in a rollup counter. Each event counts once; and no emission and no lease has a
// number that was seen for another one.
//
// The next life is cut as well, at each of its calls, and once more when it has handed out all.
//
// By default the lives have up to 3 operations, and only a part of their states is visited (see
// Effort): in the longest lives every other byte of a write is one that it may end behind. More:
//
//   PLEAT_CRASH_STATES=1024       power losses that are visited of each cut, as far as there are
//                                 that many; and then each byte of each write is an end of it
//   PLEAT_CRASH_SECOND=4          every so many states are cut again; 1: each
//   PLEAT_CRASH_OPERATIONS=4      lives of up to so many operations
//   PLEAT_CRASH_PART=1/2          only this part of the lives, so that several processes share them
//
// With 16 and 2 of the first two, 3.8 million states take some eight minutes of processor time. And
// one alone:
//
//   PLEAT_CRASH_CASE=1:bts:31:17  one cut alone, as a failure prints it: where the life begins, its
//                                 operations, the call, and the bytes that it has written
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/state/crash_life.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr char kStatesPath[] = "/d";

// What happens before the life that is cut: nothing; or another life, which ended likewise. Without a
// live set, its operations are left out.
constexpr std::array<std::string_view, 2> kLivesBefore = {"", "bwtlsbwtl"};

// How many power losses are visited of each cut.
struct Effort {
  uint64_t at_call = ShareOf({.whole = 64, .usual = 32, .sanitized = 2});
  // Besides each length that a write may end with.
  uint64_t within_write = ShareOf({.whole = 3, .usual = 2, .sanitized = 0});
  // Every so many states are cut again.
  uint64_t second_crash = ShareOf({.whole = 61, .usual = 61, .sanitized = 97});
  // Every so many lengths of a write, in lives of the most operations.
  uint64_t stride = ShareOf({.whole = 2, .usual = 8, .sanitized = 4});
  size_t operations = 3;  // of the longest life
  size_t part = 0;        // of so many `parts` of the lives
  size_t parts = 1;
};

Effort ChosenEffort() {
  Effort effort;
  const auto read = [](const char* name, uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  effort.at_call = read("PLEAT_CRASH_STATES", effort.at_call);
  effort.within_write = read("PLEAT_CRASH_STATES", effort.within_write);
  if (std::getenv("PLEAT_CRASH_STATES") != nullptr) effort.stride = 1;
  effort.second_crash = read("PLEAT_CRASH_SECOND", effort.second_crash);
  effort.operations = read("PLEAT_CRASH_OPERATIONS", effort.operations);
  if (const char* const text = std::getenv("PLEAT_CRASH_PART"); text != nullptr) {
    char* end = nullptr;
    effort.part = std::strtoull(text, &end, 10) - 1;
    effort.parts = *end == '/' ? std::strtoull(end + 1, nullptr, 10) : 0;
    EXPECT_LT(effort.part, effort.parts) << "PLEAT_CRASH_PART is to be like 1/2";
  }
  return effort;
}

StateDirectoryOptions OnStates(FaultyStorage& storage) {
  return {.storage = &storage, .compress = false, .identity = 5};
}

// Where a restart may stand, and what it says from there on if it never stopped.
struct Stand {
  std::string look;
  std::vector<uint64_t> finished;
  std::string said;
};

// A story: what came before, and the operations of the life that is cut in its last one.
class Story {
 public:
  // Every short life has a live set, and of the longest ones those that use it.
  Story(size_t before, std::string word)
      : before_(kLivesBefore.at(before)),
        word_(std::move(word)),
        has_live_set_(word_.size() < 3 || word_.find(kLiveSet) != std::string::npos) {
    if (!has_live_set_) std::erase(before_, kLiveSet);
    trace_ = "PLEAT_CRASH_CASE=" + std::to_string(before) + ":" + word_ + ":";
  }

  // `number`: that of the story, for what is left out by turns.
  void Run(const Effort& effort, size_t number);
  void RunOne(size_t call, uint64_t bytes) {
    Tell();
    CutAt(call, bytes, UINT64_C(1) << 16, 1);
  }

  uint64_t visited() const { return visited_; }
  double all() const { return all_; }

 private:
  void Tell();
  Stand StandAt(size_t operations) const;
  std::optional<std::string> MembersOfOneLife() const;
  void CutAt(size_t call, uint64_t bytes, uint64_t most, uint64_t second_crash);
  void CutAgain(const FaultyStorage& disk);
  void Check(const FaultyStorage& disk, const Outside& outside);
  bool IsNew(const FaultyStorage& disk);

  std::string before_;
  const std::string word_;
  const bool has_live_set_;
  std::string trace_;
  Outside at_birth_;                    // when the life began
  Outside outside_;                     // when it was cut
  FaultyStorage storage_;               // of the life, with all its moments
  size_t last_ = 0;                     // the first call of the last operation
  std::vector<Stand> stands_;           // that are right
  std::optional<std::string> members_;  // if no life had ever ended
  std::set<size_t> disks_;              // hashes of those that were visited
  uint64_t visited_ = 0;
  double all_ = 0;
};

// The last snapshot before the first `operations`, and an engine that goes on from there without an
// end. kNoLife: that of the life before.
constexpr size_t kNoLife = SIZE_MAX;

Stand Story::StandAt(size_t operations) const {
  Life engine(has_live_set_);
  Outside outside;
  for (const char each : before_.substr(0, before_.find(kSnapshot))) engine.Do(each, outside);
  if (operations != kNoLife) {
    if (!before_.empty()) {
      outside.source = at_birth_.source;
      outside.arrivals = at_birth_.arrivals;
      outside.time = at_birth_.time;
      engine.EndLeases(outside);
    }
    for (const char each : word_.substr(0, operations)) engine.Do(each, outside);
  }
  Stand stand{.look = engine.Look(), .finished = outside.finished, .said = {}};
  outside.source = outside_.source;
  outside.arrivals = outside_.arrivals;
  outside.time = outside_.time;
  stand.said = engine.Conclude(outside);
  return stand;
}

// Nothing without a live set, and if the life has let time go on before it read what its sources
// had said meanwhile: then that comes late.
std::optional<std::string> Story::MembersOfOneLife() const {
  if (!has_live_set_) return std::nullopt;
  const size_t first = word_.find_first_of("btw");
  if (!before_.empty() && first < word_.size() && word_[first] == kTime) return std::nullopt;
  Life life(has_live_set_);
  Outside outside;
  for (const char each : before_) life.Do(each, outside);
  for (const char each : word_) life.Do(each, outside);
  life.CatchUp(outside);
  return life.LookAtMembers();
}

// Runs the story once, and keeps each moment.
void Story::Tell() {
  FaultyStorage first;
  if (!before_.empty()) {
    Life life(has_live_set_);
    ASSERT_TRUE(life.Recover(kStatesPath, OnStates(first)).ok());
    for (const char each : before_) life.Do(each, at_birth_);
    at_birth_.finished.clear();
  }
  storage_ = first;  // the process was killed
  storage_.Record();
  outside_ = at_birth_;
  Life life(has_live_set_);
  ASSERT_TRUE(life.Recover(kStatesPath, OnStates(storage_)).ok());
  life.EndLeases(outside_);
  size_t snapshot = kNoLife;  // the newest that is complete
  for (size_t i = 0; i < word_.size(); ++i) {
    last_ = storage_.calls();
    life.Do(word_[i], outside_);
    if (word_[i] == kSnapshot && i + 1 < word_.size()) snapshot = i;
  }
  members_ = MembersOfOneLife();
  stands_.push_back(StandAt(snapshot));
  if (word_.ends_with(kSnapshot)) stands_.push_back(StandAt(word_.size() - 1));
}

void Story::Run(const Effort& effort, size_t number) {
  Tell();
  const uint64_t stride = word_.size() == effort.operations ? effort.stride : 1;
  for (size_t call = last_; call <= storage_.calls(); ++call) {
    CutAt(call, 0, effort.at_call, effort.second_crash);
    if (call == storage_.calls()) break;
    const StorageCall& cut = storage_.log()[call];
    const uint64_t bytes = cut.kind == StorageCall::Kind::kAppend ? cut.bytes : 0;
    for (uint64_t i = 1 + number % stride; i < bytes; i += stride) {
      CutAt(call, i, effort.within_write, effort.second_crash);
    }
    if (testing::Test::HasFailure()) return;
  }
}

void Story::CutAt(size_t call, uint64_t bytes, uint64_t most, uint64_t second_crash) {
  SCOPED_TRACE(trace_ + std::to_string(call) + ":" + std::to_string(bytes));
  const std::vector<Stand> all = stands_;
  // A snapshot that has returned is the one that counts.
  if (call == storage_.calls() && all.size() == 2) stands_ = {all.back()};
  const FaultyStorage disk = storage_.At(call, bytes);
  const uint64_t seed = call * 1'000'003 + bytes;
  all_ += static_cast<double>(ForEachPowerLoss(disk, most, seed, [&](const FaultyStorage& left) {
    if (!IsNew(left)) return;
    Check(left, outside_);
    if (disks_.size() % second_crash == 0) CutAgain(left);
  }));
  stands_ = all;
}

// The next life, cut at each call of its recovery; and when it has handed out all.
void Story::CutAgain(const FaultyStorage& disk) {
  FaultyStorage storage = disk;
  storage.Record();
  Life life(has_live_set_);
  ASSERT_TRUE(life.Recover(kStatesPath, OnStates(storage)).ok());
  const size_t calls = storage.calls();
  for (size_t call = 0; call < calls; ++call) {
    ForEachPowerLoss(storage.At(call), 2, call,
                     [&](const FaultyStorage& left) { Check(left, outside_); });
  }
  Outside outside = outside_;
  life.EndLeases(outside);
  life.LeaseUpTo(100, outside);
  Check(storage, outside);
  ASSERT_TRUE(life.TakeSnapshot().ok());
  Life last(has_live_set_);
  FaultyStorage after = storage;
  ASSERT_TRUE(last.Recover(kStatesPath, OnStates(after)).ok());
  EXPECT_EQ(last.Look(), life.Look());
}

// Different crashes may leave the same.
bool Story::IsNew(const FaultyStorage& disk) {
  std::string all;
  for (const std::string& path : disk.Paths()) all += path + '\0' + disk.Content(path) + '\0';
  return disks_.insert(std::hash<std::string>{}(all)).second;
}

void Story::Check(const FaultyStorage& disk, const Outside& outside) {
  ++visited_;
  if (testing::Test::HasFailure()) return;  // the first one is enough
  FaultyStorage storage = disk;
  Life life(has_live_set_);
  const absl::StatusOr<Recovered> found = life.Recover(kStatesPath, OnStates(storage));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->passed_over, "");
  const std::string look = life.Look();
  const auto stand = std::ranges::find(stands_, look, &Stand::look);
  ASSERT_NE(stand, stands_.end()) << "stands at " << look << ", should at " << stands_[0].look;
  Outside after = outside;
  after.finished = stand->finished;
  if (members_) {
    life.EndLeases(after);
    life.CatchUp(after);
    EXPECT_EQ(life.LookAtMembers(), *members_);
  }
  EXPECT_EQ(life.Conclude(after), stand->said);
  std::ranges::sort(after.finished);
  ASSERT_EQ(after.finished.size(), after.source.size());
  for (uint64_t i = 0; i < after.finished.size(); ++i) ASSERT_EQ(after.finished[i], i);
}

// "1:bts:31:17".
void RunChosen(std::string_view text) {
  std::array<std::string, 4> parts;
  for (std::string& part : parts) {
    const size_t end = std::min(text.find(':'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Story(std::stoul(parts[0]), parts[1]).RunOne(std::stoul(parts[2]), std::stoul(parts[3]));
}

TEST(CrashStates, LoseNothingThatASnapshotHasAndCountEachEventOnce) {
  if (const char* const chosen = std::getenv("PLEAT_CRASH_CASE"); chosen != nullptr) {
    RunChosen(chosen);
    return;
  }
  const Effort effort = ChosenEffort();
  ASSERT_GT(effort.parts, 0u);
  uint64_t visited = 0;
  double all = 0;
  size_t stories = 0;
  size_t number = 0;
  for (size_t before = 0; before < kLivesBefore.size(); ++before) {
    std::vector<std::string> words = {""};
    for (size_t i = 0; i < words.size() && !testing::Test::HasFailure(); ++i) {
      if (++number % effort.parts == effort.part) {
        Story story(before, words[i]);
        story.Run(effort, number);
        visited += story.visited();
        all += story.all();
        ++stories;
      }
      if (words[i].size() == effort.operations) continue;
      for (const char each : kOperations) words.push_back(words[i] + each);
    }
  }
  std::cout << "states " << visited << " of " << all << " after one crash and more after two, in "
            << stories << " lives of up to " << effort.operations << " operations\n";
  if (effort.parts == 1 && !testing::Test::HasFailure()) {
    EXPECT_GE(visited, ShareOf({.whole = 100'000, .usual = 20'000, .sanitized = 1}));
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
