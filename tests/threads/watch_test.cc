// Readers of a live set's changes while other threads change it and move its time.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "tests/live/member_copy.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kWriters = 2;
constexpr int kCalls = kSanitized ? 4'000 : 20'000;

// Whether time ends a member, or it is replaced or removed, the copy that a reader makes of a
// snapshot and the changes fits at every change, and is that of the live set in the end.
TEST(WatchingThreads, EveryCopyFitsToTheChangesAndIsThatOfTheLiveSetInTheEnd) {
  auto engine = *Engine::Open({.partitions = 3, .huge_pages = HugePages::kOff});
  LiveSet<int> live_set(
      *engine, "live_set",
      {.ttl = Duration{3'000}, .refresh = Refresh::kReplace, .max_changes = 3 * 200});
  engine->Advance(kT0);
  std::atomic<int> writing = kWriters;
  std::atomic<int64_t> clock = 0;
  const auto write = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kCalls; ++i) {
      const std::string series = "s" + std::to_string(random() % 4);
      const std::string id = std::to_string(random() % 10);
      const EngineTime now = kT0 + Duration{clock.fetch_add(10)};
      if (random() % 8 == 0) engine->Advance(now);
      if (random() % 8 == 0) {
        live_set.Remove(series, id);
      } else {
        live_set.Add(series, {.id = id, .payload = static_cast<int>(random() % 2)}, now);
      }
    }
    --writing;
  };
  const auto read = [&](const std::string& series) {
    const WatchScope scope{.name = series};
    MemberCopy copy;
    ChangeCursor cursor;
    std::vector<Change<int>> changes;
    for (bool is_last = false; !is_last;) {
      is_last = writing == 0;
      changes.clear();
      const ReadChanges what = live_set.Read(scope, cursor, is_last ? SIZE_MAX : 64, changes);
      for (const auto& change : changes) ASSERT_EQ(copy.Apply(scope, change), "");
      if (what != ReadChanges::kResync) continue;
      std::vector<LiveMember<int>> members;
      cursor = live_set.Watch(series, members);
      copy.Begin(cursor);
      for (const auto& member : members) copy.AddLive(series, member);
      is_last = false;
    }
    MemberCopy::Members live;
    for (const auto& member : live_set.List(series)) {
      live[member.id] = {member.stamp, member.payload};
    }
    EXPECT_EQ(copy.members(series), live);
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kWriters; ++i) threads.emplace_back(write, i + 1);
  for (int i = 0; i < 3; ++i) threads.emplace_back(read, "s" + std::to_string(i));
  for (std::thread& thread : threads) thread.join();
}

// With Refresh::kReplace each event of a live member ends it and adds it again.
TEST(WatchingThreads, AReaderSeesNoneOfTheChangesOfACallOrAll) {
  auto engine = *Engine::Open({.partitions = 2, .huge_pages = HugePages::kOff});
  LiveSet<> live_set(*engine, "live_set", {.ttl = kForever, .refresh = Refresh::kReplace});
  const WatchScope all{.name = "", .is_prefix = true};
  std::vector<SeriesCount> snapshot;
  ChangeCursor cursor = live_set.Watch(all, snapshot);
  std::atomic<bool> writing = true;
  std::thread writer([&] {
    for (int i = 0; i < kCalls; ++i) {
      const std::string series = std::to_string(i % 3);
      live_set.Add(series, {.id = "ann"}, kT0 + Duration{i});
    }
    writing = false;
  });
  size_t replaced = 0;
  std::vector<Change<NoPayload>> changes;
  for (bool is_last = false; !is_last;) {
    is_last = !writing;
    changes.clear();
    ASSERT_EQ(live_set.Read(all, cursor, SIZE_MAX, changes), ReadChanges::kAll);
    for (size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].cause != Cause::kReplaced) continue;
      ++replaced;
      ASSERT_LT(i + 1, changes.size()) << "only the end of the member is there";
      EXPECT_EQ(changes[i + 1].cause, Cause::kAdded);
      EXPECT_EQ(changes[i + 1].series, changes[i].series);
      EXPECT_EQ(changes[i + 1].change.number, changes[i].change.number + 1);
    }
  }
  writer.join();
  EXPECT_EQ(replaced, static_cast<size_t>(kCalls) - 3);
}

}  // namespace
}  // namespace pleat::inline v0_1
