// The partition hash, version 1: 16 bytes at a time through a folded 64x64-bit product, the way
// wyhash and its relatives work. These constants and steps are part of every stored format; a
// change is a new version.
#include "engine/base/hash.h"

#include <sys/random.h>
#include <unistd.h>

#include <pleat/batch.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

struct Words {
  uint64_t low;
  uint64_t high;
};

// The last `left` <= 16 bytes, zeros behind them.
Words LastWords(const char* p, size_t left) noexcept {
  if (left < 8) return {LoadLittleTail(p, left), 0};
  return {LoadLittle64(p), LoadLittleTail(p + 8, left - 8)};
}

}  // namespace

uint64_t StablePartitionHash(std::string_view key) noexcept {
  const char* p = key.data();
  size_t left = key.size();
  uint64_t state = kStableSeed;
  for (; left >= 16; p += 16, left -= 16) {
    state = Mix(LoadLittle64(p) ^ kStableA, LoadLittle64(p + 8) ^ state) + kStableB;
  }
  const auto [low, high] = LastWords(p, left);
  state = Mix(low ^ kStableA, high ^ state) + kStableB;
  return Mix(state ^ kStableSeed, kStableA ^ uint64_t{key.size()});
}

int PartitionOf(std::string_view key, int partitions) noexcept {
  const auto count = static_cast<uint64_t>(partitions);
  const uint64_t hash = StablePartitionHash(key);
  const bool power_of_two = (count & (count - 1)) == 0;
  return static_cast<int>(power_of_two ? hash & (count - 1) : hash % count);
}

uint64_t KeyedHash(std::string_view bytes, const HashKey& key) noexcept {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t state = key[2];
  for (; left > 16; p += 16, left -= 16) {
    state = Mix(LoadLittle64(p) ^ key[0], LoadLittle64(p + 8) ^ state) + key[1];
  }
  const auto [low, high] = LastWords(p, left);
  return KeyedHash(low, high ^ state, bytes.size(), key);
}

HashKey MakeHashKey(uint64_t a, uint64_t b) noexcept {
  // Whatever they are, the words of the key must look random: they are factors.
  const uint64_t first = Mix(a ^ kStableA, kStableB);
  const uint64_t second = Mix(b ^ kStableSeed, kStableA) ^ first;
  return {first, second, Mix(first ^ kStableSeed, second ^ kStableB)};
}

HashKey RandomHashKey() {
  // One call of the system, 1.5 us. Making a std::random_device asks the processor what it can do, which a
  // virtual machine answers in tens of microseconds.
  HashKey key;
  PLEAT_CHECK(getentropy(key.data(), sizeof key) == 0);
  return key;
}

}  // namespace pleat::inline v0_1
