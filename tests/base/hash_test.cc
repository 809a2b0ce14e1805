// The partition hash against itself, for ever.
#include "engine/base/hash.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <pleat/batch.h>

namespace pleat {
namespace {

// These values are part of every stored format: a change here is a new kPartitionHashVersion.
TEST(StablePartitionHash, NeverChanges) {
  EXPECT_EQ(kPartitionHashVersion, 1u);
  const std::map<std::string, uint64_t> golden = {
      {"", 0x8ff14b2144fd6757},
      {"a", 0x15703b993dc0fd6d},
      {"account_1", 0x3f72fe7c57eb63bd},
      {"1234567", 0x91d7a3eb581a48b4},
      {"12345678", 0x632d29818166e5ac},
      {"123456789012345", 0x09fef43c020f28fc},
      {"1234567890123456", 0xfc47da463f3cd7f5},
      {"12345678901234567", 0xc668ae2e823a2ea2},
      {"a key that is longer than two blocks of sixteen bytes", 0xd3f91a5a8e45aa1e},
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
