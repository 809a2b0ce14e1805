// Sequences whose members have times that a leaf of a tree has to keep roughly, in two bytes each:
// far apart, close together, and both in one series.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/live/sequence_fixture.h"
#include "tests/support/sanitized.h"

namespace pleat::sequences {
namespace {

class SequenceTimesTest : public SequenceTest {
 protected:
  EngineTime Draw(EngineTime from, EngineTime to) {
    return from + Duration{SequenceTest::Draw(Count(to - from) + 1)};
  }
  EngineTime DrawAnyTime() { return Draw(kBeginningOfTime, kNever); }
  using SequenceTest::Draw;

  void CheckSome(const Pair& pair, int i) {
    if (i % (kSanitized ? 100 : 20) == 0) pair.Check();
    if (pair.size() > 0) pair.CheckAround(static_cast<uint32_t>(Draw(pair.size())));
    pair.CheckRank(DrawAnyTime());
    for (const auto end : {EngineTime::min(), EngineTime::max()}) pair.CheckRank(end);
  }

  // Members with times that `draw` gives come, go and move, around the wanted size.
  template <class DrawTime>
  void Churn(Pair& pair, size_t wanted, const DrawTime& draw) {
    for (int i = 0; i < 2500 && !HasFailure(); ++i) {
      const uint64_t dice = Draw(100);
      if (pair.size() == 0 || (pair.size() < wanted ? dice < 70 : dice < 25)) {
        dice % 3 == 0 ? pair.InsertEarly(NewMember(), draw()) : pair.Insert(NewMember(), draw());
      } else if (dice < 85) {
        Move(pair, pair.NumberAt(dice % 4 == 0 ? pair.size() - 1 : Draw(pair.size())), draw());
      } else {
        EraseAt(pair, dice % 4 == 0 ? pair.size() - 1 : Draw(pair.size()));
      }
      CheckSome(pair, i);
      pair.CheckRank(draw());
    }
  }
  void Move(Pair& pair, uint32_t number, EngineTime time) {
    if (time >= pair.last()) return pair.MoveToBack(number, time);
    pair.Erase(number);
    pair.Insert(number, time);
  }
};

TEST_F(SequenceTimesTest, CountsMembersOfOneTime) {
  for (const EngineTime time : {kBeginningOfTime, At(-1), At(0), kEndOfTime, kNever}) {
    Pair pair = NewPair();
    Churn(pair, 400, [&] { return time; });
    EXPECT_EQ(pair.LooksOfRank(time), 0u);
    pair.Clear();
  }
}

// A member without a deadline has the deadline kNever.
TEST_F(SequenceTimesTest, CountsTimesOfAllYears) {
  for (const size_t wanted : {150, 300, 700}) {
    Pair anywhere = NewPair();
    Churn(anywhere, wanted, [&] { return DrawAnyTime(); });
    Pair at_the_ends = NewPair();
    Churn(at_the_ends, wanted, [&] {
      const Duration off{Draw(70'000)};
      return Draw(2) == 0 ? kBeginningOfTime + off : kNever - off;
    });
    Pair mostly_now = NewPair();
    Churn(mostly_now, wanted,
          [&] { return Draw(50) == 0 ? DrawAnyTime() : At(0) + Duration{Draw(100)}; });
    for (Pair* pair : {&anywhere, &at_the_ends, &mostly_now}) pair->Clear();
  }
  EXPECT_EQ(pool_.CheckMemory(), 0u);
}

// Times on both sides of the last one that a leaf has room for.
TEST_F(SequenceTimesTest, CountsTimesAroundPowersOfTwo) {
  for (const EngineTime middle : {kBeginningOfTime, At(0), kEndOfTime}) {
    Pair pair = NewPair();
    Churn(pair, 300, [&] {
      const Duration off{static_cast<int64_t>((uint64_t{1} << Draw(59)) + Draw(3)) - 1};
      return Draw(2) == 0 ? SaturatingAdd(middle, off) : SaturatingSub(middle, off);
    });
    pair.Clear();
  }
}

// By steps of one unit, by steps that grow and by drawn ones, down to the first time that there is.
TEST_F(SequenceTimesTest, CountsTimesThatDescend) {
  const std::array<std::function<uint64_t(int)>, 3> steps = {
      [](int i) { return i / 100 * 1'000; },
      [](int i) { return uint64_t{1} << i / 20; },
      [&](int) { return Draw(uint64_t{1} << Draw(50)); },
  };
  for (const auto& step : steps) {
    Pair pair = NewPair();
    EngineTime time = kNever;
    for (int i = 0; i < 1200 && !HasFailure(); ++i) {
      pair.Insert(NewMember(), time);
      time = SaturatingSub(time, Duration{step(i)});
      if (pair.size() > 200 && Draw(2) == 0) EraseAt(pair, Draw(pair.size()));
      CheckSome(pair, i);
    }
    pair.Clear();
  }
}

// The order of 300 members slides on. The last member is refreshed before the next one comes, too.
TEST_F(SequenceTimesTest, CountsStampsWhoseRateChangesAMillionfold) {
  Pair pair = NewPair();
  pair.Insert(NewMember(), At(-1'000'000'000));
  for (const double each : {1.0, 1e6, 1.0, 1e12, 1e6, 0.0, 1e6, 1.0}) {
    const auto step = static_cast<int64_t>(each);
    for (int i = 0; i < 1000 && !HasFailure(); ++i) {
      Append(pair, step);
      const auto ahead = static_cast<int64_t>(Draw(3)) * step;
      pair.MoveToBack(pair.NumberAt(pair.size() - 1), pair.last() + Duration{ahead});
      pair.Insert(NewMember(), Draw(pair.first(), pair.last()));
      while (pair.size() > 300) EraseAt(pair, Draw(3) == 0 ? Draw(pair.size()) : 0);
      CheckSome(pair, i);
    }
  }
}

// A few microseconds apart, and then hours to thousands of years, over and over.
TEST_F(SequenceTimesTest, CountsAcrossLongGaps) {
  for (const int64_t gap :
       {int64_t{1} << 16, int64_t{1} << 33, int64_t{1} << 47, int64_t{1} << 56}) {
    Pair pair = NewPair();
    const uint64_t gaps = Count(kNever - kBeginningOfTime) / static_cast<uint64_t>(gap);
    Churn(pair, 500, [&] {
      const auto gaps_before = static_cast<int64_t>(Draw(std::min<uint64_t>(gaps, 40) + 1));
      return kBeginningOfTime + Duration{gaps_before * gap} + Duration{Draw(5)};
    });
    // The same in order, with a gap of another length each time.
    Pair in_order = NewPair();
    in_order.Insert(NewMember(), kBeginningOfTime);
    for (int i = 0; i < 1000 && !HasFailure(); ++i) {
      const bool far = i % 45 == 44 && in_order.last() < kEndOfTime - Duration{gap * 2};
      Append(in_order, far ? gap + static_cast<int64_t>(Draw(1'000)) : 1);
      CheckSome(in_order, i);
    }
    pair.Clear(), in_order.Clear();
  }
}

// One member of the year 1 and one of the year 9999 make the units of a leaf that has both days
// long. The members between them, of the same unit, are told apart nevertheless.
TEST_F(SequenceTimesTest, CountsMembersBetweenOthersOfTheSameUnit) {
  for (const bool by_position : {false, true}) {
    Pair pair = NewPair();
    pair.Insert(NewMember(), kBeginningOfTime);
    pair.Insert(NewMember(), kEndOfTime);
    for (int i = 0; i < 1500 && !HasFailure(); ++i) {
      const EngineTime time = At(static_cast<int64_t>(Draw(by_position ? 3 : 5'000)));
      pair.InsertAt(NewMember(), {time, Draw(uint64_t{1} << 41)});
      if (pair.size() > 200) EraseAt(pair, 1 + Draw(pair.size() - 2));
      CheckSome(pair, i);
      pair.CheckRank(time);
    }
  }
}

// The last leaf moves its members together over and over. What it keeps of them follows.
TEST_F(SequenceTimesTest, CountsWhileAFewMembersAreRefreshed) {
  Pair pair = NewPair();
  for (int i = 0; i < 200; ++i) Append(pair);
  const auto refresh = [&](int64_t step) {
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
      pair.MoveToBack(pair.NumberAt(pair.size() - 3), pair.last() + Duration{step});
      CheckSome(pair, i);
    }
  };
  for (const int step : {1, 1'000'000, 1'000, 1, 1'000'000'000}) {
    for (int i = 0; i < 10; ++i) Append(pair, step);
    refresh(step);
    for (int i = 0; i < 10; ++i) Append(pair, 1 + step / 1'000);
    refresh(step);
  }
  for (int i = 0; i < 40; ++i) Append(pair);
  refresh(1);
  EXPECT_EQ(pair.LooksOfRank(pair.last()), 0u);
}

// The units of a leaf follow what its members need.
TEST_F(SequenceTimesTest, ACountLooksAtNextToNoMembers) {
  Pair pair = NewPair();
  pair.Insert(NewMember(), At(0));
  const std::pair<int64_t, double> cases[] = {
      {1, 0}, {100, 0}, {1'000'000, 0.05}, {1, 0}, {3'600'000'000, 0.05}, {0, 0}, {1, 0}};
  for (const auto& [step, looks_max] : cases) {
    for (int i = 0; i < 2000; ++i) {
      Append(pair, step);
      if (pair.size() > 1000) EraseAt(pair, 0);
    }
    uint64_t looks = 0;
    for (int i = 0; i < 1000; ++i) looks += pair.LooksOfRank(Draw(pair.first(), pair.last()));
    EXPECT_LE(static_cast<double>(looks) / 1000, looks_max) << "steps of " << step;
    pair.Check();
  }
}

}  // namespace
}  // namespace pleat::sequences
