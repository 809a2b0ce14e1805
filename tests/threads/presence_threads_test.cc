// Several clients of one presence at once, while time moves and somebody watches: who has read all
// changes has seen the whole story of every user, in order and with one end each.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 3;
constexpr int kCallsOfClient = 4000;
constexpr WatchScope kAllRooms{.name = "", .is_prefix = true};

class PresenceThreads : public testing::Test {
 protected:
  // Of two tabs of users of its own, whose rooms it shares with the other clients.
  void BeClient(int client) {
    std::mt19937 random(static_cast<uint32_t>(client));
    std::map<std::string, uint64_t> generations;
    for (int i = 0; i < kCallsOfClient; ++i) {
      const std::string room = "room " + std::to_string(random() % 5);
      const std::string user = std::to_string(client) + "/" + std::to_string(random() % 4);
      const std::string tab = std::to_string(random() % 2);
      uint64_t& generation = generations[room + user + tab];
      const EngineTime now = engine_->now();
      switch (random() % 6) {
        case 0: generation = presence_.Enter(room, user, tab, i, now).generation; break;
        case 1: presence_.Leave(room, user, tab, generation, now); break;
        case 2: presence_.Update(room, user, tab, generation, i, now); break;
        case 3: CheckList(room); break;
        default: presence_.Beat(room, user, tab, generation, now);
      }
    }
  }
  void CheckList(const std::string& room) {
    for (const PresentUser<int>& user : presence_.List(room)) {
      EXPECT_FALSE(user.connections.empty());
      EXPECT_EQ(user.connections.back().stamp, user.stamp);
    }
  }

  void Watch() {
    std::vector<SeriesCount> snapshot;
    ChangeCursor cursor = presence_.Watch(kAllRooms, snapshot);
    watching_ = true;
    while (!done_) Read(cursor);
    Read(cursor);
  }
  void Read(ChangeCursor& cursor) {
    std::vector<Change<int>> changes;
    ASSERT_EQ(presence_.Read(kAllRooms, cursor, SIZE_MAX, changes), ReadChanges::kAll);
    for (const Change<int>& change : changes) Apply(change);
    if (changes.empty()) std::this_thread::yield();
  }
  void Apply(const Change<int>& change) {
    ++changes_;
    auto& users = seen_[change.series];
    if (change.cause == Cause::kAdded) {
      EXPECT_TRUE(users.emplace(change.id, false).second);
    } else if (change.cause == Cause::kLeft) {
      EXPECT_EQ(users.erase(change.id), 1u);
    } else {
      ASSERT_TRUE(users.contains(change.id));
      EXPECT_EQ(users[change.id], change.cause == Cause::kRestored);
      users[change.id] = change.cause == Cause::kAway;
    }
    EXPECT_EQ(users.size(), change.count);
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  Presence<int> presence_{*engine_, "presence", {.ttl = 50ms, .grace = 30ms}};
  std::atomic<bool> watching_ = false;
  std::atomic<bool> done_ = false;
  std::map<std::string, std::map<std::string, bool>> seen_;  // whether away
  uint64_t changes_ = 0;
};

TEST_F(PresenceThreads, AWatcherSeesTheWholeStory) {
  engine_->Advance(kT0);
  std::thread watcher([this] { Watch(); });
  while (!watching_) std::this_thread::yield();
  std::vector<std::thread> clients;
  std::atomic<int> left = kClients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([this, i, &left] {
      BeClient(i);
      --left;
    });
  }
  EngineTime now = kT0;
  while (left > 0) {
    engine_->Advance(now += 1ms);
    std::this_thread::yield();
  }
  for (std::thread& client : clients) client.join();
  engine_->Advance(now + 1s);
  done_ = true;
  watcher.join();
  const PresenceLedger ledger = presence_.ledger();
  EXPECT_TRUE(ledger.Balances());
  EXPECT_EQ(ledger.changes, changes_);
  EXPECT_EQ(ledger.users, 0u);
  EXPECT_EQ(presence_.sizes(), PresenceSizes{});
  for (const auto& [room, users] : seen_) EXPECT_TRUE(users.empty()) << room;
  presence_.any().CheckWhole();
}

}  // namespace
}  // namespace pleat::inline v0_1
