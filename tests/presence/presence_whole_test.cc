// Random calls on a presence. The invariants hold after each; the changes, applied one by one, are
// the whole story of every user, with exactly one end each; and the number of partitions makes no
// difference. A failing seed is repeated by PLEAT_SEED.
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr Shares kEpisodes = {.whole = 60, .usual = 60, .sanitized = 15};
constexpr int kCalls = 400;

// One presence, and a watcher who has seen it from the beginning.
class Watched {
 public:
  using Key = std::pair<std::string, std::string>;  // series and user
  struct Seen {
    bool away;
    int metadata;
  };

  Watched(int partitions, const PresenceOptions& options, Axis axis)
      : engine_(
            *Engine::Open({.partitions = partitions,
                           .axis = axis,
                           .watermark_delay = axis == Axis::kEvent ? Duration(2s) : Duration(0s)})),
        presence_(*engine_, "presence", options) {
    if (axis == Axis::kArrival) engine_->Advance(kT0);
    std::vector<SeriesCount> snapshot;
    cursor_ = presence_.Watch(kEverything, snapshot);
  }

  Engine& engine() { return *engine_; }
  Presence<int>& presence() { return presence_; }

  // All that can be read, as lines; checks that it makes sense.
  std::vector<std::string> Read() {
    std::vector<Change<int>> changes;
    EXPECT_EQ(presence_.Read(kEverything, cursor_, SIZE_MAX, changes), ReadChanges::kAll);
    std::vector<std::string> lines;
    for (const Change<int>& change : changes) {
      Apply(change);
      lines.push_back(change.series + " " + change.id + " " + std::string(CauseName(change.cause)) +
                      " " + std::to_string((change.at - kT0).count()) + " " +
                      std::to_string(change.count) + " " + std::to_string(change.away) + " " +
                      std::to_string(change.payload) + " " +
                      std::to_string((change.stamp - kT0).count()) + " " +
                      std::to_string((change.deadline - kT0).count()));
    }
    return lines;
  }

  // That those who have read all know who is here.
  void CheckAgainstReads() {
    presence_.any().CheckWhole();
    ASSERT_TRUE(presence_.ledger().Balances());
    std::map<std::string, std::map<std::string, Seen>> series;
    for (const auto& [key, seen] : seen_) series[key.first][key.second] = seen;
    size_t users = 0;
    for (const auto& [name, expected] : series) {
      const auto listed = presence_.List(name, {.limit = SIZE_MAX});
      ASSERT_EQ(listed.size(), expected.size()) << name;
      PresenceCounts counts;
      for (const auto& user : listed) {
        const auto it = expected.find(user.id);
        ASSERT_NE(it, expected.end());
        EXPECT_EQ(user.away, it->second.away) << name << " " << user.id;
        EXPECT_EQ(user.metadata, it->second.metadata);
        ++(user.away ? counts.away : counts.here);
        for (const Connection& c : user.connections) {
          if (c.deadline > engine_->now()) ++counts.connections;
          EXPECT_LE(c.stamp, user.stamp);
        }
      }
      EXPECT_EQ(presence_.Count(name), counts) << name;
      users += listed.size();
    }
    EXPECT_EQ(presence_.sizes().users, users);
    EXPECT_EQ(presence_.sizes().series, series.size());
  }

 private:
  static constexpr WatchScope kEverything{.name = "", .is_prefix = true};

  void Apply(const Change<int>& change) {
    EXPECT_GE(change.at, last_at_);
    last_at_ = change.at;
    const auto it = seen_.find({change.series, change.id});
    const bool known = it != seen_.end();
    switch (change.cause) {
      case Cause::kAdded:
        EXPECT_FALSE(known);
        seen_[{change.series, change.id}] = {.away = false, .metadata = change.payload};
        break;
      case Cause::kUpdated:
        ASSERT_TRUE(known && !it->second.away && it->second.metadata != change.payload);
        it->second.metadata = change.payload;
        break;
      case Cause::kAway:
        ASSERT_TRUE(known && !it->second.away);
        it->second.away = true;
        break;
      case Cause::kRestored:
        ASSERT_TRUE(known && it->second.away);
        it->second = {.away = false, .metadata = change.payload};
        break;
      case Cause::kLeft:
        ASSERT_TRUE(known);
        seen_.erase(it);
        break;
      default: FAIL() << CauseName(change.cause);
    }
    size_t count = 0;
    size_t away = 0;
    for (const auto& [key, seen] : seen_) {
      count += key.first == change.series;
      away += key.first == change.series && seen.away;
    }
    EXPECT_EQ(change.count, count);
    EXPECT_EQ(change.away, away);
  }

  std::unique_ptr<Engine> engine_;
  Presence<int> presence_;
  ChangeCursor cursor_;
  std::map<Key, Seen> seen_;
  EngineTime last_at_ = kBeginningOfTime;
};

class PresenceWhole : public testing::Test {
 protected:
  // The same calls on both, which differ in the number of partitions.
  void RunEpisode(uint64_t seed) {
    random_.seed(seed);
    const Axis axis = Below(2) == 0 ? Axis::kArrival : Axis::kEvent;
    const PresenceOptions options{.ttl = 10s, .grace = Below(3) * 5s};
    Watched one(1, options, axis);
    Watched many(1 + static_cast<int>(Below(8)), options, axis);
    // By the connection's name: the generations that each of both has given.
    std::map<std::string, std::pair<uint64_t, uint64_t>> generations;
    EngineTime now = kT0;
    for (int i = 0; i < kCalls && !HasFailure(); ++i) {
      if (Below(3) == 0) now += Below(4000) * 1ms;
      const std::string series = "series " + std::to_string(Below(3));
      const std::string user = "user " + std::to_string(Below(4));
      const std::string tab = "connection " + std::to_string(Below(3));
      const EngineTime at = now - Below(4) * 4s + Below(2) * 1s;
      auto& known = generations[series + user + tab];
      const auto call = [&](Watched& w, uint64_t& generation) {
        Presence<int>& presence = w.presence();
        switch (choice_) {
          case 0:
          case 1: {
            const Entered entered = presence.Enter(series, user, tab, metadata_, at);
            if (entered.generation != 0 && !keeps_old_) generation = entered.generation;
            return entered.outcome;
          }
          case 2: return presence.Update(series, user, tab, generation, metadata_, at);
          case 3: return presence.Leave(series, user, tab, generation, at);
          case 4:
            std::ignore = w.engine().Advance(now, advances_);
            return PresenceOutcome::kUnchanged;
          default: return presence.Beat(series, user, tab, generation, at);
        }
      };
      choice_ = Below(9);
      metadata_ = static_cast<int>(Below(3));
      keeps_old_ = Below(8) == 0;
      advances_ = Below(2) == 0 ? SIZE_MAX : Below(3);
      const PresenceOutcome outcome = call(one, known.first);
      EXPECT_EQ(outcome, call(many, known.second));
      ++outcomes_[outcome];
      one.presence().any().CheckWhole();
      if (Below(5) > 0) continue;
      EXPECT_EQ(one.Read(), many.Read());
      one.CheckAgainstReads();
      many.CheckAgainstReads();
      EXPECT_EQ(one.presence().ledger(), many.presence().ledger());
    }
    one.engine().Advance(now + 1h);
    one.Read();
    one.CheckAgainstReads();
    EXPECT_EQ(one.presence().sizes(), PresenceSizes{});
  }
  uint64_t Below(uint64_t n) { return random_() % n; }

  std::mt19937_64 random_;
  uint64_t choice_ = 0;
  int metadata_ = 0;
  bool keeps_old_ = false;
  size_t advances_ = 0;
  std::map<PresenceOutcome, size_t> outcomes_;
};

TEST_F(PresenceWhole, ChangesTellTheWholeStoryForAnyNumberOfPartitions) {
  if (!ForEachSeed(1, ShareOf(kEpisodes), [&](uint64_t seed) { RunEpisode(seed); }) || kSanitized)
    return;
  EXPECT_EQ(outcomes_.size(), 12u);  // all but limits, future and the end
}

}  // namespace
}  // namespace pleat::inline v0_1
