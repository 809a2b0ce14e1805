// Short texts are copied and compared to the last byte, and not a byte further.
#include "engine/lines/reduce/short_text.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace pleat {
namespace {

constexpr size_t kSizesUpTo = 80;  // beyond those that take no call

std::string Text(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('0' + i * 7 % 64);
  return text;
}

TEST(ShortText, IsCopiedWhateverItsSize) {
  for (size_t size = 0; size <= kSizesUpTo; ++size) {
    // Blocks of exactly this size, so that a sanitizer sees each byte too many.
    const std::string text = Text(size);
    const auto from = std::make_unique<char[]>(size);
    const auto to = std::make_unique<char[]>(size);
    std::copy_n(text.data(), size, from.get());
    CopyText(to.get(), from.get(), size);
    EXPECT_EQ(std::string(to.get(), size), text);
  }
}

TEST(ShortText, CopiesNothingBehindItsEnd) {
  for (size_t size = 0; size <= kSizesUpTo; ++size) {
    std::string to(size + 40, '#');
    CopyText(to.data() + 20, Text(size).data(), size);
    EXPECT_EQ(to, std::string(20, '#') + Text(size) + std::string(20, '#'));
  }
}

TEST(ShortText, DiffersByAnyOfItsBytes) {
  for (size_t size = 0; size <= kSizesUpTo; ++size) {
    const std::string text = Text(size);
    std::string other = text;
    EXPECT_TRUE(SameText(text.data(), other.data(), size)) << size;
    for (size_t i = 0; i < size; ++i) {
      other[i] = static_cast<char>(other[i] ^ 1);
      EXPECT_FALSE(SameText(text.data(), other.data(), size)) << size << " bytes, at " << i;
      other[i] = text[i];
    }
  }
}

}  // namespace
}  // namespace pleat
