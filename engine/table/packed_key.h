// A key's bytes in 24 bytes of an entry: keys of up to 23 bytes lie inline, longer ones leave a
// length, an 8-byte prefix and a pointer. Two keys are compared as three words; only long keys with
// equal lengths and prefixes go to memory of their own.
//
//   inline:  word 0..2 = the bytes, zero padded; last byte = length (0..23)
//   long:    word 0 = first 8 bytes, word 1 = pointer, word 2 = length in the low 32 bits, last
//            byte = kLong; in the three bytes before that the length less that of the identity, if the
//            key has two texts (spelled_key.h): hashes and comparisons are those of the identity
//
// Both hashes of a short key are taken from its words. A key is packed for every fold, so it is put
// together in registers: bytes that are written one by one and read back as words would stall on
// their way through memory.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <pleat/batch.h>

#include "engine/base/hash.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {

class PackedKey {
 public:
  static constexpr size_t kInlineBytesMax = 23;

  // A long key refers to `key`'s own bytes; a KeyArena keeps them.
  PackedKey() = default;
  explicit PackedKey(std::string_view key) noexcept
      : PackedKey(key.size() <= kInlineBytesMax ? Short(key) : Long(key)) {}
  // The same of a key of at most kInlineBytesMax bytes.
  static PackedKey Short(std::string_view key) noexcept {
    const char* data = key.data();
    const size_t size = key.size();
    const uint64_t length = uint64_t{size} << kTagShift;
    if (size >= 16) {
      return {LoadLittle64(data), LoadLittle64(data + 8), Tail(data + 16, size - 16) | length};
    }
    if (size >= 8) return {LoadLittle64(data), Tail(data + 8, size - 8), length};
    return {LoadLittleTail(data, size), 0, length};
  }

  bool is_long() const noexcept { return tag() == kLong; }
  size_t size() const noexcept { return is_long() ? static_cast<uint32_t>(words_[2]) : tag(); }

  // The keyed hash, and StablePartitionHash(view()).
  uint64_t HashWith(const HashKey& key) const noexcept {
    if (!is_long()) return ShortHashWith(key);
    return is_spelled() ? identity().HashWith(key) : KeyedHash(view(), key);
  }
  // The same of a key that is not long.
  uint64_t ShortHashWith(const HashKey& key) const noexcept {
    return KeyedHash(words_[0], words_[1], words_[2], key);
  }
  // The keyed hash of these bytes behind those that `seed` is a keyed hash of.
  uint64_t HashWith(const HashKey& key, uint64_t seed) const noexcept {
    if (is_long()) {
      if (is_spelled()) return identity().HashWith(key, seed);
      return KeyedHash(KeyedHash(view(), key), seed, size(), key);
    }
    return KeyedHash(words_[0] ^ seed, words_[1], words_[2], key);
  }
  uint64_t StableHash() const noexcept {
    if (is_long()) return StablePartitionHash(SpelledKey::Of(view()).identity);
    const uint64_t bytes = words_[2] & ((uint64_t{1} << kTagShift) - 1);
    return StableHashOfWords(words_[0], words_[1], bytes, size());
  }

  // The first 16 bytes, zeros behind the key. REQUIRES: it is not long.
  const char* first16() const noexcept { return reinterpret_cast<const char*>(words_); }

  // Valid while this object, or for a long key the bytes it refers to, stays where it is.
  std::string_view view() const noexcept {
    return {is_long() ? long_data() : reinterpret_cast<const char*>(words_), size()};
  }

  friend bool operator==(const PackedKey& a, const PackedKey& b) noexcept {
    const uint64_t first = a.words_[0] ^ b.words_[0];
    const uint64_t second = a.words_[1] ^ b.words_[1];
    const uint64_t third = a.words_[2] ^ b.words_[2];
    if ((first | second | third) == 0) [[likely]]
      return true;
    return (a.is_long() || b.is_long()) && AreEqualLong(a, b);
  }

 private:
  static constexpr uint8_t kLong = 0xff;
  static constexpr int kTagShift = 56;
  static constexpr int kSpellingShift = 32;
  static constexpr uint64_t kSpellings = 0xffffff;

  PackedKey(uint64_t a, uint64_t b, uint64_t c) noexcept : words_{a, b, c} {}
  static PackedKey Long(std::string_view key) noexcept {
    const char* data = key.data();
    uint64_t place;
    std::memcpy(&place, &data, sizeof(data));
    const uint64_t spelling = key.size() - SpelledKey::Of(key).identity.size();
    // A longer one than fits is no key of anybody's: keys have a limit.
    const uint64_t kept = spelling <= kSpellings ? spelling << kSpellingShift : 0;
    return {LoadLittle64(data), place, key.size() | kept | uint64_t{kLong} << kTagShift};
  }

  // REQUIRES, here and below: it is long.
  uint64_t spelling() const noexcept { return words_[2] >> kSpellingShift & kSpellings; }
  bool is_spelled() const noexcept { return spelling() != 0; }
  // As a key of its own, whatever it ends with.
  PackedKey identity() const noexcept {
    const std::string_view text = view().substr(0, size() - spelling());
    if (text.size() <= kInlineBytesMax) return Short(text);
    return {words_[0], words_[1], text.size() | uint64_t{kLong} << kTagShift};
  }

  // The `size` < 8 bytes at `p`, zeros above. REQUIRES: the 8 bytes before p + size are the key's.
  // Two shifts, because a shift by 64 bits, for size 0, is undefined.
  static uint64_t Tail(const char* p, size_t size) noexcept {
    return LoadLittle64(p + size - 8) >> (8 * (7 - size)) >> 8;
  }

  // At least one is long, or was, and is its identity.
  [[gnu::noinline]] static bool AreEqualLong(const PackedKey& a, const PackedKey& b) noexcept {
    if (a.words_[2] == b.words_[2] && a.words_[0] == b.words_[0] && a.view() == b.view())
        [[likely]] {
      return true;
    }
    if (a.is_long() && a.is_spelled()) return AreEqualLong(a.identity(), b);
    return b.is_long() && b.is_spelled() && AreEqualLong(a, b.identity());
  }

  uint8_t tag() const noexcept { return static_cast<uint8_t>(words_[2] >> kTagShift); }

  const char* long_data() const noexcept {
    const char* data;
    std::memcpy(&data, &words_[1], sizeof(data));
    return data;
  }

  // Words whose first byte in memory is the lowest: view() gives out their memory.
  static_assert(std::endian::native == std::endian::little);
  uint64_t words_[3] = {};
};
static_assert(sizeof(PackedKey) == 24);

}  // namespace pleat::inline v0_1
