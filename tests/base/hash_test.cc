// The partition hash against itself, for ever.
#include "engine/base/hash.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <pleat/partition.h>

namespace pleat {
namespace {

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
