// The keyed hash against published vectors; the partition hash against itself, for ever.
#include "engine/base/hash.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <pleat/partition.h>

namespace pleat {
namespace {

TEST(SipHash, AgreesWithThePublishedVectorsOfSipHash24) {
  // Key 00..0f, input 00, 01, ... of the given length; from the appendix of the SipHash paper and its
  // reference implementation, read as little-endian words.
  const HashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string input;
  const std::map<size_t, uint64_t> expected = {{0, 0x726fdb47dd0e0e31},
                                               {1, 0x74f839c593dc67fd},
                                               {7, 0xab0200f58b01d137},
                                               {8, 0x93f5f5799a932462},
                                               {15, 0xa129ca6149be45e5}};
  for (size_t length = 0; length < 16; ++length) {
    if (auto it = expected.find(length); it != expected.end()) {
      EXPECT_EQ((SipHash<2, 4>(input, key)), it->second) << length;
    }
    input.push_back(static_cast<char>(length));
  }
}

TEST(KeyedHash, DependsOnTheKey) {
  EXPECT_NE(KeyedHash("account_1", {1, 2}), KeyedHash("account_1", {1, 3}));
  EXPECT_NE(RandomHashKey(), RandomHashKey());
}

// These values are part of every stored format: a change here is a new kPartitionHashVersion.
TEST(StablePartitionHash, NeverChanges) {
  EXPECT_EQ(kPartitionHashVersion, 1u);
  const std::map<std::string, uint64_t> golden = {
#include "tests/golden/partition_hash_v1.inc"
  };
  for (const auto& [key, hash] : golden) EXPECT_EQ(StablePartitionHash(key), hash) << key;
}

TEST(StablePartitionHash, TellsKeysThatDifferInOneBitOrInLength) {
  std::set<uint64_t> seen;
  size_t keys = 0;
  for (size_t length = 0; length <= 40; ++length) {
    std::string key(length, '\0');
    seen.insert(StablePartitionHash(key)), ++keys;
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      key[bit / 8] = static_cast<char>(1 << (bit % 8));
      seen.insert(StablePartitionHash(key)), ++keys;
      key[bit / 8] = '\0';
    }
  }
  EXPECT_EQ(seen.size(), keys);
}

TEST(PartitionOf, SpreadsSimilarKeysEvenly) {
  constexpr int kPartitions = 16;
  constexpr int kKeys = 16'000;
  int counts[kPartitions] = {};
  for (int i = 0; i < kKeys; ++i) {
    const int partition = PartitionOf("account_" + std::to_string(i), kPartitions);
    ASSERT_GE(partition, 0);
    ASSERT_LT(partition, kPartitions);
    ++counts[partition];
  }
  // 1,000 expected, standard deviation 31: six of those either way.
  for (int count : counts) EXPECT_NEAR(count, 1000, 190);
}

}  // namespace
}  // namespace pleat
