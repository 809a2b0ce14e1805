// Many refreshes at once, whose members leave their old places together: of sequences, against plain
// sorted sets, and of a live set's large series, against the stamps that its members have.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/fixture.h"
#include "tests/live/sequence_fixture.h"
#include "tests/support/seeds.h"

namespace pleat::sequences {
namespace {

// From the front, members next to each other leave one leaf as a whole.
TEST_F(SequenceTest, ManyMembersMoveAndAreSettledAtOnce) {
  std::vector<Pair> pairs(6, NewPair());
  const std::vector<size_t> sizes = {2, 60, 130, 300, 1000, 5000};
  for (size_t i = 0; i < pairs.size(); ++i) {
    while (pairs[i].size() < sizes[i]) Append(pairs[i]);
  }
  for (int round = 0; round < 600; ++round) {
    const bool of_one = Draw(2) == 0;
    const bool from_front = Draw(3) == 0;
    Pair& one = pairs[Draw(pairs.size())];
    for (uint64_t moves = 1 + Draw(80); moves > 0; --moves) {
      Pair& pair = of_one ? one : pairs[Draw(pairs.size())];
      const uint32_t number = pair.NumberAt(from_front ? 0 : Draw(pair.size()));
      pair.MoveToBackUnsettled(number, pair.last() + Duration{Draw(3)});
    }
    pool_.Settle();
    if (round % 20 != 0) continue;
    for (Pair& pair : pairs) {
      pair.Check();
      pair.CheckAround(static_cast<uint32_t>(Draw(pair.size())));
    }
    if (HasFailure()) return;
  }
  for (Pair& pair : pairs) pair.Clear();
  EXPECT_EQ(pool_.CheckMemory(), 0u);
}

}  // namespace
}  // namespace pleat::sequences

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

class BatchRefreshTest : public LiveSetTest {
 protected:
  // Has one event in `new_ones` add a member, whereas others refresh one.
  void AddBatches(size_t batches, uint64_t new_ones) {
    for (size_t i = 0; i < batches; ++i) {
      std::vector<std::pair<size_t, Duration>> drawn(1 + Draw(300));
      for (auto& [member, at] : drawn) {
        member = stamps_.empty() || Draw(new_ones) == 0 ? stamps_.size() : Draw(stamps_.size());
        at = now_ += Duration{Draw(3)};
        if (member == stamps_.size()) stamps_.push_back(at);
        if (member == ids_.size()) ids_.push_back("member " + std::to_string(member));
        stamps_[member] = at;
      }
      std::vector<KeyedEvent<Numbers::Event>> events;
      for (const auto& [member, at] : drawn) events.push_back({"s", At(at), {.id = ids_[member]}});
      live_set().AddBatch(events);
    }
  }
  // Compares counts and the list with the stamps of members that are live.
  void Check(Duration ttl) {
    std::vector<Duration> sorted = stamps_;
    std::erase_if(sorted, [&](Duration stamp) { return stamp + ttl <= now_; });
    std::ranges::sort(sorted);
    ASSERT_EQ(Count(), sorted.size());
    for (int i = 0; i < 40; ++i) {
      const Duration since{Draw(1 + static_cast<uint64_t>(now_.count()))};
      const auto later = sorted.end() - std::ranges::upper_bound(sorted, since);
      ASSERT_EQ(live_set().CountSince("s", At(since)), static_cast<size_t>(later));
    }
    std::vector<Duration> listed;
    for (const Numbers::Member& m :
         live_set().List("s", {.newest_first = false, .limit = SIZE_MAX})) {
      listed.push_back(Since(m.stamp));
    }
    ASSERT_EQ(listed, sorted);
    ASSERT_TRUE(ledger().Balances());
  }
  uint64_t Draw(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }

 private:
  const uint64_t seed_ = AnySeed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "PLEAT_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  Duration now_{0};
  std::vector<Duration> stamps_;  // since kT0, by member
  std::vector<std::string> ids_;
};

TEST_F(BatchRefreshTest, ALargeSeriesCountsAndListsByTheNewestStamps) {
  Open({.ttl = 1h}, OnEventTime());
  AddBatches(10, 1);
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    AddBatches(1 + Draw(4), 50);
    Check(1h);
  }
}

// An event of the batch that is more than a refresh meets an order that is whole.
TEST_F(BatchRefreshTest, EventsThatAreNoRefreshesComeBetween) {
  Open({.ttl = 3ms}, OnEventTime());
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    AddBatches(1, 3);
    Check(3ms);
  }
  EXPECT_GT(ledger().expired, 0u);
}

}  // namespace
}  // namespace pleat::inline v0_1
