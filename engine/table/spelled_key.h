// A spelled key has two texts: one that tells it from other keys, and one with which it is shown. The
// number 1.50 as a key is told by 1.5, and is shown as it was first seen.
//
//   identity | shown | sizes of both, 4 bytes each | 16 bytes that say so
//
// It is the same key as its identity: hashed and compared as that, in whatever spelling it comes. What
// keeps a key keeps the bytes with which the key came first, and so they are what is saved, listed and
// handed out. Every spelled key is longer than the keys that lie inline, so that those cost nothing.
//
// Keys are any bytes. A key of the user's that ends like this by intent is the same key as its beginning,
// which harms nobody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pleat::inline v0_1 {

struct SpelledKey {
  static constexpr size_t kEndBytes = 24;  // behind both texts

  std::string_view identity;
  std::string_view shown;

  // The two texts of any key; of most they are the key.
  static SpelledKey Of(std::string_view key) noexcept {
    if (key.size() <= kEndBytes || key.back() != static_cast<char>(kMark[15])) [[likely]]
      return {key, key};
    const char* const end = key.data() + key.size() - kEndBytes;
    if (std::memcmp(end + 8, kMark, sizeof(kMark)) != 0) [[likely]]
      return {key, key};
    uint32_t sizes[2];
    std::memcpy(sizes, end, sizeof(sizes));
    if (uint64_t{sizes[0]} + sizes[1] + kEndBytes != key.size()) return {key, key};
    return {key.substr(0, sizes[0]), key.substr(sizes[0], sizes[1])};
  }

  size_t bytes() const noexcept { return identity.size() + shown.size() + kEndBytes; }

  // Writes the key, and returns its end. REQUIRES: both texts are there.
  char* Write(char* to) const noexcept {
    to = std::copy(identity.begin(), identity.end(), to);
    to = std::copy(shown.begin(), shown.end(), to);
    const uint32_t sizes[] = {static_cast<uint32_t>(identity.size()),
                              static_cast<uint32_t>(shown.size())};
    std::memcpy(to, sizes, sizeof(sizes));
    std::memcpy(to + sizeof(sizes), kMark, sizeof(kMark));
    return to + kEndBytes;
  }

 private:
  // No UTF-8, and so the end of no JSON.
  static constexpr unsigned char kMark[16] = {0xff, 'p', 'l', 'e', 'a', 't', ' ',  's',
                                              'p',  'e', 'l', 'l', 'e', 'd', 0xfe, 0xff};
};

}  // namespace pleat::inline v0_1
