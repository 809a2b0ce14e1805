#include "engine/table/key_index.h"

#include <algorithm>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

// An index over entries that are nothing but their hash.
class KeyIndexFixture : public testing::Test {
 protected:
  void Insert(uint64_t hash) {
    const auto number = static_cast<uint32_t>(hashes_.size());
    hashes_.push_back(hash);
    index_.Insert(hash, number, [this](uint32_t n) { return static_cast<uint32_t>(hashes_[n]); });
  }
  uint32_t Find(uint64_t hash) const {
    return index_.Find(hash, [&](uint32_t n) { return hashes_[n] == hash; });
  }

  std::vector<uint64_t> hashes_;
  void Erase(uint64_t hash, uint32_t number) { index_.Erase(static_cast<uint32_t>(hash), number); }
  void CheckWhole() const {
    index_.CheckWhole([this](uint32_t n) { return static_cast<uint32_t>(hashes_[n]); });
  }

  PagePool pool_;
  KeyIndex index_{pool_};
};

TEST_F(KeyIndexFixture, FindsWhatWasInsertedThroughManySplits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) Insert(random());
  for (uint32_t n = 0; n < hashes_.size(); ++n) ASSERT_EQ(Find(hashes_[n]), n);
  EXPECT_EQ(index_.size(), hashes_.size());
  CheckWhole();
  EXPECT_EQ(Find(random()), KeyIndex::kNone);
}

TEST_F(KeyIndexFixture, HoldsNothingWhenItsLastKeyHasGone) {
  PageAccount pages(pool_);
  KeyIndex index(pages);
  const auto hash_of = [](uint32_t n) { return n * 0x9e3779b9; };
  for (const uint32_t keys : {1u, 2000u}) {
    for (uint32_t n = 0; n < keys; ++n) index.Insert(hash_of(n), n, hash_of);
    EXPECT_GE(pages.bytes(), 4096u);
    for (uint32_t n = 0; n < keys; ++n) index.Erase(hash_of(n), n);
    EXPECT_EQ(pages.bytes(), 0u);
    index.CheckWhole(hash_of);
  }
}

class ReservedIndex : public KeyIndexFixture {
 protected:
  static constexpr size_t kRoom = 100'000;

  void Reserve() {
    index_.Reserve(kRoom, [this](uint32_t n) { return static_cast<uint32_t>(hashes_[n]); });
    taken_ = pool_.taken_bytes();
    CheckWhole();
  }
  // A split asks for the hash of each number that it moves; an assertion asks for one with each insert.
  void FillWithoutASplitOrAPage() {
    size_t asked = 0;
    while (hashes_.size() < kRoom) {
      hashes_.push_back(random_());
      index_.Insert(hashes_.back(), static_cast<uint32_t>(hashes_.size() - 1), [&](uint32_t n) {
        ++asked;
        return static_cast<uint32_t>(hashes_[n]);
      });
    }
    EXPECT_LE(asked, kRoom);
    EXPECT_EQ(pool_.taken_bytes(), taken_);
    EXPECT_EQ(index_.size(), kRoom);
    CheckWhole();
    for (uint32_t n = 0; n < hashes_.size(); ++n) ASSERT_EQ(Find(hashes_[n]), n);
  }

  std::mt19937_64 random_{1};
  size_t taken_ = 0;
};

TEST_F(ReservedIndex, SplitsNothingUpToItsRoom) {
  for (int i = 0; i < 2000; ++i) Insert(random_());
  Reserve();
  FillWithoutASplitOrAPage();
}

TEST_F(ReservedIndex, KeepsItsRoomWhenItIsEmptied) {
  Reserve();
  FillWithoutASplitOrAPage();
  for (uint32_t n = 0; n < hashes_.size(); ++n) Erase(hashes_[n], n);
  EXPECT_EQ(index_.size(), 0u);
  hashes_.clear();
  FillWithoutASplitOrAPage();
  index_.Clear();
  hashes_.clear();
  FillWithoutASplitOrAPage();
}

TEST_F(KeyIndexFixture, AgreesWithAMapUnderRandomInsertsAndErases) {
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::unordered_map<uint64_t, uint32_t> expected;
    hashes_.clear();
    index_.Clear();
    for (int i = 0; i < 50'000; ++i) {
      // Few home buckets and equal tags, so that overflow is common.
      const uint64_t hash = (random() % 64) << 26 | random() % 3 | uint64_t{1} << 48;
      if (auto it = expected.find(hash); it != expected.end()) {
        ASSERT_EQ(Find(hash), it->second);
        Erase(hash, it->second);
        expected.erase(it);
      } else {
        ASSERT_EQ(Find(hash), KeyIndex::kNone);
        expected[hash] = static_cast<uint32_t>(hashes_.size());
        Insert(hash);
      }
      ASSERT_EQ(index_.size(), expected.size());
      if (i % 16 == 0) CheckWhole();
    }
  }
}

TEST_F(KeyIndexFixture, SplitsASegmentWhoseKeysDifferOnlyInALateBit) {
  // 600 keys that agree in the top 12 bits of the low half: the directory doubles until they part.
  std::mt19937_64 random(7);
  for (int i = 0; i < 600; ++i) Insert(random() % (1u << 20) | uint64_t{0xabc} << 20);
  for (uint32_t n = 0; n < hashes_.size(); ++n) ASSERT_NE(Find(hashes_[n]), KeyIndex::kNone);
}

// What bounds a fold is the cache lines it has to wait for: its bucket and its entry. At every
// size, also just before segments split, little may come on top of these two.
TEST_F(KeyIndexFixture, ALookupReadsTwoLinesOnAverage) {
  std::mt19937_64 random(8);
  double worst = 0;
  for (size_t size = 20'000; size <= 80'000; size += 4'000) {
    while (hashes_.size() < size) Insert(random());
    size_t lines = 0;
    for (uint32_t n = 0; n < hashes_.size(); ++n) {
      index_.Find(hashes_[n], [&](uint32_t each) { return ++lines, each == n; });
      lines += index_.BucketsRead(hashes_[n], n);
    }
    worst = std::max(worst, static_cast<double>(lines) / static_cast<double>(size));
  }
  RecordProperty("worst_lines_per_lookup", std::to_string(worst));
  EXPECT_LT(worst, 2.1);
}

TEST_F(KeyIndexFixture, GivesMemoryBackAsItEmptiesAndStillFindsTheRest) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1'000'000; ++i) Insert(random());
  const size_t full = pool_.held_bytes();
  for (uint32_t n = 40'000; n < hashes_.size(); ++n) Erase(hashes_[n], n);
  EXPECT_LT(pool_.held_bytes(), full / 2) << full;
  for (uint32_t n = 0; n < 40'000; ++n) ASSERT_EQ(Find(hashes_[n]), n);
  for (uint32_t n = 40'000; n < 50'000; ++n) ASSERT_EQ(Find(hashes_[n]), KeyIndex::kNone);
  EXPECT_EQ(index_.size(), 40'000u);
  CheckWhole();
}

// Only every other bucket is a home, so that each passes many keys on.
TEST_F(KeyIndexFixture, SegmentsThatBecomeOneKeepKeysThatWerePassedOn) {
  std::mt19937_64 random(9);
  for (uint64_t i = 0; i < 20'000; ++i) Insert((random() & ~uint64_t{63}) | i % 64 / 2 * 2);
  CheckWhole();
  for (uint32_t n = 0; n < hashes_.size(); ++n) {
    Erase(hashes_[n], n);
    if (n % 97 == 0) CheckWhole();
    ASSERT_EQ(Find(hashes_[n]), KeyIndex::kNone);
    ASSERT_EQ(Find(hashes_.back()), n + 1 < hashes_.size() ? hashes_.size() - 1 : KeyIndex::kNone);
  }
}

TEST_F(KeyIndexFixture, GuessesWhatItFinds) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20'000; ++i) Insert(random());
  uint32_t wrong = 0;
  for (uint32_t n = 0; n < hashes_.size(); ++n) wrong += index_.Guess(hashes_[n]) != n;
  EXPECT_LT(wrong, 40u);  // one in some thousands shares its tag with another
}

}  // namespace
}  // namespace pleat
