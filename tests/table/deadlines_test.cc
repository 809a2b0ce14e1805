// Deadlines against an ordered set of the same things.
#include "engine/table/deadlines.h"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct Item {
  bool live = false;
  EngineTime due;
  uint64_t order = 0;
};

class DeadlinesFixture : public testing::Test {
 protected:
  explicit DeadlinesFixture(Duration quiet = 4096us * 16) : deadlines_(pool_, quiet) {}

  uint32_t Arm(EngineTime due) {
    const auto number = static_cast<uint32_t>(items_.size());
    items_.push_back({.live = true, .due = due, .order = number});
    deadlines_.Arm(number, due, number);
    return number;
  }
  struct Asker {
    const std::vector<Item>& items;
    bool Counts(uint32_t number) const { return items[number].live; }
    void Drop(uint32_t number) const { ASSERT_FALSE(items[number].live); }
    Deadlines::Answer operator()(uint32_t number) const {
      return {.due = items[number].due, .order = items[number].order};
    }
    void Prefetch(uint32_t number) const { ASSERT_LT(number, items.size()); }
    // Each is another one, as if everything had always changed; the books have real ones.
    uint64_t Version() const { return ++version; }
    uint64_t& version;
  };
  // The numbers of everything due by `now`, in the order given out.
  std::vector<uint32_t> TakeDue(EngineTime now) {
    std::vector<uint32_t> out;
    size_t budget = SIZE_MAX;
    for (Due due;
         deadlines_.Next(now, budget, Asker{items_, version_}, due) == Deadlines::Found::kDue;) {
      items_[due.number].live = false;
      out.push_back(due.number);
    }
    return out;
  }

  const EngineTime t0_ = FromUnix(1'700'000'000s);
  uint64_t version_ = 0;
  std::vector<Item> items_;
  PagePool pool_;
  Deadlines deadlines_;
};

TEST_F(DeadlinesFixture, IsExactInsideASlot) {
  Arm(t0_ + 5us);
  Arm(t0_ + 3us);
  EXPECT_EQ(deadlines_.NextDue(), t0_ + 3us);
  EXPECT_EQ(TakeDue(t0_ + 2us), std::vector<uint32_t>{});
  EXPECT_EQ(TakeDue(t0_ + 3us), std::vector<uint32_t>{1});
  EXPECT_EQ(TakeDue(t0_ + 4us), std::vector<uint32_t>{});
  EXPECT_EQ(TakeDue(t0_ + 5us), std::vector<uint32_t>{0});
  EXPECT_TRUE(deadlines_.empty());
  EXPECT_EQ(deadlines_.NextDue(), kNever);
}

TEST_F(DeadlinesFixture, GivesOutEqualDeadlinesInOrder) {
  for (int i = 0; i < 100; ++i) Arm(t0_);
  std::vector<uint32_t> expected(100);
  for (uint32_t i = 0; i < 100; ++i) expected[i] = i;
  EXPECT_EQ(TakeDue(t0_), expected);
}

TEST_F(DeadlinesFixture, ADeadlineMovedLaterSurfacesLater) {
  Arm(t0_);
  Arm(t0_ + 1us);
  items_[0].due = t0_ + 1s;
  EXPECT_EQ(TakeDue(t0_ + 1us), std::vector<uint32_t>{1});
  EXPECT_EQ(TakeDue(t0_ + 1s - 1us), std::vector<uint32_t>{});
  EXPECT_EQ(TakeDue(t0_ + 1s), std::vector<uint32_t>{0});
}

TEST_F(DeadlinesFixture, WhatTimeEndsComesBeforeWhatAnEventEnded) {
  items_.push_back({.live = true, .due = t0_, .order = 0});
  deadlines_.ArmEnded({.ripe = t0_, .order = 0, .number = 0, .by_event = true, .tag = 1});
  Arm(t0_);
  EXPECT_EQ(TakeDue(t0_), (std::vector<uint32_t>{1, 0}));
}

TEST_F(DeadlinesFixture, AnEndedOneWaitsForOlderDeadlinesInLaterSlots) {
  Arm(t0_);
  EXPECT_EQ(TakeDue(t0_).size(), 1u);
  items_.push_back({.live = true, .due = t0_ + 1s, .order = 0});
  deadlines_.ArmEnded({.ripe = t0_ + 1s, .order = 0, .number = 1, .by_event = true, .tag = 1});
  Arm(t0_ + 500ms);
  EXPECT_EQ(TakeDue(t0_ + 2s), (std::vector<uint32_t>{2, 1}));
}

TEST_F(DeadlinesFixture, StopsWhenTheBudgetRunsOutAndResumes) {
  for (int i = 0; i < 1000; ++i) Arm(t0_ + Duration{i % 7});
  std::vector<uint32_t> out;
  int calls = 0;
  for (bool done = false; !done; ++calls) {
    size_t budget = 10;
    for (;;) {
      Due due;
      const auto found = deadlines_.Next(t0_ + 10us, budget, Asker{items_, version_}, due);
      if (found == Deadlines::Found::kDue) {
        items_[due.number].live = false;
        out.push_back(due.number);
        continue;
      }
      done = found == Deadlines::Found::kNothing;
      break;
    }
  }
  EXPECT_GE(calls, 200);  // each is loaded once and taken once, ten a call
  EXPECT_EQ(out.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end(), [](uint32_t a, uint32_t b) {
    return std::tuple(a % 7, a) < std::tuple(b % 7, b);
  }));
}

TEST_F(DeadlinesFixture, StaleReferencesStayBelowAConstantShare) {
  // One key after another opens and ends at once, a million times, beside 10,000 that stay.
  for (int i = 0; i < 10'000; ++i) Arm(t0_ + Duration{i * 6});
  size_t most = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const uint32_t number = Arm(t0_ + Duration{i % 60'000});
    items_[number].live = false;
    deadlines_.NoteStale(Asker{items_, version_});
    most = std::max(most, deadlines_.stale());
  }
  EXPECT_LT(most, 20'000u);
  EXPECT_EQ(TakeDue(t0_ + 1s).size(), 10'000u);
  EXPECT_EQ(deadlines_.stale(), 0u);
}

TEST_F(DeadlinesFixture, ForgetsEverythingOnClear) {
  for (int i = 0; i < 100; ++i) Arm(t0_ + Duration{i * 1000});
  deadlines_.Clear();
  EXPECT_TRUE(deadlines_.empty());
  EXPECT_EQ(TakeDue(kEndOfTime), std::vector<uint32_t>{});
}

struct RandomDeadlines : DeadlinesFixture, testing::WithParamInterface<Duration> {
  RandomDeadlines() : DeadlinesFixture(GetParam()) {}
};

TEST_P(RandomDeadlines, AgreesWithAnOrderedSet) {
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::set<std::tuple<EngineTime, uint64_t>> expected;
    items_.clear();
    deadlines_.Clear();
    EngineTime now = t0_;
    const auto reach = static_cast<uint64_t>(std::min<Duration>(GetParam(), 10s).count()) * 2;
    for (int i = 0; i < 30'000; ++i) {
      const EngineTime due = now + Duration{1 + static_cast<int64_t>(random() % reach)};
      const uint32_t number = items_.empty() ? 0 : static_cast<uint32_t>(random() % items_.size());
      switch (random() % 5) {
        case 0:
        case 1: expected.emplace(due, Arm(due)); break;
        case 2:  // move one later
          if (items_.empty() || !items_[number].live || due < items_[number].due) break;
          expected.erase({items_[number].due, number});
          expected.emplace(due, number);
          items_[number].due = due;
          break;
        case 3:  // drop one
          if (items_.empty() || !items_[number].live) break;
          expected.erase({items_[number].due, number});
          items_[number].live = false;
          deadlines_.NoteStale(Asker{items_, version_});
          break;
        case 4: {
          now += Duration{static_cast<int64_t>(random() % (reach / 8 + 1))};
          std::vector<uint32_t> wanted;
          while (!expected.empty() && std::get<0>(*expected.begin()) <= now) {
            wanted.push_back(static_cast<uint32_t>(std::get<1>(*expected.begin())));
            expected.erase(expected.begin());
          }
          ASSERT_EQ(TakeDue(now), wanted);
          if (!expected.empty()) {
            ASSERT_LE(deadlines_.NextDue(), std::get<0>(*expected.begin()));
          }
          ASSERT_GT(deadlines_.NextDue(), now);
          break;
        }
      }
      if (i % 16 == 0) deadlines_.CheckWhole();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(SlotWidths, RandomDeadlines,
                         testing::Values(1us, 100us, 4096us, 65'537us, 1s, 5min, kForever));

}  // namespace
}  // namespace pleat
