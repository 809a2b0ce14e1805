// The wheel against a multimap of the same timers.
#include "engine/timer/wheel.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

Timer* TakeDue(TimerWheel& wheel, EngineTime now) {
  Timer* due = wheel.FirstDue(now);
  if (due != nullptr) wheel.Cancel(*due);
  return due;
}

using namespace std::chrono_literals;

const EngineTime kStart = FromUnix(1'700'000'000s);

TEST(TimerWheel, GivesOutATimerAtItsDeadlineAndNotBefore) {
  TimerWheel wheel;
  Timer timer;
  for (Duration after : {1us, 999us, 1500us, 90s + 0us, 5 * 24h + 1us}) {
    wheel.Schedule(timer, kStart + after);
    EXPECT_EQ(wheel.NextDeadline(), kStart + after);
    EXPECT_EQ(TakeDue(wheel, kStart + after - 1us), nullptr);
    EXPECT_EQ(TakeDue(wheel, kStart + after), &timer);
    EXPECT_EQ(wheel.NextDeadline(), kNever);
  }
}

TEST(TimerWheel, ADeadlineInThePastIsDueAtOnce) {
  TimerWheel wheel;
  Timer timer;
  wheel.Schedule(timer, kStart);
  ASSERT_EQ(TakeDue(wheel, kStart + 24h), &timer);
  wheel.Schedule(timer, kStart - 24h);
  EXPECT_EQ(wheel.NextDeadline(), kStart - 24h);
  EXPECT_EQ(TakeDue(wheel, kStart + 24h), &timer);
}

TEST(TimerWheel, ReachesFromTheFirstInstantToTheLast) {
  TimerWheel wheel;
  Timer first;
  Timer last;
  wheel.Schedule(last, kEndOfTime - 1us);
  wheel.Schedule(first, kBeginningOfTime);
  EXPECT_EQ(TakeDue(wheel, kBeginningOfTime), &first);
  EXPECT_EQ(TakeDue(wheel, kEndOfTime - 2us), nullptr);
  EXPECT_EQ(TakeDue(wheel, kEndOfTime), &last);
}

TEST(TimerWheel, ATimerThatDiesLeavesTheWheel) {
  TimerWheel wheel;
  {
    Timer timer;
    wheel.Schedule(timer, kStart);
  }
  EXPECT_EQ(wheel.NextDeadline(), kNever);
  EXPECT_EQ(TakeDue(wheel, kStart), nullptr);
}

TEST(TimerWheel, AgreesWithALinearSearchUnderRandomUse) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    TimerWheel wheel;
    struct Entry {
      Timer timer;
      EngineTime deadline = kNever;
      bool scheduled = false;
    };
    std::deque<Entry> entries(40);
    EngineTime now = kStart;
    for (int step = 0; step < 50'000; ++step) {
      Entry& entry = entries[random() % entries.size()];
      const auto reach = int64_t{1} << random() % 45;
      const Duration by{static_cast<int64_t>(random() % static_cast<uint64_t>(reach))};
      switch (random() % 4) {
        case 0:
        case 1:
          entry.deadline = now + by - 100us;
          entry.scheduled = true;
          wheel.Schedule(entry.timer, entry.deadline);
          break;
        case 2:
          entry.scheduled = false;
          wheel.Cancel(entry.timer);
          break;
        case 3: {
          now += by / 4;
          while (Timer* due = TakeDue(wheel, now)) {
            const auto it = std::find_if(entries.begin(), entries.end(),
                                         [&](const Entry& e) { return &e.timer == due; });
            ASSERT_TRUE(it->scheduled);
            ASSERT_LE(it->deadline, now);
            it->scheduled = false;
          }
          for (const Entry& e : entries) ASSERT_FALSE(e.scheduled && e.deadline <= now);
          break;
        }
      }
      EngineTime next = kNever;
      for (const Entry& e : entries) {
        if (e.scheduled) next = std::min(next, e.deadline);
      }
      ASSERT_EQ(wheel.NextDeadline(), next);
      wheel.CheckWhole();
    }
  }
}

}  // namespace
}  // namespace pleat
