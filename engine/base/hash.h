// Two hashes, never one for both jobs.
//
// StablePartitionHash (include/pleat/partition.h) chooses the partition. It is the same everywhere
// and for ever, so anybody can compute it.
//
// KeyedHash chooses the place inside a table. Its key is secret to the process, so nobody outside
// can choose event keys that collide. It is SipHash-1-3: J.-P. Aumasson and D. J. Bernstein,
// "SipHash: a fast short-input PRF", 2012, with the reduced rounds that Rust and Python use.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pleat::inline v0 {

using HashKey = std::array<uint64_t, 2>;

// Eight bytes in little-endian order, wherever they are.
inline uint64_t LoadLittle64(const char* p) noexcept {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

// The last `size` < 8 bytes, in little-endian order, zeros above.
inline uint64_t LoadLittleTail(const char* p, size_t size) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
  }
  return value;
}

// SipHash with `kCompress` rounds a word and `kFinish` at the end. (1, 3) is the one in use; (2, 4)
// has published test vectors.
template <int kCompress, int kFinish>
uint64_t SipHash(std::string_view bytes, const HashKey& key) noexcept {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575;
  uint64_t v1 = key[1] ^ 0x646f72616e646f6d;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261;
  uint64_t v3 = key[1] ^ 0x7465646279746573;
  auto rotate = [](uint64_t x, int by) { return (x << by) | (x >> (64 - by)); };
  auto round = [&] {
    v0 += v1, v2 += v3;
    v1 = rotate(v1, 13) ^ v0, v3 = rotate(v3, 16) ^ v2;
    v0 = rotate(v0, 32);
    v2 += v1, v0 += v3;
    v1 = rotate(v1, 17) ^ v2, v3 = rotate(v3, 21) ^ v0;
    v2 = rotate(v2, 32);
  };
  auto absorb = [&](uint64_t word) {
    v3 ^= word;
    for (int i = 0; i < kCompress; ++i) round();
    v0 ^= word;
  };
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) absorb(LoadLittle64(p));
  absorb(LoadLittleTail(p, left) | uint64_t{bytes.size()} << 56);
  v2 ^= 0xff;
  for (int i = 0; i < kFinish; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

inline uint64_t KeyedHash(std::string_view bytes, const HashKey& key) noexcept {
  return SipHash<1, 3>(bytes, key);
}

// A key from the operating system's random source.
HashKey RandomHashKey();

}  // namespace pleat::inline v0
