// The two hashes of a packed key: how the keyed one spreads, and that the stable one is the stable
// one.
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/batch.h>

#include "engine/table/packed_key.h"

namespace pleat {
namespace {

TEST(KeyedHash, DependsOnTheKey) {
  EXPECT_NE(KeyedHash("account_1", MakeHashKey(1, 2)), KeyedHash("account_1", MakeHashKey(1, 3)));
  EXPECT_NE(RandomHashKey(), RandomHashKey());
}

// How far the counts of `bits` bits of the hashes are from even, as chi-squared over its
// expectation.
double Unevenness(const std::vector<uint64_t>& hashes, int shift, int bits) {
  std::vector<double> counts(size_t{1} << bits);
  for (uint64_t hash : hashes) ++counts[hash >> shift & (counts.size() - 1)];
  const double even = static_cast<double>(hashes.size()) / static_cast<double>(counts.size());
  double sum = 0;
  for (double count : counts) sum += (count - even) * (count - even) / even;
  return sum / static_cast<double>(counts.size() - 1);
}

// The index takes its bucket from the lowest bits, its segment from bit 31 down, its tag from the
// top.
TEST(KeyedHash, SpreadsCountersAndSparseBitsOverEveryPartThatTheIndexUses) {
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const HashKey key = MakeHashKey(seed, ~seed);
    std::vector<uint64_t> counters;
    std::vector<uint64_t> sparse;
    std::vector<uint64_t> longer;
    for (int i = 0; i < 100'000; ++i) {
      const std::string number = std::to_string(i);
      counters.push_back(PackedKey("key-" + number).HashWith(key));
      longer.push_back(PackedKey("a key that does not fit inline " + number).HashWith(key));
    }
    for (int a = 0; a < 8 * 23; ++a) {
      for (int b = 0; b < a; ++b) {
        std::string bits(23, '\0');
        bits[static_cast<size_t>(a / 8)] |= static_cast<char>(1 << a % 8);
        bits[static_cast<size_t>(b / 8)] |= static_cast<char>(1 << b % 8);
        sparse.push_back(PackedKey(bits).HashWith(key));
      }
    }
    for (const auto& hashes : {counters, sparse, longer}) {
      EXPECT_LT(Unevenness(hashes, 0, 6), 2.0);
      EXPECT_LT(Unevenness(hashes, 24, 8), 1.5);
      EXPECT_LT(Unevenness(hashes, 48, 8), 1.5);
      EXPECT_LT(Unevenness(hashes, 56, 8), 1.5);
      EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());
    }
  }
}

TEST(KeyedHash, TellsKeysApartThatDifferInLengthOnly) {
  const HashKey key = MakeHashKey(4, 5);
  std::set<uint64_t> seen;
  for (size_t length = 0; length <= 200; ++length) {
    seen.insert(PackedKey(std::string(length, '\0')).HashWith(key));
  }
  EXPECT_EQ(seen.size(), 201u);
}

TEST(StablePartitionHash, IsTheSameFromAPackedKey) {
  std::mt19937_64 random(1);
  for (size_t length = 0; length <= 64; ++length) {
    for (int i = 0; i < 20; ++i) {
      std::string key(length, '\0');
      for (char& c : key) c = static_cast<char>(random());
      ASSERT_EQ(PackedKey(key).StableHash(), StablePartitionHash(key)) << length;
    }
  }
}

}  // namespace
}  // namespace pleat
