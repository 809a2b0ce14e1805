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
  EXPECT_LE(pool.held_bytes(), 2u << 20);
  EXPECT_GE(full, 6u << 20);
}

}  // namespace
}  // namespace pleat
