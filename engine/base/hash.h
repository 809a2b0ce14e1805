// Two hashes, never one for both jobs.
//
// StablePartitionHash (include/pleat/batch.h) chooses the partition. It is the same everywhere
// and for ever, so anybody can compute it.
//
// KeyedHash chooses the place inside a table. Its key is secret to the process, so nobody outside
// can choose event keys that collide.
//
// Both work through folded products: the halves of a 64x64-bit product, xored. The keyed one hides
// each factor behind a secret word, so that a stranger can neither make a factor zero nor undo the
// rest. It is no cryptographic function: who can see its values can break it, and nobody can,
// because they never leave the process. (SipHash-1-3, which is one, took a quarter of a batched
// fold.)
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <pleat/detail/export.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

using HashKey = std::array<uint64_t, 3>;

// The constants of the stable hash, for ever.
inline constexpr uint64_t kStableA = 0x9e3779b97f4a7c15;  // the golden ratio
inline constexpr uint64_t kStableB = 0xd1b54a32d192ed03;
inline constexpr uint64_t kStableSeed = 0x8bb84b93962eacc9;

// Eight bytes in little-endian order, wherever they are.
inline uint64_t LoadLittle64(const char* p) noexcept {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

// The last `size` <= 8 bytes, in little-endian order, zeros above. Loads overlap, so that there is
// no loop.
inline uint64_t LoadLittleTail(const char* p, size_t size) noexcept {
  PLEAT_DCHECK(size <= 8);
  const auto byte = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
  if (size >= 4) {
    uint32_t low;
    uint32_t high;
    std::memcpy(&low, p, sizeof(low));
    std::memcpy(&high, p + size - 4, sizeof(high));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    low = __builtin_bswap32(low);
    high = __builtin_bswap32(high);
#endif
    return low | uint64_t{high} << (8 * (size - 4));
  }
  return size == 0 ? 0 : byte(0) | byte(size / 2) | byte(size - 1);
}

// The halves of a product, folded into one.
inline uint64_t Mix(uint64_t x, uint64_t y) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{x} * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Of 24 bytes, as three words.
inline uint64_t KeyedHash(uint64_t a, uint64_t b, uint64_t c, const HashKey& key) noexcept {
  return Mix(Mix(a ^ key[0], b ^ key[1]) ^ c, key[0] ^ key[2]);
}

// Of any number of bytes.
PLEAT_EXPORT uint64_t KeyedHash(std::string_view bytes, const HashKey& key) noexcept;

// StablePartitionHash of a key of 23 bytes at most, from its bytes as three words, zeros behind
// them.
inline uint64_t StableHashOfWords(uint64_t a, uint64_t b, uint64_t c, size_t size) noexcept {
  PLEAT_DCHECK(size <= 23);
  uint64_t state = kStableSeed;
  if (size >= 16) {
    state = Mix(a ^ kStableA, b ^ state) + kStableB;
    a = c;
    b = 0;
  }
  state = Mix(a ^ kStableA, b ^ state) + kStableB;
  return Mix(state ^ kStableSeed, kStableA ^ uint64_t{size});
}

// A key from the operating system's random source, or from two words given.
PLEAT_EXPORT HashKey RandomHashKey();
HashKey MakeHashKey(uint64_t a, uint64_t b) noexcept;

}  // namespace pleat::inline v0_1
