// The partition hash, version 1: 16 bytes at a time through a folded 64x64-bit product, the way
// wyhash and its relatives work. These constants and steps are part of every stored format; a change
// is a new version.
#include "engine/base/hash.h"

#include <random>

#include <pleat/partition.h>

namespace pleat::inline v0 {
namespace {

constexpr uint64_t kA = 0x9e3779b97f4a7c15;  // the golden ratio
constexpr uint64_t kB = 0xd1b54a32d192ed03;
constexpr uint64_t kC = 0x8bb84b93962eacc9;

uint64_t Mix(uint64_t x, uint64_t y) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{x} * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t StablePartitionHash(std::string_view key) noexcept {
  const char* p = key.data();
  size_t left = key.size();
  uint64_t state = kC;
  for (; left >= 16; p += 16, left -= 16) {
    state = Mix(LoadLittle64(p) ^ kA, LoadLittle64(p + 8) ^ state) + kB;
  }
  uint64_t low = 0;
  uint64_t high = 0;
  if (left >= 8) {
    low = LoadLittle64(p);
    high = LoadLittleTail(p + 8, left - 8);
  } else {
    low = LoadLittleTail(p, left);
  }
  state = Mix(low ^ kA, high ^ state) + kB;
  return Mix(state ^ kC, kA ^ uint64_t{key.size()});
}

int PartitionOf(std::string_view key, int partitions) noexcept {
  return static_cast<int>(StablePartitionHash(key) % static_cast<uint64_t>(partitions));
}

HashKey RandomHashKey() {
  std::random_device source;
  auto word = [&] { return uint64_t{source()} << 32 | source(); };
  return {word(), word()};
}

}  // namespace pleat::inline v0
