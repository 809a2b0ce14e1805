#include "engine/table/packed_key.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/table/key_arena.h"

namespace pleat {
namespace {

TEST(PackedKey, GivesBackKeysOfEveryLengthAndTellsThemApart) {
  PagePool pool;
  KeyArena arena(pool);
  for (size_t length : {0, 1, 7, 8, 22, 23, 24, 25, 100, 65'536}) {
    const std::string key(length, 'k');
    const PackedKey owned = arena.Keep(PackedKey(key));
    EXPECT_EQ(owned.view(), key);
    EXPECT_EQ(KeyArena::BytesFor(owned) > 0, length > PackedKey::kInlineBytesMax);
    EXPECT_TRUE(owned == PackedKey(key));
    for (size_t at : {size_t{0}, length / 2, length - 1}) {
      if (length == 0) break;
      std::string other = key;
      other[at] = 'x';
      EXPECT_FALSE(owned == PackedKey(other)) << length << " differs at " << at;
    }
    EXPECT_FALSE(owned == PackedKey(key + '\0'));
    arena.Release(owned);
  }
}

std::string Spelled(std::string_view identity, std::string_view shown) {
  const SpelledKey key{identity, shown};
  std::string out(key.bytes(), '\0');
  key.Write(out.data());
  return out;
}

TEST(SpelledKey, HasTwoTexts) {
  const std::string key = Spelled("1", "1.0");
  EXPECT_EQ(SpelledKey::Of(key).identity, "1");
  EXPECT_EQ(SpelledKey::Of(key).shown, "1.0");
  EXPECT_GT(Spelled("0", "-0").size(), PackedKey::kInlineBytesMax);
  for (const std::string& plain :
       {std::string(), std::string("1"), std::string(100, 'x'), key + "x", key.substr(1)}) {
    EXPECT_EQ(SpelledKey::Of(plain).identity, plain);
    EXPECT_EQ(SpelledKey::Of(plain).shown, plain);
  }
}

// In whatever spelling it comes, also without any.
TEST(SpelledKey, IsTheSameKeyAsItsIdentity) {
  PagePool pool;
  KeyArena arena(pool);
  const HashKey hash_key = MakeHashKey(1, 2);
  for (const size_t length : {1, 8, 16, 22, 23, 24, 25, 100}) {
    const std::string plain(length, '7');
    const std::string texts[] = {plain, Spelled(plain, plain + ".0"), Spelled(plain, plain + ".00"),
                                 Spelled(plain, "x")};
    for (const std::string& a : texts) {
      const PackedKey kept = arena.Keep(PackedKey(a));
      EXPECT_EQ(kept.view(), a);
      for (const std::string& b : texts) {
        EXPECT_TRUE(kept == PackedKey(b)) << length;
        EXPECT_TRUE(PackedKey(b) == kept) << length;
      }
      EXPECT_EQ(kept.HashWith(hash_key), PackedKey(plain).HashWith(hash_key));
      EXPECT_EQ(kept.HashWith(hash_key, 5), PackedKey(plain).HashWith(hash_key, 5));
      EXPECT_EQ(kept.StableHash(), StablePartitionHash(plain));
      for (const std::string& other :
           {plain + "7", std::string(length, '8'), Spelled(plain + "7", plain)}) {
        EXPECT_FALSE(kept == PackedKey(other));
        EXPECT_FALSE(PackedKey(other) == kept);
      }
      arena.Release(kept);
    }
  }
}

TEST(KeyArena, KeepsEveryLengthApartAndLosesAFifthAtMost) {
  PagePool pool;
  KeyArena arena(pool);
  std::vector<PackedKey> kept;
  for (size_t length = 24; length < 6000; ++length) {
    kept.push_back(arena.Keep(PackedKey(std::string(length, static_cast<char>(length)))));
    const size_t bytes = KeyArena::BytesFor(kept.back());
    EXPECT_GE(bytes, length + 4);
    EXPECT_LE(bytes, length + 4 + std::max<size_t>(15, length / 4)) << length;
  }
  for (size_t length = 24; length < 6000; ++length) {
    const PackedKey& key = kept[length - 24];
    ASSERT_EQ(key.view(), std::string(length, static_cast<char>(length)));
    arena.Release(key);
  }
}

TEST(KeyArena, GivesMemoryBack) {
  PagePool pool;
  KeyArena arena(pool);
  std::vector<PackedKey> kept;
  for (int i = 0; i < 100'000; ++i) kept.push_back(arena.Keep(PackedKey(std::string(60, 'k'))));
  const size_t full = pool.held_bytes();
  for (const PackedKey& key : kept) arena.Release(key);
  EXPECT_LE(pool.held_bytes(), 4u << 20);  // an empty extent, and one with blocks for a next key
  EXPECT_EQ(pool.taken_bytes(), 0u);
  EXPECT_GE(full, 6u << 20);
}

}  // namespace
}  // namespace pleat
