// Every crash of a few operations, none left out as long as they are few: what a random test meets
// by luck, this meets for certain.
//
// A life of a small service is cut at each call of its disk, and at each byte of a write. The power
// is gone with it: what then lies on the disk is any of all that faulty_disk.h allows. From each of
// these *states* a new life begins. It has to stand where the newest snapshot stood that was
// complete, or the one under way; and after the source has said the rest again, it has to agree
// with an engine that never stopped: in its ledger, its groups and its emissions. Each event counts
// once; and no emission and no lease has a number that was seen for another one.
//
// The next life is cut as well, at each of its calls, and once more when it has handed out all.
//
//   PLEAT_CRASH_STATES=1024       power losses that are visited of each cut, as far as there are
//                                 that many; by default fewer (see Effort)
//   PLEAT_CRASH_CASE=1:bts:31:17  one cut alone, as a failure prints it: where the life begins, its
//                                 operations, the call, and the bytes that it has written
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/partition.h>
#include <pleat/stored.h>

#include "tests/journal/small_service.h"
#include "tests/support/check_whole.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;

constexpr int kPartitions = 2;
constexpr size_t kMostOperations = 3;
constexpr char kStatesPath[] = "/d";

// Operations are letters, and a life is a word.
constexpr std::string_view kOperations = "btlaps";
constexpr char kBatch = 'b';  // of two events, one a partition
constexpr char kTime = 't';   // goes on, and closes what is open
constexpr char kLease = 'l';  // of one emission
constexpr char kAck = 'a';    // of the oldest lease that is not acked
constexpr char kPop = 'p';    // of one emission
constexpr char kSnapshot = 's';

// What happens before the life that is cut: nothing; or another life, which ended likewise.
constexpr std::array<std::string_view, 2> kLivesBefore = {"", "btlsbtl"};

// How many power losses are visited of each cut.
struct Effort {
  uint64_t at_call = kSanitized ? 2 : 64;
  uint64_t within_write = kSanitized ? 0 : 4;    // besides each length that a write may end with
  uint64_t second_crash = kSanitized ? 97 : 31;  // every so many states are cut again
};

Effort ChosenEffort() {
  Effort effort;
  if (const char* const text = std::getenv("PLEAT_CRASH_STATES"); text != nullptr) {
    effort.at_call = effort.within_write = std::strtoull(text, nullptr, 10);
  }
  return effort;
}

// A key of each partition.
const std::array<std::string, kPartitions>& Keys() {
  static const auto keys = [] {
    std::array<std::string, kPartitions> found;
    for (char c = 'z'; c >= 'a'; --c) {
      const std::string key(1, c);
      found[static_cast<size_t>(PartitionOf(key, kPartitions))] = key;
    }
    return found;
  }();
  return keys;
}

// Names that somebody outside has seen, and what they mean.
class Seen {
 public:
  void See(const Emission<Notes>& emission) {
    const std::string meaning = emission.key + testing::PrintToString(emission.state.numbers);
    const auto [it, is_new] =
        emissions_.emplace(std::pair(emission.id.partition, emission.id.generation), meaning);
    EXPECT_EQ(it->second, meaning) << "emission " << emission.id.generation << " means two things";
  }
  void See(const LeaseToken& token) {
    EXPECT_TRUE(leases_.emplace(token.partition, token.lease).second)
        << "lease " << token.lease << " was given twice";
  }

 private:
  std::map<std::pair<uint32_t, uint64_t>, std::string> emissions_;
  std::set<std::pair<uint32_t, uint64_t>> leases_;
};

struct Lent {
  LeaseToken token;
  std::vector<uint64_t> numbers;
};

// What lies outside of the service, and outlives it.
struct Outside {
  std::vector<EngineTime> source;  // the stamps of the events that it has said
  EngineTime time = kT0;
  Seen seen;
  std::vector<Lent> lent;          // not acked
  std::vector<uint64_t> finished;  // events in emissions that were popped or acked
};

void Append(std::string& text, const Emission<Notes>& e) {
  text += e.key + testing::PrintToString(e.state.numbers) + "@" +
          std::to_string(e.closed.time_since_epoch().count()) + " ";
}

// One life.
class Life : public SmallService {
 public:
  Life() : SmallService(kPartitions) {}

  void Do(char operation, Outside& outside) {
    switch (operation) {
      case kBatch:
        outside.source.insert(outside.source.end(), 2, outside.time);
        ReadAll(outside);
        break;
      case kTime:
        outside.time += 60s;
        engine->Advance(outside.time);
        break;
      case kLease: LeaseUpTo(1, outside); break;
      case kAck:
        if (!outside.lent.empty()) AckFirst(outside);
        break;
      case kPop: {
        for (const Emission<Notes>& emission : notes.Pop(1)) Finish(emission, outside);
        break;
      }
      default:
        if (journal != nullptr) {
          TakeSnapshot().IgnoreError();
        }
    }
  }

  // What the service shows of itself.
  std::string Look() const {
    FieldWriter out;
    notes.ledger().Stored(out);
    out(engine->now(), Mark());
    std::vector<OpenGroup<Notes>> groups;
    ScanCursor cursor;
    while (notes.Scan(cursor, 100, groups)) {
    }
    std::string text;
    std::ranges::sort(groups, {}, &OpenGroup<Notes>::key);
    for (const OpenGroup<Notes>& group : groups) {
      text += group.key + testing::PrintToString(group.state.numbers) + " ";
    }
    return text + testing::PrintToString(std::string(out.bytes()));
  }

  // Those of a process that is dead.
  void EndLeases(Outside& outside) {
    notes.EndLeases();
    outside.lent.clear();
  }

  std::string LeaseUpTo(size_t max, Outside& outside) {
    std::string said;
    for (const Leased<Notes>& lease : notes.Lease(max, 30s, kLease0)) {
      outside.seen.See(lease);
      outside.seen.See(lease.delivery.token);
      outside.lent.push_back({lease.delivery.token, lease.state.numbers});
      Append(said, lease);
    }
    return said;
  }

  // Goes on to the end of all, and returns what it says on the way.
  std::string Conclude(Outside& outside) {
    std::string said;
    EndLeases(outside);
    ReadAll(outside);
    said += LeaseUpTo(1, outside);
    outside.time += 1h;
    engine->Advance(outside.time);
    said += LeaseUpTo(100, outside);
    while (!outside.lent.empty()) AckFirst(outside);
    for (const Emission<Notes>& emission : notes.Pop(100)) {
      Append(said, emission);
      Finish(emission, outside);
    }
    CheckWhole(notes.any());
    return said + Look();
  }

 private:
  // Reads what the source has said, from where the engine stands.
  void ReadAll(const Outside& outside) {
    const uint64_t begin = Mark();
    std::vector<KeyedEvent<Note>> batch;
    for (uint64_t i = begin; i < outside.source.size(); ++i) {
      batch.push_back({Keys()[i % kPartitions], outside.source[i], {i}});
    }
    notes.FoldBatch(batch, {}, {}, SourceMark{.source = kNotesSource, .offset = begin});
  }

  void AckFirst(Outside& outside) {
    const Lent lent = outside.lent.front();
    outside.lent.erase(outside.lent.begin());
    if (notes.Ack(lent.token) != LeaseOutcome::kDone) return;
    outside.finished.insert(outside.finished.end(), lent.numbers.begin(), lent.numbers.end());
  }

  static void Finish(const Emission<Notes>& emission, Outside& outside) {
    outside.seen.See(emission);
    outside.finished.insert(outside.finished.end(), emission.state.numbers.begin(),
                            emission.state.numbers.end());
  }
};

JournalOptions OnStates(FaultyStorage& storage) {
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
  Story(size_t before, std::string word) : before_(before), word_(std::move(word)) {}

  void Run(const Effort& effort);
  void RunOne(size_t call, uint64_t bytes) {
    Tell();
    CutAt(call, bytes, UINT64_C(1) << 16, 1);
  }

  uint64_t visited() const { return visited_; }
  double all() const { return all_; }

 private:
  void Tell();
  Stand StandAt(size_t operations) const;
  void CutAt(size_t call, uint64_t bytes, uint64_t most, uint64_t second_crash);
  void CutAgain(const FaultyStorage& disk);
  void Check(const FaultyStorage& disk, const Outside& outside);
  bool IsNew(const FaultyStorage& disk);

  const size_t before_;
  const std::string word_;
  Outside at_birth_;           // when the life began
  Outside outside_;            // when it was cut
  FaultyStorage storage_;      // of the life, with all its moments
  size_t last_ = 0;            // the first call of the last operation
  std::vector<Stand> stands_;  // that are right
  std::set<size_t> disks_;     // hashes of those that were visited
  uint64_t visited_ = 0;
  double all_ = 0;
};

// The last snapshot before the first `operations`, and an engine that goes on from there without an
// end. kNoLife: that of the life before.
constexpr size_t kNoLife = SIZE_MAX;

Stand Story::StandAt(size_t operations) const {
  Life engine;
  Outside outside;
  const std::string_view before = kLivesBefore[before_];
  if (!before.empty()) {
    for (const char each : before.substr(0, before.find(kSnapshot))) engine.Do(each, outside);
  }
  if (operations != kNoLife) {
    if (!before.empty()) {
      outside.source = at_birth_.source;
      outside.time = at_birth_.time;
      engine.EndLeases(outside);
    }
    for (const char each : word_.substr(0, operations)) engine.Do(each, outside);
  }
  Stand stand{.look = engine.Look(), .finished = outside.finished, .said = {}};
  outside.source = outside_.source;
  outside.time = outside_.time;
  stand.said = engine.Conclude(outside);
  return stand;
}

// Runs the story once, and keeps each moment.
void Story::Tell() {
  FaultyStorage first;
  if (const std::string_view before = kLivesBefore[before_]; !before.empty()) {
    Life life;
    ASSERT_TRUE(life.Recover(kStatesPath, OnStates(first)).ok());
    for (const char each : before) life.Do(each, at_birth_);
    at_birth_.finished.clear();
  }
  storage_ = first;  // the process was killed
  storage_.Record();
  outside_ = at_birth_;
  Life life;
  ASSERT_TRUE(life.Recover(kStatesPath, OnStates(storage_)).ok());
  life.EndLeases(outside_);
  size_t snapshot = kNoLife;  // the newest that is complete
  for (size_t i = 0; i < word_.size(); ++i) {
    last_ = storage_.calls();
    life.Do(word_[i], outside_);
    if (word_[i] == kSnapshot && i + 1 < word_.size()) snapshot = i;
  }
  stands_.push_back(StandAt(snapshot));
  if (word_.ends_with(kSnapshot)) stands_.push_back(StandAt(word_.size() - 1));
}

void Story::Run(const Effort& effort) {
  Tell();
  for (size_t call = last_; call <= storage_.calls(); ++call) {
    CutAt(call, 0, effort.at_call, effort.second_crash);
    if (call == storage_.calls()) break;
    const StorageCall& cut = storage_.log()[call];
    const uint64_t bytes = cut.kind == StorageCall::Kind::kAppend ? cut.bytes : 0;
    for (uint64_t i = 1; i < bytes; ++i) {
      CutAt(call, i, effort.within_write, effort.second_crash);
    }
    if (testing::Test::HasFailure()) return;
  }
}

void Story::CutAt(size_t call, uint64_t bytes, uint64_t most, uint64_t second_crash) {
  SCOPED_TRACE("PLEAT_CRASH_CASE=" + std::to_string(before_) + ":" + word_ + ":" +
               std::to_string(call) + ":" + std::to_string(bytes));
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
  Life life;
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
  Life last;
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
  Life life;
  const absl::StatusOr<Recovered> found = life.Recover(kStatesPath, OnStates(storage));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->passed_over, "");
  const std::string look = life.Look();
  const auto stand = std::ranges::find(stands_, look, &Stand::look);
  ASSERT_NE(stand, stands_.end()) << "stands at " << look << ", should at " << stands_[0].look;
  Outside after = outside;
  after.finished = stand->finished;
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
  uint64_t visited = 0;
  double all = 0;
  size_t stories = 0;
  for (size_t before = 0; before < kLivesBefore.size(); ++before) {
    std::vector<std::string> words = {""};
    for (size_t i = 0; i < words.size() && !testing::Test::HasFailure(); ++i) {
      Story story(before, words[i]);
      story.Run(effort);
      visited += story.visited();
      all += story.all();
      ++stories;
      if (words[i].size() == kMostOperations) continue;
      for (const char each : kOperations) words.push_back(words[i] + each);
    }
  }
  std::cout << "states " << visited << " of " << all << " after one crash and more after two, in "
            << stories << " lives of up to " << kMostOperations << " operations\n";
  if (!kSanitized && !testing::Test::HasFailure()) {
    EXPECT_GE(visited, 100'000u);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
