#include "engine/table/packed_key.h"

#include <string>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(PackedKey, GivesBackKeysOfEveryLengthAndTellsThemApart) {
  for (size_t length : {0, 1, 7, 8, 22, 23, 24, 25, 100, 65'536}) {
    const std::string key(length, 'k');
    PackedKey owned = PackedKey(key).Own();
    EXPECT_EQ(owned.view(), key);
    EXPECT_EQ(owned.heap_bytes(), length > PackedKey::kInlineBytesMax ? length : 0);
    EXPECT_TRUE(owned == PackedKey(key));
    for (size_t at : {size_t{0}, length / 2, length - 1}) {
      if (length == 0) break;
      std::string other = key;
      other[at] = 'x';
      EXPECT_FALSE(owned == PackedKey(other)) << length << " differs at " << at;
    }
    EXPECT_FALSE(owned == PackedKey(key + '\0'));
    owned.Release();
  }
}

TEST(PackedKey, CountsNulBytesAsBytes) {
  EXPECT_FALSE(PackedKey(std::string_view("a\0", 2)) == PackedKey("a"));
  EXPECT_FALSE(PackedKey(std::string_view("\0", 1)) == PackedKey(""));
}

TEST(PackedKey, OwnsACopyOfALongKey) {
  std::string key(40, 'a');
  PackedKey owned = PackedKey(key).Own();
  key.assign(40, 'b');
  EXPECT_EQ(owned.view(), std::string(40, 'a'));
  owned.Release();
}

}  // namespace
}  // namespace pleat
