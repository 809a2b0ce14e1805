// Sequences against plain sorted sets of keys, over the same random operations.
#include "engine/live/sequence.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/live/sequence_fixture.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace pleat::sequences {
namespace {

TEST_F(SequenceTest, AgreesWithASortedSetAtEverySize) {
  for (const size_t wanted : {1, 2, 3, 5, 9, 17, 33, 65, 100, 130, 200, 700}) {
    Pair pair = NewPair();
    for (int i = 0; i < 3000; ++i) {
      Step(pair, wanted);
      if (i % 50 == 0 || wanted < 10) pair.Check();
      if (pair.size() > 0) pair.CheckAround(static_cast<uint32_t>(Draw(pair.size())));
      if (HasFailure()) return;
    }
    pair.Clear();
    pair.Check();
  }
  EXPECT_EQ(pool_.CheckMemory(), 0u);
}

TEST_F(SequenceTest, ThousandsShareAPool) {
  std::vector<Pair> pairs(3000, NewPair());
  for (int i = 0; i < 50'000; ++i) {
    const size_t which = Draw(pairs.size());
    Step(pairs[which], 1 + which % 40);
    if (i % 10 == 0) pairs[which].Check();
    if (HasFailure()) return;
  }
  for (Pair& pair : pairs) pair.Check(), pair.Clear();
  EXPECT_EQ(pool_.CheckMemory(), 0u);
}

// Up and down past every form, from each side.
TEST_F(SequenceTest, GrowsAndShrinksThroughAllForms) {
  for (const bool from_the_front : {true, false}) {
    Pair pair = NewPair();
    for (int i = 0; i < 300; ++i) Append(pair), pair.Check();
    while (pair.size() > 0) EraseAt(pair, from_the_front ? 0 : pair.size() - 1), pair.Check();
  }
  EXPECT_EQ(pool_.CheckMemory(), 0u);
}

TEST_F(SequenceTest, KeepsItsFormWhileItsSizeHardlyChanges) {
  Pair pair = NewPair();
  for (int i = 0; i < 129; ++i) Append(pair);
  const size_t as_a_tree = pool_.CheckMemory();
  EXPECT_GT(as_a_tree, 1u);
  for (int i = 0; i < 20; ++i) EraseAt(pair, 0);
  EXPECT_GT(pool_.CheckMemory(), 1u);
  for (int i = 0; i < 13; ++i) EraseAt(pair, 0);
  EXPECT_EQ(pool_.CheckMemory(), 1u) << "one array";
  pair.Check();
}

TEST_F(SequenceTest, OrdersMembersOfOneTimeByPosition) {
  Pair pair = NewPair();
  for (int i = 0; i < 2000; ++i) {
    Draw(2) == 0 ? pair.Insert(NewMember(), At(1'000)) : pair.InsertEarly(NewMember(), At(1'000));
    if (i % 7 == 0) EraseAt(pair, Draw(pair.size()));
    if (i % 50 == 0) pair.Check();
  }
  // Among them, too.
  for (int i = 0; i < 2000; ++i) {
    EraseAt(pair, Draw(pair.size()));
    pair.InsertAt(NewMember(), {At(1'000), Draw(uint64_t{1} << 41) | 1});
    if (i % 50 == 0) pair.Check();
  }
}

TEST_F(SequenceTest, TakesDescendingAndInterleavedTimes) {
  Pair descending = NewPair();
  Pair interleaved = NewPair();
  for (int i = 0; i < 3000; ++i) {
    descending.Insert(NewMember(), At(5'000 - i));
    interleaved.Insert(NewMember(), At(i % 2 == 0 ? 1'000'000 + i : 1'000 + i));
    if (i % 100 == 0) descending.Check(), interleaved.Check();
  }
  descending.Check();
  interleaved.Check();
}

// What a large sequence is compared with is too slow for a large one, so its end is compared.
class LargeSequenceTest : public testing::Test {
 protected:
  static constexpr uint32_t kMembers = kSanitized ? 100'000 : 400'000;

  LargeSequenceTest() { members_.all.resize(kMembers); }
  ~LargeSequenceTest() override { pool_.Clear(sequence_); }

  SequenceKey Next(int64_t step = 1) {
    now_ += Duration{step};
    return {now_, ++position_};
  }
  void AppendAll() {
    for (uint32_t i = 0; i < kMembers; ++i) Append(i);
  }
  void Append(uint32_t number) {
    members_.all[number].key = Next();
    pool_.Insert(sequence_, number);
  }
  void Refresh(uint32_t number) {
    members_.all[number].key = Next();
    pool_.MoveToBack(sequence_, number);
  }
  void Move(uint32_t number, EngineTime time) {
    pool_.Erase(sequence_, number);
    members_.all[number].key = {time, ++position_};
    pool_.Insert(sequence_, number);
  }
  uint32_t Draw(uint32_t below = kMembers) {
    return std::uniform_int_distribution<uint32_t>(0, below - 1)(random_);
  }
  // Of a page a leaf takes 402 bytes, and 25 of its side array, whose numbers have gaps; one node in
  // 64 is no leaf, and takes 1152.
  double bytes_per_member() const {
    return static_cast<double>(pool_.CheckMemory()) * 438 / sequence_.size();
  }

  // Compares 1,000 ranks with those of all members, sorted.
  void CheckRanks() {
    pool_.CheckWhole(sequence_);
    std::vector<uint32_t> numbers;
    pool_.ForEachFrom(sequence_, 0, [&](uint32_t n) { return numbers.push_back(n), true; });
    ASSERT_EQ(numbers.size(), sequence_.size());
    const auto time_of = [&](uint32_t number) { return members_.all[number].key.time; };
    for (int i = 0; i < 1000; ++i) {
      const uint32_t rank = Draw(sequence_.size());
      ASSERT_EQ(pool_.At(sequence_, rank), numbers[rank]);
      ASSERT_EQ(pool_.RankOf(sequence_, numbers[rank]), rank);
      const EngineTime time = time_of(numbers[rank]) + Duration{Draw(3)} - Duration{1};
      const auto bound = std::ranges::lower_bound(numbers, time, {}, time_of);
      ASSERT_EQ(pool_.Rank(sequence_, time), bound - numbers.begin());
    }
  }

  const uint64_t seed_ = AnySeed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "PLEAT_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  EngineTime now_{};
  uint64_t position_ = 0;
  PagePool pages_;
  Members members_;
  SequencePool<Members> pool_{pages_, members_};
  Sequence sequence_;
};

TEST_F(LargeSequenceTest, TakesSevenBytesForAMemberAppended) {
  AppendAll();
  EXPECT_LE(bytes_per_member(), 7);
  CheckRanks();
}

TEST_F(LargeSequenceTest, StaysSmallUnderRandomRefreshes) {
  AppendAll();
  for (uint32_t i = 0; i < 3 * kMembers; ++i) Refresh(Draw());
  EXPECT_LE(bytes_per_member(), 17);
  EXPECT_LE(bytes_per_member() * sequence_.size(), pool_.bytes());
  CheckRanks();
}

TEST_F(LargeSequenceTest, StaysSmallUnderRandomMoves) {
  AppendAll();
  for (uint32_t i = 0; i < kMembers; ++i) {
    const uint32_t back = Draw(Draw(2) == 0 ? 100 : kMembers);
    Move(Draw(), now_ - Duration{back});
    now_ += Duration{1};
  }
  EXPECT_LE(bytes_per_member(), 19);
  CheckRanks();
}

TEST_F(LargeSequenceTest, FewHotMembersTakeNoMemory) {
  for (uint32_t i = 0; i < 1000; ++i) Append(i);
  const size_t before = pool_.CheckMemory();
  for (uint32_t i = 0; i < 100'000; ++i) Refresh(Draw(3));
  EXPECT_LE(pool_.CheckMemory(), before + 1);
  CheckRanks();
}

TEST_F(LargeSequenceTest, GivesTheMemoryOfASpikeBack) {
  for (const auto erase_from : {0, 1, 2}) {
    AppendAll();
    const size_t full = pages_.held_bytes();
    while (sequence_.size() > 1000) {
      const uint32_t number = erase_from == 0   ? pool_.Front(sequence_)
                              : erase_from == 1 ? pool_.Back(sequence_)
                                                : pool_.At(sequence_, Draw(sequence_.size()));
      pool_.Erase(sequence_, number);
    }
    EXPECT_LE(pages_.held_bytes(), 3 * PagePool::kExtentBytes) << "of " << full;
    CheckRanks();
    pool_.Clear(sequence_);
    EXPECT_EQ(pool_.CheckMemory(), 0u);
  }
}

TEST_F(LargeSequenceTest, SlidesOverTimeInConstantMemory) {
  constexpr uint32_t kLive = 50'000;
  for (uint32_t i = 0; i < kLive; ++i) Append(i);
  const size_t before = pool_.CheckMemory();
  for (uint32_t i = kLive; i < kMembers; ++i) {
    pool_.Erase(sequence_, pool_.Front(sequence_));
    Append(i);
  }
  EXPECT_LE(pool_.CheckMemory(), before + 2);
  CheckRanks();
}

}  // namespace
}  // namespace pleat::sequences
